import { describe, expect, test } from '@jest/globals';
import type { Plan } from '../../src/state/index.ts';
import { checkPlan } from '../../src/define/checks.ts';
import { RUN_STEP, defineAny, refusalOf } from './support.ts';

/** The refusal of a definition: its code is checked here, sentence and path by the test. */
function refused(act: () => unknown): { message: string; path: string | undefined } {
  const error = refusalOf(act);
  expect(error.code).toBe('DEFINITION_INVALID');
  return { message: error.message, path: error.detail.path };
}

describe('a plan that comes as data', () => {
  const { plan } = defineAny({}, (flow) =>
    flow.step('write', { ...RUN_STEP, effects: { say: { submits: true } }, receipt: { within: '1m' } }).review('look', { run: async () => ({ ask: 'person' }) }),
  );
  const broken = (change: (copy: Record<string, never>) => void): unknown => {
    const copy = structuredClone(plan) as unknown as Record<string, never>;
    change(copy);
    return copy;
  };
  /** Sets one member, wherever it lies. */
  const put = (path: readonly (string | number)[], value: unknown) =>
    broken((copy) => {
      const parent = path.slice(0, -1).reduce<unknown>((at, key) => (at as Record<string | number, unknown>)[key], copy) as Record<string | number, unknown>;
      parent[path.at(-1) ?? ''] = value;
    });

  test('that was compiled is accepted again', () => {
    const again: unknown = JSON.parse(JSON.stringify(plan));
    expect(() => { checkPlan(again); }).not.toThrow();
  });

  const members = (value: unknown, path: readonly (string | number)[] = []): (readonly (string | number)[])[] =>
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([key, inner]) => [[...path, key], ...members(inner, [...path, key])])
      : [];

  test.each(members(plan).map((path) => [path.join('/'), path] as const))('whose %s is nonsense is refused with a sentence', (_, path) => {
    for (const nonsense of [Number.NaN, 'nonsense\0', { nonsense: true }, [{}], -7]) {
      const error = refused(() => { checkPlan(put(path, nonsense)); });
      expect(error.message).toMatch(/^Task .*: .*\./);
    }
  });

  test.each([undefined, null, 'plan', 7, [], {}])('%p is no plan', (value) => {
    expect(refused(() => { checkPlan(value); }).message).not.toBe('');
  });

  test('a review keeps its shape', () => {
    const look = plan.steps[1];
    if (look === undefined) throw new Error('The plan has two steps.');
    const change = (over: Partial<Plan['steps'][number]>): unknown => ({ ...plan, steps: [{ ...look, ...over }] });
    expect(refused(() => { checkPlan(change({ effects: [] , receipt: null })); }).message).toMatch(/exactly one effect/);
    expect(refused(() => { checkPlan(change({ probe: true })); }).message).toMatch(/has no probe/);
    expect(refused(() => { checkPlan(change({ receipt: { within_ms: 1, senders: [], inbox: false } })); }).message).toMatch(/our own inbox/);
    expect(refused(() => { checkPlan({ ...plan, steps: [{ ...look, kind: 'run', proof: { kind: 'read_back' } }] }); }).message).toMatch(/only a review waits/);
  });
});
