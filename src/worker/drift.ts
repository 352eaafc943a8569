/** What became of drivers in Temporal: describe decides, lists only hint. */
import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { Logger } from 'pino';
import { ThroughlineError } from '../errors.ts';
import type { Door, DriftRow } from '../ledger/index.ts';
import type { Metrics } from '../metrics/index.ts';
import { LIMITS } from '../state/index.ts';
import { TASK_WORKFLOW, workflowIdOf } from '../workflows/names.ts';

export interface DriftCounts {
  readonly described: number;
  readonly cancelled: number;
  readonly restarted: number;
  readonly failing: number;
}

export interface DriftOptions {
  readonly door: Door;
  readonly client: Client;
  readonly taskQueue: string;
  readonly holder: string;
  readonly log: Logger;
  readonly metrics?: Metrics;
}

interface Run {
  /** NOT_FOUND: Temporal knows no run. */
  readonly status: string;
  readonly runId: string | null;
  /** Ended by a person or program, and no reset has made another run of it. */
  readonly terminated: boolean;
}

/** Lists lag behind, and clocks differ. */
const OVERLAP_MS = 2 * 60_000;
const RUNS_MAX = 200;
const AT_ONCE = 10;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const OPEN: ReadonlySet<string> = new Set(['RUNNING', 'CONTINUED_AS_NEW', 'PAUSED', 'UNKNOWN', 'UNSPECIFIED']);

/**
 * Finds drivers that ended before their tasks did. A terminated run is a cancel by `temporal`, with its reason; after
 * that, and whatever else ended a run, the dispatcher starts another from the ledger.
 */
export class Drift {
  readonly #options: DriftOptions;
  /** Runs whose termination has become a cancel already; within the overlap they are listed again. */
  #known = new Set<string>();

  constructor(options: DriftOptions) {
    this.#options = options;
  }

  /** One bounded pass, where it is this worker's turn. Throws if the ledger or Temporal can't be reached. */
  async runOnce(): Promise<DriftCounts> {
    const counts = { described: 0, cancelled: 0, restarted: 0, failing: 0 };
    const turn = await this.#options.door.driftTurn(LIMITS.drift_interval_ms);
    if (!turn.turn) return counts;
    counts.cancelled += await this.#terminations(turn.since);
    await this.#options.door.driftLooked(turn.now);
    const { tasks } = await this.#options.door.driftTake(LIMITS.drift_batch_rows, LIMITS.drift_cycle_ms, LIMITS.drift_cycle_ms);
    const left = [...tasks];
    await Promise.all(Array.from({ length: AT_ONCE }, async () => {
      for (let row = left.pop(); row !== undefined; row = left.pop()) {
        const { cancelled, restarted, failing } = await this.#look(row);
        counts.described += 1;
        counts.cancelled += cancelled ? 1 : 0;
        counts.restarted += restarted ? 1 : 0;
        counts.failing += failing ? 1 : 0;
      }
    }));
    const { described: _, ...results } = counts;
    for (const [result, tasks] of Object.entries(results)) if (tasks > 0) this.#options.metrics?.drift.inc({ result }, tasks);
    return counts;
  }

  /** Before another run is started for a task that was silent: whether somebody terminated the last one, which then is a cancel. */
  async cancelIfTerminated(task: string): Promise<boolean> {
    const run = await this.#describe(task);
    return run.terminated && this.#cancel(task, run.runId ?? '');
  }

  async #terminations(since: string): Promise<number> {
    const { client, taskQueue } = this.#options;
    const from = new Date(Date.parse(since) - OVERLAP_MS).toISOString();
    const query = `WorkflowType = '${TASK_WORKFLOW}' and TaskQueue = '${taskQueue.replaceAll("'", "\\'")}' and ExecutionStatus = 'Terminated' and CloseTime > '${from}'`;
    const known = new Set<string>();
    let cancelled = 0;
    let seen = 0;
    for await (const { workflowId, runId } of client.workflow.list({ query, pageSize: RUNS_MAX })) {
      if ((seen += 1) > RUNS_MAX) break;
      known.add(runId);
      const task = workflowId.slice('task/'.length);
      if (this.#known.has(runId) || workflowIdOf(task) !== workflowId || !UUID.test(task)) continue;
      const run = await this.#describe(task, runId);
      if (run.terminated && (await this.#cancel(task, runId))) cancelled += 1;
    }
    this.#known = known;
    return cancelled;
  }

  async #look({ task, seen_at: seenAt }: DriftRow): Promise<{ cancelled: boolean; restarted: boolean; failing: boolean }> {
    const { door, holder, log } = this.#options;
    const run = await this.#describe(task);
    if (OPEN.has(run.status)) return { cancelled: false, restarted: false, failing: false };
    const cancelled = run.terminated && (await this.#cancel(task, run.runId ?? ''));
    const { restarted, failing = false } = await door.driverLost(task, { status: run.status, run_id: run.runId, seen_at: seenAt, by: `drift:${holder}` });
    if (restarted) log.warn({ task, status: run.status, run: run.runId, failing }, 'the driver of an open task was lost; it is started again from the ledger');
    return { cancelled, restarted, failing };
  }

  async #describe(task: string, runId?: string): Promise<Run> {
    try {
      const { status, runId: found, raw } = await this.#options.client.workflow.getHandle(workflowIdOf(task), runId).describe();
      return { status: status.name, runId: found, terminated: status.name === 'TERMINATED' && (raw.workflowExtendedInfo?.resetRunId ?? '') === '' };
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return { status: 'NOT_FOUND', runId: null, terminated: false };
      throw error;
    }
  }

  /** A cancel like any other, once for each run. False: the task was not ours, or had ended. */
  async #cancel(task: string, runId: string): Promise<boolean> {
    const { door, client, log } = this.#options;
    try {
      const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({ namespace: client.options.namespace, execution: { workflowId: workflowIdOf(task), runId }, maximumPageSize: 1 });
      const { reason, identity } = history?.events?.[0]?.workflowExecutionTerminatedEventAttributes ?? {};
      const why = ['terminated in Temporal', identity, reason].filter((part) => part !== undefined && part !== null && part !== '').join(': ').slice(0, LIMITS.why_chars_max);
      await door.taskCancel(task, { id: `terminate/${runId}`, by: 'temporal', why });
      return true;
    } catch (error) {
      if (!(error instanceof ThroughlineError) || !['TASK_UNKNOWN', 'ID_CONFLICT', 'ID_INVALID'].includes(error.code)) throw error;
      log.debug({ task, run: runId, err: error }, 'a terminated run is no task of this ledger');
      return false;
    }
  }
}
