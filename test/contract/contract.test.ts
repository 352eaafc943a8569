/** One contract, three doors: the same answers and the same codes, whichever way a service or person comes in. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { verifyEvidence } from '../../src/client/evidence.ts';
import { createProgram } from '../../src/cli/program.ts';
import { createHttpClient } from '../../src/http/index.ts';
import { waiting } from '../ledger/scenarios/scenario.ts';
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
    const once = key('batch');
    const answers = await door.enqueueBatch(plan.type, [{ input: { a: 1 }, key: once }, { input: {}, key: '' }, { input: { a: 1 }, key: once }, { input: { a: 2 }, key: once }]);
    expect(answers).toMatchObject([
      { index: 0, created: true }, { index: 1, error: { code: 'REASON_REQUIRED', detail: { path: '/items/1/key' } } }, { index: 2, created: false }, { index: 3, error: { code: 'DEDUPE_CONFLICT' } },
    ]);
    await expect(door.enqueueBatch(plan.type, Array.from({ length: 1_001 }, () => ({ input: 1 })))).rejects.toMatchObject({ code: 'INPUT_TOO_LARGE', detail: { path: '/items' } });
  });

  test('delivers a receipt, which answers with its verdict, repeated or not', async () => {
    const tale = await (await (await Tale.of(api.ledger)).claim()).intend();
    const receipt = { deliveryId: randomUUID(), sender: 'press', task: tale.task, step: 'publish', kind: 'completed', inReplyTo: 'something else', externalId: 'p-1' } as const;
    const first = await door.deliverReceipt(receipt);
    expect(first).toMatchObject({ verdict: 'wrong_message' });
    expect(await door.deliverReceipt(receipt)).toMatchObject({ id: first.id, verdict: 'wrong_message' });
    expect(await door.deliverReceipt({ ...receipt, deliveryId: randomUUID(), task: UNKNOWN })).toMatchObject({ verdict: 'unknown_task' });
    await expect(door.deliverReceipt({ ...receipt, kind: 'gone' as never })).rejects.toMatchObject({ code: 'INPUT_INVALID', detail: { path: '/kind' } });
    // Listed, and matched by a person once.
    expect((await door.receipts({ task: tale.task })).rows).toMatchObject([{ id: first.id, delivery_id: receipt.deliveryId, verdict: 'wrong_message' }]);
    const rematch = { id: 'm-1', task: tale.task, step: 'publish', why: 'their gateway dropped it', by: WHO };
    expect(await door.rematchReceipt(receipt.deliveryId, rematch)).toMatchObject({ receipt: first.id, was: 'wrong_message', verdict: 'early' });
    expect(await door.rematchReceipt(receipt.deliveryId, rematch)).toMatchObject({ verdict: 'early', repeated: true });
    await expect(door.rematchReceipt('nobody sent it', { ...rematch, id: 'm-2' })).rejects.toMatchObject({ code: 'RECEIPT_UNKNOWN' });
    await expect(door.receipts({ task: tale.task, cursor: 'abc' })).rejects.toMatchObject({ code: 'CURSOR_INVALID' });
  });

  test('takes back what was submitted, or says what may be done instead', async () => {
    const able = await Tale.of(api.ledger, { withdraw: 'keyed' });
    await waiting(able, 'submitted');
    expect(await door.withdraw(able.task, { id: 'w-1', why: 'embargo', by: WHO })).toMatchObject({ id: 'w-1', verb: 'withdraw', verdict: 'pending', steps: [{ found: 'submitted' }] });
    expect(await door.withdraw(able.task, { id: 'w-1', why: 'embargo', by: WHO })).toMatchObject({ repeated: true });
    const unable = await Tale.of(api.ledger, { withdraw: 'no' });
    await waiting(unable, 'submitted');
    await expect(door.withdraw(unable.task, { why: 'embargo' })).rejects.toMatchObject({ code: 'WITHDRAW_UNDECLARED', detail: { facts: { instead: ['cancel', 'abandon_wait'] } } });
  });

  test('stops waiting, then hears from a person that it happened', async () => {
    const tale = await Tale.of(api.ledger);
    await waiting(tale, 'submitted');
    expect(await door.abandonWait(tale.task, { step: tale.step, why: 'the account is closed', by: WHO })).toMatchObject({ verb: 'abandon_wait', verdict: 'needs_person', steps: [{ state: 'dead' }] });
    await expect(door.abandonWait(tale.task, { why: 'x' })).rejects.toMatchObject({ code: 'TRANSITION_REFUSED' });
    const [{ effect = '' } = {}] = (await api.client.record(tale.task)).touches as readonly { effect?: string }[];
    const seen = { id: 'c-1', step: tale.step, effect, evidence: 'post-81 is online', why: 'asked by support', by: WHO };
    await expect(door.confirmEffect(tale.task, { ...seen, evidence: '' })).rejects.toMatchObject({ code: 'EVIDENCE_REQUIRED' });
    expect(await door.confirmEffect(tale.task, { ...seen, externalId: 'ext-1', result: { id: 'post-81' } })).toMatchObject({ id: 'c-1', step: tale.step, state: 'completed' });
    await expect(door.confirmEffect(tale.task, seen)).rejects.toMatchObject({ code: 'ID_CONFLICT' });
  });

  test('hears from a person that it did not happen', async () => {
    const tale = await (await (await Tale.of(api.ledger, { keyed: false, probe: false })).claim()).intend();
    await tale.settle('lost');
    const [{ effect = '' } = {}] = (await api.client.record(tale.task)).touches as readonly { effect?: string }[];
    expect(await door.confirmAbsent(tale.task, { step: tale.step, effect, evidence: 'not in the channel', why: 'the answer was lost', by: WHO })).toMatchObject({ state: 'queued' });
    await expect(door.confirmAbsent(tale.task, { step: tale.step, effect: 'nosuch', evidence: 'x', why: 'x' })).rejects.toMatchObject({ code: 'EFFECT_UNKNOWN' });
  });

  test('corrects an entry by a further one, and sends a parked wake-up again', async () => {
    const { task } = await Tale.of(api.ledger);
    const entry = (await api.client.history(task))[0]?.id ?? 0;
    expect(await door.correct(task, { id: 'k-1', entry, why: 'it was the network', by: WHO })).toMatchObject({ corrects: entry });
    await expect(door.correct(task, { entry: 1_000_000_000, why: 'x' })).rejects.toMatchObject({ code: 'ENTRY_UNKNOWN' });
    expect(await door.unpark(task, { why: 'the namespace is back' })).toMatchObject({ unparked: false });
    await api.ledger.query('update throughline.outbox set parked_at = throughline.now() where task_id = $1', [task]);
    expect(await door.unpark(task, { id: 'u-1', why: 'the namespace is back', by: WHO })).toMatchObject({ unparked: true });
  });

  test('replays and cancels many: frozen, shown, applied once, aborted', async () => {
    const shape = { effects: 'none', probe: false, attempts: 3 + opened.length } as const;
    const own = planOf(shape);
    const dead = await Promise.all([1, 2].map(async () => (await (await Tale.of(api.ledger, shape)).claim()).fail(false)));
    const id = randomUUID();
    const made = await door.replays.create({ id, filter: { type: own.type, status: 'dead' }, why: 'they are back', by: WHO, ratePerSecond: 50 });
    expect(made).toMatchObject({ id, kind: 'replay', status: 'planned', items: 2, counts: { pending: 2 } });
    expect(made.by.endsWith(WHO)).toBe(true);
    expect((await door.replays.list({ limit: 1 })).rows).toMatchObject([{ id }]);
    const page = await door.replays.items(id, { limit: 1 });
    expect([page.rows.length, page.cursor]).toEqual([1, expect.any(String)]);
    expect(await door.replays.apply(id)).toMatchObject({ status: 'running' });
    await api.client.replays.drive(id);
    expect(await door.replays.get(id)).toMatchObject({ status: 'done', counts: { done: 2 } });
    await expect(door.replays.abort(id, { why: 'too late' })).rejects.toMatchObject({ code: 'BULK_ENDED' });
    const cancels = await door.cancels.create({ filter: { type: own.type }, why: 'embargo' });
    expect(cancels).toMatchObject({ kind: 'cancel', items: dead.length });
    expect(await door.cancels.abort(cancels.id, { why: 'lifted' })).toMatchObject({ status: 'aborted' });
    await expect(door.cancels.get(id)).rejects.toMatchObject({ code: 'BULK_UNKNOWN' });
    await expect(door.cancels.create({ filter: {}, why: 'all' })).rejects.toMatchObject({ code: 'FILTER_INVALID' });
  });

  test('proves: an audit of one task, and its evidence', async () => {
    const { task } = await (await Tale.of(api.ledger)).claim();
    expect(await door.audit({ task })).toMatchObject({ ok: true, tasks: 1, findings: [] });
    await expect(door.audit({ task: UNKNOWN })).rejects.toMatchObject({ code: 'TASK_UNKNOWN' });
    const evidence = await door.evidence(task);
    expect(verifyEvidence(evidence.text, { head: evidence.timeline.head })).toMatchObject({ ok: true, task, seal: evidence.seal });
    await expect(door.evidence(UNKNOWN)).rejects.toMatchObject({ code: 'TASK_UNKNOWN' });
  });
});

/** The design's list of actions, as each door names them. */
const ACTIONS: Readonly<Record<string, readonly [method: string, operation: string, command: string]>> = {
  enqueue: ['enqueue', 'enqueue', 'enqueue'], cancel: ['cancel', 'cancel', 'cancel'], withdraw: ['withdraw', 'withdraw', 'withdraw'], 'abandon wait': ['abandonWait', 'abandonWait', 'abandon-wait'],
  decide: ['decide', 'decide', 'decide'], 'deliver receipt': ['deliverReceipt', 'deliverReceipt', 'receipts deliver'], 're-match receipt': ['rematchReceipt', 'rematchReceipt', 'receipts rematch'],
  replay: ['replay', 'replay', 'replay'], 'bulk replay': ['replays', 'createReplays', 'replays create'], 'confirm effect': ['confirmEffect', 'confirmEffect', 'confirm-effect'],
  'confirm absent': ['confirmAbsent', 'confirmAbsent', 'confirm-absent'], correct: ['correct', 'correct', 'correct'], 'un-park': ['unpark', 'unpark', 'unpark'], 'bulk cancel': ['cancels', 'createCancels', 'cancels create'],
};

