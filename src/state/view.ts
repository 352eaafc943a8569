import type { ReasonCode } from './reasons.ts';
import type { ParentStatus, RestState } from './states.ts';

/** What a step needs next, and in how many milliseconds from the view's moment. */
export type Next =
  | {
      readonly do: 'attempt';
      readonly in_ms: number;
      readonly timeout_ms: number;
      readonly lease_ms: number;
      /** May run beside the driver, as a local activity: short, harmless to repeat, asks nothing of the outside. */
      readonly quick?: true;
    }
  | { readonly do: 'check'; readonly in_ms: number; readonly check_no: number }
  | { readonly do: 'withdraw'; readonly in_ms: number; readonly withdraw_no: number; readonly timeout_ms: number }
  /** Nothing but time: a lease, a receipt or a reminder runs out then. */
  | { readonly do: 'watch'; readonly in_ms: number };

export interface StepView {
  readonly name: string;
  readonly state: RestState;
  readonly reason: ReasonCode;
  readonly attempt: number;
  readonly epoch: number;
  readonly seq: number;
  /** Absent: nothing is due. */
  readonly next?: Next;
}

/** What the driver knows of a task: states, codes and delays; never payloads. `seq` orders views. */
export interface View {
  readonly task: string;
  readonly type: string;
  readonly version: number;
  readonly seq: number;
  readonly status: ParentStatus;
  readonly at_rest: boolean;
  readonly reason: ReasonCode;
  readonly held_by: string | null;
  /** ISO 8601, the ledger's clock. */
  readonly as_of: string;
  readonly steps: readonly StepView[];
}
