import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { BACKOFF_DEFAULT, LIMITS, backoffSchedule } from '../../src/state/index.ts';
import { digest } from '../../src/define/canonical.ts';
import { defineTask } from '../../src/define/define-task.ts';
import { EffectNotSent, EffectRefused, TaskError } from '../../src/define/failures.ts';
import type { Json } from '../../src/define/json.ts';
import { RUN_STEP, defineAny, planOf, refusalOf } from './support.ts';

const note = defineTask({
  type: 'publish-note',
  version: 3,
  input: z.object({ note: z.string().min(1), tags: z.array(z.string()).default([]), at: z.number().optional() }),
  dedupeKey: (input) => (input.note === 'none' ? null : input.note),
  steps: (flow) =>
    flow
      .step('render', { result: z.object({ html: z.string() }), proof: { artifacts: { min: 1 } }, run: async ({ input }) => ({ html: input.note }) })
      .review('review', { needs: ['render'], remindAfter: '2h', run: async () => ({ ask: 'person' }) })
      .step('publish', {
        needs: ['render', 'review'],
        attempts: 5,
        result: z.object({ post: z.string() }),
        effects: { body: { submits: true, dedupe: { window: '24h' }, visible_within: '3s', timeout: '4s', absenceIsProof: false } },
        receipt: { within: '10m', senders: ['platform'] },
        probe: async () => ({ answer: 'absent' }),
        proof: { readBack: async () => ({ exists: { ok: true }, ours: { ok: true }, minimum: { ok: true } }) },
        run: async () => ({ post: 'x' }),
      }),
});

describe('a definition becomes a plan', () => {
  test('with the defaults of the limits', () => {
    const wait = { schedule_ms: backoffSchedule(BACKOFF_DEFAULT), jitter: BACKOFF_DEFAULT.jitter };
    expect(planOf({})).toEqual({
      name: 'write', kind: 'run', needs: [], reentrant: true, attempts: 3, backoff: wait, lease_ms: LIMITS.lease_ms_default, timeout_ms: LIMITS.attempt_timeout_ms_default,
      effects: [], receipt: null, probe: false, checks: { attempts: 10, ...wait }, proof: { kind: 'record', requires: ['/text'] },
    });
  });

  test('with what the author says', () => {
    expect(note.plan.steps[2]).toMatchObject({
      needs: ['render', 'review'], attempts: 5, probe: true, receipt: { within_ms: 600_000, senders: ['platform'], inbox: false }, proof: { kind: 'read_back' },
      effects: [{ name: 'body', submits: true, dedupe_window_ms: 86_400_000, visible_within_ms: 3_000, timeout_ms: 4_000, absence_is_proof: false }],
    });
  });

  test('a review has one effect, which puts the request into our own inbox', () => {
    expect(note.plan.steps[1]).toMatchObject({
      name: 'review', kind: 'review', probe: false, proof: { kind: 'verdict' }, receipt: { within_ms: 7_200_000, senders: [], inbox: true },
      effects: [{ name: 'request', submits: true, dedupe_window_ms: null, visible_within_ms: 0, absence_is_proof: true, timeout_ms: LIMITS.call_timeout_ms_default }],
    });
  });

  test('which nobody can change, and whose digest tells plans apart', () => {
    expect(() => { (note.plan.steps[0] as { attempts: number }).attempts = 9; }).toThrow(TypeError);
    expect(note.planDigest).toBe(digest(note.plan as unknown as Json));
    expect(note.planDigest).toMatch(/^[0-9a-f]{64}$/);
    const step = (attempts: number): string => defineAny({}, (flow) => flow.step('a', { ...RUN_STEP, attempts })).planDigest;
    expect(step(3)).toBe(step(3));
    expect(step(3)).not.toBe(step(4));
    const record = ['/text'];
    const { plan } = defineAny({}, (flow) => flow.step('a', { ...RUN_STEP, proof: { record } }));
    record.push('/else');
    expect(plan.steps[0]?.proof).toEqual({ kind: 'record', requires: ['/text'] });
  });

  test('and handlers by step', () => {
    expect([...note.steps.keys()]).toEqual(['render', 'review', 'publish']);
    expect([...note.steps.values()].map(({ kind, probe, readBack }) => [kind, probe !== undefined, readBack !== undefined])).toEqual([['run', false, false], ['review', false, false], ['run', true, true]]);
  });
});

