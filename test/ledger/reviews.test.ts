import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { Tale } from '../support/tale.ts';

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger.close());

const open = async (): Promise<Tale> => (await (await Tale.of(ledger, { review: true })).claim()).asks({ note: { title: 'hello' } });

test('opening is received, approval succeeds at once and names the reviewer', async () => {
  const tale = await open();
  await tale.decide('opened');
  expect(await tale.state()).toBe('received');
  await tale.decide('approved');
  expect(await tale.row()).toMatchObject({ state: 'succeeded', result: { verdict: 'approved', by: 'ann', why: 'read it' } });
  expect(await ledger.query('select detail from throughline.acceptance where task_id = $1', [tale.task])).toEqual([{ detail: { proof: 'verdict', by: 'reviewer:ann' } }]);
});

test('a rejection is a decision, with who and why', async () => {
  const tale = await open();
  await tale.decide('rejected');
  expect(await tale.row()).toMatchObject({ state: 'dead', reason: 'review_rejected', error: { category: 'rejected', code: 'review_rejected', message: 'read it' } });
});

test('an automatic decision needs no person', async () => {
  const tale = await (await (await Tale.of(ledger, { review: true })).claim()).asks({ decision: { verdict: 'approved', by: 'rules', why: 'no checks failed' } });
  expect(await tale.row()).toMatchObject({ state: 'succeeded', result: { by: 'rules' } });
});

test('a decision is idempotent by its id, and comes too late when there is nothing to decide', async () => {
  const tale = await open();
  await tale.decide('approved', 'ann', { id: 'd1' });
  expect(await tale.decide('approved', 'ann', { id: 'd1' })).toMatchObject({ repeated: true, verdict: 'matched' });
  await expect(tale.decide('rejected', 'bob')).rejects.toMatchObject({ code: 'REVIEW_NOT_OPEN' });
  await expect(tale.decide('rejected', 'ann', { id: 'd1' })).rejects.toMatchObject({ code: 'ID_CONFLICT' });
});

test('nobody but a reviewer decides', async () => {
  const tale = await open();
  expect(await tale.receipt('completed', { sender: 'platform' })).toMatchObject({ verdict: 'sender_not_allowed' });
  expect(await tale.state()).toBe('submitted');
});

test('the request is not opened once a cancel was answered', async () => {
  const tale = await (await Tale.of(ledger, { review: true })).claim();
  await tale.cancel();
  await tale.settle('review', { review: {} });
  expect(await tale.state()).toBe('cancelled');
  expect(await tale.effects()).toEqual([]);
});

test('is reminded once in its window', async () => {
  const tale = await open();
  await tale.overdue();
  await tale.look();
  expect((await tale.timeline()).filter(({ reason }) => reason === 'review_reminded')).toHaveLength(1);
  await tale.overdue();
  expect((await tale.timeline()).filter(({ reason }) => reason === 'review_reminded')).toHaveLength(2);
});
