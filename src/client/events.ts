/**
 * The timeline of all tasks as a stream, in the order of ids. One poller for all readers of a process; each reader
 * pulls, so that a slow one holds nothing in memory: it reads from the ledger what the others have left behind.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { EventReader } from '../ledger/index.ts';
import type { Database, EventFilter, EventRow } from '../ledger/index.ts';
import { LIMITS } from '../state/index.ts';

export interface EventOptions extends EventFilter {
  /** The id of the last entry that was seen. Default: the task's beginning, or now where no task is named. */
  readonly after?: number;
  readonly signal?: AbortSignal;
  /** An empty batch is given when nothing came for this long, ms. Default 15 s. */
  readonly beatMs?: number;
}

/** Entries in order, and where the reader stands after them: what to go on from, also when no entry was its own. */
export interface EventBatch {
  readonly entries: readonly EventRow[];
  readonly at: number;
}

const matches = (filter: EventFilter, row: EventRow): boolean =>
  (filter.task === undefined || row.task === filter.task) &&
  (filter.types === undefined || filter.types.includes(row.type)) &&
  (filter.kind === undefined || row.kind === filter.kind) &&
  (filter.state === undefined || row.to_state === filter.state) &&
  (filter.reason === undefined || row.reason === filter.reason);

export class EventFeed {
  readonly #reader: EventReader;
  /** Up to here no entry can appear any more; null: not known yet. */
  #head: number | null = null;
  /** Given-out ids whose writers may still be running, oldest first. */
  #marks: { readonly id: number; readonly xid: bigint }[] = [];
  /** The newest entries, all that follow `#recentAfter`. */
  #recent: EventRow[] = [];
  #recentAfter = 0;
  #readers = 0;
  #polling: Promise<void> | undefined;
  readonly #waiting = new Set<() => void>();

  constructor(database: Database) {
    this.#reader = new EventReader(database);
  }

  async *batches(options: EventOptions = {}): AsyncGenerator<EventBatch, void, undefined> {
    const { after, signal, beatMs = LIMITS.event_beat_ms, ...filter } = options;
    this.#readers += 1;
    this.#polling ??= this.#poll();
    try {
      let at = after ?? (filter.task === undefined ? null : 0);
      let said = performance.now();
      while (signal?.aborted !== true) {
        // Also while much happens that is not for this reader.
        if (at !== null && performance.now() - said >= beatMs) {
          yield { entries: [], at };
          said = performance.now();
        }
        const head = this.#head;
        if (head === null || (at !== null && at >= head)) {
          await this.#change(Math.max(1, said + beatMs - performance.now()), signal);
          continue;
        }
        at ??= head;
        const found = at >= this.#recentAfter ? this.#recent.filter((row) => row.id > (at ?? 0)).slice(0, LIMITS.event_page_rows) : null;
        const rows = found ?? (await this.#page(at, head, filter));
        const last = rows.at(-1)?.id;
        at = rows.length >= LIMITS.event_page_rows && last !== undefined ? last : Math.max(at, head);
        const entries = found === null ? rows : rows.filter((row) => matches(filter, row));
        if (entries.length === 0) continue;
        yield { entries, at };
        said = performance.now();
      }
    } finally {
      this.#readers -= 1;
    }
  }

  /** Resolves when no poll is running any more; its readers must have ended. */
  async idle(): Promise<void> {
    await this.#polling;
  }

  /** A ledger that is away ends no stream: the entries are still there when it is back. */
  async #page(after: number, upto: number, filter: EventFilter): Promise<readonly EventRow[]> {
    try {
      return await this.#reader.page(after, upto, filter, LIMITS.event_page_rows);
    } catch {
      await delay(LIMITS.event_poll_ms);
      return this.#readers > 0 ? this.#page(after, upto, filter) : [];
    }
  }

  /** Until the head moved, the time is over, or the reader goes. */
  async #change(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(end);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      this.#waiting.add(end);
      signal?.addEventListener('abort', end, { once: true });
    });
  }

  async #poll(): Promise<void> {
    while (this.#readers > 0) {
      const settled = await this.#settle().catch(() => false);
      await delay(settled ? LIMITS.event_poll_ms : LIMITS.event_poll_ms / 4);
    }
    this.#head = null;
    this.#marks = [];
    this.#recent = [];
    this.#polling = undefined;
  }

  /** One look: how far all is settled now, and the entries up to there. False: something is still being written. */
  async #settle(): Promise<boolean> {
    const { id, xmin, xid } = await this.#reader.mark(this.#marks.at(-1)?.id ?? this.#head ?? -1);
    if (xid !== null) {
      // The first mark is the one that decides next; between it and the newest none is needed.
      if (this.#marks.length >= LIMITS.event_marks_max) this.#marks.pop();
      this.#marks.push({ id, xid });
    }
    let head = this.#head;
    for (let first = this.#marks[0]; first !== undefined && xmin >= first.xid; first = this.#marks[0]) {
      head = first.id;
      this.#marks.shift();
    }
    if (head !== null && head !== this.#head) await this.#advance(this.#head, head);
    return this.#marks.length === 0;
  }

  /** Reads what is settled now. Head and rows change together: no reader sees one without the other. */
  async #advance(from: number | null, head: number): Promise<void> {
    const rows = from === null ? [] : await this.#reader.page(from, head, {}, LIMITS.event_page_rows);
    if (from === null || rows.length >= LIMITS.event_page_rows) {
      // Too many to keep: each reader reads its own.
      this.#recent = [];
      this.#recentAfter = head;
    } else {
      this.#recent.push(...rows);
      const over = this.#recent.length - LIMITS.event_recent_rows;
      if (over > 0) this.#recentAfter = this.#recent.splice(0, over).at(-1)?.id ?? this.#recentAfter;
    }
    this.#head = head;
    for (const wake of [...this.#waiting]) wake();
  }
}
