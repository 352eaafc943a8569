import type { CancelVerdict, Category, ParentStatus, ReasonCode, ReceiptKind, ReceiptVerdict, RestState, Stage } from '../../state/index.ts';
import type { CancelRecord, Stored, TimelineRow, TouchRow } from '../../ledger/index.ts';
import type { ActionCode, CheckCode, DriverCode, OutcomeCode, ProofCode, RunAnswer, RunCode, TemporalCode, Tone, WaitCode } from './codes.ts';

export type ExplainLanguage = 'en' | 'zh-CN';

/** What Temporal says of the task's workflow (describe without a run id), or why it could not be asked. */
/** What keeps an open run from going on. */
export type TemporalTrouble = Extract<TemporalCode, 'wedged' | 'activity_paused' | 'no_poller'>;
export type TemporalSight = { readonly status: string; readonly run_id: string | null; readonly trouble?: TemporalTrouble } | { readonly error: string };

export interface ExplainOptions {
  readonly lang: ExplainLanguage;
  readonly temporal?: TemporalSight;
}

/** A reason code with its meaning. `corrected`: a person appended that another one is right. */
export interface ReasonSaid {
  readonly code: ReasonCode;
  readonly meaning: string;
  readonly corrected: { readonly to: string | null; readonly by: string; readonly why: string; readonly sentence: string } | null;
}

export interface RunAgain {
  readonly answer: RunAnswer;
  readonly on: RunCode;
  /** ISO 8601; null: no time is set. */
  readonly when: string | null;
  /** The label of the machine's row that decides it; null: no row, the code says it. */
  readonly rule: string | null;
  /** The step that decides it for the task. */
  readonly step: string;
  readonly sentence: string;
}

export interface NextAction {
  readonly code: ActionCode;
  readonly step: string | null;
  readonly sentence: string;
}

export interface Waiting {
  readonly on: WaitCode;
  /** ISO 8601; null: no time is set. */
  readonly at: string | null;
  readonly sentence: string;
}

export interface BlockedOn extends Waiting {
  readonly step: string;
  readonly state: RestState;
  /** The dead step at the root of the wait; null: none. */
  readonly dead_step: string | null;
}

export interface FailureSaid {
  readonly category: Category;
  readonly category_meaning: string;
  readonly retryable: boolean;
  readonly stage: Stage;
  readonly stage_meaning: string;
  /** The cause's own words, bounded. */
  readonly message: string;
  readonly code: string | null;
  readonly http_status: number | null;
  readonly sentence: string;
}

/** One request to the outside. */
export interface Touch {
  readonly step: string;
  readonly attempt: number;
  readonly effect: string;
  readonly item: string;
  readonly generation: number;
  readonly kind: TouchRow['kind'];
  readonly key: string;
  readonly message_id: string;
  readonly thread_id: string;
  readonly submits: boolean;
  /** false: this generation has ended. */
  readonly live: boolean;
  readonly at: string;
  readonly outcome: OutcomeCode;
  readonly outcome_at: string | null;
  /** The answer came after the claim was lost. */
  readonly late: boolean;
  readonly external_id: string | null;
  readonly sentence: string;
}

export interface TouchesOfAttempt {
  readonly step: string;
  readonly attempt: number;
  readonly requests: readonly Touch[];
}

export interface StepExplanation {
  readonly name: string;
  readonly kind: 'run' | 'review';
  readonly state: RestState;
  readonly state_label: string;
  readonly meaning: string;
  readonly tone: Tone;
  readonly since: string;
  readonly reason: ReasonSaid;
  /** Who ended it; null: it has not ended, or by hand. */
  readonly ended_by: 'user' | 'protection' | 'success' | null;
  /** "publish: cancelled before the retry". */
  readonly sentence: string;
  readonly attempts: { readonly made: number; readonly charged: number; readonly max: number; readonly left: number; readonly sentence: string };
  readonly next: Waiting;
  readonly will_run_again: RunAgain;
  readonly next_action: NextAction;
  readonly holder: string | null;
  readonly lease_expires_at: string | null;
  readonly last_failure: FailureSaid | null;
  /** Of a review; null: none yet. */
  readonly decision: { readonly verdict: 'approved' | 'rejected'; readonly by: string; readonly why: string; readonly at: string } | null;
  readonly needs: readonly { readonly step: string; readonly state: RestState; readonly state_label: string; readonly met: boolean }[];
  readonly open_effects: readonly Touch[];
  readonly cancel_id: string | null;
}

export interface InFlight {
  readonly effect: string;
  readonly item: string;
  readonly attempt: number;
  readonly message_id: string;
  readonly outcome: OutcomeCode;
  /** What became of it. */
  readonly sentence: string;
}

export interface LeftOutside {
  readonly effect: string;
  readonly count: number;
  readonly items: readonly string[];
  readonly external_ids: readonly string[];
}

