/**
 * The plan of a task type: what is stored with each task and decides for it for as long as it lives.
 * Plain JSON with snake_case keys, read by the ledger's functions; times in milliseconds.
 */
export interface PlanSchedule {
  /** Wait before try n+1 is entry n-1; the last entry repeats. */
  readonly schedule_ms: readonly number[];
  /** 0 to 1. */
  readonly jitter: number;
}

export interface PlanEffect {
  readonly name: string;
  readonly submits: boolean;
  /** null: the other side does not dedupe. */
  readonly dedupe_window_ms: number | null;
  readonly visible_within_ms: number;
  readonly absence_is_proof: boolean;
  readonly timeout_ms: number;
}

export type PlanProof =
  | { readonly kind: 'artifacts'; readonly min: number; readonly bytes_min: number; readonly media_types: readonly string[] }
  /** JSON pointers that the ledger itself finds present and non-empty in the recorded result. */
  | { readonly kind: 'record'; readonly requires: readonly string[] }
  | { readonly kind: 'read_back' }
  /** A stored verdict of our own inbox. */
  | { readonly kind: 'verdict' };

/** How what a step submitted is taken back. */
export interface PlanWithdraw {
  /** The longest that one call may take. */
  readonly timeout_ms: number;
  /** null: the other side does not dedupe. */
  readonly dedupe_window_ms: number | null;
  /** Later than this after the call's end, a look sees that it is gone. */
  readonly visible_within_ms: number;
  /** Requests of one withdrawal. */
  readonly attempts: number;
}

export interface PlanStep {
  readonly name: string;
  readonly kind: 'run' | 'review';
  readonly needs: readonly string[];
  readonly reentrant: boolean;
  readonly attempts: number;
  readonly backoff: PlanSchedule;
  readonly lease_ms: number;
  readonly timeout_ms: number;
  readonly effects: readonly PlanEffect[];
  /** `inbox`: our own (a review); then `within_ms` is the reminder's window. `senders` empty: any. */
  readonly receipt: { readonly within_ms: number; readonly senders: readonly string[]; readonly inbox: boolean } | null;
  readonly probe: boolean;
  readonly checks: { readonly attempts: number } & PlanSchedule;
  readonly proof: PlanProof;
  /** Absent: what it submitted can't be taken back. */
  readonly withdraw?: PlanWithdraw;
}

export interface Plan {
  readonly type: string;
  readonly version: number;
  readonly steps: readonly PlanStep[];
}

/** The name under which a withdrawal stands among a step's effects. */
export const WITHDRAW_EFFECT = 'withdraw';

/** The effect by which a review opens its request in our own inbox. */
export const REVIEW_EFFECT = 'request';
