/** What persons settle at the door, and what they are answered. */
import type { ParentStatus, ReasonCode, ReceiptVerdict, RestState } from '../state/index.ts';
import type { ActionRow, Stored } from './types.ts';

export interface RematchRow extends ActionRow {
  readonly step: string;
  /** A receipt's own id or its delivery id. */
  readonly receipt: string;
  readonly sender?: string;
  readonly message_id?: string;
}

export interface RematchAnswer {
  readonly task: string;
  readonly id: string;
  readonly receipt: string;
  readonly delivery_id: string;
  readonly step: string;
  /** The verdict until then. */
  readonly was: ReceiptVerdict;
  readonly verdict: ReceiptVerdict;
  readonly applied: boolean;
  readonly state: RestState | null;
  readonly repeated?: true;
}

export interface ReplayRow extends ActionRow {
  readonly void?: readonly { readonly effect: string; readonly item?: string }[];
  readonly drop_checkpoints?: boolean;
}

export interface ReplayAnswer {
  readonly task: string;
  readonly id: string;
  readonly status?: ParentStatus;
  readonly steps: readonly { readonly step: string; readonly replayed: boolean; readonly refused?: string; readonly rule?: string }[];
  readonly repeated?: true;
}

/** What a person knows of the outside, with its evidence. */
export interface ConfirmRow extends ActionRow {
  readonly step: string;
  readonly effect: string;
  readonly item?: string;
  readonly present: boolean;
  readonly external_id?: string;
  /** What the call would have returned; of a present one only. */
  readonly result?: Stored;
  readonly evidence: string;
}

export interface ConfirmAnswer {
  readonly task: string;
  readonly id: string;
  readonly step: string;
  /** The machine's row that moved the step, or kept it where something else is still open. */
  readonly rule: string;
  /** The step's state now. */
  readonly state: RestState;
  readonly repeated?: true;
}

export interface CorrectRow {
  readonly id?: string;
  /** The timeline entry that is wrong. */
  readonly entry: string;
  readonly by: string;
  readonly why: string;
  /** What it should have said; absent: only that it is wrong. */
  readonly reason?: ReasonCode;
}

export interface CorrectAnswer {
  /** The entry that was appended. */
  readonly entry: number;
  readonly corrects: number;
  readonly repeated?: true;
}

export interface UnparkAnswer {
  /** false: its wake-up is not parked, and nothing was changed. */
  readonly unparked: boolean;
  readonly repeated?: true;
}
