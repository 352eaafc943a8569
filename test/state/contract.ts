/**
 * The contract of the step's machine, told a second time and in another way: as a decision that asks in
 * the order of the contract (open, confirmed, cancel, attempts), not as rows with guards. The tests
 * compare both over every combination of the facts.
 */
import { unreachable } from '../../src/errors.ts';
import type { Facts, FromState, ReasonCode, RestState, StepEvent } from '../../src/state/index.ts';

/** Where the step goes (to itself: evidence only) and why. */
export interface Outcome {
  readonly to: RestState;
  readonly reasons: readonly ReasonCode[];
}
/** `excluded`: the state itself rules these facts out, so that nothing needs to be decided. */
export type Contract = Outcome | 'refused' | 'excluded';

const goes = (to: RestState, ...reasons: readonly ReasonCode[]): Outcome => ({ to, reasons });

/** Rule 5: in our own inbox a cancelled wait without a verdict is over; its last reason says so. */
function waits(f: Facts, to: RestState, ...reasons: readonly ReasonCode[]): Outcome {
  return f.inbox && f.cancel && !f.verdict ? goes('cancelled', ...reasons.slice(0, -1), 'wait_withdrawn') : goes(to, ...reasons);
}

const WAITS: readonly FromState[] = ['submitted', 'received', 'in_progress'];
const FOUR: readonly FromState[] = [...WAITS, 'unconfirmed'];

type End = 'settle_done' | 'settle_submitted' | 'settle_boundary' | 'settle_failed' | 'settle_lost' | 'release' | 'expire';

/** The end of an attempt, whatever ended it. */
function end(event: End, from: FromState, f: Facts): Contract {
  const cancelled = from === 'cancel_requested';
  if (!cancelled && from !== 'leased') return 'refused';
  if (f.open && !f.resolvable) return goes('dead', 'effect_unresolvable');
  if (f.open) return goes('unconfirmed', event === 'release' ? 'worker_shutdown' : event === 'expire' ? 'lease_expired_effect_uncertain' : 'answer_lost');
  // A boundary stop answers a cancel, which has moved the step on; there, a cancel is always set.
  if (event === 'settle_boundary' && !cancelled) return 'excluded';
  if (f.confirmed) {
    const own: Partial<Record<End, ReasonCode>> = { settle_failed: 'attempt_failed', settle_lost: 'answer_lost', release: 'worker_shutdown', expire: 'lease_expired' };
    const first = own[event] === undefined ? [] : [own[event]];
    if (!cancelled) return f.receipt ? goes('submitted', ...first, 'submission_accepted') : goes('completed', ...first, 'attempt_completed');
    if (!f.receipt) return goes('completed', ...first, 'cancel_after_effect');
    return f.cancel ? waits(f, 'submitted', ...first, 'cancel_after_submit') : 'excluded';
  }
  return cancelled ? freeAfterCancel(event) : free(event, f);
}

function freeAfterCancel(event: End): Contract {
  if (event === 'settle_failed') return goes('cancelled', 'attempt_failed', 'cancelled_after_failed_attempt');
  return goes('cancelled', event === 'expire' ? 'lease_expired_effects_settled' : 'cancelled_at_boundary');
}

function free(event: Exclude<End, 'settle_boundary'> | End, f: Facts): Contract {
  switch (event) {
    case 'settle_done':
      return f.receipt ? goes('dead', 'attempt_failed', 'not_retryable') : goes('completed', 'attempt_completed');
    case 'settle_submitted':
      return goes('dead', 'attempt_failed', 'not_retryable');
    case 'settle_failed':
      if (!f.retryable) return goes('dead', 'attempt_failed', 'not_retryable');
      return f.left ? goes('queued', 'attempt_failed', 'retry_scheduled') : goes('dead', 'attempt_failed', 'attempts_exhausted');
    case 'settle_lost':
      return f.left ? goes('queued', 'attempt_failed', 'retry_scheduled') : goes('dead', 'attempt_failed', 'attempts_exhausted');
    case 'release':
      return goes('queued', 'worker_shutdown');
    case 'expire':
      if (!f.reentrant) return goes('dead', 'lease_expired_effect_uncertain');
      return f.left ? goes('queued', 'lease_expired') : goes('dead', 'attempts_exhausted');
    case 'settle_boundary':
      return 'excluded';
  }
}

