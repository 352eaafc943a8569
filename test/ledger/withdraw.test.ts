import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { CALL_MS, uuid, type Shape } from '../support/factories.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { findings } from '../support/soundness.ts';
import { HOLDER, Tale } from '../support/tale.ts';
import { pictureOpenAfterUnsent, waiting } from './scenarios/scenario.ts';

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger.close());

const LOST_MS = CALL_MS + 10_000;
/** A task whose step stands in a state with its submission out. */
const standing = async (state: string, shape: Shape = {}): Promise<Tale> => {
  const tale = await Tale.of(ledger, shape);
  await waiting(tale, state);
  return tale;
};
const nextOf = async (tale: Tale): Promise<unknown> => (await tale.look()).steps.find(({ name }) => name === tale.step)?.next;
const requests = (tale: Tale): Promise<Record<string, unknown>[]> =>
  ledger.query("select r.outcome, r.late, e.key, e.status, e.live, r.claim_id is not null as sent from throughline.request r join throughline.effect e on e.id = r.effect_id where r.task_id = $1 and e.kind = 'withdrawal' order by r.intent_at, r.message_id", [tale.task]);
const verdictOf = async (tale: Tale, id: string): Promise<unknown> => {
  const { verdict, steps } = await tale.withdraw({ id });
  return { verdict, reason: steps[0]?.reason };
};

