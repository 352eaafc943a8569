/** One contract, three doors: the same answers and the same codes, whichever way a service or person comes in. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { openApi } from '../support/api.ts';
import type { ApiUnderTest } from '../support/api.ts';
import { planOf } from '../support/factories.ts';
import { register, Tale } from '../support/tale.ts';
import { DOORS } from './doors.ts';
import type { Door, Opened } from './doors.ts';

const plan = planOf({ effects: 'none' });
const UNKNOWN = randomUUID();
let api: ApiUnderTest;
const opened: Opened[] = [];

beforeAll(async () => {
  api = await openApi({ requestsPerMinute: 100_000 });
  await register(api.ledger, plan);
});
afterAll(async () => {
  for (const { close } of opened) await close();
  await api.close();
});

const WHO = 'mei';

describe.each(DOORS)('%s', (name, open) => {
  let door: Door;
  beforeAll(async () => {
    const own = await open(api);
    opened.push(own);
    door = own.door;
  });
  const key = (text: string): string => `${name}/${text}/${String(opened.length)}`;
  const has = (method: keyof Door): boolean => door[method] !== undefined;
  const review = async (): Promise<Tale> => (await (await Tale.of(api.ledger, { name: 'review', review: true })).claim()).asks({ note: { title: 'Tides' } });

  test('accepts a key once, answers its repeat, and names what differs', async () => {
    const first = await door.enqueue(plan.type, { a: 1, b: [1, 2] }, { key: key('once'), by: WHO });
    expect(first).toEqual({ id: expect.any(String), state: 'queued', created: true });
    expect(await door.enqueue(plan.type, { b: [1, 2], a: 1 }, { key: key('once') })).toEqual({ ...first, created: false });
    await expect(door.enqueue(plan.type, { a: 1, b: [1, 3] }, { key: key('once') })).rejects.toMatchObject({ code: 'DEDUPE_CONFLICT', detail: { paths: ['/input/b/1'], facts: { id: first.id } } });
    const [row] = await api.ledger.query<{ created_by: string }>('select created_by from throughline.task where id = $1', [first.id]);
    expect(row?.created_by.endsWith(WHO)).toBe(true);
  });

  test('takes delay, deadline, predecessor, version, priority and fairness', async () => {
    const before = await door.enqueue(plan.type, {});
    await door.cancel(before.id, { why: 'again' });
    const deadline = new Date(Date.now() + 50 * 86_400_000).toISOString();
    const after = await door.enqueue(plan.type, {}, { delay: '40d', deadline, again: before.id, version: 1, priority: 2, fairnessKey: 'tenant', fairnessWeight: 2 });
    const [row] = await api.ledger.query('select deadline_at as deadline, again_of, priority, fairness_key, fairness_weight from throughline.task where id = $1', [after.id]);
    expect(row).toMatchObject({ deadline: new Date(deadline), again_of: before.id, priority: 2, fairness_key: 'tenant', fairness_weight: 2 });
    await expect(door.enqueue(plan.type, {}, { again: before.id })).rejects.toMatchObject({ code: 'AGAIN_TAKEN' });
  });

  test.each<[string, () => Promise<unknown>, object]>([
    ['an unknown type', () => door.enqueue('nobody', {}), { code: 'TYPE_UNKNOWN' }],
    ['an unknown version', () => door.enqueue(plan.type, {}, { version: 7 }), { code: 'TYPE_UNKNOWN' }],
    ['a time without a zone', () => door.enqueue(plan.type, {}, { runAt: '2026-05-01T09:00' }), { code: 'TIME_INVALID', detail: { path: '/runAt' } }],
    ['a delay beyond ten years', () => door.enqueue(plan.type, {}, { delay: '5000d' }), { code: 'TIME_INVALID', detail: { path: '/delay' } }],
    ['an input beyond its limit', () => door.enqueue(plan.type, 'x'.repeat(300_000)), { code: 'INPUT_TOO_LARGE', detail: { path: '/input', limit: '262144 bytes' } }],
    ['a NUL in an input', () => door.enqueue(plan.type, { a: 'x\u0000' }), { code: 'INPUT_NOT_STORABLE', detail: { path: '/input/a' } }],
    ['an empty key', () => door.enqueue(plan.type, {}, { key: '' }), { code: 'REASON_REQUIRED', detail: { path: '/key' } }],
    ['a predecessor that is no id', () => door.enqueue(plan.type, {}, { again: 'yesterday' }), { code: 'ID_INVALID' }],
    ['an unknown task', () => door.get(UNKNOWN), { code: 'TASK_UNKNOWN', detail: { facts: { id: UNKNOWN } } }],
    ['the history of an unknown task', () => door.history(UNKNOWN), { code: 'TASK_UNKNOWN' }],
    ['the explanation of an unknown task', () => door.explain(UNKNOWN), { code: 'TASK_UNKNOWN' }],
    ['an id that is none', () => door.get('../tasks'), { code: 'ID_INVALID' }],
    ['a foreign cursor', () => door.list({ cursor: 'abc' }), { code: 'CURSOR_INVALID' }],
    ['a page of 501', () => door.list({ limit: 501 }), { code: 'FILTER_INVALID', detail: { path: '/limit' } }],
    ['an unknown status', () => door.list({ status: 'gone' as never }), { code: 'FILTER_INVALID', detail: { path: '/status' } }],
    ['a cancel of an unknown task', () => door.cancel(UNKNOWN, { why: 'x' }), { code: 'TASK_UNKNOWN' }],
    ['a cancel without a reason', () => door.cancel(UNKNOWN, { why: '' }), { code: 'REASON_REQUIRED', detail: { path: '/why' } }],
    ['a replay of an unknown task', () => door.replay(UNKNOWN, { why: 'x' }), { code: 'TASK_UNKNOWN' }],
  ])('%s: the same code', async (_, work, expected) => {
    await expect(work()).rejects.toMatchObject(expected);
  });

  test('shows the task as it is, its story, and what it means', async () => {
    const { task } = await (await Tale.of(api.ledger)).claim();
    const { as_of: _, ...view } = await api.client.get(task);
    expect(await door.get(task)).toMatchObject({ ...view, steps: view.steps.map(({ name: step, state, reason, attempt }) => ({ name: step, state, reason, attempt })) });
    expect(await door.history(task)).toEqual(await api.client.history(task));
    const { headline, headline_code: code } = await api.client.explain(task) as { headline: string; headline_code?: string };
    expect(await door.explain(task)).toMatchObject({ headline, ...(code === undefined ? {} : { headline_code: code }) });
    expect((await door.explain(task, { lang: 'zh-CN' })).headline).toMatch(/[\u4e00-\u9fff]/);
    const record = await api.client.record(task);
    if (door.record !== undefined) expect(await door.record(task)).toEqual({ ...record, as_of: expect.any(String) });
    if (door.steps !== undefined) expect(await door.steps(task)).toEqual(record.steps);
    if (door.taskTypes !== undefined) expect(await door.taskTypes()).toEqual(await api.client.taskTypes());
    if (door.health !== undefined) expect(await door.health()).toEqual({ ledger: 'up', temporal: 'not_configured' });
  });

  test('pages without gap or repeat', async () => {
    const made = await Promise.all([1, 2, 3, 4, 5].map(async () => (await api.client.enqueue(plan.type, {})).id));
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<Door['list']>> = await door.list({ type: plan.type, status: 'queued', limit: 3, ...(cursor === null ? {} : { cursor }) });
      expect(page.rows.length).toBeLessThanOrEqual(3);
      seen.push(...page.rows.map(({ id }) => id));
      cursor = page.cursor;
    } while (cursor !== null && !made.every((id) => seen.includes(id)));
    expect(new Set(seen).size).toBe(seen.length);
    expect(made.every((id) => seen.includes(id))).toBe(true);
  });

  test('cancels at once, the same under the same id, another thing under it not', async () => {
    const { task } = await Tale.of(api.ledger);
    const first = await door.cancel(task, { id: 'ticket-1', why: 'wrong picture', by: WHO });
    expect(first).toMatchObject({ id: 'ticket-1', why: 'wrong picture', verdict: 'prevented', status: 'cancelled', steps: [{ found: 'queued', state: 'cancelled', verdict: 'prevented' }] });
    expect(await door.cancel(task, { id: 'ticket-1', why: 'wrong picture', by: WHO })).toMatchObject({ verdict: 'prevented', repeated: true });
    await expect(door.cancel(task, { id: 'ticket-1', why: 'wrong picture', by: WHO, step: 'publish' })).rejects.toMatchObject({ code: 'ID_CONFLICT' });
    await expect(door.cancel(task, { why: 'x', step: 'nosuch' })).rejects.toMatchObject({ code: 'STEP_UNKNOWN' });
    expect(await door.waitFor(task)).toMatchObject({ id: task, status: 'cancelled' });
  });

  test('waits no longer than it may', async () => {
    const { task } = await Tale.of(api.ledger);
    await expect(door.waitFor(task, { timeoutMs: 50 })).rejects.toMatchObject({ code: 'WAIT_TIMEOUT', detail: { facts: { task } } });
  });

  test('decides a review once, and a rejection needs a reason', async () => {
    const { task } = await review();
    expect(await door.decide(task, { step: 'review', verdict: 'opened', by: WHO })).toMatchObject({ verdict: 'matched', state: 'received' });
    await expect(door.decide(task, { step: 'review', verdict: 'rejected', by: WHO })).rejects.toMatchObject({ code: 'REASON_REQUIRED', detail: { path: '/why' } });
    expect(await door.decide(task, { step: 'review', verdict: 'rejected', by: WHO, why: 'old numbers' })).toMatchObject({ verdict: 'matched', state: 'dead' });
    await expect(door.decide(task, { step: 'review', verdict: 'approved', by: WHO, why: 'no' })).rejects.toMatchObject({ code: 'REVIEW_NOT_OPEN' });
  });

  test('replays the dead once, and says why not', async () => {
    const { task } = await (await (await Tale.of(api.ledger)).claim()).fail(false);
    expect(await door.replay(task, { id: 'r1', why: 'they are back', dropCheckpoints: true })).toMatchObject({ id: 'r1', status: 'queued', steps: [{ step: 'publish', replayed: true }] });
    await expect(door.replay(task, { why: 'once more' })).rejects.toMatchObject({ code: 'REPLAY_NOT_DEAD' });
  });

  test('accepts many, each with its own answer', async () => {
    if (door.enqueueBatch === undefined) {
      expect(name).toBe('the command line');
      return;
    }
    const once = key('batch');
    const answers = await door.enqueueBatch(plan.type, [{ input: { a: 1 }, key: once }, { input: {}, key: '' }, { input: { a: 1 }, key: once }, { input: { a: 2 }, key: once }]);
    expect(answers).toMatchObject([
      { index: 0, created: true }, { index: 1, error: { code: 'REASON_REQUIRED', detail: { path: '/items/1/key' } } }, { index: 2, created: false }, { index: 3, error: { code: 'DEDUPE_CONFLICT' } },
    ]);
    await expect(door.enqueueBatch(plan.type, Array.from({ length: 1_001 }, () => ({ input: 1 })))).rejects.toMatchObject({ code: 'INPUT_TOO_LARGE', detail: { path: '/items' } });
  });

  test('delivers a receipt, which answers with its verdict, repeated or not', async () => {
    if (door.deliverReceipt === undefined) {
      expect(name).toBe('the command line');
      return;
    }
    const tale = await (await (await Tale.of(api.ledger)).claim()).intend();
    const receipt = { deliveryId: randomUUID(), sender: 'press', task: tale.task, step: 'publish', kind: 'completed', inReplyTo: 'something else', externalId: 'p-1' } as const;
    const first = await door.deliverReceipt(receipt);
    expect(first).toMatchObject({ verdict: 'wrong_message' });
    expect(await door.deliverReceipt(receipt)).toMatchObject({ id: first.id, verdict: 'wrong_message' });
    expect(await door.deliverReceipt({ ...receipt, deliveryId: randomUUID(), task: UNKNOWN })).toMatchObject({ verdict: 'unknown_task' });
    await expect(door.deliverReceipt({ ...receipt, kind: 'gone' as never })).rejects.toMatchObject({ code: 'INPUT_INVALID', detail: { path: '/kind' } });
  });

  test('can all that a door can', () => {
    for (const method of ['enqueue', 'get', 'history', 'list', 'explain', 'cancel', 'decide', 'replay', 'waitFor'] as const) expect(has(method)).toBe(true);
  });
});
