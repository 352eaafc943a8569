/** Lives whose explanations are kept as golden files: one for each state and each notable end. */
import { Life, PUBLISH, RENDER, REVIEW } from './explain-life.ts';

const rendered = (): Life => new Life().succeed('render').pass(1);
const published = (): Life => rendered().claim('publish').pass(1);
const reviewed = (): Life => {
  const life = new Life([RENDER, REVIEW, PUBLISH]).succeed('render').claim('review');
  const message = life.send('review', 'request');
  return life.answer(message, 'confirmed', { external_id: message }).enter('review', 'submitted', 'submission_accepted', { event: 'settle_submitted', row: { receipt_due_at: life.at(86_400) } }).pass(60);
};
const submitted = (): Life => {
  const life = published();
  life.answer(life.sendAll(), 'confirmed', { external_id: 'post-17' });
  return life.enter('publish', 'submitted', 'submission_accepted', { event: 'settle_submitted', row: { receipt_due_at: life.at(600) } }).pass(5);
};
const unsure = (row: Parameters<Life['enter']>[3] = {}): Life => {
  const life = published();
  life.sendAll();
  return life.pass(10).enter('publish', 'unconfirmed', 'answer_lost', { event: 'settle_lost', row: { next_run_at: life.at(2), next_check_at: life.at(7), error: null, ...row.row } });
};