describe('a withdrawal', () => {
  test('is an effect of its own: asked, taken by a worker with a permission that ends, answered', async () => {
    const tale = await standing('submitted');
    const asked = await tale.withdraw({ id: 'w1' });
    expect(asked).toMatchObject({ verb: 'withdraw', verdict: 'pending', steps: [{ found: 'submitted', next_check_in_ms: 0 }] });
    expect(await tale.row()).toMatchObject({ state: 'submitted', reason: 'withdrawal_asked', open_count: 1, cancel_id: 'w1' });
    expect(await nextOf(tale)).toEqual({ do: 'withdraw', in_ms: 0, withdraw_no: 1, timeout_ms: CALL_MS });
    const taken = await tale.tryTakeBack();
    expect(taken).toMatchObject({
      claimed: true, key: `${tale.task}/publish/withdraw//1`, thread_id: `${tale.task}/publish`, timeout_ms: CALL_MS,
      submission: { effect: 'post', external_id: 'ext-1', key: `${tale.task}/publish/post//1`, message_ids: [tale.message] },
    });
    expect('claimed' in taken && taken.send_within_ms).toBeGreaterThan(0);
    expect(await nextOf(tale)).toMatchObject({ do: 'watch' });
    await tale.answers('confirmed');
    expect(await tale.row()).toMatchObject({ state: 'cancelled', reason: 'withdrawal_confirmed', open_count: 0, withdraw_due_at: null });
    expect(await verdictOf(tale, 'w1')).toEqual({ verdict: 'withdrawn', reason: 'withdrawal_confirmed' });
    expect((await tale.effects()).map(({ name, status, live }) => [name, status, live])).toEqual([['post', 'withdrawn', false], ['withdraw', 'withdrawn', false]]);
    expect((await tale.timeline()).filter(({ facts }) => facts['effect'] === 'withdraw').map(({ kind, actor }) => [kind, actor])).toEqual([['intent', `worker:${HOLDER}`], ['outcome', `worker:${HOLDER}`]]);
  });

  test('is taken by one worker, however many ask', async () => {
    const tale = await standing('submitted');
    await tale.withdraws();
    const answers = await Promise.all([1, 2, 3, 4].map((n) => ledger.door.withdrawalClaim(tale.task, tale.step, uuid(), `worker/${String(n)}`)));
    expect(answers.filter((answer) => 'claimed' in answer)).toHaveLength(1);
    expect(answers.filter((answer) => 'refused' in answer && answer.refused === 'held')).toHaveLength(3);
    expect(await requests(tale)).toEqual([expect.objectContaining({ sent: true, outcome: null })]);
  });

  test('whose claim was answered late permits only what is left of its time', async () => {
    const tale = await standing('submitted');
    await tale.withdraws();
    const claim = uuid();
    await ledger.door.withdrawalClaim(tale.task, tale.step, claim, HOLDER);
    await tale.pass(6_000);
    expect(await ledger.door.withdrawalClaim(tale.task, tale.step, claim, HOLDER)).toMatchObject({ claimed: true, send_within_ms: 0 });
  });

  test('refused: its asker is answered, the step waits on with the cancel set, and it may be asked again', async () => {
    const tale = await standing('received');
    await tale.withdraw({ id: 'w1' });
    await tale.withdrawalIs('refused');
    expect(await tale.row()).toMatchObject({ state: 'received', reason: 'withdrawal_refused', open_count: 0, cancel_id: 'w1' });
    expect(await verdictOf(tale, 'w1')).toEqual({ verdict: 'too_late', reason: 'withdrawal_refused' });
    // A cancel asks less: what becomes of the submission is not known yet.
    expect(await tale.cancel({ id: 'c1' })).toMatchObject({ verdict: 'pending' });
    expect(await tale.withdraw({ id: 'w2' })).toMatchObject({ verdict: 'pending' });
    expect(await tale.tryTakeBack()).toMatchObject({ claimed: true, key: `${tale.task}/publish/withdraw//2` });
    await tale.answers('refused');
    await tale.receives('failed', { retryable: true });
    expect(await tale.row()).toMatchObject({ state: 'cancelled', reason: 'cancelled_after_failed_attempt' });
    expect(await verdictOf(tale, 'w1')).toEqual({ verdict: 'stopped_at_boundary', reason: 'cancelled_after_failed_attempt' });
  });

  test('that was not sent, or refused for now, is tried again under the same key, never before Retry-After', async () => {
    const tale = await standing('submitted');
    await tale.withdraws();
    await tale.withdrawalIs('not_sent');
    expect(await nextOf(tale)).toMatchObject({ do: 'withdraw', withdraw_no: 2 });
    await tale.withdrawalIs('refused', { again: true, retry_after_ms: 60_000 });
    const next = await nextOf(tale) as { in_ms: number };
    expect(next.in_ms).toBeGreaterThan(50_000);
    expect(await ledger.door.withdrawalClaim(tale.task, tale.step, uuid(), HOLDER)).toMatchObject({ refused: 'not_yet' });
    await tale.withdrawalIs('confirmed');
    expect(await tale.state()).toBe('cancelled');
    expect((await requests(tale)).map(({ outcome }) => outcome)).toEqual(['not_sent', 'refused', 'withdrawn']);
    expect(new Set((await requests(tale)).map(({ key }) => key)).size).toBe(1);
  });

  test('that could never be delivered ends after its requests, and the step waits on', async () => {
    const tale = await standing('submitted');
    await tale.withdraw({ id: 'w1' });
    for (let n = 1; n <= 3; n += 1) await tale.withdrawalIs('not_sent');
    expect(await tale.row()).toMatchObject({ state: 'submitted', reason: 'withdrawal_refused', open_count: 0 });
    expect(await verdictOf(tale, 'w1')).toEqual({ verdict: 'too_late', reason: 'withdrawal_refused' });
    expect((await tale.timeline()).at(-1)).toMatchObject({ reason: 'withdrawal_refused', facts: { answer: 'not_sent', tries: 3 } });
  });

  test.each(['the answer was lost', 'its worker vanished'])('where keys are deduped, and %s: the same key again, within the window', async (how) => {
    const tale = await standing('submitted', { withdraw: 'keyed' });
    await (await tale.withdraws()).takesBack();
    if (how === 'the answer was lost') await tale.answers('lost');
    else {
      await tale.until('withdraw_expires_at');
      await tale.look();
    }
    expect(await tale.row()).toMatchObject({ state: 'submitted', open_count: 2 });
    await tale.withdrawalIs('confirmed');
    expect(await tale.row()).toMatchObject({ state: 'cancelled', reason: 'withdrawal_confirmed', open_count: 0 });
    expect(await requests(tale)).toEqual([1, 2].map(() => expect.objectContaining({ key: `${tale.task}/publish/withdraw//1`, status: 'withdrawn', outcome: 'withdrawn' })));
  });

  test('past the window of its key it is not sent again', async () => {
    const tale = await standing('submitted', { withdraw: 'keyed' });
    await (await tale.withdraws()).takesBack();
    await tale.pass(3_600_000);
    await tale.look();
    expect(await tale.row()).toMatchObject({ state: 'unconfirmed', reason: 'withdrawal_answer_lost', open_count: 1 });
    expect(await tale.tryTakeBack()).toMatchObject({ refused: 'no_withdrawal_due' });
  });

  test('an answer that is lost without keys is never sent again: time says so, and a look finds out', async () => {
    const tale = await standing('submitted');
    await tale.withdraw({ id: 'w1' });
    await tale.takesBack();
    await tale.pass(LOST_MS);
    await tale.look();
    expect(await tale.row()).toMatchObject({ state: 'unconfirmed', reason: 'withdrawal_answer_lost' });
    expect(await tale.tryTakeBack()).toMatchObject({ refused: 'no_withdrawal_due' });
    await tale.probe('absent', 'absent');
    expect(await tale.row()).toMatchObject({ state: 'cancelled', open_count: 0 });
    expect((await tale.effects()).map(({ status }) => status)).toEqual(['withdrawn', 'withdrawn']);
  });

  test('the sweeper finds what its driver does not: due withdrawals, and answers that are lost', async () => {
    const due = await standing('submitted');
    await due.withdraws();
    const gone = await standing('submitted');
    await (await gone.withdraws()).takesBack();
    await ledger.query('delete from throughline.outbox');
    await gone.pass(60_000);
    expect(await ledger.door.sweepDue(100, 10_000)).toEqual(expect.arrayContaining([due.task, gone.task]));
    expect(await ledger.door.taskSweep(due.task, 'sweeper/1', 10_000)).toMatchObject({ woken: true });
    await ledger.door.taskSweep(gone.task, 'sweeper/1', 10_000);
    expect(await gone.row()).toMatchObject({ state: 'unconfirmed', reason: 'withdrawal_answer_lost' });
  });

  test('a look from before it was asked is not listened to, and none starts while it is under way', async () => {
    const tale = await standing('unconfirmed');
    await tale.until('next_check_at');
    const check = uuid();
    const claim = await ledger.door.checkClaim(tale.task, tale.step, check, 60_000, HOLDER);
    if (!('check' in claim)) throw new Error('no check');
    await (await tale.withdraws()).takesBack();
    expect(await ledger.door.probeResult(tale.task, tale.step, { check, check_no: claim.check_no, effect_id: claim.subject?.id ?? '', answer: 'absent', holder: HOLDER })).toMatchObject({ refused: 'check_not_current' });
    await tale.pass(1_000);
    expect(await ledger.door.checkClaim(tale.task, tale.step, uuid(), 60_000, HOLDER)).toMatchObject({ refused: 'no_check_due' });
    expect(await nextOf(tale)).toMatchObject({ do: 'watch' });
    await tale.answers('refused');
    expect(await nextOf(tale)).toMatchObject({ do: 'check' });
  });

  test('what is found before a lost withdrawal could have arrived decides nothing', async () => {
    const tale = await standing('unconfirmed');
    await tale.withdraws();
    await tale.withdrawalIs('lost');
    const view = (await nextOf(tale)) as { do: string; in_ms: number };
    expect(view.do).toBe('check');
    expect(view.in_ms).toBeGreaterThan(CALL_MS);
  });

  test('the wait for a receipt does not run out while it is being taken back', async () => {
    const tale = await standing('submitted', { probe: false });
    await tale.withdraws();
    await tale.pass(3_600_000);
    await tale.look();
    expect(await tale.state()).toBe('submitted');
    await tale.withdrawalIs('refused');
    await tale.look();
    expect(await tale.row()).toMatchObject({ state: 'dead', reason: 'effect_uncertain' });
  });
});

