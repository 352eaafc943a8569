/**
 * The step's state machine as data. This table decides: it is read by `next()`, written into the
 * database's rule table (migrations, generated and checked), drawn in docs/state-machine.md and spoken
 * by `explain`. For each (event, state, facts) exactly one row or a named refusal.
 *
 * Guards are asked in this order: open, confirmed, cancel, attempts.
 */
import type { Facts, Guard } from './facts.ts';
import { holds } from './facts.ts';
import type { ReasonCode } from './reasons.ts';
import type { FromState, RestState, StepState } from './states.ts';

export const EVENTS = {
  enqueue: 'the task is accepted',
  upstream_succeeded: 'a needed step succeeded',
  upstream_cancelled: 'a needed step was cancelled',
  cancel: 'somebody asks not to do what is not done yet',
  deadline: 'the deadline for a start has passed',
  claim: 'a worker takes the step for an attempt',
  settle_done: 'the handler returned',
  settle_submitted: 'the handler returned after submitting to the other side',
  settle_boundary: 'the handler stopped at a boundary because of a cancel',
  settle_failed: 'the handler failed',
  settle_lost: 'the answer of an effect was lost',
  release: 'the worker shuts down and gives the claim back',
  expire: 'the lease ran out',
  receipt_received: 'a matched receipt: the other side has it',
  receipt_progress: 'a matched receipt: the other side is working on it',
  receipt_completed: 'a matched receipt: the other side is done',
  receipt_failed: 'a matched receipt: the other side failed',
  late_confirmed: 'a worker that lost its lease reports that the submission was taken',
  overdue: 'no receipt within the time declared',
  withdraw: 'somebody asks to take back what was submitted',
  withdrawal_confirmed: 'the other side took it back',
  withdrawal_refused: 'the other side refused to take it back',
  withdrawal_lost: 'the answer to the withdrawal was lost',
  abandon_wait: 'a person stops the waiting',
  present: 'evidence: the effect happened',
  absent: 'evidence: the effect did not happen',
  inconclusive: 'a check could not tell',
  no_way_left: 'nothing automatic can resolve it any more',
  accepted: 'the proof was accepted',
  not_checkable: 'the proof could not be checked',
  missing: 'the proof does not exist',
  not_ours: 'the proof belongs to another task',
  below_minimum: 'the proof does not meet the minimum',
  replay: 'a named person replays a dead step',
  person_present: 'a named person confirms with evidence that the effect happened',
  person_absent: 'a named person confirms with evidence that the effect did not happen',
} as const;

export type StepEvent = keyof typeof EVENTS;
export const EVENT_NAMES = Object.keys(EVENTS) as readonly StepEvent[];

/** Who may cause a transition. */
export type Cause = 'client' | 'worker' | 'platform' | 'reviewer' | 'driver' | 'operator';

/** One edge that is written to the timeline. */
export interface Edge {
  readonly from: FromState;
  readonly to: StepState;
  readonly reason: ReasonCode;
}

/** One row. `to: null` is "itself": evidence without a move. */
export interface Rule {
  readonly label: string;
  readonly event: StepEvent;
  readonly from: readonly FromState[];
  readonly guard: Guard;
  readonly to: RestState | null;
  /** One reason, or two: the attempt's own end first. */
  readonly reasons: readonly [ReasonCode] | readonly [ReasonCode, ReasonCode];
  readonly by: Cause;
}

type Reasons = ReasonCode | readonly [ReasonCode, ReasonCode];
const rules: Rule[] = [];

function row(label: string, event: StepEvent, from: FromState | readonly FromState[], guard: Guard, to: RestState | null, reasons: Reasons, by: Cause): void {
  const list: Rule['reasons'] = typeof reasons === 'string' ? [reasons] : reasons;
  rules.push({ label, event, from: typeof from === 'string' ? [from] : from, guard, to, reasons: list, by });
}

const HELD = ['leased', 'cancel_requested'] as const;
const WAITS = ['submitted', 'received', 'in_progress'] as const;
const FOUR = [...WAITS, 'unconfirmed'] as const;
const Q4 = ['queued', ...FOUR] as const;

/**
 * Rule 5: with our own inbox, a cancel set and no verdict stored, an edge to submitted, received or
 * in_progress goes to cancelled. Written as disjoint rows, since guards are conjunctions.
 */
