/** The door's and the reader's part for bulk replays and cancels: one method for each function of 82-bulk.sql. */
import { ThroughlineError } from '../errors.ts';
import type { CancelVerdict, Category, ParentStatus, ReasonCode, RestState } from '../state/index.ts';
import type { Database } from './database.ts';
import type { Stored } from './types.ts';

export type BulkKind = 'replay' | 'cancel';
export type BulkStatus = 'planned' | 'running' | 'aborted' | 'done';
export const BULK_RESULTS = ['pending', 'done', 'refused', 'skipped'] as const;
export type BulkResult = (typeof BULK_RESULTS)[number];

/** What a bulk is about; each part narrows it. Times are ISO 8601, `from` included, `to` not. */
export interface BulkFilterRow {
  readonly reason?: ReasonCode;
  readonly category?: Category;
  readonly type?: string;
  readonly step?: string;
  readonly status?: ParentStatus;
  readonly from?: string;
  readonly to?: string;
  /** Only these. */
  readonly tasks?: readonly string[];
}

export interface BulkOptionsRow {
  readonly void?: readonly { readonly effect: string; readonly item?: string }[];
  readonly drop_checkpoints?: true;
}

/** How many items met, or would have met, the same. One of `to` (a replayed step's state), `verdict` (a cancel's), `refused`. */
export interface BulkForeseen {
  readonly items: number;
  readonly to?: RestState;
  readonly verdict?: CancelVerdict;
  readonly refused?: string;
}

/** A bulk as it stands. Times are ISO 8601 in UTC. */
export interface BulkRow {
  readonly id: string;
  readonly kind: BulkKind;
  readonly filter: BulkFilterRow;
  readonly by: string;
  readonly why: string;
  readonly options: BulkOptionsRow;
  readonly rate_per_s: number;
  readonly status: BulkStatus;
  /** How many were frozen. */
  readonly items: number;
  readonly counts: Readonly<Record<BulkResult, number>>;
  /** The refusals so far, by code. */
  readonly refused: readonly { readonly code: string; readonly items: number }[];
  /** What would have happened when it was made. */
  readonly foreseen: readonly BulkForeseen[];
  readonly created_at: string;
  /** null: not applied, not aborted, not ended. */
  readonly applied_at: string | null;
  readonly applied_by: string | null;
  readonly aborted_at: string | null;
  readonly aborted_by: string | null;
  readonly aborted_why: string | null;
  readonly ended_at: string | null;
  /** When the next item may go; null: not running. */
  readonly next_in_ms: number | null;
  readonly as_of: string;
  /** It had been asked for before under the same id. */
  readonly repeated?: true;
}

export interface BulkItemRow {
  readonly ordinal: number;
  readonly task: string;
  /** null: the whole task. */
  readonly step: string | null;
  /** As it was frozen. */
  readonly found: { readonly state: string; readonly reason: ReasonCode; readonly since: string };
  readonly foreseen: { readonly to?: RestState; readonly verdict?: CancelVerdict; readonly refused?: string } & Readonly<Record<string, Stored>>;
  readonly result: BulkResult;
  /** Of a refusal. */
  readonly code: string | null;
  /** The replay or cancel that was made, or what belongs to the refusal: `confirm` names the effects that a person would have to confirm first. */
  readonly details: Readonly<Record<string, Stored>>;
  /** A cancel's verdict as it is now; null: none was made. */
  readonly verdict: CancelVerdict | null;
  readonly at: string | null;
}

export interface BulkPage {
  /** Newest first. */
  readonly rows: readonly BulkRow[];
  /** null: this was the last page. */
  readonly cursor: string | null;
}

export interface BulkItemPage {
  /** In the order in which they go. */
  readonly rows: readonly BulkItemRow[];
  readonly cursor: string | null;
}

/** One driver's turn. */
export interface BulkTurn {
  /** null: none is due. */
  readonly bulk: BulkRow | null;
  readonly taken: number;
  readonly done?: number;
  readonly refused?: number;
  /** Put off: somebody else was at work on the task. */
  readonly busy?: number;
}