describe('no door lacks an action', () => {
  test('each is in the direct client, over HTTP, in the description and on the command line', async () => {
    const http = createHttpClient({ url: api.url, token: 'tl_none' });
    const operations = Object.values(api.api.app.swagger().paths ?? {}).flatMap((methods) => Object.values(methods as Record<string, { operationId?: string }>).map(({ operationId }) => operationId));
    const commands = createProgram().commands.flatMap((one) => [one.name(), ...one.commands.map((part) => `${one.name()} ${part.name()}`)]);
    for (const [method, operation, command] of Object.values(ACTIONS)) {
      expect([method, method in api.client, method in http]).toEqual([method, true, true]);
      expect(operations).toContain(operation);
      expect(commands).toContain(command);
    }
    await http.close();
  });

  test('every write of the API is an action of that list, or belongs to one', () => {
    const writes = Object.entries(api.api.app.swagger().paths ?? {}).flatMap(([, methods]) => Object.entries(methods as Record<string, { operationId?: string }>).filter(([method]) => method !== 'get').map(([, { operationId }]) => operationId));
    const belong = ['enqueueBatch', 'applyReplays', 'abortReplays', 'applyCancels', 'abortCancels'];
    expect([...writes].sort()).toEqual([...Object.values(ACTIONS).map(([, operation]) => operation), ...belong].sort());
  });
});
