import type { Logger } from 'pino';
import type { Door } from '../ledger/index.ts';
import type { Metrics } from '../metrics/index.ts';
import { LIMITS } from '../state/index.ts';

export interface SweepCounts {
  readonly looked_at: number;
  readonly moved: number;
  readonly judged: number;
  readonly woken: number;
  /** Another holder of the task's lock was at work. */
  readonly busy: number;
  readonly failed: number;
}

/**
 * Finds what nobody else will: expired leases, overdue receipts, unjudged receipts, due rows whose driver is
 * silent. Each task is a transaction of its own, so that a bad row stops nothing; every action is idempotent,
 * so that any number of sweepers may run.
 */
export class Sweeper {
  readonly #door: Door;
  readonly #holder: string;
  readonly #log: Logger;
  readonly #silenceMs: number;
  readonly #metrics: Metrics | undefined;

  constructor(options: { readonly door: Door; readonly holder: string; readonly log: Logger; readonly silenceMs?: number; readonly metrics?: Metrics }) {
    this.#door = options.door;
    this.#holder = options.holder;
    this.#log = options.log;
    this.#metrics = options.metrics;
    this.#silenceMs = options.silenceMs ?? LIMITS.driver_silence_ms;
  }

  /** One bounded pass. Throws if the ledger can't be reached. */
  async runOnce(): Promise<SweepCounts> {
    const tasks = await this.#door.sweepDue(LIMITS.sweep_batch_rows, this.#silenceMs);
    const counts = { looked_at: tasks.length, moved: 0, judged: 0, woken: 0, busy: 0, failed: 0 };
    for (const task of tasks) {
      try {
        const answer = await this.#door.taskSweep(task, this.#holder, this.#silenceMs);
        counts.moved += answer.moves ?? 0;
        counts.judged += answer.judged ?? 0;
        counts.woken += answer.woken === true ? 1 : 0;
        counts.busy += answer.busy === true ? 1 : 0;
      } catch (error) {
        counts.failed += 1;
        this.#log.error({ task, err: error }, 'the sweeper could not handle this task; the others go on');
      }
    }
    const { looked_at: _, ...results } = counts;
    for (const [result, tasks] of Object.entries(results)) if (tasks > 0) this.#metrics?.sweeps.inc({ result }, tasks);
    return counts;
  }
}
