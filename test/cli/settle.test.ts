/** What a person settles by the command line, on a real ledger, while Temporal is down. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { CancelAnswer, ConfirmAnswer, CorrectAnswer } from '../../src/index.ts';
import { waiting } from '../ledger/scenarios/scenario.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { Tale } from '../support/tale.ts';
import { cli, documentOf, TEMPORAL_AWAY, type Failure } from './cli.ts';

const UNKNOWN = '3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10';
let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger.close());

const say = (...args: readonly string[]) => cli(args, { env: { DATABASE_URL: ledger.url, TEMPORAL_ADDRESS: TEMPORAL_AWAY } });
async function ask<T>(...args: readonly string[]): Promise<T> {
  const said = await say(...args, '--json');
  expect([said.code, said.stderr, said.code === 0 ? '' : said.stdout]).toEqual([0, '', '']);
  return documentOf(said) as T;
}
async function refusal(...args: readonly string[]): Promise<Failure['error'] & { readonly exit: number | null }> {
  const said = await say(...args, '--json');
  return { ...(documentOf(said) as Failure).error, exit: said.code };
}

test('abandon-wait ends a wait, says so in words, and is refused where nothing waits', async () => {
  const tale = await Tale.of(ledger);
  const abandon = ['abandon-wait', tale.task, 'publish', '--why', 'account closed', '--by', 'oda', '--id', 'ticket-1'];
  expect(await refusal(...abandon)).toMatchObject({ code: 'TRANSITION_REFUSED', exit: 4, facts: { state: 'queued' } });
  await waiting(tale, 'submitted');
  expect(await ask<CancelAnswer>(...abandon)).toMatchObject({ verb: 'abandon_wait', verdict: 'needs_person', by: 'oda', status: 'dead' });
  expect((await say(...abandon)).stdout).toMatch(/^needs_person\n[\s\S]*it may still happen outside[\s\S]*answered before under this id/);
});

test('confirm-effect and confirm-absent settle what is open, with evidence; their refusals have codes', async () => {
  const lost = async (): Promise<Tale> => {
    const tale = await (await (await Tale.of(ledger, { effects: 'picture+post', keyed: false, probe: false })).claim()).intend('picture', 'a/b.png');
    await tale.settle('lost');
    return tale;
  };
  const [tale, absent] = [await lost(), await lost()];
  const confirm = ['confirm-effect', tale.task, 'publish', 'picture/a/b.png', '--why', 'asked by support', '--id', 'ticket-1'];
  const said = [...confirm, '--evidence', 'in the library', '--external-id', 'pic-1', '--result', '{"id": "pic-1"}'];
  const [bare, json, unknown, effect] = await Promise.all([
    refusal(...confirm), refusal(...confirm, '--evidence', 'x', '--result', '{'), refusal('confirm-effect', UNKNOWN, 'publish', 'post', '--why', 'w', '--evidence', 'e'),
    refusal('confirm-absent', tale.task, 'publish', 'post', '--why', 'w', '--evidence', 'e'),
  ]);
  expect(bare).toMatchObject({ code: 'EVIDENCE_REQUIRED', path: '/evidence', exit: 2 });
  expect(json).toMatchObject({ code: 'INPUT_INVALID', path: '/result', exit: 2 });
  expect(unknown).toMatchObject({ code: 'TASK_UNKNOWN', exit: 3 });
  expect(effect).toMatchObject({ code: 'EFFECT_UNKNOWN', exit: 3 });
  const answer = await ask<ConfirmAnswer>(...said);
  expect(answer).toEqual({ task: tale.task, id: 'ticket-1', step: 'publish', rule: 'person.present.other', state: 'queued' });
  expect(await tale.effects()).toMatchObject([{ status: 'confirmed', external_id: 'pic-1', result: { id: 'pic-1' } }]);
  const [text, other, after] = await Promise.all([
    say(...said), refusal(...confirm, '--evidence', 'heard it'), ask<ConfirmAnswer>('confirm-absent', absent.task, 'publish', 'picture/a/b.png', '--why', 'w', '--evidence', 'not in the library'),
  ]);
  expect(text.stdout).toMatch(/^the step is queued\n[\s\S]*answered before under this id/);
  expect(other).toMatchObject({ code: 'ID_CONFLICT', exit: 4 });
  expect(after).toMatchObject({ rule: 'person.absent', state: 'queued' });
});

test('correct and unpark do what they say, and say when there is nothing to do', async () => {
  const tale = await (await (await Tale.of(ledger, { effects: 'none', probe: false })).claim()).fail(false);
  const entry = (await tale.timeline()).findLast(({ reason }) => reason === 'not_retryable')?.id ?? '';
  await ledger.query("update throughline.outbox set parked_at = throughline.now(), last_error = 'no such namespace' where task_id = $1", [tale.task]);
  const unpark = ['unpark', tale.task, '--why', 'namespace is back'];
  const [corrected, reason, number, first] = await Promise.all([
    ask<CorrectAnswer>('correct', tale.task, entry, '--reason', 'answer_lost', '--why', 'it was the network', '--by', 'oda'), refusal('correct', tale.task, entry, '--reason', 'no_such', '--why', 'x'),
    refusal('correct', tale.task, '999999999', '--why', 'x'), say(...unpark),
  ]);
  expect(corrected).toMatchObject({ corrects: Number(entry) });
  expect(reason).toMatchObject({ code: 'INPUT_INVALID', path: '/reason', exit: 2 });
  expect(number).toMatchObject({ code: 'ENTRY_UNKNOWN', exit: 3 });
  expect([first.code, first.stdout]).toEqual([0, 'un-parked; a worker sends the wake-up at once\n']);
  const [again, explained] = await Promise.all([ask('unpark', tale.task, '--why', 'x'), say('explain', tale.task)]);
  expect(again).toEqual({ task: tale.task, unparked: false });
  expect(explained.stdout).toContain('it was the network');
});

test('receipts are listed with what their verdicts mean, and matched again by a person', async () => {
  const tale = await Tale.of(ledger);
  await waiting(tale, 'submitted');
  await tale.receipt('received', { delivery_id: 'd-1', in_reply_to: 'order-77' });
  const rematch = ['receipts', 'rematch', 'd-1', '--task', tale.task, '--step', 'publish', '--why', 'header lost', '--id', 'ticket-1'];
  const [list, table, neither, unknown] = await Promise.all([
    ask<{ rows: unknown[] }>('receipts', 'list', '--unmatched'), say('receipts', 'list', tale.task, '--lang', 'zh-CN'), refusal('receipts', 'list'),
    refusal('receipts', 'rematch', 'd-2', '--task', tale.task, '--step', 'publish', '--why', 'x'),
  ]);
  expect(list).toMatchObject({ rows: [{ delivery_id: 'd-1', verdict: 'wrong_message', meaning: 'it names a message that is not the live one' }], cursor: null });
  expect(table.stdout).toContain('它指向的消息不是当前有效的');
  expect(neither).toMatchObject({ code: 'INPUT_INVALID', exit: 2 });
  expect(unknown).toMatchObject({ code: 'RECEIPT_UNKNOWN', exit: 3 });
  expect((await say(...rematch)).stdout).toBe('d-1: wrong_message → matched: it answers our request\n  the step is received\n');
  expect(await ask(...rematch)).toMatchObject({ was: 'wrong_message', verdict: 'matched', repeated: true });
});
