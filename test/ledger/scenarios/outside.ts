/** Waiting for the other side: receipts, late outcomes, overdue, cancel, withdrawal, abandoned waits. */
import type { Shape } from '../../support/factories.ts';
import { Tale } from '../../support/tale.ts';
import { cancelOnQueued } from './attempt.ts';
import { FOUR, move, pictureOpenAfterUnsent, REVIEWER, reviewing, setCancel, storeVerdict, THREE, unsent, waiting, type Scenarios } from './scenario.ts';

/** A review with a probe: no definition makes one, but the machine has rows for it. */
export const REVIEW: Shape = { review: true, probe: true };
const FROM = { received: ['submitted', 'received', 'unconfirmed'], progress: FOUR } as const;

export const reviewUnsent = async (tale: Tale): Promise<void> => {
  await tale.claim();
  await tale.intend('request');
  await tale.outcome('not_sent');
  await tale.fail();
};
/** queued excludes an open request; the CHECK says so. */
const openOnQueued = {
  excluded: 'queued with something open is refused by a CHECK (rule 2)',
  begin: async (ledger: Parameters<typeof Tale.of>[0]): Promise<Tale> => Tale.of(ledger),
  attempt: (tale: Tale): Promise<unknown> => tale.ledger.query('update throughline.step set open_count = 1 where task_id = $1 and name = $2', [tale.task, tale.step]),
};

function receipts(s: Scenarios): void {
  for (const kind of ['received', 'progress'] as const) {
    const act = (tale: Tale): Promise<unknown> => tale.receives(kind, { external_id: 'ext-1' });
    // The way there names no external id: the same words twice would be a duplicate.
    const byReviewer = (tale: Tale): Promise<unknown> => tale.receives(kind, { ...REVIEWER, external_id: tale.message });
    s.add(`receipt.${kind}`, 'queued', {}, unsent, act);
    s.add(`receipt.${kind}`, FROM[kind], {}, waiting, act);
    s.add(`receipt.${kind}.inbox`, 'queued', REVIEW, reviewUnsent, byReviewer);
    s.add(`receipt.${kind}.inbox`, FROM[kind], REVIEW, reviewing, byReviewer);
    for (const [part, more] of [['verdict', storeVerdict], ['withdrawn', async () => undefined]] as const) {
      s.set(`receipt.${kind}.${part}`, 'queued', cancelOnQueued(reviewUnsent, REVIEW));
      s.add(`receipt.${kind}.${part}`, FROM[kind], REVIEW, async (tale, from) => {
        await reviewing(tale, from);
        if (from === 'unconfirmed') await tale.ledger.query("select throughline._confirm_effect(id, 'x', null, throughline.now()) from throughline.effect where task_id = $1", [tale.task]);
        await setCancel(tale);
        await more(tale);
      }, (tale) => move(tale, `receipt_${kind}`), 'a cancel in our own inbox ends the wait at once');
    }
  }
  s.add('receipt.received.again', 'in_progress', {}, waiting, (tale) => tale.receives('received'));
  s.add('receipt.completed', 'queued', {}, unsent, (tale) => tale.receives('completed'));
  s.add('receipt.completed', FOUR, {}, waiting, (tale) => tale.receives('completed'));
  for (const kind of ['received', 'progress', 'completed'] as const) {
    s.set(`receipt.${kind}.held`, 'queued', openOnQueued);
    s.add(`receipt.${kind}.held`, FOUR, {}, async (tale, from) => (await waiting(tale, from), tale.withdraws()), (tale) => tale.receives(kind, { external_id: 'ext-1' }));
  }
}

function failures(s: Scenarios): void {
  const fails = (retryable: boolean) => (tale: Tale): Promise<unknown> => tale.receives('failed', { retryable, code: 'no_space' });
  s.add('receipt.failed.queued', 'queued', {}, unsent, fails(true));
  s.add('receipt.failed.open', 'unconfirmed', { effects: 'picture+post' }, pictureOpenAfterUnsent, (tale) => tale.receives('failed', { in_reply_to: tale.messages[0] ?? '' }));
  s.add('receipt.failed.open', THREE, {}, async (tale, from) => (await waiting(tale, from), tale.withdraws()), (tale) => move(tale, 'receipt_failed'), 'a failed receipt ends the withdrawal, and nothing else may be open here');
  s.add('receipt.failed.cancel', FOUR, {}, async (tale, from) => (await waiting(tale, from), tale.cancel()), fails(true));
  s.add('receipt.failed.retry', FOUR, {}, waiting, fails(true));
  s.add('receipt.failed.exhausted', FOUR, { attempts: 1 }, waiting, fails(true));
  s.add('receipt.failed.final', FOUR, {}, waiting, fails(false));
  s.add('receipt.failed.rejected', THREE, { review: true }, reviewing, (tale) => tale.decide('rejected'));
  s.add('receipt.failed.rejected', 'unconfirmed', REVIEW, reviewing, (tale) => tale.receives('failed', REVIEWER));
}