describe('between asking and answer', () => {
  test('a completed receipt is held, and applied if it is refused', async () => {
    const tale = await standing('received');
    await (await tale.withdraws()).takesBack();
    await tale.receives('completed', { external_id: 'ext-1' });
    expect(await tale.row()).toMatchObject({ state: 'received', reason: 'receipt_held' });
    await tale.answers('refused');
    expect(await tale.row()).toMatchObject({ state: 'completed', reason: 'receipt_completed' });
  });

  test('a completed receipt is no obstacle: what came out is taken back all the same', async () => {
    const tale = await standing('received');
    await tale.withdraws();
    await tale.receives('completed', { external_id: 'ext-1' });
    await tale.withdrawalIs('confirmed');
    expect(await tale.row()).toMatchObject({ state: 'cancelled', reason: 'withdrawal_confirmed' });
  });

  test.each([['before it was sent', false, 'not_sent'], ['after it was sent', true, 'failed']])('a failed receipt ends it, %s', async (_when, sent, outcome) => {
    const tale = await standing('received');
    await tale.withdraw({ id: 'w1' });
    if (sent) await tale.takesBack();
    await tale.receives('failed', { retryable: true });
    expect(await tale.row()).toMatchObject({ state: 'cancelled', open_count: 0, withdraw_due_at: null });
    expect(await requests(tale)).toEqual([expect.objectContaining({ outcome, live: false })]);
    if (sent) expect(await tale.answers('confirmed')).toMatchObject({ recorded: true, late: true });
    expect(await tale.tryTakeBack()).toMatchObject({ refused: 'no_withdrawal_due' });
    expect(await verdictOf(tale, 'w1')).toMatchObject({ verdict: 'stopped_at_boundary' });
  });

  test.each(['confirmed', 'refused', 'not_sent'] as const)('late, after it counted as lost: %s is believed', async (outcome) => {
    const tale = await standing('submitted');
    await (await tale.withdraws()).takesBack();
    await tale.pass(LOST_MS);
    await tale.look();
    expect(await tale.answers(outcome)).toMatchObject({ late: true });
    expect(await tale.row()).toMatchObject(outcome === 'confirmed' ? { state: 'cancelled', reason: 'withdrawal_confirmed' } : { state: 'unconfirmed', reason: 'withdrawal_refused', open_count: 0 });
  });

  test('late on a dead step: kept, and a person who confirms the absence closes the books by it', async () => {
    const tale = await standing('submitted', { probe: false });
    await tale.withdraw({ id: 'w1' });
    await tale.takesBack();
    await tale.answers('lost');
    expect(await tale.row()).toMatchObject({ state: 'dead', reason: 'effect_unresolvable', open_count: 1 });
    await tale.answers('confirmed');
    expect(await tale.row()).toMatchObject({ state: 'dead', open_count: 0 });
    await tale.confirms(false);
    expect(await tale.row()).toMatchObject({ state: 'cancelled', reason: 'operator_confirmed_absent' });
    expect((await tale.effects()).map(({ status }) => status)).toEqual(['withdrawn', 'withdrawn']);
  });

  test.each([['unsent', false], ['sent', true]])('the wait is abandoned while it is %s: nothing more is sent, and a person can settle it', async (_how, sent) => {
    const tale = await standing('submitted');
    await tale.withdraws();
    if (sent) await tale.takesBack();
    await tale.abandons();
    expect(await tale.row()).toMatchObject({ state: 'dead', reason: 'wait_abandoned', open_count: sent ? 1 : 0 });
    expect(await tale.tryTakeBack()).toMatchObject({ refused: 'no_withdrawal_due' });
    await tale.confirms(false);
    expect(await tale.row()).toMatchObject({ state: 'cancelled', open_count: 0 });
  });

  test('of two requests under one key, a refusal of the first does not hide that the second acted', async () => {
    const tale = await standing('submitted', { withdraw: 'keyed' });
    await (await tale.withdraws()).takesBack();
    const first = tale.withdrawal;
    await tale.pass(LOST_MS);
    await tale.look();
    await tale.takesBack();
    await tale.answers('refused', { message_id: first });
    expect(await tale.state()).toBe('submitted');
    await tale.answers('confirmed');
    expect(await tale.row()).toMatchObject({ state: 'cancelled', reason: 'withdrawal_confirmed', open_count: 0 });
  });

  test('refused for good while an earlier request may still arrive: a look decides', async () => {
    const tale = await standing('submitted', { withdraw: 'keyed' });
    await tale.withdraws();
    await tale.withdrawalIs('lost');
    await tale.withdrawalIs('refused');
    expect(await tale.row()).toMatchObject({ state: 'unconfirmed', reason: 'withdrawal_answer_lost', open_count: 1 });
    await tale.probe('present');
    expect(await tale.row()).toMatchObject({ state: 'submitted', open_count: 0 });
  });
});

