/** The door's and the reader's part for retention: one method for each function of 92-prune.sql. */
import type { ParentStatus, ReasonCode, RestState } from '../state/index.ts';
import type { Database } from './database.ts';

/** What is left of a pruned task. Times are ISO 8601 in UTC, by the ledger's clock. */
export interface PrunedRow {
  readonly id: string;
  readonly type: string;
  readonly version: number;
  readonly key: string | null;
  /** How it ended. */
  readonly status: ParentStatus;
  readonly reason: ReasonCode;
  readonly seq: number;
  readonly steps: readonly { readonly name: string; readonly state: RestState; readonly reason: ReasonCode; readonly attempt: number }[];
  /** How many rows there were of each. */
  readonly counts: { readonly timeline: number; readonly effects: number; readonly requests: number; readonly receipts: number; readonly artifacts: number; readonly cancels: number };
  readonly created_at: string;
  readonly created_by: string;
  readonly ended_at: string;
  readonly again_of: string | null;
  readonly again_as: string | null;
  /** The end of the timeline's chain, SHA-256 in hex: `chainHead` of a timeline that was kept elsewhere gives the same, if it is whole. */
  readonly chain_head: string;
  readonly pruned_at: string;
  readonly pruned_by: string;
}

/** Why a task that is old enough stays. `busy`: somebody held it at that moment. */
export type PruneHold = 'open' | 'recent' | 'effect_open' | 'proof_arrived' | 'receipt_waiting' | 'wake_waiting' | 'cancel_pending' | 'notification_pending' | 'successor_open' | 'busy';

export interface PruneRow {
  readonly older_than_ms: number;
  readonly types: readonly string[];
  readonly dead: boolean;
  readonly limit: number;
  readonly after: PruneAfter | null;
  readonly dry_run: boolean;
  readonly by: string;
}

export interface PruneAfter {
  readonly created_at: string;
  readonly id: string;
}

export interface PruneAnswer {
  readonly examined: number;
  readonly pruned: number;
  readonly kept: Readonly<Partial<Record<PruneHold, number>>>;
  /** null: that was all. */
  readonly after: PruneAfter | null;
}

export class RetentionLedger {
  readonly #db: Database;

  constructor(database: Database) {
    this.#db = database;
  }

  taskPrune(row: PruneRow): Promise<PruneAnswer> {
    return this.#db.call('task_prune', [row]);
  }

  taskPruned(task: string): Promise<PrunedRow | null> {
    return this.#db.call('task_pruned', [task]);
  }

  artifactOrphansTake(limit: number, holdMs: number): Promise<readonly { readonly sha256: string; readonly uri: string }[]> {
    return this.#db.call('artifact_orphans_take', [limit, holdMs]);
  }

  artifactOrphansDrop(digests: readonly string[]): Promise<number> {
    return this.#db.call('artifact_orphans_drop', [digests]);
  }
}