function cancel(from: FromState, f: Facts): Contract {
  switch (from) {
    case 'waiting':
    case 'queued':
      return goes('cancelled', f.tried ? 'cancelled_before_retry' : 'cancelled_before_execution');
    case 'leased':
      return goes('cancel_requested', 'cancel_asked');
    case 'submitted':
    case 'received':
    case 'in_progress':
      return f.inbox ? goes('cancelled', 'wait_withdrawn') : goes(from, 'cancel_after_submit');
    case 'completed':
      return goes('completed', 'cancel_after_effect');
    case 'unconfirmed':
      return goes('unconfirmed', 'cancel_awaits_resolution');
    case 'dead':
      return goes('dead', 'cancel_recorded');
    default:
      return 'refused';
  }
}

function receipt(event: 'receipt_received' | 'receipt_progress' | 'receipt_completed', from: FromState, f: Facts): Contract {
  if (from !== 'queued' && !FOUR.includes(from)) return 'refused';
  const self = from as RestState;
  if (f.open) return goes(self, 'receipt_held');
  if (event === 'receipt_completed') return goes('completed', 'receipt_completed');
  if (event === 'receipt_progress') return waits(f, 'in_progress', 'receipt_progress');
  return from === 'in_progress' ? goes('in_progress', 'receipt_received') : waits(f, 'received', 'receipt_received');
}

function receiptFailed(from: FromState, f: Facts): Contract {
  if (from === 'queued') return goes('queued', 'receipt_failed');
  if (!FOUR.includes(from)) return 'refused';
  if (f.open) return goes(from as RestState, 'receipt_failed');
  if (f.cancel) return goes('cancelled', 'receipt_failed', 'cancelled_after_failed_attempt');
  if (!f.retryable) return goes('dead', 'receipt_failed', f.inbox ? 'review_rejected' : 'not_retryable');
  return f.left ? goes('queued', 'receipt_failed', 'retry_scheduled') : goes('dead', 'receipt_failed', 'attempts_exhausted');
}

function present(f: Facts): Contract {
  if (f.open) return goes('unconfirmed', 'probe_partial');
  if (!f.submits) {
    // The submitting effect is the last: while it stands, no other effect was left open to be found.
    if (f.confirmed) return 'excluded';
    return f.cancel ? goes('cancelled', 'cancelled_at_boundary') : goes('queued', 'resume_after_probe');
  }
  if (f.done || !f.receipt) return goes('completed', 'probe_completed');
  if (f.inbox && f.cancel && !f.verdict) return goes('cancelled', 'wait_withdrawn');
  return f.again && !f.checks ? goes('dead', 'effect_uncertain') : goes('submitted', 'probe_found');
}

function absent(f: Facts): Contract {
  if (!f.counts) return goes('dead', 'effect_uncertain');
  if (f.open) return goes('unconfirmed', 'probe_partial');
  // What was confirmed and is gone doesn't count, unless a withdrawal explains it: then it is confirmed no more.
  if (f.confirmed) return 'excluded';
  if (f.cancel) return goes('cancelled', 'probe_absent_after_cancel');
  return f.left ? goes('queued', 'probe_absent') : goes('dead', 'attempts_exhausted');
}

function person(event: 'person_present' | 'person_absent', from: FromState, f: Facts): Contract {
  if (from !== 'dead' && from !== 'unconfirmed') return 'refused';
  const reason = event === 'person_present' ? 'operator_confirmed_effect' : 'operator_confirmed_absent';
  if (f.open) return goes(from, reason);
  if (event === 'person_present' && f.submits) return goes('completed', reason);
  if (f.confirmed) return 'refused';
  return goes(f.cancel ? 'cancelled' : 'queued', reason);
}

function replay(f: Facts): Contract {
  if (f.open || f.cancel || f.proof_since) return 'refused';
  if (!f.confirmed) return goes('queued', 'replayed');
  return goes(f.receipt ? 'submitted' : 'completed', 'replayed');
}

