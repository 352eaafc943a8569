import type { CancelVerdict, Category, ParentStatus, Plan, PlanProof, ReasonCode, ReceiptKind, ReceiptVerdict, RestState, Stage, View } from '../state/index.ts';

export type * from './deed-types.ts';

/** Any JSON, as stored. */
export type Stored = string | number | boolean | null | readonly Stored[] | { readonly [key: string]: Stored | undefined };

export interface TypeRow {
  readonly type: string;
  readonly version: number;
  readonly plan: Plan;
  readonly plan_digest: string;
  /** JSON Schema of what may be enqueued; absent: not known. */
  readonly input_schema?: Stored;
  readonly input_bytes_max: number;
  readonly by: string;
}

export interface EnqueueRow {
  readonly type: string;
  readonly version?: number;
  /** A UUID; made by the caller so that a lost answer is harmless. */
  readonly id: string;
  readonly key?: string;
  readonly input: Stored;
  readonly digest: string;
  readonly digests: Readonly<Record<string, string>>;
  /** ISO 8601 with zone. */
  readonly run_at?: string;
  readonly delay_ms?: number;
  readonly deadline_at?: string;
  readonly again_of?: string;
  /** The input was not read by the type's schema: the worker does. */
  readonly raw?: boolean;
  readonly priority?: number;
  readonly fairness_key?: string;
  readonly fairness_weight?: number;
  /** W3C traceparent of the enqueueing span. */
  readonly trace_parent?: string;
  readonly by: string;
}

/** A refusal as the door answers it: a code, and what belongs to it. */
export type Refused = { readonly error: string } & Readonly<Record<string, unknown>>;

export interface BatchRows {
  readonly rows: readonly EnqueueRow[];
  /** The tasks that rows of the whole batch repeat, locked before any key is taken. */
  readonly again: readonly string[];
}

export interface Enqueued {
  readonly id: string;
  readonly state: ParentStatus;
  /** false: the key was known; `id` is the task that has it. */
  readonly created: boolean;
}

/** An effect's live generation as a claim finds it. */
export interface LiveEffect {
  readonly name: string;
  readonly item: string;
  readonly generation: number;
  readonly status: string;
  readonly external_id: string | null;
  readonly result: Stored;
}

export interface Claimed {
  readonly claimed: true;
  readonly attempt: number;
  readonly charged: number;
  readonly epoch: number;
  readonly state: RestState;
  readonly lease_ms: number;
  readonly thread_id: string;
  readonly type: string;
  readonly version: number;
  readonly input: Stored;
  readonly raw: boolean;
  readonly results: Readonly<Record<string, Stored>>;
  readonly checkpoints: Readonly<Record<string, Stored>>;
  readonly effects: readonly LiveEffect[];
  /** From when the step was due to this claim; not in the answer to a repeated call. */
  readonly waited_ms?: number;
  /** The reason for which the step was due; not in the answer to a repeated call. */
  readonly after?: ReasonCode;
}

export type ClaimAnswer =
  | Claimed
  | { readonly refused: 'held'; readonly held_ms: number; readonly holder: string; readonly view: View }
  | { readonly refused: 'not_yet'; readonly not_yet_ms: number; readonly view: View }
  | { readonly refused: 'settled' | 'no_rule'; readonly view: View };

/** The claim is not the current one: somebody moved the step first. */
export interface Fenced {
  readonly refused: 'fenced';
  readonly epoch: number;
  readonly state: RestState;
  readonly held_by?: string | null;
}

export type RenewAnswer = { readonly renewed: true; readonly cancel: boolean; readonly lease_ms: number } | Fenced;

/** A recorded failure; see src/activities/thrown.ts for how it is read from what was thrown. */
export interface FailureRow {
  readonly category: Category;
  readonly stage: Stage;
  readonly name: string;
  readonly message: string;
  readonly code?: string | undefined;
  readonly http_status?: number | undefined;
  readonly causes?: readonly Stored[] | undefined;
  readonly cut?: number | undefined;
}

