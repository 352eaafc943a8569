import type { CancelVerdict, ParentStatus, Plan, ReasonCode, ReceiptKind, ReceiptVerdict, RestState, StepEvent, StepState } from '../state/index.ts';
import type { FailureRow, Stored } from './types.ts';

/** All times are ISO 8601 in UTC, by the ledger's clock. */
export interface TaskRow {
  readonly id: string;
  readonly type: string;
  readonly version: number;
  readonly key: string | null;
  readonly input: Stored;
  readonly status: ParentStatus;
  readonly at_rest: boolean;
  readonly reason: ReasonCode;
  readonly held_by: string | null;
  readonly seq: number;
  readonly since: string;
  readonly deadline_at: string | null;
  readonly created_at: string;
  readonly created_by: string;
  readonly ended_at: string | null;
  /** 1 to 5; null: Temporal's default. */
  readonly priority: number | null;
  readonly fairness_key: string | null;
  readonly fairness_weight: number | null;
  readonly again_of: string | null;
  /** The task that repeats this one; null: none. */
  readonly again_as: string | null;
  readonly driver_seen_at: string | null;
  readonly driver_run_id: string | null;
  /** How often its driver was lost and started again since the task last moved. */
  readonly driver_restarts: number;
}

export interface StepRow {
  readonly name: string;
  readonly ordinal: number;
  readonly kind: 'run' | 'review';
  readonly state: RestState;
  readonly seq: number;
  readonly reason: ReasonCode;
  readonly since: string;
  readonly needs: readonly string[];
  readonly reentrant: boolean;
  readonly attempts_max: number;
  readonly has_receipt: boolean;
  readonly inbox: boolean;
  readonly has_probe: boolean;
  readonly checks_max: number;
  readonly attempt: number;
  readonly charged: number;
  readonly resume: boolean;
  readonly epoch: number;
  readonly holder: string | null;
  readonly lease_expires_at: string | null;
  readonly next_run_at: string;
  readonly open_count: number;
  readonly cancel_id: string | null;
  readonly check_no: number;
  readonly checks_used: number;
  readonly next_check_at: string | null;
  readonly receipt_due_at: string | null;
  /** What it submitted may be taken back. */
  readonly has_withdraw: boolean;
  /** When a withdrawal is to be sent, or was; null: none in progress. */
  readonly withdraw_due_at: string | null;
  /** When the answer to a withdrawal counts as lost; null: none is under way. */
  readonly withdraw_expires_at: string | null;
  readonly proof_since: boolean;
  /** The step may be repeated under its key until then; null: not. */
  readonly resend_until: string | null;
  readonly result: Stored;
  readonly error: (FailureRow & Readonly<Record<string, unknown>>) | null;
}

/** One entry of the timeline. `from_state` and `to_state` are '-' where the entry is not about one step. */
export interface TimelineRow {
  readonly id: number;
  readonly step: string | null;
  readonly kind: 'transition' | 'parent' | 'intent' | 'outcome' | 'receipt' | 'cancel' | 'check' | 'correction' | 'late' | 'note';
  readonly at: string;
  readonly event: StepEvent | 'manual_correction' | null;
  readonly rule: string | null;
  readonly from_state: StepState | ParentStatus | 'none' | '-';
  readonly to_state: StepState | ParentStatus | '-';
  readonly reason: ReasonCode | null;
  readonly attempt: number | null;
  readonly epoch: number | null;
  readonly actor: string;
  readonly facts: Readonly<Record<string, Stored>>;
}

/** A request to the outside, with the generation that it belongs to: one touch. */
export interface TouchRow {
  readonly step: string;
  readonly effect: string;
  readonly item: string;
  readonly generation: number;
  readonly kind: 'effect' | 'withdrawal';
  readonly key: string;
  readonly thread_id: string;
  readonly message_id: string;
  readonly submits: boolean;
  readonly live: boolean;
  readonly attempt: number;
  readonly epoch: number;
  readonly intent_at: string;
  /** false: a withdrawal that no worker has taken yet. */
  readonly sent: boolean;
  /** null: open, no answer yet. */
  readonly outcome: 'confirmed' | 'refused' | 'not_sent' | 'absent' | 'failed' | 'withdrawn' | 'voided' | null;
  readonly outcome_at: string | null;
  readonly late: boolean;
  readonly external_id: string | null;
  readonly done: boolean;
  readonly dedupe_window_ms: number | null;
}

export interface ReceiptRecord {
  readonly id: string;
  readonly delivery_id: string;
  readonly sender: string;
  readonly step: string;
  readonly kind: ReceiptKind;
  readonly thread_id: string | null;
  readonly in_reply_to: string | null;
  /** Step, thread and message as they came, where a person has matched it again; null: never. */
  readonly as_sent: { readonly step: string; readonly thread_id: string | null; readonly in_reply_to: string | null } | null;
  readonly external_id: string | null;
  readonly code: string | null;
  readonly received_at: string;
  readonly deliveries: number;
  /** null: stored, not judged yet. */
  readonly verdict: ReceiptVerdict | null;
  readonly verdict_facts: Readonly<Record<string, Stored>>;
  readonly applied_at: string | null;
  readonly body: Readonly<Record<string, Stored>>;
}

