/**
 * The shape of a language: a phrase for every code, so that a missing one does not compile. The meanings of
 * states, reasons, categories, verdicts of receipts and the parent's statuses stand in src/state, for both languages.
 */
import type { CancelVerdict, ParentStatus, ReceiptKind, Stage, StepState } from '../../state/index.ts';
import type { CancelRecord } from '../../ledger/index.ts';
import type { ActionCode, CheckCode, DriverCode, OutcomeCode, ProofCode, RunCode, TemporalCode, WaitCode } from './codes.ts';

/** Reasons that a step's sentence words in its own way; all others speak with their meaning. */
export const OWN_WORDING = [
  'upstream_cancelled',
  'cancelled_before_execution',
  'cancelled_before_retry',
  'deadline_passed',
  'wait_withdrawn',
  'cancelled_at_boundary',
  'cancelled_after_failed_attempt',
  'lease_expired_effects_settled',
  'withdrawal_confirmed',
  'probe_absent_after_cancel',
  'operator_confirmed_effect',
  'operator_confirmed_absent',
  'manual_correction',
] as const;
export type OwnWording = (typeof OWN_WORDING)[number];

/** Reasons that read otherwise where the other side is a reviewer and the receipt a verdict. */
export const REVIEW_WORDING = ['submission_accepted', 'receipt_received', 'receipt_progress', 'receipt_completed', 'receipt_failed', 'attempt_completed'] as const;
export type ReviewWording = (typeof REVIEW_WORDING)[number];

/** What a phrase about a step may use. Names come from users: literal, bounded. */
export interface StepWords {
  readonly step: string;
  /** Attempts made; the next one is one more. */
  readonly made: number;
  readonly charged: number;
  readonly left: number;
  readonly max: number;
  /** The moment in question, relative and absolute; null: none. */
  readonly when: string | null;
  readonly holder: string;
  readonly needs: string;
  readonly dead: string;
  /** "publish-note v2". */
  readonly offer: string;
  /** Effects without an answer; '' where there are none. */
  readonly open: string;
  readonly error: string;
  readonly successor: string;
}

export interface DriverWords {
  readonly offer: string;
  readonly step: string;
  readonly ago: string;
  readonly tries: number;
  readonly restarts: number;
  readonly error: string;
}

export interface TemporalWords {
  readonly status: string;
  readonly expected: string;
  readonly error: string;
}

export type ProbeAnswer = 'present' | 'completed' | 'absent' | 'unknown';

export interface Phrases {
  readonly states: Readonly<Record<StepState, string>>;
  readonly statuses: Readonly<Record<ParentStatus, string>>;
  readonly stages: Readonly<Record<Stage, string>>;
  readonly receipt_kinds: Readonly<Record<ReceiptKind, string>>;
  readonly outcomes: Readonly<Record<OutcomeCode, string>>;
  readonly answers: Readonly<Record<ProbeAnswer, string>>;
  readonly looks: Readonly<Record<'too_early' | 'first' | 'second', string>>;
  readonly own: Readonly<Record<OwnWording, string>>;
  readonly review: Readonly<Record<ReviewWording, string>>;
  /** A receipt's kind as a reviewer's word. */
  readonly review_kinds: Readonly<Record<ReceiptKind, string>>;
  readonly verdicts: Readonly<Record<CancelVerdict, string>>;
  readonly verbs: Readonly<Record<CancelRecord['verb'], string>>;
  readonly waits: Readonly<Record<WaitCode, (w: StepWords) => string>>;
  readonly runs: Readonly<Record<RunCode, (w: StepWords) => string>>;
  readonly actions: Readonly<Record<ActionCode, (w: StepWords) => string>>;
  readonly drivers: Readonly<Record<DriverCode, (d: DriverWords) => string>>;
  readonly temporal: Readonly<Record<TemporalCode, (t: TemporalWords) => string>>;
  readonly proofs: Readonly<Record<ProofCode, string>>;
  readonly checks: Readonly<Record<CheckCode, string>>;

