/** Receipts that matched nothing: listed, and matched again by a person, on a real ledger and without any Temporal. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createClient } from '../../src/index.ts';
import type { ReceiptListRow, ThroughlineClient } from '../../src/index.ts';
import { waiting } from '../ledger/scenarios/scenario.ts';
import { uuid } from '../support/factories.ts';
import { openLedger } from '../support/ledger.ts';
import type { Ledger } from '../support/ledger.ts';
import { snapshot } from '../support/snapshot.ts';
import { Tale } from '../support/tale.ts';

const WHY = { by: 'operator:oda', why: 'their gateway dropped the header' };
let ledger: Ledger;
let client: ThroughlineClient;
beforeAll(async () => {
  ledger = await openLedger();
  client = createClient({ databaseUrl: ledger.url, by: 'service', temporal: { address: '127.0.0.1:1' } });
});
afterAll(async () => {
  await client.close();
  await ledger.close();
});

const stored = (delivery: string): Promise<unknown> => ledger.query('select * from throughline.receipt where delivery_id = $1', [delivery]);
/** The error's code and facts, and proof that task and receipt are as they were. */
async function refusal(tale: Tale, delivery: string, work: () => Promise<unknown>): Promise<Record<string, unknown>> {
  const before = [await snapshot(ledger, tale.task), await stored(delivery)];
  const error: unknown = await work().then((answer) => ({ refused: 'nothing', answer }), (thrown: unknown) => thrown);
  expect([await snapshot(ledger, tale.task), await stored(delivery)]).toEqual(before);
  return JSON.parse(JSON.stringify(error)) as Record<string, unknown>;
}
const submitted = async (shape: object = {}): Promise<Tale> => {
  const tale = await Tale.of(ledger, shape);
  await waiting(tale, 'submitted');
  return tale;
};
const to = (tale: Tale, more: object = {}) => ({ ...WHY, task: tale.task, step: tale.step, ...more });
const put = async (tale: Tale, kind: 'received' | 'completed' | 'failed' | 'text', more: object = {}): Promise<string> => {
  const delivery = uuid();
  await tale.receipt(kind, { delivery_id: delivery, ...more });
  return delivery;
};
const ofList = async (delivery: string): Promise<ReceiptListRow | undefined> => (await client.receipts({ unmatched: true, limit: 500 })).rows.find(({ delivery_id: id }) => id === delivery);

