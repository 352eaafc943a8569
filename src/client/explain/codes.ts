/** The codes of an explanation. They decide; the sentences of phrases-*.ts follow. Only ever added to. */

/** What a step waits for, or what comes next to it. */
export const WAIT_CODES = [
  'nothing',
  'upstream',
  'dead_upstream',
  'unpark',
  'hand_over',
  'worker',
  'due_time',
  'claim',
  'overdue',
  'attempt',
  'rescue',
  'boundary',
  'receipt',
  'review',
  'review_verdict',
  'withdrawal_due',
  'withdrawal',
  'same_key',
  'look',
  'evidence',
  'proof_check',
  'decided',
  'person',
] as const;
export type WaitCode = (typeof WAIT_CODES)[number];

/** On what it depends whether a further attempt is made. */
export const RUN_CODES = [
  'attempt_due',
  'resume_due',
  'same_key',
  'upstream',
  'dead_upstream',
  'worker',
  'unpark',
  'deadline',
  'running',
  'last_attempt',
  'rescue',
  'receipt',
  'review',
  'look',
  'unresolved',
  'proof',
  'cancel_set',
  'attempts_used',
  'succeeded',
  'cancelled',
  'replay',
  'replay_wait',
  'replay_proof',
  'confirm_first',
] as const;
export type RunCode = (typeof RUN_CODES)[number];
export type RunAnswer = 'yes' | 'no' | 'depends' | 'only_by_a_person';

/** What whoever reads it may do next. */
export const ACTION_CODES = [
  'none',
  'wait',
  'start_worker',
  'unpark',
  'review',
  'replay',
  'replay_wait',
  'replay_proof',
  'confirm',
  'confirm_arrived',
  'new_task',
  'see_successor',
  'decision',
  'see_upstream',
  'check_driver',
  'verify',
] as const;
export type ActionCode = (typeof ACTION_CODES)[number];

/** Who moves the task. */
export const DRIVER_CODES = ['at_rest', 'driven', 'hand_over_pending', 'wake_pending', 'parked', 'no_worker', 'no_workers', 'overdue', 'failing'] as const;
export type DriverCode = (typeof DRIVER_CODES)[number];

/** How Temporal's status fits what the ledger says. */
export const TEMPORAL_CODES = ['not_asked', 'unreachable', 'fits', 'not_started', 'closing', 'catching_up', 'forgotten', 'differs', 'gone', 'closed_early', 'still_open', 'paused', 'wedged', 'activity_paused', 'no_poller'] as const;
export type TemporalCode = (typeof TEMPORAL_CODES)[number];

/** What became of a request to the outside. */
export const OUTCOME_CODES = ['to_be_sent', 'sending', 'resolving', 'unanswered', 'confirmed', 'refused', 'not_sent', 'absent', 'failed', 'withdrawn', 'voided', 'lost'] as const;
export type OutcomeCode = (typeof OUTCOME_CODES)[number];

/** What stands behind a step's success. */
export const PROOF_CODES = ['none_yet', 'checking', 'accepted', 'not_accepted', 'unbacked'] as const;
export type ProofCode = (typeof PROOF_CODES)[number];

/** What an acceptance check found. */
export const CHECK_CODES = ['accepted', 'missing', 'not_ours', 'below_minimum', 'not_checkable'] as const;
export type CheckCode = (typeof CHECK_CODES)[number];

/** Green belongs to `success`, and that to a success with its proof. */
export type Tone = 'success' | 'progress' | 'attention' | 'stopped';
