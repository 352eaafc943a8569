import { ThroughlineError } from '../errors.ts';
import type { Reader, RestRow } from '../ledger/index.ts';

export interface WaitOptions {
  /** Give up after this long, ms: WAIT_TIMEOUT. Default: wait for ever. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** How a task ended, or rests on a dead step. */
export type Rest = Omit<RestRow, 'at_rest'>;

interface Waiter {
  readonly task: string;
  readonly resolve: (rest: Rest) => void;
  readonly reject: (error: unknown) => void;
}

const POLL_MS_MIN = 20;
const POLL_MS_MAX = 250;

/** Waits for tasks to come to rest: one question for all of a client's waits, asked less often the longer nothing ends. */
export class RestWaiter {
  readonly #reader: Reader;
  readonly #waiters = new Set<Waiter>();
  #timer: NodeJS.Timeout | undefined;
  #asking = false;
  #pause = POLL_MS_MIN;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  async wait(task: string, options: WaitOptions): Promise<Rest> {
    options.signal?.throwIfAborted();
    return new Promise<Rest>((resolve, reject) => {
      const end = (settle: () => void): void => {
        this.#waiters.delete(waiter);
        clearTimeout(timer);
        options.signal?.removeEventListener('abort', onAbort);
        settle();
      };
      const waiter: Waiter = { task, resolve: (rest) => { end(() => { resolve(rest); }); }, reject: (error) => { end(() => { reject(error instanceof Error ? error : new Error(String(error))); }); } };
      const onAbort = (): void => { waiter.reject(options.signal?.reason); };
      const timer =
        options.timeoutMs === undefined ? undefined : setTimeout(() => { waiter.reject(new ThroughlineError('WAIT_TIMEOUT', { limit: `${String(options.timeoutMs)} ms`, facts: { task } })); }, options.timeoutMs);
      options.signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiters.add(waiter);
      this.#pause = POLL_MS_MIN;
      clearTimeout(this.#timer);
      this.#plan();
    });
  }

  #plan(): void {
    if (this.#asking || this.#waiters.size === 0) return;
    this.#timer = setTimeout(() => void this.#ask(), this.#pause);
  }

  async #ask(): Promise<void> {
    this.#asking = true;
    const asked = [...this.#waiters];
    try {
      const rows = await this.#reader.taskRests([...new Set(asked.map(({ task }) => task))]);
      const byId = new Map(rows.map((row) => [row.id, row]));
      let ended = false;
      for (const waiter of asked) {
        const row = byId.get(waiter.task);
        if (row === undefined) waiter.reject(await this.#reader.whyAbsent(waiter.task));
        else if (row.at_rest) {
          const { at_rest: _, ...rest } = row;
          waiter.resolve(rest);
          ended = true;
        }
      }
      this.#pause = ended ? POLL_MS_MIN : Math.min(this.#pause * 1.5, POLL_MS_MAX);
    } catch (error) {
      // An unreachable ledger is no answer: the waits go on; anything else would be the same next time.
      if (!(error instanceof ThroughlineError) || error.code !== 'LEDGER_UNAVAILABLE') for (const waiter of asked) waiter.reject(error);
      this.#pause = POLL_MS_MAX;
    } finally {
      this.#asking = false;
      this.#plan();
    }
  }
}