describe('asking', () => {
  test('again under another id follows the one in progress and shares its end', async () => {
    const tale = await standing('submitted');
    await tale.withdraw({ id: 'w1' });
    expect(await tale.withdraw({ id: 'w2' })).toMatchObject({ verdict: 'pending', steps: [{ follows: 'w1' }] });
    await tale.withdrawalIs('confirmed');
    expect(await verdictOf(tale, 'w2')).toEqual(await verdictOf(tale, 'w1'));
    expect((await tale.timeline()).filter(({ event }) => event === 'withdraw')).toHaveLength(1);
  });

  test('a step that can not: refused with what is possible instead, and nothing is written', async () => {
    const tale = await standing('submitted', { withdraw: 'no' });
    const refusal = { code: 'WITHDRAW_UNDECLARED', detail: { facts: { instead: ['cancel', 'abandon_wait'], state: 'submitted' } } };
    await expect(tale.withdraw()).rejects.toMatchObject(refusal);
    await expect(ledger.door.taskWithdraw(tale.task, { id: 'w', by: 'u', why: 'y' })).rejects.toMatchObject({ code: 'WITHDRAW_UNDECLARED' });
    const review = await (await (await Tale.of(ledger, { review: true })).claim()).asks();
    await expect(review.withdraw()).rejects.toMatchObject({ code: 'WITHDRAW_UNDECLARED' });
    expect(await ledger.query('select from throughline.cancel where task_id = any ($1)', [[tale.task, review.task]])).toEqual([]);
  });

  test('when nothing was submitted, or something else is open: refused with what is possible instead', async () => {
    const early = await Tale.of(ledger);
    await expect(early.withdraw()).rejects.toMatchObject({ code: 'TRANSITION_REFUSED', detail: { facts: { instead: ['cancel'] } } });
    const open = await Tale.of(ledger, { effects: 'picture+post' });
    await pictureOpenAfterUnsent(open);
    await expect(open.withdraw()).rejects.toMatchObject({ code: 'TRANSITION_REFUSED' });
    await expect(ledger.door.taskWithdraw(early.task, { id: 'w', by: 'u', why: 'y', step: 'nowhere' })).rejects.toMatchObject({ code: 'STEP_UNKNOWN' });
    await expect(ledger.door.taskWithdraw(uuid(), { id: 'w', by: 'u', why: 'y' })).rejects.toMatchObject({ code: 'TASK_UNKNOWN' });
  });

  test('for a task: each step that can', async () => {
    const tale = await Tale.of(ledger, [{ name: 'one' }, { name: 'two' }, { name: 'three', effects: 'none', probe: false }]);
    await waiting(tale.about('one'), 'submitted');
    await waiting(tale.about('two'), 'received');
    const answer = await ledger.door.taskWithdraw(tale.task, { id: 'w', by: 'user:eve', why: 'all of it' });
    expect(answer.steps.map(({ step, verdict }) => [step, verdict])).toEqual([['one', 'pending'], ['two', 'pending']]);
    for (const step of ['one', 'two']) await tale.about(step).withdrawalIs('confirmed');
    expect((await ledger.door.taskWithdraw(tale.task, { id: 'w', by: 'user:eve', why: 'all of it' })).verdict).toBe('withdrawn');
    await expect(ledger.door.taskWithdraw(tale.task, { id: 'w', by: 'user:eve', why: 'all of it', step: 'one' })).rejects.toMatchObject({ code: 'ID_CONFLICT' });
  });
});

