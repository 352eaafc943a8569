/** What may be sent to a task's workflow, from any Temporal client. */
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { CancelInput } from '../activities/types.ts';
import type { View } from '../state/index.ts';

/**
 * A wake-up: the ledger has something new; a lost one costs time, a repeated one nothing. `seq` is the ledger's
 * entry that it is about: a run that has read it need not ask again. Without it, the run asks.
 */
export const driveSignal = defineSignal<[{ readonly seq?: number }?]>('drive');

/** A cancel that needs no answer. `id` makes it idempotent; without it each signal is a cancel of its own. */
export const cancelSignal = defineSignal<[Partial<CancelInput>?]>('cancel');

/** A cancel with its answer: what was found, and the verdict or `pending`. */
export const cancelUpdate = defineUpdate<CancelResult, [CancelInput]>('cancel');

/** The view as the driver last read it; `seq` and `as_of` say how old it is. The ledger says what is. */
export const statusQuery = defineQuery<View | null>('status');

/** The verdicts of a cancel: see docs/state-machine.md. */
export interface CancelResult {
  readonly id: string;
  readonly verdict: string;
  readonly steps: readonly { readonly step: string; readonly found: string; readonly state: string; readonly verdict: string; readonly reason: string }[];
}

/** How a run starts: with the id of an enqueued task (the dispatcher adds what it just read), or with what to enqueue. */
export interface TaskInput {
  readonly task?: string;
  readonly view?: View;
  /** The namespace has our search attributes; unregistered ones would make the workflow fail. */
  readonly searchAttributes?: boolean;
  /** For plain Temporal clients: this input stands in the workflow's history, unlike an enqueued one. */
  readonly type?: string;
  readonly version?: number;
  readonly key?: string;
  readonly input?: unknown;
}

/** What a closed run returns: ids and codes. */
export interface TaskOutcome {
  readonly task: string;
  readonly status: string;
  readonly reason: string;
  readonly seq: number;
}