export interface ReceiptListRow extends Omit<ReceiptRecord, 'body'> {
  /** null: no task has the id that was sent. */
  readonly task: string | null;
  /** The task's id as it was sent. */
  readonly task_ref: string;
}

export interface ReceiptPage {
  readonly rows: readonly ReceiptListRow[];
  /** null: this was the last page. */
  readonly cursor: string | null;
}

export interface CancelRecord {
  readonly id: string;
  readonly verb: 'cancel' | 'withdraw' | 'abandon_wait';
  readonly step: string | null;
  readonly by: string;
  readonly why: string;
  readonly at: string;
  readonly steps: readonly {
    readonly step: string;
    readonly follows: string | null;
    readonly found: RestState;
    readonly in_flight: readonly { readonly effect: string; readonly item: string; readonly message_id: string; readonly attempt: number }[];
    readonly verdict: CancelVerdict;
    readonly reason: ReasonCode | null;
    readonly verdict_at: string | null;
    readonly deadline_at: string | null;
  }[];
}

export interface ArtifactRow {
  readonly step: string;
  readonly name: string;
  readonly uri: string;
  readonly media_type: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly attempt: number;
  readonly at: string;
}

export interface AcceptanceRow {
  readonly step: string;
  readonly check_no: number;
  readonly at: string;
  readonly found: boolean | null;
  readonly ours: boolean | null;
  readonly minimum: boolean | null;
  readonly detail: Stored;
}

/** Everything that the ledger knows of one task, read in one statement: one moment. */
export interface TaskRecord {
  readonly as_of: string;
  readonly task: TaskRow;
  readonly steps: readonly StepRow[];
  readonly timeline: readonly TimelineRow[];
  readonly touches: readonly TouchRow[];
  readonly receipts: readonly ReceiptRecord[];
  readonly cancels: readonly CancelRecord[];
  readonly artifacts: readonly ArtifactRow[];
  readonly acceptances: readonly AcceptanceRow[];
  /** The wake-up that is not handed over yet; null: none. */
  readonly outbox: { readonly since: string; readonly attempts: number; readonly last_error: string | null; readonly parked_at: string | null } | null;
  /** Live workers that offer the task's type and version. */
  readonly offers: number;
  /** Live workers in all. */
  readonly workers: number;
}

/** Whether a task is at rest, and how. */
export type RestRow = Pick<TaskListRow, 'id' | 'status' | 'reason' | 'held_by' | 'seq' | 'at_rest'>;

export interface TaskListRow {
  readonly id: string;
  readonly type: string;
  readonly version: number;
  readonly key: string | null;
  readonly status: ParentStatus;
  readonly at_rest: boolean;
  readonly reason: ReasonCode;
  readonly held_by: string | null;
  readonly seq: number;
  readonly since: string;
  readonly created_at: string;
  readonly created_by: string;
  readonly ended_at: string | null;
  /** When something is due next; null: nothing is planned. */
  readonly next_at: string | null;
}

/** The ledger as a whole at one moment; each part was read up to a bound. Counts, and ages in ms. */
export interface LedgerGauges {
  readonly as_of: string;
  /** How far `ended` and `receipts` look back, ms. */
  readonly window_ms: number;
  /** Open tasks and dead ones. */
  readonly tasks: readonly { readonly type: string; readonly status: ParentStatus; readonly tasks: number }[];
  readonly queued: readonly { readonly type: string; readonly steps: number; readonly oldest_ms: number }[];
  readonly troubled: readonly { readonly state: 'unconfirmed' | 'dead'; readonly reason: ReasonCode; readonly steps: number; readonly oldest_ms: number }[];
  readonly ended: readonly { readonly type: string; readonly status: ParentStatus; readonly tasks: number }[];
  readonly receipts: readonly { readonly verdict: ReceiptVerdict | 'unjudged'; readonly receipts: number }[];
  readonly outbox: { readonly waiting: number; readonly parked: number; readonly lag_ms: number };
  readonly cancels_overdue: number;
  readonly receipts_overdue: number;
  readonly leases: { readonly held: number; readonly expired: number };
  readonly workers: { readonly seen: number; readonly clock_skew_ms: number };
  /** A bound was met: the counts of tasks are the least that there are. */
  readonly truncated: boolean;
}

/** What the ledger did lately, by equal spans of time, oldest first. */
export interface LedgerActivity {
  readonly as_of: string;
  /** From here on all is counted. */
  readonly since: string;
  readonly span_ms: number;
  /** Attempts begun, and leases that ran out and were rescued or closed. */
  readonly spans: readonly { readonly at: string; readonly attempts: number; readonly rescues: number }[];
}

/** A registered version of a task type. */
export interface TaskTypeRow {
  readonly type: string;
  readonly version: number;
  readonly plan: Plan;
  readonly plan_digest: string;
  /** JSON Schema of what may be enqueued; null: not known, or it can't be said as one. */
  readonly input_schema: Stored;
  readonly input_bytes_max: number;
  readonly registered_at: string;
  readonly registered_by: string;
}