export type SettleHow = 'done' | 'submitted' | 'boundary' | 'failed' | 'lost' | 'release' | 'review';

export interface SettleRow {
  readonly claim: string;
  readonly epoch: number;
  readonly holder: string;
  readonly how: SettleHow;
  readonly result?: Stored;
  readonly error?: FailureRow;
  readonly retryable?: boolean;
  readonly retry_after_ms?: number;
  readonly review?: { readonly note?: Stored; readonly decision?: { readonly verdict: 'approved' | 'rejected'; readonly by: string; readonly why: string } };
}

export type SettleAnswer =
  | { readonly settled: true; readonly repeated?: true; readonly rule?: string; readonly view: View }
  | (Fenced & { readonly view: View })
  | { readonly refused: 'no_rule'; readonly state: RestState; readonly view: View };

export interface IntentRow {
  readonly claim: string;
  readonly message_id: string;
  readonly name: string;
  readonly item: string;
  readonly digest: string;
}

export type IntentAnswer =
  | { readonly permitted: true; readonly key: string; readonly thread_id: string; readonly generation: number; readonly timeout_ms: number; readonly send_within_ms: number }
  | { readonly reuse: true; readonly external_id: string; readonly result: Stored; readonly generation: number }
  | { readonly refused: 'cancel' | 'undeclared' | 'after_submission' | 'effect_open' | 'request_changed' | 'unanswered' }
  | Fenced;

export interface OutcomeRow {
  readonly claim: string;
  readonly holder: string;
  readonly message_id: string;
  readonly outcome: 'confirmed' | 'refused' | 'not_sent';
  readonly external_id?: string;
  readonly result?: Stored;
  readonly error?: FailureRow;
}

export interface OutcomeAnswer { readonly recorded: true; readonly repeated?: true; readonly late?: true; readonly moved?: string | null }

export interface ReceiptRow {
  readonly delivery_id: string;
  readonly sender: string;
  readonly task: string;
  readonly step: string;
  readonly thread_id?: string;
  readonly in_reply_to?: string;
  readonly kind: ReceiptKind;
  readonly external_id?: string;
  readonly code?: string;
  /** A failed receipt only: may a further attempt be made? Default no. */
  readonly retryable?: boolean;
  readonly artifact?: Stored;
  readonly body?: Stored;
  readonly digest: string;
}

export interface ReceiptAnswer {
  readonly id: string;
  /** null: stored, judged later. */
  readonly verdict: ReceiptVerdict | null;
  readonly facts?: Stored;
  readonly applied?: boolean;
  readonly state?: RestState | null;
  readonly repeated?: true;
}

/** Who acts and why; `id` makes the action idempotent. */
export interface ActionRow {
  readonly id: string;
  readonly by: string;
  readonly why: string;
  readonly step?: string;
}

export interface CancelStepAnswer {
  readonly step: string;
  readonly found: RestState;
  readonly state: RestState;
  readonly verdict: CancelVerdict;
  readonly reason: ReasonCode;
  readonly in_flight: readonly { readonly effect: string; readonly item: string; readonly message_id: string; readonly attempt: number }[];
  readonly follows?: string;
  readonly next_check_in_ms?: number;
  readonly deadline_in_ms?: number;
}

export interface CancelAnswer {
  readonly id: string;
  readonly task: string;
  readonly verb: 'cancel' | 'withdraw' | 'abandon_wait';
  readonly step: string | null;
  readonly by: string;
  readonly why: string;
  readonly status: ParentStatus;
  readonly verdict: CancelVerdict;
  readonly steps: readonly CancelStepAnswer[];
  readonly repeated?: true;
}