export const LIVES: Readonly<Record<string, () => Life>> = {
  'hand-over-pending': () => {
    const life = new Life();
    Object.assign(life, { task: {}, outbox: { since: life.at(), attempts: 0, last_error: null, parked_at: null } });
    return life.pass(2);
  },
  'no-worker-offers-it': () => Object.assign(new Life(), { offers: 0 }).pass(30),
  'wake-up-parked': () => {
    const life = new Life();
    return Object.assign(life, { task: {}, outbox: { since: life.at(), attempts: 20, last_error: '3 INVALID_ARGUMENT: bad search attribute', parked_at: life.at(90) } }).pass(120);
  },
  'nobody-took-it': () => new Life().pass(45),
  'starts-later': () => {
    const life = new Life();
    life.row('render').next_run_at = life.at(3 * 86_400);
    return life.pass(1);
  },
  running: () => new Life().claim('render').pass(3),
  'lease-ran-out': () => published().pass(55),
  'retry-planned': () => published().fail('publish', 'queued', 'retry_scheduled').pass(4),
  'review-waits': () => reviewed(),
  'review-opened': () =>
    reviewed().receipt('review', 'received', 'matched', { sender: 'reviewer:ann', body: { by: 'ann' } }).enter('review', 'received', 'receipt_received', { event: 'receipt_received', actor: 'platform:reviewer:ann' }).pass(30),
  'review-rejected': () => {
    const life = reviewed();
    for (const touch of life.touches) touch.live = false;
    return life
      .receipt('review', 'failed', 'matched', { sender: 'reviewer:ann', code: 'review_rejected', body: { by: 'ann', why: 'the second picture shows a face' } })
      .enter('review', 'dead', 'review_rejected', {
        event: 'receipt_failed', via: 'receipt_failed', actor: 'platform:reviewer:ann', facts: { by: 'ann', why: 'the second picture shows a face' },
        row: { error: { category: 'rejected', stage: 'receive', name: 'Rejected', message: 'the second picture shows a face' } },
      });
  },
  'waits-for-a-receipt': () => submitted(),
  'in-progress-with-a-cancel': () =>
    submitted().receipt('publish', 'progress', 'matched').enter('publish', 'in_progress', 'receipt_progress', { event: 'receipt_progress', actor: 'platform:notes.example' }).pass(5)
      .cancel('publish', 'pending', null).enter('publish', 'in_progress', 'cancel_after_submit', { event: 'cancel', actor: 'user:mei', row: { cancel_id: 'cancel-1' } }).pass(1),
  'unconfirmed-looks': () => unsure(),
  'unconfirmed-same-key': () => unsure({ row: { resend_until: '2026-03-14T03:50:00.000Z' } }),
  'unconfirmed-without-a-way': () => unsure({ row: { has_probe: false, next_check_at: null } }),
  'stop-asked': () => {
    const life = published();
    life.sendAll();
    return life.pass(1).cancel('publish', 'pending', null).enter('publish', 'cancel_requested', 'cancel_asked', { event: 'cancel', actor: 'user:mei', row: { cancel_id: 'cancel-1', holder: 'host-1/4711/boot-9', lease_expires_at: life.at(12) } }).pass(1);
  },
  'cancelled-proven-absent': () => {
    const life = unsure().pass(1).cancel('publish', 'pending', null).enter('publish', 'unconfirmed', 'cancel_awaits_resolution', { event: 'cancel', actor: 'user:mei', row: { cancel_id: 'cancel-1' } }).pass(20);
    life.answer(life.touches.at(-1)?.message_id ?? '', 'absent');
    return life.enter('publish', 'cancelled', 'probe_absent_after_cancel', { event: 'absent', facts: { effect: 'post', item: '', answer: 'absent', look: 'second' } }).answered('publish', 'prevented', 'probe_absent_after_cancel');
  },
  'cancelled-before-execution': () => {
    const life = new Life().cancel('render', 'prevented', 'cancelled_before_execution', { step: null });
    return life.enter('render', 'cancelled', 'cancelled_before_execution', { event: 'cancel', actor: 'user:mei' }).enter('publish', 'cancelled', 'upstream_cancelled', { event: 'upstream_cancelled', actor: 'driver' });
  },
  'cancelled-before-the-retry': () =>
    published().fail('publish', 'queued', 'retry_scheduled').pass(3).cancel('publish', 'prevented', 'cancelled_before_retry').enter('publish', 'cancelled', 'cancelled_before_retry', { event: 'cancel', actor: 'user:mei', row: { cancel_id: 'cancel-1' } }),
  'cancel-too-late': () =>
    submitted().cancel('publish', 'too_late', 'receipt_completed').enter('publish', 'submitted', 'cancel_after_submit', { event: 'cancel', actor: 'user:mei', row: { cancel_id: 'cancel-1' } }).pass(2)
      .receipt('publish', 'completed', 'matched').enter('publish', 'completed', 'receipt_completed', { event: 'receipt_completed', actor: 'platform:notes.example' }).pass(1).accepted('publish'),
  'withdrawal-asked': () =>
    submitted().cancel('publish', 'pending', null, { verb: 'withdraw' }).enter('publish', 'submitted', 'withdrawal_asked', { event: 'withdraw', actor: 'user:mei', row: { cancel_id: 'cancel-1', has_withdraw: true, withdraw_due_at: '2026-03-14T03:00:08.000Z' } }).pass(1),
  'withdrawal-sent': () => {
    const life = submitted().cancel('publish', 'pending', null, { verb: 'withdraw' }).enter('publish', 'submitted', 'withdrawal_asked', { event: 'withdraw', actor: 'user:mei', row: { cancel_id: 'cancel-1', has_withdraw: true, withdraw_due_at: '2026-03-14T03:00:08.000Z' } });
    life.pass(1).send('publish', 'withdraw');
    Object.assign(life.row('publish'), { withdraw_expires_at: life.at(17) });
    return life.pass(2);
  },
  'withdrawal-refused': () => {
    const life = submitted().cancel('publish', 'pending', null, { verb: 'withdraw' }).enter('publish', 'submitted', 'withdrawal_asked', { event: 'withdraw', actor: 'user:mei', row: { cancel_id: 'cancel-1', has_withdraw: true } });
    const message = life.pass(1).send('publish', 'withdraw');
    life.pass(2).answer(message, 'refused', { live: false });
    return life.answered('publish', 'too_late', 'withdrawal_refused').enter('publish', 'submitted', 'withdrawal_refused', { event: 'withdrawal_refused', facts: { answer: 'refused', category: 'rejected', code: 'already_final', message: 'it has been read' } });
  },
  withdrawn: () => {
    const life = submitted().cancel('publish', 'withdrawn', 'withdrawal_confirmed', { verb: 'withdraw' });
    const message = life.send('publish', 'withdraw');
    life.pass(2).answer(message, 'withdrawn', { live: false });
    for (const touch of life.touches) if (touch.effect === 'post') touch.live = false;
    return life.enter('publish', 'cancelled', 'withdrawal_confirmed', { event: 'withdrawal_confirmed', row: { cancel_id: 'cancel-1' } });
  },
  'deadline-passed': () => Object.assign(new Life(), { task: { driver_seen_at: '2026-03-14T03:00:00.000Z', deadline_at: '2026-03-14T03:10:00.000Z' } }).pass(601)
    .enter('render', 'cancelled', 'deadline_passed', { event: 'deadline', actor: 'driver' }).enter('publish', 'cancelled', 'deadline_passed', { event: 'deadline', actor: 'driver' }),
  'proof-being-checked': () => {
    const life = submitted().receipt('publish', 'completed', 'matched');
    return life.enter('publish', 'completed', 'receipt_completed', { event: 'receipt_completed', actor: 'platform:notes.example', row: { next_check_at: life.at(4) } }).pass(1);
  },
  succeeded: () => submitted().receipt('publish', 'completed', 'matched').enter('publish', 'completed', 'receipt_completed', { event: 'receipt_completed', actor: 'platform:notes.example' }).pass(1).accepted('publish'),
  'dead-attempts-exhausted': () => {
    const life = new Life();
    for (const attempt of [1, 2]) life.claim('render').pass(attempt).fail('render', 'queued', 'retry_scheduled').pass(12);
    return life.claim('render').pass(10).fail('render', 'dead', 'attempts_exhausted');
  },
  'dead-not-retryable': () =>
    published().fail('publish', 'dead', 'not_retryable', { category: 'authorization_revoked', stage: 'send', name: 'HttpError', message: 'the token was revoked', http_status: 401 }),
  'dead-effect-open': () => unsure({ row: { has_probe: false, next_check_at: null } }).pass(30).enter('publish', 'dead', 'effect_unresolvable', { event: 'no_way_left', actor: 'driver' }),
  'dead-proof-missing': () => {
    const life = submitted().receipt('publish', 'completed', 'matched').enter('publish', 'completed', 'receipt_completed', { event: 'receipt_completed', actor: 'platform:notes.example' });
    life.row('publish').check_no = 1;
    return life.check('publish', false, null, null).enter('publish', 'dead', 'artifact_missing', { event: 'missing', facts: { check_no: 1, found: false } });
  },
  'dead-with-a-cancel': () =>
    published().fail('publish', 'queued', 'retry_scheduled').pass(12).claim('publish').fail('publish', 'queued', 'retry_scheduled').pass(12).claim('publish').fail('publish', 'dead', 'attempts_exhausted').pass(60).cancel('publish', 'needs_person', 'cancel_recorded').enter('publish', 'dead', 'cancel_recorded', { event: 'cancel', actor: 'user:mei', row: { cancel_id: 'cancel-1' } }),
  'wait-abandoned': () => submitted().cancel('publish', 'needs_person', 'wait_abandoned', { verb: 'abandon_wait', why: 'the platform is down for the week' }).enter('publish', 'dead', 'wait_abandoned', { event: 'abandon_wait', actor: 'user:mei' }),
  'refused-receipts': () =>
    submitted().receipt('publish', 'text', 'text_only', { body: { text: 'it is done, trust me' } }).receipt('publish', 'completed', 'wrong_message').receipt('publish', 'completed', 'sender_not_allowed', { sender: 'stranger' })
      .receipt('publish', 'delivered', 'evidence', { deliveries: 3 }).receipt('publish', 'received', null),
  'late-outcome': () => {
    const life = published();
    const message = life.sendAll();
    life.pass(20).enter('publish', 'unconfirmed', 'lease_expired_effect_uncertain', { event: 'expire', actor: 'sweeper:host-2', row: { next_check_at: life.at(7), epoch: 2 } }).pass(5);
    return life.log({ kind: 'late', step: 'publish', actor: 'worker:host-1/4711/boot-9', attempt: 1, epoch: 1, facts: { what: 'settle', how: 'lost', claim_epoch: 1, current_epoch: 2 } })
      .answer(message, 'confirmed', { late: true, external_id: 'post-17' }).enter('publish', 'submitted', 'outcome_late', { event: 'late_confirmed', row: { receipt_due_at: life.at(600) } });
  },
  'changed-by-hand': () => {
    const life = published().fail('publish', 'dead', 'not_retryable').pass(600);
    const wrong = life.row('publish').seq;
    return life.log({ kind: 'correction', step: 'publish', actor: 'operator:oda', facts: { corrects: wrong, was: 'not_retryable', is: 'worker_shutdown', why: 'the deploy killed it' } }).pass(60)
      .enter('publish', 'queued', 'manual_correction', { event: 'manual_correction', actor: 'database:oda', row: { next_run_at: life.at() } }).pass(1);
  },
  'succeeded-by-hand': () => published().fail('publish', 'dead', 'not_retryable').pass(600).enter('publish', 'succeeded', 'manual_correction', { event: 'manual_correction', actor: 'database:oda' }),
};
