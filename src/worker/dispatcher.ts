import type { Client } from '@temporalio/client';
import { ServiceError } from '@temporalio/client';
import { WorkflowIdReusePolicy } from '@temporalio/common';
import type { Logger } from 'pino';
import { failpoint } from '../failpoint.ts';
import type { Door, DueWake } from '../ledger/index.ts';
import { withTraceParent } from '../tracing/spans.ts';
import { LIMITS } from '../state/index.ts';
import { searchAttribute } from '../workflows/search-attributes.ts';
import { searchAttributeNames, TASK_WORKFLOW, workflowIdOf } from '../workflows/names.ts';

export interface DispatcherOptions {
  readonly door: Door;
  readonly client: Client;
  readonly taskQueue: string;
  /** The namespace has our search attributes. */
  readonly searchAttributes: boolean;
  /** Asked before a silent task gets another run: a person may have terminated the last one. */
  readonly cancelIfTerminated?: (task: string) => Promise<boolean>;
  readonly log: Logger;
}

export interface DispatchCounts {
  readonly taken: number;
  readonly sent: number;
  readonly failed: number;
  readonly parked: number;
}

/** A taken row is another dispatcher's again after this long. */
const HOLD_MS = 30_000;
/** gRPC codes that say something about this row alone; everything else is the namespace's or the network's trouble. */
const ROW_CODES: ReadonlySet<number> = new Set([3, 11]); // INVALID_ARGUMENT, OUT_OF_RANGE

const grpcCode = (error: unknown): number | undefined => {
  const cause: unknown = error instanceof ServiceError ? error.cause : undefined;
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined;
  return typeof code === 'number' ? code : undefined;
};

/** Sends the outbox's wake-ups to Temporal. Any number of dispatchers may run; a repeated wake-up costs nothing. */
export class Dispatcher {
  readonly #options: DispatcherOptions;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  /** One bounded pass: takes what is due, sends it, marks it. Throws if the ledger can't be reached. */
  async runOnce(): Promise<DispatchCounts> {
    const { door, log } = this.#options;
    const rows = await door.outboxTake(LIMITS.dispatch_batch_rows, HOLD_MS);
    if (rows.length === 0) return { taken: 0, sent: 0, failed: 0, parked: 0 };
    const results = await Promise.allSettled(rows.map((row) => withTraceParent(row.trace_parent, () => this.#send(row))));
    const sent = rows.filter((_, index) => results[index]?.status === 'fulfilled');
    if (sent.length > 0) await door.outboxSent(sent.map(({ task, version }) => ({ task, version })));
    let parked = 0;
    for (const [index, row] of rows.entries()) {
      const result = results[index];
      if (result?.status !== 'rejected') continue;
      const counts = ROW_CODES.has(grpcCode(result.reason) ?? -1);
      const retryMs = Math.min(1_000 * 2 ** Math.min(row.attempts, 6), 60_000);
      const answer = await door.outboxFailed(row.task, String(result.reason), counts ? retryMs : 1_000, counts, LIMITS.dispatch_attempts_max);
      if (answer.parked) parked += 1;
      log.warn({ task: row.task, err: result.reason, parked: answer.parked }, 'a wake-up was not sent');
    }
    return { taken: rows.length, sent: sent.length, failed: rows.length - sent.length, parked };
  }

  async #send(row: DueWake): Promise<void> {
    const { client, taskQueue, searchAttributes, cancelIfTerminated } = this.#options;
    const { view, priority } = row;
    if (row.forced) await cancelIfTerminated?.(row.task);
    failpoint('signal.before');
    await client.workflow.signalWithStart(TASK_WORKFLOW, {
      workflowId: workflowIdOf(row.task),
      taskQueue,
      args: [{ task: row.task, view, searchAttributes }],
      signal: 'drive',
      // A run that knows this entry of the ledger already need not ask again.
      signalArgs: [row.forced ? {} : { seq: view.seq }],
      workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
      // Activities inherit it.
      ...(Object.keys(priority).length === 0 ? {} : { priority }),
      staticSummary: `${view.type} v${String(view.version)}`,
      ...(searchAttributes
        ? {
            typedSearchAttributes: [
              searchAttribute(searchAttributeNames.type, view.type),
              searchAttribute(searchAttributeNames.state, view.status),
              searchAttribute(searchAttributeNames.reason, view.reason),
            ],
          }
        : {}),
    });
    failpoint('signal.after');
  }
}
