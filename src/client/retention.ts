import { createHash } from 'node:crypto';
import { canonicalJson } from '../define/canonical.ts';
import type { Json } from '../define/json.ts';
import type { Duration } from '../define/types.ts';
import { ThroughlineError } from '../errors.ts';
import { boundedText, RetentionLedger } from '../ledger/index.ts';
import type { Database, PruneAfter, PrunedRow, PruneHold, TimelineRow } from '../ledger/index.ts';
import { LIMITS } from '../state/index.ts';
import { checkedDelay, checkedTaskId } from './checks.ts';

/** Where artifacts are removed from; every `ArtifactStore` is one. */
export interface ArtifactRemover {
  /** False: it was not there. */
  remove(uri: string): Promise<boolean>;
}

export interface PruneOptions {
  /** Tasks that ended longer ago than this, by the ledger's clock; a day at least. */
  readonly olderThan: Duration;
  /** Only tasks of these types. Default: every type. */
  readonly types?: readonly string[];
  /** Dead ones, too: nobody can replay them then. Default: only succeeded and cancelled ones. */
  readonly dead?: boolean;
  /** Tasks that one transaction looks at, 1 to 1,000. Default 200. */
  readonly batch?: number;
  /** Counts, and changes nothing. */
  readonly dryRun?: boolean;
  /** Removes from this store what no task of this ledger refers to any more. The store must be this ledger's alone. */
  readonly artifacts?: ArtifactRemover;
  /** Ends after the transaction in progress. */
  readonly signal?: AbortSignal;
  /** After each transaction, with what was done so far. */
  readonly onProgress?: (sofar: PruneResult) => void;
  readonly by?: string;
}

export interface PruneResult {
  readonly dryRun: boolean;
  /** Pruned, or in a dry run: would be. */
  readonly pruned: number;
  /** Tasks looked at: those that were created long enough ago. */
  readonly examined: number;
  /** Old enough, but something still waits for them. */
  readonly kept: Readonly<Partial<Record<PruneHold, number>>>;
  /** Removed from the store. */
  readonly artifacts: number;
  /** False: it was aborted before it had looked at everything. */
  readonly complete: boolean;
}

export class Retention {
  readonly #ledger: RetentionLedger;
  readonly #by: string;

  constructor(database: Database, by: string) {
    this.#ledger = new RetentionLedger(database);
    this.#by = by;
  }

  /**
   * Prunes tasks that have ended, the oldest first, in transactions of bounded size: it may be interrupted at any moment, and run
   * by any number of processes at once. An open task is never pruned, nor one that something waits for (`kept` says what). What
   * is left answers for it: `pruned`, TASK_PRUNED, and repeats of its key. Throws TIME_INVALID, INPUT_INVALID, LEDGER_UNAVAILABLE.
   */
  async prune(options: PruneOptions): Promise<PruneResult> {
    const { batch = LIMITS.prune_batch_rows_default, types = [], dead = false, dryRun = false, signal, onProgress } = options;
    if (!Number.isInteger(batch) || batch < 1 || batch > LIMITS.prune_batch_rows_max) throw new ThroughlineError('INPUT_INVALID', { path: '/batch', message: 'A batch is a whole number of tasks.', limit: `1 to ${String(LIMITS.prune_batch_rows_max)}` });
    if (types.length > LIMITS.webhook_types_max) throw new ThroughlineError('INPUT_INVALID', { path: '/types', limit: LIMITS.webhook_types_max });
    const row = {
      older_than_ms: checkedDelay(options.olderThan, '/olderThan'), types: types.map((type) => boundedText(type, '/types', LIMITS.name_chars_max)), dead, limit: batch, dry_run: dryRun,
      by: boundedText(options.by ?? this.#by, '/by', LIMITS.actor_chars_max),
    };
    let sofar: PruneResult = { dryRun, pruned: 0, examined: 0, kept: {}, artifacts: 0, complete: false };
    for (let after: PruneAfter | null = null, more = true; more; ) {
      if (signal?.aborted === true) return sofar;
      const answer = await this.#ledger.taskPrune({ ...row, after });
      sofar = { ...sofar, pruned: sofar.pruned + answer.pruned, examined: sofar.examined + answer.examined, kept: added(sofar.kept, answer.kept) };
      onProgress?.(sofar);
      after = answer.after;
      more = after !== null;
    }
    if (options.artifacts !== undefined && !dryRun) {
      for (let removed = -1; removed !== 0; ) {
        if (signal?.aborted === true) return sofar;
        removed = await this.#removeArtifacts(options.artifacts);
        sofar = { ...sofar, artifacts: sofar.artifacts + removed };
        onProgress?.(sofar);
      }
    }
    return { ...sofar, complete: true };
  }

  /** What is left of a pruned task; null: no task of this id was pruned. ID_INVALID. */
  async pruned(task: string): Promise<PrunedRow | null> {
    return this.#ledger.taskPruned(checkedTaskId(task));
  }

  /**
   * One batch: how many are gone from the store. Between taking and dropping nobody may refer to them; so what was not removed in
   * time is left, for the next call to take again.
   */
  async #removeArtifacts(store: ArtifactRemover): Promise<number> {
    const until = performance.now() + LIMITS.orphan_hold_ms;
    const taken = await this.#ledger.artifactOrphansTake(LIMITS.orphan_batch_rows, LIMITS.orphan_hold_ms);
    const gone: string[] = [];
    try {
      for (const { sha256, uri } of taken) {
        if (performance.now() > until) break;
        await store.remove(uri);
        gone.push(sha256);
      }
    } finally {
      if (gone.length > 0) await this.#ledger.artifactOrphansDrop(gone);
    }
    return gone.length;
  }
}

function added(a: PruneResult['kept'], b: PruneResult['kept']): PruneResult['kept'] {
  const sum = { ...a };
  for (const [hold, count] of Object.entries(b) as [PruneHold, number][]) sum[hold] = (sum[hold] ?? 0) + count;
  return sum;
}

/**
 * The end of a timeline's chain (SHA-256, hex), as `history` answers it, oldest entry first: what `pruned` says of the task, if the
 * timeline is whole and unchanged.
 */
export function chainHead(task: string, timeline: readonly TimelineRow[]): string {
  let head = createHash('sha256').update(checkedTaskId(task)).digest();
  for (const entry of timeline) head = createHash('sha256').update(head).update(canonicalJson(entry as unknown as Json)).digest();
  return head.toString('hex');
}

export type { PrunedRow, PruneHold };