describe('a receipt that matched nothing', () => {
  test.each([
    ['wrong_message', { in_reply_to: 'order-77' }], ['wrong_message', { in_reply_to: uuid() }], ['wrong_thread', { thread_id: 'inbox' }], ['wrong_step', { step: 'nosuch' }],
    ['unknown_task', { task: 'note-12' }],
  ] as const)('%s: is listed, answers the request once a person says so, and keeps what was sent', async (verdict, sent) => {
    const tale = await submitted();
    const delivery = await put(tale, 'completed', sent);
    expect(await tale.state()).toBe('submitted');
    expect(await ofList(delivery)).toMatchObject({ verdict, task: verdict === 'unknown_task' ? null : tale.task, as_sent: null });
    const rematch = () => client.rematchReceipt(delivery, to(tale, { id: 'ticket-1' }));
    const answer = await rematch();
    expect(answer).toMatchObject({ task: tale.task, id: 'ticket-1', delivery_id: delivery, step: 'publish', was: verdict, verdict: 'matched', applied: true, state: 'completed' });
    const before = await snapshot(ledger, tale.task);
    expect(await rematch()).toEqual({ ...answer, repeated: true });
    expect(await client.rematchReceipt(answer.receipt, to(tale, { id: 'ticket-1' }))).toMatchObject({ repeated: true });
    expect(await snapshot(ledger, tale.task)).toEqual(before);
    expect(await ofList(delivery)).toBeUndefined();
    expect((await client.receipts({ task: tale.task })).rows).toMatchObject([{ delivery_id: delivery, in_reply_to: tale.message, as_sent: { step: 'publish', in_reply_to: tale.message, thread_id: `${tale.task}/publish`, ...(verdict === 'unknown_task' ? {} : sent) } }]);
    const [note] = (await tale.timeline()).filter(({ kind }) => kind === 'note');
    expect(note).toMatchObject({ actor: WHY.by, step: 'publish', facts: { what: 'rematched', was: verdict, why: WHY.why, delivery_id: delivery } });
    for (const [lang, words] of [['en', `said whom receipt ${delivery} is for`], ['zh-CN', `指明了回执 ${delivery} 的归属`]] as const) {
      expect((await client.explain(tale.task, { lang })).story.find(({ id }) => id === Number(note?.id))).toMatchObject({ who: WHY.by, sentence: expect.stringContaining(words) });
    }
  });

  test('for a dead step becomes evidence: a replay is refused from then on, the effect can be confirmed', async () => {
    const tale = await (await (await Tale.of(ledger, { keyed: false, probe: false })).claim()).intend();
    await tale.settle('lost');
    const delivery = await put(tale, 'completed', { in_reply_to: 'order-77' });
    expect(await client.rematchReceipt(delivery, to(tale))).toMatchObject({ verdict: 'after_end', state: 'dead' });
    await expect(tale.replay()).rejects.toMatchObject({ code: 'REPLAY_PROOF_ARRIVED' });
    expect(await client.confirmEffect(tale.task, { ...WHY, step: tale.step, effect: 'post', evidence: 'the receipt' })).toMatchObject({ state: 'completed' });
  });

  test('while the attempt runs is early, and applied at its end', async () => {
    const tale = await (await (await Tale.of(ledger)).claim()).confirmed();
    const delivery = await put(tale, 'received', { in_reply_to: 'order-77' });
    expect(await client.rematchReceipt(delivery, to(tale))).toMatchObject({ verdict: 'early', applied: false, state: 'leased' });
    await tale.settle('submitted');
    expect(await tale.state()).toBe('received');
  });
});