function towardsWait(label: string, event: StepEvent, from: readonly FromState[], guard: Guard, to: RestState, reasons: Reasons, by: Cause): void {
  const withdrawn: Reasons = typeof reasons === 'string' ? 'wait_withdrawn' : [reasons[0], 'wait_withdrawn'];
  row(label, event, from, { ...guard, inbox: false }, to, reasons, by);
  row(`${label}.inbox`, event, from, { ...guard, inbox: true, cancel: false }, to, reasons, by);
  row(`${label}.verdict`, event, from, { ...guard, inbox: true, cancel: true, verdict: true }, to, reasons, by);
  row(`${label}.withdrawn`, event, from, { ...guard, inbox: true, cancel: true, verdict: false }, 'cancelled', withdrawn, by);
}

// ---- Begin -------------------------------------------------------------------------------------
row('enqueue.free', 'enqueue', 'none', { needs: false }, 'queued', 'new_task', 'client');
row('enqueue.needs', 'enqueue', 'none', { needs: true }, 'waiting', 'new_task', 'client');
row('upstream.succeeded', 'upstream_succeeded', 'waiting', { needs: false }, 'queued', 'upstream_succeeded', 'driver');
row('upstream.cancelled', 'upstream_cancelled', 'waiting', {}, 'cancelled', 'upstream_cancelled', 'driver');
row('cancel.first', 'cancel', ['waiting', 'queued'], { tried: false }, 'cancelled', 'cancelled_before_execution', 'client');
row('cancel.retry', 'cancel', ['waiting', 'queued'], { tried: true }, 'cancelled', 'cancelled_before_retry', 'client');
row('deadline', 'deadline', ['waiting', 'queued'], {}, 'cancelled', 'deadline_passed', 'driver');
row('claim', 'claim', 'queued', { due: true, left: true }, 'leased', 'claimed', 'worker');
row('claim.resume', 'claim', 'queued', { due: true, left: false, resume: true }, 'leased', 'claimed', 'worker');
row('claim.resend', 'claim', 'unconfirmed', { due: true, resendable: true }, 'leased', 'resend_same_key', 'worker');
row('cancel.leased', 'cancel', 'leased', {}, 'cancel_requested', 'cancel_asked', 'client');

// ---- End of an attempt: first open, then confirmed, then free ------------------------------------
const ENDS = ['settle_done', 'settle_submitted', 'settle_boundary', 'settle_failed', 'settle_lost', 'release', 'expire'] as const;
const OWN_CODE: Partial<Record<StepEvent, ReasonCode>> = {
  settle_failed: 'attempt_failed',
  settle_lost: 'answer_lost',
  release: 'worker_shutdown',
  expire: 'lease_expired',
};
for (const event of ENDS) {
  const by: Cause = event === 'expire' ? 'driver' : 'worker';
  const uncertain: ReasonCode =
    event === 'release' ? 'worker_shutdown' : event === 'expire' ? 'lease_expired_effect_uncertain' : 'answer_lost';
  row(`open.resolvable.${event}`, event, HELD, { open: true, resolvable: true }, 'unconfirmed', uncertain, by);
  row(`open.stuck.${event}`, event, HELD, { open: true, resolvable: false }, 'dead', 'effect_unresolvable', by);

  const own = OWN_CODE[event];
  const first = (reason: ReasonCode): Reasons => (own === undefined ? reason : [own, reason]);
  const stands: Guard = { open: false, confirmed: true };
  if (event !== 'settle_boundary') {
    row(`stands.submitted.${event}`, event, 'leased', { ...stands, receipt: true }, 'submitted', first('submission_accepted'), by);
    row(`stands.completed.${event}`, event, 'leased', { ...stands, receipt: false }, 'completed', first('attempt_completed'), by);
  }
  towardsWait(`stands.cancel.submitted.${event}`, event, ['cancel_requested'], { ...stands, receipt: true, cancel: true }, 'submitted', first('cancel_after_submit'), by);
  row(`stands.cancel.completed.${event}`, event, 'cancel_requested', { ...stands, receipt: false }, 'completed', first('cancel_after_effect'), by);
}
const FREE: Guard = { open: false, confirmed: false };
row('done', 'settle_done', 'leased', { ...FREE, receipt: false }, 'completed', 'attempt_completed', 'worker');
row('done.unsubmitted', 'settle_done', 'leased', { ...FREE, receipt: true }, 'dead', ['attempt_failed', 'not_retryable'], 'worker');
row('submitted.unsubmitted', 'settle_submitted', 'leased', FREE, 'dead', ['attempt_failed', 'not_retryable'], 'worker');
row('failed.retry', 'settle_failed', 'leased', { ...FREE, retryable: true, left: true }, 'queued', ['attempt_failed', 'retry_scheduled'], 'worker');
row('failed.exhausted', 'settle_failed', 'leased', { ...FREE, retryable: true, left: false }, 'dead', ['attempt_failed', 'attempts_exhausted'], 'worker');
row('failed.final', 'settle_failed', 'leased', { ...FREE, retryable: false }, 'dead', ['attempt_failed', 'not_retryable'], 'worker');
row('lost.closed', 'settle_lost', 'leased', { ...FREE, left: true }, 'queued', ['attempt_failed', 'retry_scheduled'], 'worker');
row('lost.exhausted', 'settle_lost', 'leased', { ...FREE, left: false }, 'dead', ['attempt_failed', 'attempts_exhausted'], 'worker');
for (const event of ['settle_done', 'settle_submitted', 'settle_boundary', 'settle_lost', 'release'] as const) {
  row(`boundary.${event}`, event, 'cancel_requested', FREE, 'cancelled', 'cancelled_at_boundary', 'worker');
}
row('failed.cancel', 'settle_failed', 'cancel_requested', FREE, 'cancelled', ['attempt_failed', 'cancelled_after_failed_attempt'], 'worker');
row('release', 'release', 'leased', FREE, 'queued', 'worker_shutdown', 'worker');
row('expire.retry', 'expire', 'leased', { ...FREE, reentrant: true, left: true }, 'queued', 'lease_expired', 'driver');
row('expire.exhausted', 'expire', 'leased', { ...FREE, reentrant: true, left: false }, 'dead', 'attempts_exhausted', 'driver');
row('expire.uncertain', 'expire', 'leased', { ...FREE, reentrant: false }, 'dead', 'lease_expired_effect_uncertain', 'driver');
row('expire.cancel', 'expire', 'cancel_requested', FREE, 'cancelled', 'lease_expired_effects_settled', 'driver');