describe('an input', () => {
  test('is stored as the schema makes it, so that later defaults change nothing', () => {
    expect(note.parseInput({ note: 'x', unknown: 1, at: undefined })).toEqual({ note: 'x', tags: [] });
    expect(JSON.stringify(note.parseInput({ note: 'x', at: undefined }))).toBe('{"note":"x","tags":[]}');
  });

  test.each([
    [undefined, '/input'],
    [null, '/input'],
    ['text', '/input'],
    [{}, '/input/note'],
    [{ note: '' }, '/input/note'],
    [{ note: 'x', tags: ['a', 7] }, '/input/tags/1'],
  ])('%p is refused with the path and what the schema says', (value, path) => {
    const error = refusalOf(() => note.parseInput(value));
    expect(error).toMatchObject({ code: 'INPUT_INVALID', status: 422, detail: { path } });
    expect(error.message).toMatch(/^Task "publish-note" version 3: the input does not fit its schema: \/input/);
  });

  test('names every path, up to a bound, and never shows values', () => {
    const error = refusalOf(() => note.parseInput({ note: 7, tags: Array.from({ length: 50 }, () => ({ secret: 'hunter2' })) }));
    expect(error.detail.paths).toContain('/input/note');
    expect(error.detail.paths).toHaveLength(10);
    expect(error.message).toContain('and 41 more');
    expect(JSON.stringify(error)).not.toContain('hunter2');
    expect(error.message.length).toBeLessThan(4_000);
  });

  test('too large or not storable is told apart', () => {
    expect(refusalOf(() => note.parseInput({ note: 'x'.repeat(LIMITS.input_bytes_max) }))).toMatchObject({ code: 'INPUT_TOO_LARGE', status: 413, detail: { path: '/input', limit: `${LIMITS.input_bytes_max} bytes` } });
    expect(refusalOf(() => note.parseInput({ note: 'a\0b' }))).toMatchObject({ code: 'INPUT_NOT_STORABLE', detail: { path: '/input/note' } });
    expect(note.parseInput({ note: 'a\\u0000b' })).toMatchObject({ note: 'a\\u0000b' });
  });

  test('that its schema turns into something that is no JSON is refused', () => {
    const dated = defineAny({ input: z.object({ day: z.coerce.date() }) }, (flow) => flow.step('a', RUN_STEP));
    expect(refusalOf(() => dated.parseInput({ day: '2026-01-01' }))).toMatchObject({ code: 'INPUT_NOT_STORABLE', detail: { path: '/input/day' } });
  });

  test('a schema that throws, recurses for ever or must wait gives a code, too', () => {
    const by = (input: z.ZodType) => defineAny({ input }, (flow) => flow.step('a', RUN_STEP));
    const throwing = by(z.string().refine(() => { throw new Error('boom'); }));
    expect(refusalOf(() => throwing.parseInput('x'))).toMatchObject({ code: 'INPUT_INVALID', detail: { path: '/input' } });
    let deep: unknown = 'x';
    for (let level = 0; level < 100_000; level += 1) deep = [deep];
    expect(refusalOf(() => by(z.json()).parseInput(deep)).code).toMatch(/^INPUT_(INVALID|NOT_STORABLE)$/);
    expect(refusalOf(() => by(z.string().refine(async () => true)).parseInput('x')).code).toBe('DEFINITION_INVALID');
  });
});

describe('a result', () => {
  const render = note.steps.get('render');
  const review = note.steps.get('review');

  test('fits its schema or is refused with the path', () => {
    expect(render?.parseResult({ html: 'x', more: 1 })).toEqual({ html: 'x' });
    expect(refusalOf(() => render?.parseResult({ html: 1 }))).toMatchObject({ code: 'RESULT_INVALID', detail: { path: '/result/html' } });
    expect(refusalOf(() => render?.parseResult(undefined))).toMatchObject({ code: 'RESULT_INVALID', detail: { path: '/result' } });
    expect(refusalOf(() => render?.parseResult({ html: '\0' }))).toMatchObject({ code: 'RESULT_INVALID', detail: { path: '/result/html' } });
    expect(refusalOf(() => render?.parseResult({ html: 'x'.repeat(LIMITS.result_bytes_max) }))).toMatchObject({ code: 'RESULT_TOO_LARGE', detail: { limit: `${LIMITS.result_bytes_max} bytes` } });
  });

  test('of a review is the record of its verdict', () => {
    expect(review?.parseResult({ verdict: 'approved', by: 'mei', why: '' })).toEqual({ verdict: 'approved', by: 'mei', why: '' });
    expect(refusalOf(() => review?.parseResult({ verdict: 'rejected', by: 'mei', why: '' })).code).toBe('RESULT_INVALID');
  });
});

describe('a dedupe key', () => {
  const keyed = (key: unknown) => defineAny({ dedupeKey: () => key }, (flow) => flow.step('a', RUN_STEP));

  test('is text, three texts, or nothing', () => {
    expect(note.dedupeKey({ note: 'x', tags: [] })).toBe('x');
    expect(note.dedupeKey({ note: 'none', tags: [] })).toBeNull();
    expect(defineAny({}, (flow) => flow.step('a', RUN_STEP)).dedupeKey({})).toBeNull();
    expect(keyed({ subject: 'note-1', action: 'publish', resourceVersion: '7', more: 1 }).dedupeKey({})).toEqual({ subject: 'note-1', action: 'publish', resourceVersion: '7' });
  });

  test.each([
    ['', '/dedupeKey', 'INPUT_INVALID'],
    [' ', '/dedupeKey', 'INPUT_INVALID'],
    [7, '/dedupeKey', 'INPUT_INVALID'],
    ['x'.repeat(LIMITS.key_chars_max + 1), '/dedupeKey', 'INPUT_INVALID'],
    ['a\0', '/dedupeKey', 'INPUT_NOT_STORABLE'],
    ['\ud800', '/dedupeKey', 'INPUT_NOT_STORABLE'],
    [{ subject: 'a', action: '', resourceVersion: '1' }, '/dedupeKey/action', 'INPUT_INVALID'],
    [{ subject: 'a', action: 'b' }, '/dedupeKey/resourceVersion', 'INPUT_INVALID'],
  ])('%p is refused', (key, path, code) => {
    expect(refusalOf(() => keyed(key).dedupeKey({}))).toMatchObject({ code, detail: { path } });
  });
});

describe("authors' errors", () => {
  test('carry category, code, wait and cause', () => {
    const cause = new Error('x');
    const error = new TaskError('congested', 'Too fast', { code: 'SLOW', retryAfterMs: 5, cause });
    expect(error).toMatchObject({ name: 'TaskError', message: 'Too fast', category: 'congested', code: 'SLOW', retryAfterMs: 5, cause });
    expect(new EffectRefused('No')).toMatchObject({ name: 'EffectRefused', category: 'rejected' });
    expect(new EffectNotSent('Offline')).toMatchObject({ name: 'EffectNotSent', category: 'connection' });
    expect(new EffectRefused('No', { category: 'congested' }).category).toBe('congested');
  });
});
