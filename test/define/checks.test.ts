import { describe, expect, test } from '@jest/globals';
import { LIMITS } from '../../src/state/index.ts';
import { checkPlan } from '../../src/define/checks.ts';
import { RUN_STEP, defineAny, planOf, refusalOf, withStep } from './support.ts';

const DAY_MS = 86_400_000;

/** The refusal of a definition: its code is checked here, sentence and path by the test. */
function refused(act: () => unknown): { message: string; path: string | undefined } {
  const error = refusalOf(act);
  expect(error.code).toBe('DEFINITION_INVALID');
  return { message: error.message, path: error.detail.path };
}

const BAD_NAMES = ['', 'Upper', '1st', 'under_score', 'double--dash', '-lead', 'trail-', 'with space', 'nul\0', 'ümlaut', '../up', 'a'.repeat(64), 7, null, undefined, Symbol('x')];

describe('names are lower case words with dashes, at most 63 characters', () => {
  test.each(BAD_NAMES)('%p is refused as a type, a step and an effect', (name) => {
    expect(refused(() => defineAny({ type: name }, (flow) => flow.step('write', RUN_STEP))).path).toBe('/type');
    expect(refused(() => defineAny({}, (flow) => flow.step(name, RUN_STEP))).message).toMatch(/step/);
    if (typeof name === 'string') {
      expect(refused(() => withStep({ effects: { [name]: { dedupe: { window: '1h' } } } })).message).toMatch(/step "write", effect ".*/);
    }
  });

  test.each(['a', 'a1', 'publish-note', 'a-1-b', 'a'.repeat(63)])('%p is accepted', (name) => {
    expect(defineAny({ type: name }, (flow) => flow.step(name, RUN_STEP)).plan.steps[0]?.name).toBe(name);
  });
});

describe('a task has steps, and each can start some day', () => {
  test('no steps, the same step twice, too many steps', () => {
    expect(refused(() => defineAny({}, (flow) => flow)).message).toMatch(/has no steps/);
    expect(refused(() => defineAny({}, (flow) => flow.step('a', RUN_STEP).step('a', RUN_STEP))).message).toMatch(/step "a": two steps have this name/);
    const many = (count: number) => (): unknown =>
      defineAny({}, (flow) => Array.from({ length: count }, (_, index) => index).reduce((chain, index) => chain.step(`s${index}`, RUN_STEP), flow));
    expect(refused(many(LIMITS.steps_per_task_max + 1)).message).toContain(`at most ${LIMITS.steps_per_task_max}`);
    expect(many(LIMITS.steps_per_task_max)).not.toThrow();
  });

  test('unknown, own and repeated needs', () => {
    expect(refused(() => withStep({ needs: ['later'] }))).toEqual({ message: expect.stringMatching(/"write": it needs "later", which is no step/), path: '/steps/write/needs' });
    expect(refused(() => withStep({ needs: ['write'] })).message).toMatch(/needs itself/);
    expect(refused(() => withStep({ needs: 'write' })).message).toMatch(/must be a list/);
    expect(refused(() => withStep({ needs: [null] })).message).toMatch(/it needs null/);
    expect(refused(() => defineAny({}, (flow) => flow.step('a', RUN_STEP).step('b', { ...RUN_STEP, needs: ['a', 'a'] }))).message).toMatch(/"a" twice/);
  });

  test('a cycle in a plan that comes as data, with the way round', () => {
    const plan = structuredClone(defineAny({}, (flow) => flow.step('a', RUN_STEP).step('b', { ...RUN_STEP, needs: ['a'] }).step('c', { ...RUN_STEP, needs: ['b'] })).plan);
    const round = { ...plan, steps: plan.steps.map((step) => (step.name === 'a' ? { ...step, needs: ['c'] } : step)) };
    expect(refused(() => { checkPlan(round); }).message).toMatch(/"a" needs "c" needs "b" needs "a"/);
    const [a, b, c] = plan.steps;
    expect(() => { checkPlan({ ...plan, steps: [c, a, b] }); }).not.toThrow();
  });

  test('what is returned must be the flow', () => {
    expect(refused(() => defineAny({}, () => undefined)).message).toMatch(/must return the flow/);
    expect(refused(() => defineAny({}, () => ({ step: () => undefined }))).message).toMatch(/must return the flow/);
    expect(refused(() => defineAny({}, (flow) => { flow.step('a', RUN_STEP); return flow; })).message).toMatch(/has no steps/);
  });
});

describe('version and attempts are whole numbers in their limits', () => {
  test.each([0, -1, 2.5, '3', Number.NaN, Number.POSITIVE_INFINITY, true, 10_001])('attempts: %p is refused', (attempts) => {
    const { message, path } = refused(() => withStep({ attempts }));
    expect(path).toBe('/steps/write/attempts');
    expect(message).toMatch(/step "write": attempts is .*1 to 10000/);
  });

  test.each([1, 3, 10_000])('attempts: %p is what the plan says', (attempts) => {
    expect(planOf({ attempts }).attempts).toBe(attempts);
  });

  test.each([0, -1, 1.5, '1', Number.NaN, 2 ** 31, null, undefined])('version: %p is refused', (version) => {
    expect(refused(() => defineAny({ version }, (flow) => flow.step('a', RUN_STEP))).path).toBe('/version');
  });

  test.each([0, 2.5, '3', LIMITS.checks_max + 1])('checks: %p is refused', (attempts) => {
    expect(refused(() => withStep({ checks: { attempts } })).path).toBe('/steps/write/checks/attempts');
  });
});

describe('durations', () => {
  test.each([-1, Number.NaN, Number.POSITIVE_INFINITY, 0.5, 2 ** 60, '5', '5 s', '-5s', '1e3s', '5w', '', '0.1ms', 'soon', null, {}, '9'.repeat(20) + 's', LIMITS.delay_ms_max + 1])(
    '%p is refused wherever a duration is read',
    (bad) => {
      const paths = [
        [{ lease: bad }, '/steps/write/lease'],
        [{ timeout: bad }, '/steps/write/timeout'],
        [{ backoff: { initial: bad } }, '/steps/write/backoff/initial'],
        [{ backoff: { max: bad } }, '/steps/write/backoff/max'],
        [{ checks: { backoff: { max: bad } } }, '/steps/write/checks/backoff/max'],
        [{ effects: { say: { timeout: bad } } }, '/steps/write/effects/say/timeout'],
        [{ effects: { say: { visible_within: bad } } }, '/steps/write/effects/say/visible_within'],
        [{ effects: { say: { dedupe: { window: bad } } } }, '/steps/write/effects/say/dedupe/window'],
        [{ effects: { say: { submits: true } }, receipt: { within: bad } }, '/steps/write/receipt/within'],
      ] as const;
      for (const [step, path] of paths) {
        // null stands for "left out" where there is a default.
        if (bad === null && !path.endsWith('window') && !path.endsWith('within')) continue;
        if (bad === null && path.endsWith('visible_within')) continue;
        expect(refused(() => withStep(step)).path).toBe(path);
      }
    },
  );

  test('text and numbers mean the same, and beyond 2^31 ms they still count', () => {
    const within = (value: unknown): number | undefined => planOf({ effects: { say: { submits: true } }, receipt: { within: value } }).receipt?.within_ms;
    expect([within('500ms'), within('15s'), within('10m'), within('24h'), within('7d')]).toEqual([500, 15_000, 600_000, DAY_MS, 7 * DAY_MS]);
    expect([within('1.5s'), within('0.29s'), within(1_234)]).toEqual([1_500, 290, 1_234]);
    expect([within('60d'), within(2 ** 31 + 1)]).toEqual([60 * DAY_MS, 2 ** 31 + 1]);
  });

  test('lease, attempt and call have limits', () => {
    expect(refused(() => withStep({ lease: LIMITS.lease_ms_min - 1 })).message).toContain(`at least ${LIMITS.lease_ms_min} ms`);
    expect(refused(() => withStep({ lease: LIMITS.lease_ms_max + 1 })).message).toContain(`at most ${LIMITS.lease_ms_max} ms`);
    expect(refused(() => withStep({ timeout: LIMITS.attempt_timeout_ms_max + 1 })).message).toContain(`at most ${LIMITS.attempt_timeout_ms_max} ms`);
    expect(refused(() => withStep({ timeout: 0 })).message).toContain('at least 1 ms');
    expect(refused(() => withStep({ effects: { say: { timeout: LIMITS.call_timeout_ms_max + 1 } } })).path).toBe('/steps/write/effects/say/timeout');
  });
});

describe('backoff', () => {
  test.each([
    [{ factor: 0.99 }, '/steps/write/backoff/factor'],
    [{ factor: Number.NaN }, '/steps/write/backoff/factor'],
    [{ factor: Number.POSITIVE_INFINITY }, '/steps/write/backoff/factor'],
    [{ factor: '2' }, '/steps/write/backoff/factor'],
    [{ jitter: -0.1 }, '/steps/write/backoff/jitter'],
    [{ jitter: 1.1 }, '/steps/write/backoff/jitter'],
    [{ jitter: Number.NaN }, '/steps/write/backoff/jitter'],
    [{ initial: '2m', max: '1m' }, '/steps/write/backoff/initial'],
    [{ max: LIMITS.backoff_ms_max + 1 }, '/steps/write/backoff/max'],
    [{ inital: '1s' }, '/steps/write/backoff/inital'],
  ])('%p is refused', (backoff, path) => {
    expect(refused(() => withStep({ backoff })).path).toBe(path);
  });

  test('an initial wait beyond the default cap raises the cap', () => {
    expect(planOf({ backoff: { initial: '2h' } }).backoff.schedule_ms).toEqual([7_200_000]);
  });
});

describe('a step declares how its success is proved', () => {
  test.each([
    [undefined, /no proof/],
    [null, /must be an object/],
    ['it worked', /must be an object/],
    [{}, /exactly one/],
    [{ record: ['/text'], artifacts: { min: 1 } }, /exactly one/],
    [{ recrod: ['/text'] }, /no option/],
    [{ record: [] }, /at least one JSON pointer/],
    [{ record: '/text' }, /at least one JSON pointer/],
    ...['', 'text', '/', '/a//b', '/a/', '/a~', '/a~2', '/nul\0', '/half\ud800', 3, null].map((pointer) => [{ record: [pointer] }, /is no JSON pointer/] as const),
    [{ record: ['/' + 'a'.repeat(LIMITS.key_chars_max)] }, /too long/],
    ...[0, -1, 1.5, '1', Number.NaN, LIMITS.artifacts_per_step_max + 1, undefined].map((min) => [{ artifacts: { min } }, /artifacts\.min is .*1 to 500/] as const),
    [{ artifacts: { min: 1, minBytes: -1 } }, /artifacts\.minBytes/],
    [{ artifacts: { min: 1, mediaTypes: ['html'] } }, /media type/],
    [{ artifacts: { min: 1, mediaTypes: 'text/html' } }, /must be a list/],
    [{ readBack: 'later' }, /must be a function/],
  ] as const)('%p is refused', (proof, sentence) => {
    const { message, path } = refused(() => withStep({ proof }));
    expect(message).toMatch(sentence);
    expect(path).toMatch(/^\/steps\/write\/proof/);
  });

  test('each kind compiles to what the ledger checks', () => {
    expect(planOf({ proof: { record: ['/a/0', '/b~1c'] } }).proof).toEqual({ kind: 'record', requires: ['/a/0', '/b~1c'] });
    expect(planOf({ proof: { artifacts: { min: 2 } } }).proof).toEqual({ kind: 'artifacts', min: 2, bytes_min: 1, media_types: [] });
    expect(planOf({ proof: { readBack: () => undefined } }).proof).toEqual({ kind: 'read_back' });
  });

  test('a plan as data: only a review is proved by a verdict, and only by it', () => {
    const { plan } = defineAny({}, (flow) => flow.step('write', RUN_STEP).review('look', { needs: ['write'], run: async () => ({ ask: 'person' }) }));
    const swap = (name: string, proof: unknown): unknown => ({ ...plan, steps: plan.steps.map((step) => (step.name === name ? { ...step, proof } : step)) });
    expect(refused(() => { checkPlan(swap('write', { kind: 'verdict' })); }).message).toMatch(/only a review/);
    expect(refused(() => { checkPlan(swap('look', { kind: 'read_back' })); }).message).toMatch(/by its stored verdict/);
    expect(refused(() => { checkPlan(swap('write', { kind: 'promise' })); }).message).toMatch(/"promise" is no kind of proof/);
    expect(refused(() => { checkPlan(swap('write', null)); }).message).toMatch(/no proof/);
  });
});

describe('effects can be resolved after a lost answer, or are never repeated', () => {
  test('neither dedupe, probe nor receipt: one attempt only', () => {
    const { message, path } = refused(() => withStep({ effects: { say: {} } }));
    expect(message).toMatch(/step "write", effect "say": after a lost answer/);
    expect(path).toBe('/steps/write/effects/say');
    expect(planOf({ effects: { say: {} }, attempts: 1 }).effects).toHaveLength(1);
    expect(planOf({ effects: { say: {} }, probe: () => undefined }).probe).toBe(true);
    expect(planOf({ effects: { say: { dedupe: { window: '1h' } } } }).effects[0]?.dedupe_window_ms).toBe(3_600_000);
    expect(planOf({ effects: { say: { submits: true } }, receipt: { within: '1m' } }).receipt).toEqual({ within_ms: 60_000, senders: [], inbox: false });
  });

  test('a receipt answers the submission, not the effects before it', () => {
    expect(refused(() => withStep({ effects: { picture: {}, say: { submits: true } }, receipt: { within: '1m' } })).path).toBe('/steps/write/effects/picture');
  });

  test('one effect at most submits, and a receipt needs it', () => {
    const key = { dedupe: { window: '1h' } };
    expect(refused(() => withStep({ effects: { a: { ...key, submits: true }, b: { ...key, submits: true } } })).message).toMatch(/"a" and "b" both submit/);
    expect(refused(() => withStep({ receipt: { within: '1m' } })).message).toMatch(/no effect submits/);
    expect(refused(() => withStep({ effects: { a: key }, receipt: { within: '1m' } })).path).toBe('/steps/write/receipt');
  });

  test('a withdrawal needs something that was submitted, and times that can be kept', () => {
    const run = () => Promise.resolve({ outcome: 'confirmed' });
    const say = { effects: { say: { submits: true } }, receipt: { within: '1m' } };
    expect(planOf({ ...say, withdraw: { run } }).withdraw).toEqual({ timeout_ms: 10_000, dedupe_window_ms: null, visible_within_ms: 0, attempts: 10 });
    expect(planOf({ ...say, withdraw: { run, timeout: '3s', dedupe: { window: '1h' }, visible_within: '2s', attempts: 2 } }).withdraw)
      .toEqual({ timeout_ms: 3_000, dedupe_window_ms: 3_600_000, visible_within_ms: 2_000, attempts: 2 });
    expect(planOf(say)).not.toHaveProperty('withdraw');
    const wrong: readonly (readonly [Readonly<Record<string, unknown>>, string, RegExp])[] = [
      [{ withdraw: { run } }, '/steps/write/withdraw', /no effect submits anything that could be taken back/],
      [{ ...say, withdraw: {} }, '/steps/write/withdraw/run', /must be a function/],
      [{ ...say, withdraw: { run, timeout: '11m' } }, '/steps/write/withdraw/timeout', /timeout/],
      [{ ...say, withdraw: { run, timeout: 0 } }, '/steps/write/withdraw/timeout', /timeout/],
      [{ ...say, withdraw: { run, dedupe: { window: '5s' } } }, '/steps/write/withdraw/dedupe/window', /would be over before a repeat/],
      [{ ...say, withdraw: { run, attempts: 0 } }, '/steps/write/withdraw/attempts', /attempts is 0/],
      [{ ...say, withdraw: { run, keys: true } }, '/steps/write/withdraw', /keys/],
      [{ effects: { say: { submits: true }, withdraw: { dedupe: { window: '1h' } } }, receipt: { within: '1m' }, withdraw: { run } }, '/steps/write/withdraw', /rename it/],
    ];
    for (const [spec, path, message] of wrong) {
      const refusal = refused(() => withStep(spec));
      expect(refusal.message).toMatch(message);
      expect(refusal.path?.startsWith(path)).toBe(true);
    }
  });

  test('a dedupe window outlives permission, call and margin', () => {
    const min = LIMITS.send_permission_ms + 3_000 + LIMITS.lease_margin_ms;
    const effects = (window: number) => ({ effects: { say: { timeout: '3s', dedupe: { window } } } });
    expect(refused(() => withStep(effects(min))).message).toContain(`more than ${min} ms`);
    expect(planOf(effects(min + 1)).effects[0]?.dedupe_window_ms).toBe(min + 1);
  });

  test('absence that proves nothing is fine without a probe', () => {
    expect(planOf({ effects: { say: { absenceIsProof: false, dedupe: { window: '1h' } } } }).effects[0]?.absence_is_proof).toBe(false);
  });

  test('too many effects, senders that are no names', () => {
    const effects = Object.fromEntries(Array.from({ length: LIMITS.effects_per_step_max + 1 }, (_, index) => [`e${index}`, { dedupe: { window: '1h' } }]));
    expect(refused(() => withStep({ effects })).message).toContain(`at most ${LIMITS.effects_per_step_max}`);
    for (const senders of ['platform', [''], [7], ['x'.repeat(LIMITS.actor_chars_max + 1)]]) {
      expect(refused(() => withStep({ effects: { say: { submits: true } }, receipt: { within: '1m', senders } })).path).toBe('/steps/write/receipt/senders');
    }
  });
});

describe('slips', () => {
  test.each([
    [{ reciept: { within: '1m' } }, '/steps/write/reciept'],
    [{ effects: { say: { submit: true } } }, '/steps/write/effects/say/submit'],
    [{ effects: { say: null } }, '/steps/write/effects/say'],
    [{ effects: ['say'] }, '/steps/write/effects'],
    [{ effects: { say: { dedupe: '1h' } } }, '/steps/write/effects/say/dedupe'],
    [{ effects: { say: { dedupe: { window: '1h' }, submits: 'yes' } } }, '/steps/write/effects/say/submits'],
    [{ checks: { atempts: 1 } }, '/steps/write/checks/atempts'],
    [{ reentrant: 'yes' }, '/steps/write/reentrant'],
    [{ run: undefined }, '/steps/write/run'],
    [{ probe: true }, '/steps/write/probe'],
    [{ result: undefined }, '/steps/write/result'],
    [{ result: 'string' }, '/steps/write/result'],
  ])('%p is refused where it stands', (step, path) => {
    expect(refused(() => withStep(step)).path).toBe(path);
  });

  test('at the top', () => {
    const steps = (flow: { step(name: string, spec: unknown): unknown }): unknown => flow.step('a', RUN_STEP);
    expect(refused(() => defineAny({ dedupe: () => 'x' }, steps)).path).toBe('/dedupe');
    expect(refused(() => defineAny({ input: undefined }, steps)).path).toBe('/input');
    expect(refused(() => defineAny({ dedupeKey: 'x' }, steps)).path).toBe('/dedupeKey');
    expect(refused(() => defineAny({ steps: [] }, steps)).path).toBe('/steps');
    expect(refused(() => defineAny({}, (flow) => flow.step('a', null))).path).toBe('/steps/a');
    expect(refused(() => defineAny({}, (flow) => flow.review('a', { run: undefined }))).path).toBe('/steps/a/run');
    expect(refused(() => defineAny({}, (flow) => flow.review('a', { run: async () => ({}), proof: {} }))).path).toBe('/steps/a/proof');
  });
});
