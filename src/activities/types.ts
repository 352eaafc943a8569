import type { CancelAnswer } from '../ledger/types.ts';
import type { View } from '../state/index.ts';

/** What an attempt, a check or a withdrawal came to. Everything but an unreachable ledger is a value, never a throw. */
export interface ActivityAnswer {
  /**
   * `settled`: the ledger moved, see the view. `held`: somebody else holds it for `ms`. `not_yet`: due in `ms`.
   * `no_handler`: this worker does not offer the type and version, nothing was claimed; `ms` > 0: another one does.
   */
  readonly outcome: 'settled' | 'held' | 'not_yet' | 'no_handler';
  readonly ms: number;
  readonly view: View | null;
}

export interface StepInput {
  readonly task: string;
  readonly type: string;
  readonly version: number;
  readonly step: string;
}

export interface CancelInput {
  /** Makes it idempotent. */
  readonly id: string;
  readonly by: string;
  readonly why: string;
  /** One step; without it the whole task. */
  readonly step?: string;
}

/** What a plain Temporal client may start the workflow with, instead of an enqueued row's id. */
export interface EnqueueInput {
  readonly type: string;
  readonly version?: number;
  readonly key: string;
  readonly input: unknown;
}

/** The activities of a task's driver. They throw only if the ledger (or Temporal) can't be reached, or with a coded refusal. */
export interface TaskActivities {
  /** Asks the ledger what is due. */
  look(input: { readonly task: string }): Promise<View>;
  /** Claim, handler, settle, and the first acceptance check. */
  attempt(input: StepInput): Promise<ActivityAnswer>;
  /** One probe or one acceptance check. */
  check(input: StepInput): Promise<ActivityAnswer>;
  /** One request of a withdrawal. */
  withdraw(input: StepInput): Promise<ActivityAnswer>;
  cancel(input: CancelInput & { readonly task: string }): Promise<CancelAnswer>;
  enqueue(input: EnqueueInput): Promise<{ readonly task: string }>;
  /** Asks Temporal to cancel this run, so that it closes as Canceled. */
  requestClose(): Promise<void>;
}