// ---- Waiting for the other side ------------------------------------------------------------------
const RECEIPT_FROM = ['queued', 'submitted', 'received', 'unconfirmed'] as const;
towardsWait('receipt.received', 'receipt_received', RECEIPT_FROM, { open: false }, 'received', 'receipt_received', 'platform');
row('receipt.received.again', 'receipt_received', 'in_progress', { open: false }, null, 'receipt_received', 'platform');
row('receipt.received.held', 'receipt_received', Q4, { open: true }, null, 'receipt_held', 'platform');
towardsWait('receipt.progress', 'receipt_progress', Q4, { open: false }, 'in_progress', 'receipt_progress', 'platform');
row('receipt.progress.held', 'receipt_progress', Q4, { open: true }, null, 'receipt_held', 'platform');
row('receipt.completed', 'receipt_completed', Q4, { open: false }, 'completed', 'receipt_completed', 'platform');
row('receipt.completed.held', 'receipt_completed', Q4, { open: true }, null, 'receipt_held', 'platform');
row('receipt.failed.queued', 'receipt_failed', 'queued', {}, null, 'receipt_failed', 'platform');
row('receipt.failed.open', 'receipt_failed', FOUR, { open: true }, null, 'receipt_failed', 'platform');
row('receipt.failed.cancel', 'receipt_failed', FOUR, { open: false, cancel: true }, 'cancelled', ['receipt_failed', 'cancelled_after_failed_attempt'], 'platform');
const REFUSED: Guard = { open: false, cancel: false };
row('receipt.failed.retry', 'receipt_failed', FOUR, { ...REFUSED, retryable: true, left: true }, 'queued', ['receipt_failed', 'retry_scheduled'], 'platform');
row('receipt.failed.exhausted', 'receipt_failed', FOUR, { ...REFUSED, retryable: true, left: false }, 'dead', ['receipt_failed', 'attempts_exhausted'], 'platform');
row('receipt.failed.rejected', 'receipt_failed', FOUR, { ...REFUSED, retryable: false, inbox: true }, 'dead', ['receipt_failed', 'review_rejected'], 'reviewer');
row('receipt.failed.final', 'receipt_failed', FOUR, { ...REFUSED, retryable: false, inbox: false }, 'dead', ['receipt_failed', 'not_retryable'], 'platform');
row('late.open', 'late_confirmed', ['queued', 'unconfirmed'], { open: true }, null, 'probe_partial', 'worker');
towardsWait('late.submitted', 'late_confirmed', ['queued', 'unconfirmed'], { open: false, receipt: true }, 'submitted', 'outcome_late', 'worker');
row('late.completed', 'late_confirmed', ['queued', 'unconfirmed'], { open: false, receipt: false }, 'completed', 'outcome_late', 'worker');
row('overdue.probe', 'overdue', WAITS, { inbox: false, probe: true, checks: true }, 'unconfirmed', 'receipt_overdue', 'driver');
row('overdue.checked', 'overdue', WAITS, { inbox: false, probe: true, checks: false }, 'dead', ['receipt_overdue', 'effect_uncertain'], 'driver');
row('overdue.blind', 'overdue', WAITS, { inbox: false, probe: false }, 'dead', ['receipt_overdue', 'effect_uncertain'], 'driver');
row('overdue.review', 'overdue', WAITS, { inbox: true }, null, 'review_reminded', 'driver');
row('cancel.outside', 'cancel', WAITS, { inbox: false }, null, 'cancel_after_submit', 'client');
row('cancel.inbox', 'cancel', WAITS, { inbox: true }, 'cancelled', 'wait_withdrawn', 'client');
row('cancel.completed', 'cancel', 'completed', {}, null, 'cancel_after_effect', 'client');
row('cancel.unconfirmed', 'cancel', 'unconfirmed', {}, null, 'cancel_awaits_resolution', 'client');
row('cancel.dead', 'cancel', 'dead', {}, null, 'cancel_recorded', 'client');
row('withdraw', 'withdraw', FOUR, { inbox: false, withdrawable: true }, null, 'withdrawal_asked', 'operator');
row('withdrawal.confirmed', 'withdrawal_confirmed', FOUR, { open: false }, 'cancelled', 'withdrawal_confirmed', 'platform');
row('withdrawal.refused', 'withdrawal_refused', FOUR, {}, null, 'withdrawal_refused', 'platform');
row('withdrawal.lost', 'withdrawal_lost', FOUR, { probe: true, checks: true }, 'unconfirmed', 'withdrawal_answer_lost', 'worker');
row('withdrawal.lost.checked', 'withdrawal_lost', FOUR, { probe: true, checks: false }, 'dead', 'effect_unresolvable', 'worker');
row('withdrawal.lost.blind', 'withdrawal_lost', FOUR, { probe: false }, 'dead', 'effect_unresolvable', 'worker');
row('abandon', 'abandon_wait', FOUR, {}, 'dead', 'wait_abandoned', 'operator');