export interface CancelOfStep {
  readonly step: string;
  readonly found: RestState;
  readonly found_meaning: string;
  readonly state: RestState;
  readonly verdict: CancelVerdict;
  readonly reason: ReasonCode | null;
  readonly verdict_at: string | null;
  readonly follows: string | null;
  readonly sentence: string;
  readonly in_flight: readonly InFlight[];
  /** What other effects left outside where the submission itself did not happen. */
  readonly left_outside: readonly LeftOutside[];
  readonly left_outside_sentence: string | null;
  /** Of a pending one: when it is looked at next, and when an open verdict becomes a finding. */
  readonly next_check_at: string | null;
  readonly deadline_at: string | null;
  readonly overdue: boolean;
}

export interface CancelExplanation {
  readonly id: string;
  readonly verb: CancelRecord['verb'];
  /** null: the whole task. */
  readonly step: string | null;
  readonly by: string;
  readonly why: string;
  readonly at: string;
  readonly verdict: CancelVerdict;
  readonly pending: boolean;
  readonly verdict_meaning: string;
  readonly sentence: string;
  readonly steps: readonly CancelOfStep[];
}

export interface ReceiptExplanation {
  readonly id: string;
  readonly delivery_id: string;
  readonly sender: string;
  readonly step: string;
  readonly kind: ReceiptKind;
  readonly at: string;
  readonly deliveries: number;
  readonly in_reply_to: string | null;
  readonly external_id: string | null;
  readonly code: string | null;
  /** null: stored, not judged yet. */
  readonly verdict: ReceiptVerdict | null;
  readonly verdict_meaning: string;
  /** One with this verdict may move a step. */
  readonly matched: boolean;
  readonly applied_at: string | null;
  readonly sentence: string;
}

export interface ProofOfStep {
  readonly step: string;
  readonly code: ProofCode;
  readonly sentence: string;
  readonly checks: readonly {
    readonly check_no: number;
    readonly at: string;
    readonly code: CheckCode;
    readonly found: boolean | null;
    readonly ours: boolean | null;
    readonly minimum: boolean | null;
    readonly sentence: string;
    /** What was read, as recorded. */
    readonly read: Stored;
  }[];
  readonly artifacts: readonly { readonly name: string; readonly uri: string; readonly media_type: string; readonly bytes: number; readonly sha256: string; readonly attempt: number; readonly at: string }[];
}

export interface StoryLine {
  /** The timeline's entry. */
  readonly id: number;
  readonly at: string;
  readonly step: string | null;
  readonly kind: TimelineRow['kind'];
  readonly reason: ReasonCode | null;
  readonly who: string;
  readonly attempt: number | null;
  readonly stage: Stage | null;
  /** Changed by hand, past the door. */
  readonly manual: boolean;
  readonly sentence: string;
  readonly corrections: readonly { readonly id: number; readonly at: string; readonly who: string; readonly sentence: string }[];
}

export interface DriverExplanation {
  readonly code: DriverCode;
  readonly handed_over: boolean;
  readonly sentence: string;
  readonly parked: boolean;
  readonly last_error: string | null;
  readonly seen_at: string | null;
  readonly run_id: string | null;
  /** Live workers that offer this type and version, and live workers in all. */
  readonly offers: number;
  readonly workers: number;
  readonly agrees_with_temporal: 'yes' | 'no' | 'not_asked' | 'unknown';
  readonly temporal: { readonly code: TemporalCode; readonly status: string | null; readonly run_id: string | null; readonly sentence: string };
}

/**
 * What the ledger knows of a task, said: plain JSON, codes beside sentences in the language asked. The same for
 * client, API, CLI and console. Times are ISO 8601 in UTC, by the ledger's clock.
 */
export interface Explanation {
  readonly lang: ExplainLanguage;
  readonly task: {
    readonly id: string;
    readonly type: string;
    readonly version: number;
    readonly key: string | null;
    readonly created_at: string;
    readonly created_by: string;
    readonly deadline_at: string | null;
    readonly ended_at: string | null;
    readonly again_of: string | null;
    readonly again_as: string | null;
  };
  readonly headline: string;
  readonly status: ParentStatus;
  readonly status_label: string;
  readonly status_meaning: string;
  readonly reason: ReasonSaid;
  readonly since: string;
  readonly at_rest: boolean;
  /** Succeeded, and every step's accepted proof is recorded. */
  readonly success: boolean;
  readonly tone: Tone;
  readonly ended_by: 'user' | 'protection' | 'success' | null;
  readonly held_by: string | null;
  readonly blocked_on: BlockedOn | null;
  readonly will_run_again: RunAgain;
  readonly next_action: NextAction;
  readonly also: readonly NextAction[];
  readonly steps: readonly StepExplanation[];
  /** One sentence per step, joined. */
  readonly steps_sentence: string;
  readonly cancels: readonly CancelExplanation[];
  readonly touches: readonly TouchesOfAttempt[];
  readonly receipts: readonly ReceiptExplanation[];
  readonly proof: readonly ProofOfStep[];
  readonly story: readonly StoryLine[];
  /** Entries between the first and the newest that a very long story leaves out. */
  readonly story_left_out: number;
  readonly driver: DriverExplanation;
  readonly as_of: string;
  readonly seq: number;
}