test('raced by cancels, receipts, answers and the sweeper, the answer and the end agree', async () => {
  const ends = new Set<string>();
  for (let round = 0; round < 24; round += 1) {
    const tale = await standing(['submitted', 'received', 'in_progress', 'unconfirmed'][round % 4] ?? '', { withdraw: round % 3 === 0 ? 'keyed' : undefined, probe: true } as Shape);
    const acts: (() => Promise<unknown>)[] = [
      () => tale.withdraw({ id: 'w1' }).catch((error: unknown) => error),
      () => tale.cancel({ id: 'c1' }),
      () => tale.receipt((['completed', 'failed', 'progress'] as const)[round % 3] ?? 'progress', { external_id: 'ext-1' }),
      () => tale.look(),
      () => ledger.door.taskSweep(tale.task, 'sweeper/1', 10_000),
    ];
    await Promise.all(acts.map((act) => act()));
    const [first, second] = await Promise.all([1, 2].map(() => ledger.door.withdrawalClaim(tale.task, tale.step, uuid(), HOLDER)));
    const taken = [first, second].filter((answer) => answer !== undefined).filter((answer) => 'claimed' in answer);
    expect(taken.length).toBeLessThanOrEqual(1);
    for (const answer of taken) {
      if (!('claimed' in answer)) continue;
      tale.withdrawal = answer.message_id;
      await Promise.all([tale.answers((['confirmed', 'refused', 'lost'] as const)[round % 3] ?? 'lost'), tale.receipt('received', { external_id: 'ext-1' }), tale.look()]);
    }
    ends.add((await tale.row()).state);
  }
  expect(await findings(ledger)).toEqual({});
  expect(ends.size).toBeGreaterThan(1);
}, 60_000);