function late(s: Scenarios): void {
  const confirms = (tale: Tale): Promise<unknown> => tale.outcome('confirmed', { message_id: tale.messages[0] ?? '' });
  const absentTwice = async (tale: Tale): Promise<unknown> => (await waiting(tale, 'unconfirmed'), tale.probe('absent', 'absent'));
  const reviewAbsent = async (tale: Tale): Promise<unknown> => (await reviewing(tale, 'unconfirmed'), tale.probe('absent', 'absent'));
  s.set('late.open', 'queued', openOnQueued);
  s.add('late.open', 'unconfirmed', { effects: 'picture+post' }, async (tale) => {
    await absentTwice(tale);
    await tale.claim();
    await tale.intend('picture');
    await tale.settle('lost');
  }, confirms);
  s.add('late.submitted', 'queued', {}, absentTwice, confirms);
  s.add('late.submitted', 'unconfirmed', {}, waiting, confirms);
  s.add('late.completed', 'queued', { receipt: false }, absentTwice, confirms);
  s.add('late.completed', 'unconfirmed', { receipt: false }, waiting, confirms);
  s.add('late.submitted.inbox', 'queued', REVIEW, reviewAbsent, confirms);
  s.add('late.submitted.inbox', 'unconfirmed', REVIEW, reviewing, confirms);
  s.set('late.submitted.verdict', 'queued', cancelOnQueued(reviewUnsent, REVIEW));
  s.set('late.submitted.withdrawn', 'queued', cancelOnQueued(reviewUnsent, REVIEW));
  const cancelled = async (tale: Tale, from: string): Promise<unknown> => (await reviewing(tale, from), tale.cancel());
  s.add('late.submitted.withdrawn', 'unconfirmed', REVIEW, cancelled, confirms);
  s.add('late.submitted.verdict', 'unconfirmed', REVIEW, async (tale, from) => (await cancelled(tale, from), storeVerdict(tale)), confirms, 'a stored verdict would have moved it');
}

const usedUp = (tale: Tale): Promise<unknown> => tale.ledger.query('update throughline.step set checks_used = checks_max where task_id = $1 and name = $2', [tale.task, tale.step]);
/** submitted with every check used: the last one could not tell, then the answer came late. */
const submittedUnchecked = async (tale: Tale): Promise<void> => {
  await waiting(tale, 'unconfirmed');
  await tale.probe('unknown');
  await tale.outcome('confirmed');
};

function overdue(s: Scenarios): void {
  const act = (tale: Tale): Promise<unknown> => tale.overdue();
  s.add('overdue.probe', THREE, {}, waiting, act);
  s.add('overdue.checked', 'submitted', { checks: 1 }, submittedUnchecked, act);
  s.add('overdue.checked', ['received', 'in_progress'], {}, async (tale, from) => (await waiting(tale, from), usedUp(tale)), act, 'a matched receipt gives the checks back');
  s.add('overdue.blind', THREE, { probe: false }, waiting, act);
  s.add('overdue.review', THREE, { review: true }, reviewing, act);
}

function people(s: Scenarios): void {
  s.add('cancel.outside', THREE, {}, waiting, (tale) => tale.cancel());
  s.add('cancel.inbox', THREE, { review: true }, reviewing, (tale) => tale.cancel());
  s.add('cancel.completed', 'completed', { receipt: false }, async (tale) => (await (await tale.claim()).confirmed()).done(), (tale) => tale.cancel());
  s.add('cancel.unconfirmed', 'unconfirmed', {}, waiting, (tale) => tale.cancel());
  s.add('cancel.dead', 'dead', {}, async (tale) => (await tale.claim()).fail(false), (tale) => tale.cancel());
  const withdrawn = async (tale: Tale, from: string): Promise<unknown> => (await waiting(tale, from), tale.withdraws());
  s.add('withdraw', FOUR, {}, waiting, (tale) => tale.withdraws());
  s.add('withdrawal.confirmed', FOUR, {}, withdrawn, (tale) => tale.withdrawalIs('confirmed'));
  s.add('withdrawal.refused', FOUR, {}, withdrawn, (tale) => tale.withdrawalIs('refused'));
  const lost = (tale: Tale): Promise<unknown> => tale.withdrawalIs('lost');
  s.add('withdrawal.lost', FOUR, {}, withdrawn, lost);
  s.add('withdrawal.lost.blind', FOUR, { probe: false }, withdrawn, lost);
  s.add('withdrawal.lost.checked', 'submitted', { checks: 1 }, async (tale) => (await submittedUnchecked(tale), tale.withdraws()), lost);
  s.add('withdrawal.lost.checked', 'unconfirmed', { checks: 1 }, async (tale) => (await waiting(tale, 'unconfirmed'), await tale.probe('unknown'), tale.withdraws()), lost);
  s.add('withdrawal.lost.checked', ['received', 'in_progress'], {}, async (tale, from) => (await withdrawn(tale, from), usedUp(tale)), lost, 'a matched receipt gives the checks back');
  s.add('abandon', FOUR, {}, waiting, (tale) => tale.abandons());
}

export function outsideScenarios(s: Scenarios): void {
  receipts(s);
  failures(s);
  late(s);
  overdue(s);
  people(s);
}