/** Events while the other side is waited for; `self` is the state itself. */
function waiting(event: StepEvent, self: RestState, f: Facts): Contract {
  const probed = f.probe && f.checks;
  switch (event) {
    case 'withdraw':
      return !f.inbox && f.withdrawable ? goes(self, 'withdrawal_asked') : 'refused';
    case 'withdrawal_confirmed':
      // It begins only when nothing else is open, and in these states no new intent is written.
      return f.open ? 'excluded' : goes('cancelled', 'withdrawal_confirmed');
    case 'withdrawal_refused':
      return goes(self, 'withdrawal_refused');
    case 'withdrawal_lost':
      return probed ? goes('unconfirmed', 'withdrawal_answer_lost') : goes('dead', 'effect_unresolvable');
    case 'abandon_wait':
      return goes('dead', 'wait_abandoned');
    case 'overdue':
      if (self === 'unconfirmed') return 'refused';
      if (f.inbox) return goes(self, 'review_reminded');
      return probed ? goes('unconfirmed', 'receipt_overdue') : goes('dead', 'receipt_overdue', 'effect_uncertain');
    default:
      return 'refused';
  }
}

function late(from: FromState, f: Facts): Contract {
  if (from !== 'queued' && from !== 'unconfirmed') return 'refused';
  if (f.open) return goes(from, 'probe_partial');
  return f.receipt ? waits(f, 'submitted', 'outcome_late') : goes('completed', 'outcome_late');
}

const when = (condition: boolean, outcome: Contract): Contract => (condition ? outcome : 'refused');

/** What the contract says about an event in a state under these facts. */
export function contract(event: StepEvent, from: FromState, f: Facts): Contract {
  switch (event) {
    case 'enqueue':
      return when(from === 'none', goes(f.needs ? 'waiting' : 'queued', 'new_task'));
    case 'upstream_succeeded':
      return when(from === 'waiting' && !f.needs, goes('queued', 'upstream_succeeded'));
    case 'upstream_cancelled':
      return when(from === 'waiting', goes('cancelled', 'upstream_cancelled'));
    case 'cancel':
      return cancel(from, f);
    case 'deadline':
      return when(from === 'waiting' || from === 'queued', goes('cancelled', 'deadline_passed'));
    case 'claim':
      if (from === 'unconfirmed') return when(f.due && f.resendable, goes('leased', 'resend_same_key'));
      return when(from === 'queued' && f.due && (f.left || f.resume), goes('leased', 'claimed'));
    case 'settle_done':
    case 'settle_submitted':
    case 'settle_boundary':
    case 'settle_failed':
    case 'settle_lost':
    case 'release':
    case 'expire':
      return end(event, from, f);
    case 'receipt_received':
    case 'receipt_progress':
    case 'receipt_completed':
      return receipt(event, from, f);
    case 'receipt_failed':
      return receiptFailed(from, f);
    case 'late_confirmed':
      return late(from, f);
    case 'overdue':
    case 'withdraw':
    case 'withdrawal_confirmed':
    case 'withdrawal_refused':
    case 'withdrawal_lost':
    case 'abandon_wait':
      return FOUR.includes(from) ? waiting(event, from as RestState, f) : 'refused';
    case 'present':
      return when(from === 'unconfirmed', present(f));
    case 'absent':
      return when(from === 'unconfirmed', absent(f));
    case 'inconclusive':
      return when(from === 'unconfirmed', f.checks || f.resendable ? goes('unconfirmed', 'probe_inconclusive') : goes('dead', 'effect_uncertain'));
    case 'no_way_left':
      return when(from === 'unconfirmed' && f.no_way, goes('dead', 'effect_unresolvable'));
    case 'accepted':
      return when(from === 'completed', goes('succeeded', 'proof_accepted'));
    case 'not_checkable':
      return when(from === 'completed', f.checks ? goes('completed', 'acceptance_inconclusive') : goes('dead', 'acceptance_unproven'));
    case 'missing':
      return when(from === 'completed', goes('dead', 'artifact_missing'));
    case 'not_ours':
      return when(from === 'completed', goes('dead', 'artifact_not_ours'));
    case 'below_minimum':
      return when(from === 'completed', goes('dead', 'artifact_below_minimum'));
    case 'replay':
      return when(from === 'dead', replay(f));
    case 'person_present':
    case 'person_absent':
      return person(event, from, f);
    default:
      return unreachable(event);
  }
}