export interface BulkQueryRow {
  readonly limit: number;
  readonly cursor?: string;
}

const LIST = `
select throughline._bulk_answer(b.id, throughline.now()) as bulk, b.no::text as no from (
  select id, no from throughline.bulk where kind = $1 and ($2::bigint is null or no < $2) order by no desc limit $3) b order by b.no desc`;

const ITEMS = `
select i.ordinal, i.task_id as task, i.step, i.found || jsonb_build_object('since', throughline._iso((i.found ->> 'since')::timestamptz)) as found, i.foreseen, i.result, i.code, i.details,
  case when i.result = 'done' and i.details ? 'cancel' then throughline.cancel_answer(i.task_id, i.details ->> 'cancel', throughline.now()) ->> 'verdict' end as verdict, throughline._iso(i.at) as at
from throughline.bulk_item i
where i.bulk_id = $1 and ($2::integer is null or i.ordinal > $2) and ($3::text is null or i.result = $3) and ($4::text is null or i.code = $4)
order by i.ordinal limit $5`;

const ONE = 'select throughline._bulk_answer(id, throughline.now()) as bulk from throughline.bulk where id = $1 and kind = $2';

function checkedCursor(cursor: string | undefined): string | null {
  if (cursor === undefined) return null;
  if (!/^\d{1,9}$/.test(cursor)) throw new ThroughlineError('CURSOR_INVALID', { path: '/cursor' });
  return cursor;
}

function pageOf<Row>(found: readonly Row[], limit: number, cursorOf: (row: Row) => string): { readonly rows: readonly Row[]; readonly cursor: string | null } {
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  return { rows, cursor: found.length > limit && last !== undefined ? cursorOf(last) : null };
}

export class Bulks {
  readonly #db: Database;

  constructor(database: Database) {
    this.#db = database;
  }

  bulkCreate(row: { id: string; kind: BulkKind; filter: BulkFilterRow; by: string; why: string; options: BulkOptionsRow; rate_per_s: number }, itemsMax: number): Promise<BulkRow> {
    return this.#db.call('bulk_create', [row, itemsMax]);
  }

  bulkApply(id: string, kind: BulkKind, row: { by: string }): Promise<BulkRow> {
    return this.#db.call('bulk_apply', [id, kind, row]);
  }

  bulkAbort(id: string, kind: BulkKind, row: { by: string; why: string }): Promise<BulkRow> {
    return this.#db.call('bulk_abort', [id, kind, row]);
  }

  /** `id` null: whichever has been due longest. */
  bulkAdvance(id: string | null, limit: number, options: { readonly patienceMs?: number } = {}): Promise<BulkTurn> {
    return this.#db.call('bulk_advance', [id, limit], options);
  }

  // ---- Questions
  async bulk(id: string, kind: BulkKind): Promise<BulkRow> {
    const [row] = await this.#db.rows<{ bulk: BulkRow }>(ONE, [id, kind], 'bulk');
    if (row === undefined) throw new ThroughlineError('BULK_UNKNOWN', { facts: { id } });
    return row.bulk;
  }

  async list(kind: BulkKind, { limit, cursor }: BulkQueryRow): Promise<BulkPage> {
    const found = await this.#db.rows<{ bulk: BulkRow; no: string }>(LIST, [kind, checkedCursor(cursor), limit + 1], 'bulks');
    const { rows, cursor: next } = pageOf(found, limit, ({ no }) => no);
    return { rows: rows.map(({ bulk }) => bulk), cursor: next };
  }

  async items(id: string, query: BulkQueryRow & { readonly result?: BulkResult; readonly code?: string }): Promise<BulkItemPage> {
    const { limit, cursor, result, code } = query;
    const found = await this.#db.rows<BulkItemRow>(ITEMS, [id, checkedCursor(cursor), result ?? null, code ?? null, limit + 1], 'bulk-items');
    return pageOf(found, limit, ({ ordinal }) => String(ordinal));
  }
}
