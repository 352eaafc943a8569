/** The platform's own record of every request that arrived: what a caller's ledger can be compared with. */
import { join } from 'node:path';
import { Journal } from './journal.ts';
import type { AccessEntry, Did, Reference, RouteName, TaskCounts } from './types.ts';

/** What became of a request. */
export interface Decision {
  readonly did: Exclude<Did, 'pending'>;
  readonly status: number | null;
  readonly code?: string | null;
  readonly externalId?: string | null;
  readonly answered: boolean;
  readonly faults: readonly string[];
}

/**
 * `access.jsonl`: one line per request, written when it is decided. A request that is still waiting (a slow one) is
 * listed as `pending` and, if the process dies then, leaves no line: it did nothing.
 */
export class AccessLog {
  readonly #entries: AccessEntry[] = [];
  readonly #file: Journal<AccessEntry>;
  #last = 0;

  /** `journalled` are the entries that the journal holds; those that a crash kept out of the log are added to it. */
  constructor(folder: string, journalled: readonly AccessEntry[]) {
    const seen = new Set<number>();
    this.#file = new Journal<AccessEntry>(join(folder, 'access.jsonl'), {
      sync: false,
      replay: (entry) => {
        seen.add(entry.n);
        this.#entries.push(entry);
      },
    });
    for (const entry of journalled) {
      if (seen.has(entry.n)) continue;
      this.#entries.push(entry);
      this.#file.append(entry);
    }
    for (const entry of this.#entries) this.#last = Math.max(this.#last, entry.n);
    this.#entries.sort((a, b) => a.n - b.n);
  }

  /** Notes that a request arrived. */
  arrive(route: RouteName, reference: Reference, at: Date): AccessEntry {
    this.#last += 1;
    const entry: AccessEntry = {
      n: this.#last,
      route,
      ...reference,
      arrivedAt: at.toISOString(),
      did: 'pending',
      decidedAt: null,
      status: null,
      code: null,
      externalId: null,
      answered: false,
      faults: [],
    };
    this.#entries.push(entry);
    return entry;
  }

  /** Writes the line of a request whose entry was completed with `decide`. */
  write(entry: AccessEntry): void {
    this.#file.append(entry);
  }

  entries(filter: { after: number; task?: string | undefined; limit: number }): AccessEntry[] {
    return this.#entries
      .filter((entry) => entry.n > filter.after && (filter.task === undefined || entry.taskId === filter.task))
      .slice(0, filter.limit);
  }

  /** Counts requests by task; requests without a task reference count under the empty string. */
  count(counts: (task: string) => TaskCounts): void {
    for (const entry of this.#entries) {
      const task = counts(entry.taskId ?? '');
      task.requests += 1;
      if (entry.did === 'acted') task.acted += 1;
      if (entry.did === 'deduped') task.deduped += 1;
      if (entry.did === 'refused') task.refused += 1;
      if (entry.did === 'ignored') task.ignored += 1;
      if (entry.did === 'read') task.reads += 1;
    }
  }

  close(): void {
    this.#file.close();
  }
}

/** Completes an entry; it still has to be written. */
export function decide(entry: AccessEntry, decision: Decision, at: Date): AccessEntry {
  entry.did = decision.did;
  entry.decidedAt = at.toISOString();
  entry.status = decision.status;
  entry.code = decision.code ?? null;
  entry.externalId = decision.externalId ?? null;
  entry.answered = decision.answered;
  entry.faults = decision.faults;
  return entry;
}