// ---- Resolving the unconfirmed --------------------------------------------------------------------
const U = ['unconfirmed'] as const;
const CLOSED: Guard = { open: false };
const FOUND: Guard = { ...CLOSED, submits: true, done: false, receipt: true };
row('present.open', 'present', U, { open: true }, null, 'probe_partial', 'driver');
row('present.done', 'present', U, { ...CLOSED, submits: true, done: true }, 'completed', 'probe_completed', 'driver');
row('present.synchronous', 'present', U, { ...CLOSED, submits: true, done: false, receipt: false }, 'completed', 'probe_completed', 'driver');
for (const [label, guard] of [
  ['', { inbox: false }],
  ['.inbox', { inbox: true, cancel: false }],
  ['.verdict', { inbox: true, cancel: true, verdict: true }],
] as const) {
  row(`present.found${label}`, 'present', U, { ...FOUND, ...guard, again: false }, 'submitted', 'probe_found', 'driver');
  row(`present.again${label}`, 'present', U, { ...FOUND, ...guard, again: true, checks: true }, 'submitted', 'probe_found', 'driver');
  row(`present.exhausted${label}`, 'present', U, { ...FOUND, ...guard, again: true, checks: false }, 'dead', 'effect_uncertain', 'driver');
}
row('present.withdrawn', 'present', U, { ...FOUND, inbox: true, cancel: true, verdict: false }, 'cancelled', 'wait_withdrawn', 'driver');
row('present.other', 'present', U, { ...FREE, submits: false, cancel: false }, 'queued', 'resume_after_probe', 'driver');
row('present.other.cancel', 'present', U, { ...FREE, submits: false, cancel: true }, 'cancelled', 'cancelled_at_boundary', 'driver');
row('absent.no_proof', 'absent', U, { counts: false }, 'dead', 'effect_uncertain', 'driver');
row('absent.open', 'absent', U, { counts: true, open: true }, null, 'probe_partial', 'driver');
row('absent.cancel', 'absent', U, { counts: true, ...FREE, cancel: true }, 'cancelled', 'probe_absent_after_cancel', 'driver');
row('absent.retry', 'absent', U, { counts: true, ...FREE, cancel: false, left: true }, 'queued', 'probe_absent', 'driver');
row('absent.exhausted', 'absent', U, { counts: true, ...FREE, cancel: false, left: false }, 'dead', 'attempts_exhausted', 'driver');
row('inconclusive', 'inconclusive', U, { checks: true }, null, 'probe_inconclusive', 'driver');
row('inconclusive.resend', 'inconclusive', U, { checks: false, resendable: true }, null, 'probe_inconclusive', 'driver');
row('inconclusive.exhausted', 'inconclusive', U, { checks: false, resendable: false }, 'dead', 'effect_uncertain', 'driver');
row('no_way_left', 'no_way_left', U, { no_way: true }, 'dead', 'effect_unresolvable', 'driver');