describe('no rule is passed by', () => {
  test('a sender that is not allowed, another external id and a mere text stay refused, with their verdicts', async () => {
    const tale = await submitted({ senders: ['platform'] });
    for (const [verdict, would, kind, more] of [
      ['sender_not_allowed', 'sender_not_allowed', 'completed', { sender: 'stranger' }], ['wrong_external_id', 'wrong_external_id', 'completed', { external_id: 'ext-9' }],
      ['wrong_step', 'text_only', 'text', { step: 'nosuch' }],
    ] as const) {
      const delivery = await put(tale, kind, more);
      expect(await refusal(tale, delivery, () => client.rematchReceipt(delivery, to(tale)))).toMatchObject({ code: 'RECEIPT_REMATCH_REFUSED', facts: { verdict, would_be: would } });
      expect((await client.receipts({ task: tale.task })).rows.find(({ delivery_id: id }) => id === delivery)).toMatchObject({ verdict });
    }
  });

  test('what matched, was applied or came after the end cannot be matched again', async () => {
    const tale = await submitted();
    const matched = await put(tale, 'received');
    await client.abandonWait(tale.task, { ...WHY, step: tale.step });
    const late = await put(tale, 'completed');
    for (const [delivery, verdict] of [[matched, 'matched'], [late, 'after_end']] as const) {
      expect(await refusal(tale, delivery, () => client.rematchReceipt(delivery, to(tale)))).toMatchObject({ code: 'RECEIPT_NOT_REMATCHABLE', facts: { verdict, because: 'verdict' } });
    }
  });

  test('a receipt of another task, of another message of ours, or from before the request is not its answer', async () => {
    const [tale, other] = [await submitted(), await submitted()];
    const refused = async (kind: 'completed', more: object, told: object = {}, on = tale): Promise<unknown> => {
      const delivery = await put(on, kind, more);
      return (await refusal(tale, delivery, () => client.rematchReceipt(delivery, to(tale, told))))['facts'];
    };
    expect(await refused('completed', { in_reply_to: 'order-1' }, {}, other)).toMatchObject({ because: 'of_another_task' });
    expect(await refused('completed', { in_reply_to: other.message })).toMatchObject({ because: 'answers_another_task' });
    expect(await refused('completed', { thread_id: 'inbox' }, { message: other.message })).toMatchObject({ because: 'answers_another_message' });
    expect(await refused('completed', { in_reply_to: 'order-1' }, { message: other.message })).toMatchObject({ because: 'no_request' });
    const fresh = await Tale.of(ledger);
    const early = await put(fresh, 'completed', { in_reply_to: 'order-1' });
    expect(await refusal(fresh, early, () => client.rematchReceipt(early, to(fresh)))).toMatchObject({ facts: { because: 'no_request' } });
    await waiting(fresh, 'submitted');
    expect(await refusal(fresh, early, () => client.rematchReceipt(early, to(fresh, { message: fresh.message })))).toMatchObject({ facts: { because: 'came_before_the_request' } });
  });

  test('an answer to a generation that ended does not become one to the next', async () => {
    const tale = await submitted();
    const first = tale.message;
    await tale.receives('failed', { retryable: true });
    await (await tale.claim()).confirmed();
    await tale.settle('submitted');
    const delivery = await put(tale, 'received', { in_reply_to: first });
    expect(await refusal(tale, delivery, () => client.rematchReceipt(delivery, to(tale)))).toMatchObject({ code: 'RECEIPT_REMATCH_REFUSED', facts: { would_be: 'wrong_message' } });
    expect(await refusal(tale, delivery, () => client.rematchReceipt(delivery, to(tale, { message: tale.message })))).toMatchObject({ facts: { because: 'answers_another_message' } });
  });

  test('ids, reasons and what is unknown are checked', async () => {
    const tale = await submitted();
    const delivery = await put(tale, 'received', { in_reply_to: 'order-77' });
    const bad = (told: object, named = delivery) => refusal(tale, delivery, () => client.rematchReceipt(named, to(tale, told)));
    expect(await bad({}, 'nosuch')).toMatchObject({ code: 'RECEIPT_UNKNOWN' });
    expect(await bad({ step: 'nosuch' })).toMatchObject({ code: 'STEP_UNKNOWN' });
    expect(await bad({ task: uuid() })).toMatchObject({ code: 'TASK_UNKNOWN' });
    expect(await bad({ why: '' })).toMatchObject({ code: 'REASON_REQUIRED' });
    expect(await bad({ message: 'order-77' })).toMatchObject({ code: 'ID_INVALID', path: '/message' });
    const twin = await Tale.of(ledger);
    await twin.receipt('received', { delivery_id: delivery, sender: 'another', in_reply_to: 'x' });
    expect(await bad({})).toMatchObject({ code: 'RECEIPT_AMBIGUOUS' });
    expect(await client.rematchReceipt(delivery, to(tale, { sender: 'platform', id: 'ticket-1' }))).toMatchObject({ state: 'received' });
    const more = await put(tale, 'completed', { in_reply_to: 'order-77' });
    expect(await refusal(tale, more, () => client.rematchReceipt(more, to(tale, { id: 'ticket-1' })))).toMatchObject({ code: 'ID_CONFLICT' });
    expect(await bad({ id: 'ticket-1', message: tale.message })).toMatchObject({ code: 'ID_CONFLICT' });
  });
});

test('the list goes by pages that neither skip nor repeat, and refuses what is no page', async () => {
  const tale = await submitted();
  const deliveries = [];
  for (let n = 0; n < 5; n += 1) deliveries.push(await put(tale, 'received', { in_reply_to: `order-${String(n)}` }));
  const found: string[] = [];
  let cursor: string | null | undefined;
  do {
    const page = await client.receipts({ task: tale.task, limit: 2, ...(typeof cursor === 'string' ? { cursor } : {}) });
    found.push(...page.rows.map(({ delivery_id: id }) => id));
    ({ cursor } = page);
  } while (cursor !== null);
  expect(found).toEqual(deliveries.reverse());
  await expect(client.receipts({ cursor: 'x' })).rejects.toMatchObject({ code: 'CURSOR_INVALID' });
  await expect(client.receipts({ limit: 501 })).rejects.toMatchObject({ code: 'FILTER_INVALID' });
  await expect(client.receipts({ task: uuid() })).rejects.toMatchObject({ code: 'TASK_UNKNOWN' });
});