  readonly time: {
    readonly units: { readonly ms: string; readonly s: string; readonly min: string; readonly h: string; readonly d: string };
    readonly future: (duration: string, clock: string) => string;
    readonly past: (duration: string, clock: string) => string;
    readonly now: string;
  };
  /** "render, review". */
  readonly list: (items: readonly string[]) => string;
  /** Clauses of one sentence. */
  readonly join: (clauses: readonly string[]) => string;
  readonly named: (name: string, clause: string) => string;
  readonly aside: (clause: string, aside: string) => string;
  /** A whole sentence; a name in front stays as its owner writes it. */
  readonly sentence: (clauses: string, startsWithName: boolean) => string;

  readonly step: {
    readonly attempt_failed: (attempt: number, failure: string) => string;
    readonly failure: (category: string, stage: string) => string;
    readonly last_failure: (failure: string) => string;
    readonly used: (charged: number, max: number) => string;
    readonly attempts: (made: number, charged: number, max: number) => string;
    readonly needs_person: (clause: string) => string;
    readonly rejected: (by: string, why: string) => string;
    readonly rejected_unnamed: string;
    readonly cancel_too_late: string;
    readonly cancel_waits: string;
    readonly cancel_after_submission: string;
    readonly cancel_recorded: string;
    readonly maybe_outside: string;
    readonly done_unproven: string;
    readonly unbacked: string;
  };
  readonly headline: {
    readonly succeeded: string;
    readonly succeeded_unbacked: (steps: string) => string;
    readonly dead: (step: string, clause: string) => string;
    readonly others: (steps: string) => string;
  };
  readonly cancel: {
    readonly found: (state: string) => string;
    readonly nothing_to_cancel: (state: string) => string;
    readonly waiting_stopped: string;
    readonly took_effect: (clause: string) => string;
    readonly needs_person: (clause: string) => string;
    readonly decided: string;
    readonly pending: (clause: string) => string;
    readonly not_taken_back: string;
    readonly not_asked_back: string;
    readonly deadline: (when: string) => string;
    readonly deadline_over: (when: string) => string;
    readonly follows: (id: string) => string;
    readonly left_outside: (what: string, submission: string) => string;
    readonly left_item: (effect: string, count: number) => string;
    readonly in_flight: (effect: string, attempt: number, outcome: string) => string;
  };
  readonly touch: {
    readonly external: (id: string) => string;
    readonly late: string;
    readonly ended: string;
    readonly inbox: string;
    readonly withdrawal: string;
    readonly submits: string;
  };
  readonly receipt: {
    readonly said: (kind: string, sender: string) => string;
    readonly unjudged: string;
    readonly applied: string;
    readonly not_applied: string;
    readonly deliveries: (n: number) => string;
  };
  readonly correction: (was: string, is: string | null, why: string) => string;
  readonly by_hand: (from: string, to: string) => string;
  readonly story: {
    readonly accepted: (offer: string) => string;
    readonly key: (key: string) => string;
    readonly not_before: (at: string) => string;
    readonly repeats: (task: string) => string;
    readonly rest: (status: string) => string;
    readonly moves_again: (status: string) => string;
    readonly starts: (attempt: number) => string;
    readonly sends: (effect: string) => string;
    readonly asks_inbox: string;
    readonly asks_withdrawal: string;
    readonly asks_withdrawal_again: string;
    readonly outcome: (effect: string, outcome: string) => string;
    readonly next_in: (duration: string) => string;
    readonly why: (why: string) => string;
    readonly evidence: (evidence: string) => string;
    readonly detail: (detail: string) => string;
    readonly check: (no: number) => string;
    readonly checker_vanished: string;
    readonly fresh_budget: string;
    readonly dropped_checkpoints: string;
    readonly in_bulk: (bulk: string) => string;
    readonly voided: (effects: string) => string;
    readonly cancel: (verb: string) => string;
    readonly late: Readonly<Record<'settle' | 'probe' | 'acceptance', string>>;
    readonly epochs: (claim: string, current: string) => string;
    readonly unparked: string;
    readonly driver_lost: (status: string, restarts: string) => string;
    readonly driver_failing: (status: string, restarts: string) => string;
    readonly rematched: (delivery: string) => string;
    readonly until_then: (verdict: string) => string;
    readonly as_sent: (message: string) => string;
    readonly note: (what: string) => string;
    readonly correction: (entry: string) => string;
    readonly judging_failed: string;
  };
  readonly yes_no: { readonly yes: string; readonly no: string; readonly unknown: string };
}