// ---- Acceptance and persons -----------------------------------------------------------------------
row('accept', 'accepted', 'completed', {}, 'succeeded', 'proof_accepted', 'driver');
row('accept.again', 'not_checkable', 'completed', { checks: true }, null, 'acceptance_inconclusive', 'driver');
row('accept.unproven', 'not_checkable', 'completed', { checks: false }, 'dead', 'acceptance_unproven', 'driver');
row('accept.missing', 'missing', 'completed', {}, 'dead', 'artifact_missing', 'driver');
row('accept.not_ours', 'not_ours', 'completed', {}, 'dead', 'artifact_not_ours', 'driver');
row('accept.below', 'below_minimum', 'completed', {}, 'dead', 'artifact_below_minimum', 'driver');
const REPLAYABLE: Guard = { open: false, cancel: false, proof_since: false };
row('replay', 'replay', 'dead', { ...REPLAYABLE, confirmed: false }, 'queued', 'replayed', 'operator');
row('replay.submitted', 'replay', 'dead', { ...REPLAYABLE, confirmed: true, receipt: true }, 'submitted', 'replayed', 'operator');
row('replay.completed', 'replay', 'dead', { ...REPLAYABLE, confirmed: true, receipt: false }, 'completed', 'replayed', 'operator');
const UNSURE = ['dead', 'unconfirmed'] as const;
row('person.present', 'person_present', UNSURE, { open: false, submits: true }, 'completed', 'operator_confirmed_effect', 'operator');
row('person.present.other', 'person_present', UNSURE, { ...FREE, submits: false, cancel: false }, 'queued', 'operator_confirmed_effect', 'operator');
row('person.present.cancel', 'person_present', UNSURE, { ...FREE, submits: false, cancel: true }, 'cancelled', 'operator_confirmed_effect', 'operator');
row('person.present.open', 'person_present', UNSURE, { open: true }, null, 'operator_confirmed_effect', 'operator');
row('person.absent', 'person_absent', UNSURE, { ...FREE, cancel: false }, 'queued', 'operator_confirmed_absent', 'operator');
row('person.absent.cancel', 'person_absent', UNSURE, { ...FREE, cancel: true }, 'cancelled', 'operator_confirmed_absent', 'operator');
row('person.absent.open', 'person_absent', UNSURE, { open: true }, null, 'operator_confirmed_absent', 'operator');

export const RULES: readonly Rule[] = rules;

const BY_EVENT_AND_STATE = new Map<string, Rule[]>();
for (const rule of RULES) {
  for (const from of rule.from) {
    const key = `${rule.event}/${from}`;
    BY_EVENT_AND_STATE.set(key, [...(BY_EVENT_AND_STATE.get(key) ?? []), rule]);
  }
}

/** The rules that could apply to an event in a state, whatever the facts. */
export const rulesFor = (event: StepEvent, from: FromState): readonly Rule[] => BY_EVENT_AND_STATE.get(`${event}/${from}`) ?? [];

export type Verdict =
  | { readonly rule: Rule; readonly to: RestState; readonly edges: readonly Edge[] }
  | { readonly refused: 'no_rule' };

const THROUGH_FAILED: ReadonlySet<ReasonCode> = new Set(['attempt_failed', 'receipt_failed']);

/**
 * The edges that a rule writes. The first of two reasons passes through `failed` when it says that an
 * attempt failed; otherwise it is evidence on the state itself.
 */
export function edgesOf(rule: Rule, from: FromState): readonly Edge[] {
  const to = rule.to ?? (from as StepState);
  const [first, second] = rule.reasons;
  if (second === undefined) return [{ from, to, reason: first }];
  const via: StepState = THROUGH_FAILED.has(first) ? 'failed' : (from as StepState);
  return [
    { from, to: via, reason: first },
    { from: via, to, reason: second },
  ];
}

/** What the machine does with an event: the one matching row, or a refusal. Throws if two rows match. */
export function next(from: FromState, event: StepEvent, facts: Facts): Verdict {
  const matching = rulesFor(event, from).filter((rule) => holds(rule.guard, facts));
  const [rule, second] = matching;
  if (rule === undefined) return { refused: 'no_rule' };
  if (second !== undefined) throw new Error(`Broken promise: one row decides (${rule.label} and ${second.label})`);
  return { rule, to: rule.to ?? (from as RestState), edges: edgesOf(rule, from) };
}