export interface WithdrawalClaimed {
  readonly claimed: true;
  readonly message_id: string;
  readonly key: string;
  readonly thread_id: string;
  readonly generation: number;
  readonly timeout_ms: number;
  /** From before the claim was asked; past it the call is not made. */
  readonly send_within_ms: number;
  readonly type: string;
  readonly version: number;
  readonly input: Stored;
  readonly raw: boolean;
  readonly attempt: number;
  readonly epoch: number;
  readonly result: Stored;
  readonly results: Readonly<Record<string, Stored>>;
  readonly submission: { readonly effect: string; readonly item: string; readonly key: string; readonly external_id: string | null; readonly message_ids: readonly string[] };
}

export type WithdrawalAnswer =
  | WithdrawalClaimed
  | { readonly refused: 'held'; readonly held_ms: number; readonly view: View }
  | { readonly refused: 'not_yet'; readonly not_yet_ms: number; readonly view: View }
  | { readonly refused: 'no_withdrawal_due'; readonly view: View };

export interface WithdrawalRow {
  readonly message_id: string;
  readonly holder: string;
  readonly outcome: 'confirmed' | 'refused' | 'not_sent' | 'lost';
  /** What refused it may not do so the next time. */
  readonly again?: boolean;
  readonly retry_after_ms?: number;
  readonly error?: FailureRow;
}

export interface WithdrawalRecorded { readonly recorded: true; readonly repeated?: true; readonly late?: true; readonly moved?: string; readonly view: View }

export interface CheckSubject {
  readonly id: string;
  readonly effect: string;
  readonly item: string;
  readonly key: string;
  readonly thread_id: string;
  readonly submits: boolean;
  readonly external_id: string | null;
  readonly message_ids: readonly string[];
}

export interface CheckClaimed {
  readonly check: 'probe' | 'accept';
  readonly check_no: number;
  readonly type: string;
  readonly version: number;
  readonly input: Stored;
  readonly raw: boolean;
  readonly attempt: number;
  readonly epoch: number;
  readonly external_id: string | null;
  readonly result: Stored;
  readonly results: Readonly<Record<string, Stored>>;
  readonly artifacts: readonly { readonly name: string; readonly uri: string; readonly mediaType: string; readonly bytes: number; readonly sha256: string }[];
  readonly proof: PlanProof;
  readonly subject: CheckSubject | null;
}

export type CheckAnswer =
  | CheckClaimed
  | { readonly refused: 'held'; readonly held_ms: number; readonly view: View }
  | { readonly refused: 'not_yet'; readonly not_yet_ms: number; readonly view: View }
  | { readonly refused: 'no_check_due' | 'checker_vanished'; readonly view: View };

export interface ProbeRow {
  readonly check: string;
  readonly check_no: number;
  readonly effect_id: string;
  readonly answer: 'present' | 'completed' | 'absent' | 'unknown';
  readonly external_id?: string;
  readonly result?: Stored;
  readonly detail?: Stored;
  readonly holder: string;
}

export interface AcceptRow {
  readonly check: string;
  readonly check_no: number;
  /** null: could not be checked. */
  readonly found: boolean | null;
  readonly ours: boolean | null;
  readonly minimum: boolean | null;
  readonly detail?: Stored;
  readonly result?: Stored;
  readonly holder: string;
}

export type CheckResultAnswer =
  | { readonly recorded: true; readonly rule: string | null; readonly view: View }
  | { readonly refused: 'check_not_current'; readonly check_no: number; readonly view: View };

/** An open task whose driver was not heard of lately. */
export interface DriftRow {
  readonly task: string;
  readonly seen_at: string | null;
}

export interface DueWake {
  readonly task: string;
  readonly version: number;
  readonly attempts: number;
  /** The driver must ask the ledger, whatever it has read before. */
  readonly forced: boolean;
  /** W3C traceparent of the span that enqueued the task; null: not traced. */
  readonly trace_parent: string | null;
  /** For Temporal; empty: its defaults. */
  readonly priority: { readonly priorityKey?: number; readonly fairnessKey?: string; readonly fairnessWeight?: number };
  readonly view: View;
}
