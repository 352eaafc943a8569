/** Questions to the ledger: SELECT only, nothing is decided here. */
import { ThroughlineError } from '../errors.ts';
import { refusalOf } from './failures.ts';
import { LIMITS } from '../state/index.ts';
import type { ParentStatus, ReasonCode, View } from '../state/index.ts';
import { idCursor, isUuid, placeCursor, readIdCursor, readPlaceCursor } from './cursor.ts';
import type { Database } from './database.ts';
import type { LedgerActivity, LedgerGauges, ReceiptListRow, ReceiptPage, RestRow, TaskListRow, TaskRecord, TaskTypeRow } from './records.ts';

export interface ListFilter {
  readonly status?: ParentStatus;
  readonly type?: string;
  /** Any of these. */
  readonly types?: readonly string[];
  readonly reason?: ReasonCode;
  readonly atRest?: boolean;
  /** ISO 8601 with zone; created at or after, before. */
  readonly createdFrom?: string;
  readonly createdTo?: string;
  /** Exact. */
  readonly key?: string;
  /** A task's id or at least eight characters of its beginning, or the beginning of a key or of its subject. */
  readonly text?: string;
  /** Rows at most, 1 to 500. Default 50. */
  readonly limit?: number;
  /** As given with the page before. */
  readonly cursor?: string;
}

export interface Page {
  readonly rows: readonly TaskListRow[];
  /** null: this was the last page. */
  readonly cursor: string | null;
  readonly as_of: string;
}

const COLUMNS = `
select t.id, t.type, t.version, t.key, t.status, t.at_rest, t.reason, t.held_by, t.seq::float8 as seq, throughline._iso(t.since) as since, throughline._iso(t.created_at) as created_at, t.created_by,
  throughline._iso(t.ended_at) as ended_at, (extract(epoch from t.created_at) * 1000000)::bigint::text as created_at_micros,
  throughline._iso((select min(case when s.state = 'queued' then s.next_run_at when s.state in ('leased', 'cancel_requested') then s.lease_expires_at else coalesce(s.next_check_at, s.receipt_due_at) end)
    from throughline.step s where s.task_id = t.id and s.state not in ('succeeded', 'cancelled', 'dead', 'waiting'))) as next_at
from throughline.task t`;

interface Condition {
  /** `?` stands for the values, one after the other. */
  readonly sql: string;
  readonly values: readonly unknown[];
}

/** A task of any other status is open, and the index of the open ones finds it: an index on the status would make each move dearer. */
const MAY_REST: ReadonlySet<ParentStatus> = new Set(['succeeded', 'cancelled', 'dead']);

/**
 * Only what was asked for: a statement that says "or nothing was asked" of each filter is planned once for all of them, and then no index
 * fits. Ranges of text are those that an index finds; the last of all characters ends what a beginning begins.
 */
function conditionsOf(filter: ListFilter): readonly Condition[] {
  const { status, type, types, reason, atRest, createdFrom, createdTo, key, text } = filter;
  const [at, id] = readPlaceCursor(filter.cursor);
  const one = (sql: string, value: unknown): readonly Condition[] => (value === undefined || value === null ? [] : [{ sql, values: [value] }]);
  return [
    ...one('t.status = ?', status), ...(status === undefined || MAY_REST.has(status) ? [] : [{ sql: 'not t.at_rest', values: [] }]), ...one('t.type = ?', type), ...one('t.type = any(?::text[])', types), ...one('t.reason = ?', reason),
    // As the partial index says it.
    ...(atRest === undefined ? [] : [{ sql: atRest ? 't.at_rest' : 'not t.at_rest', values: [] }]),
    ...one('t.created_at >= ?::timestamptz', createdFrom), ...one('t.created_at < ?::timestamptz', createdTo), ...one('t.key = ?', key),
    ...(at === null ? [] : [{ sql: "(t.created_at, t.id) < (timestamptz 'epoch' + ?::bigint * interval '1 microsecond', ?::uuid)", values: [at, id] }]),
    ...(text === undefined || text === '' ? [] : [{ sql: "(t.id between ?::uuid and ?::uuid or t.key ~>=~ ? and t.key ~<~ (? || chr(1114111)) or t.key ~>=~ ? and t.key ~<~ (? || chr(1114111)))", values: textRanges(text) }]),
  ];
}

/** Planned for these values: how many rows a filter finds differs too much for one plan, so the statement has no name. */
function listStatement(filter: ListFilter, limit: number): { readonly text: string; readonly values: readonly unknown[] } {
  const values: unknown[] = [];
  const where = conditionsOf(filter).map((condition) => {
    const given = [...condition.values];
    return condition.sql.replaceAll('?', () => `$${String(values.push(given.shift()))}`);
  });
  return { text: `${COLUMNS}${where.length === 0 ? '' : ` where ${where.join(' and ')}`} order by t.created_at desc, t.id desc limit $${String(values.push(limit))}`, values };
}

const TYPES = `
select type, version, plan, plan_digest, input_schema, input_bytes_max, throughline._iso(registered_at) as registered_at, registered_by
from throughline.task_type order by type, version desc`;

/** A pruned task has ended as its summary says. */
const RESTS = `
select id, status, reason, held_by, seq::float8 as seq, at_rest from throughline.task where id = any($1::uuid[])
union all select task_id, status, reason, null, seq::float8, true from throughline.pruned where task_id = any($1::uuid[])`;

const UNKNOWN = `select throughline._unknown($1::uuid) as answer`;

// Ids of receipts are made in the order of their arrival.
const RECEIPTS = `
select id, delivery_id, sender, task_id as task, task_ref, step, kind, thread_id, in_reply_to, as_sent, external_id, code, throughline._iso(received_at) as received_at, deliveries, verdict, verdict_facts,
  throughline._iso(applied_at) as applied_at
from throughline.receipt
where ($1::uuid is null or task_id = $1)
  and (not $2::boolean or verdict is null or verdict in ('unknown_task', 'wrong_step', 'wrong_thread', 'wrong_message', 'wrong_external_id', 'sender_not_allowed'))
  and ($3::uuid is null or id < $3)
order by id desc limit $4`;

const ID_START = /^[0-9a-f]{8}[0-9a-f-]{0,28}$/;
const ID_FORM = '00000000-0000-0000-0000-000000000000';

/** The first and last id that begin so; none where it is no beginning of an id. Keys hold a subject as one part of an address. */
function textRanges(text: string): readonly (string | null)[] {
  const start = text.toLowerCase();
  const [first, last] = ['0', 'f'].map((digit) => start + ID_FORM.slice(start.length).replaceAll('0', digit));
  const isId = ID_START.test(start) && isUuid(first ?? '');
  const encoded = encodeURIComponent(text.toWellFormed());
  return [isId ? (first ?? null) : null, isId ? (last ?? null) : null, text, text, encoded, encoded];
}

const OFFERS = `
select count(*)::int as offers from throughline.worker
where not stopping and seen_at > throughline.now() - throughline._interval($3) and offers @> jsonb_build_array(jsonb_build_object('type', $1::text, 'version', $2::int))`;

export class Reader {
  readonly #db: Database;

  constructor(database: Database) {
    this.#db = database;
  }

  /** How many live workers offer a type and version. */
  async offers(type: string, version: number): Promise<number> {
    const [row] = await this.#db.rows<{ offers: number }>(OFFERS, [type, version, LIMITS.worker_seen_ms], 'offers');
    return row?.offers ?? 0;
  }

  /** Everything of one task at one moment; null: there is none. */
  async taskRecord(task: string): Promise<TaskRecord | null> {
    return this.#db.call<TaskRecord | null>('task_record', [task, LIMITS.worker_seen_ms]);
  }

  /** Why there is no such task: TASK_PRUNED with how it ended, or TASK_UNKNOWN. */
  async whyAbsent(task: string): Promise<ThroughlineError> {
    const [row] = await this.#db.rows<{ answer: unknown }>(UNKNOWN, [task], 'unknown');
    return refusalOf(row?.answer) ?? new ThroughlineError('TASK_UNKNOWN', { facts: { id: task } });
  }

  /** The driver's view; null: there is no such task. */
  async taskView(task: string): Promise<View | null> {
    const [row] = await this.#db.rows<{ view: View }>('select throughline._view($1::uuid, throughline.now()) as view', [task], 'task-view');
    return row?.view ?? null;
  }

  /** The whole ledger in numbers, by one read of bounded size. `windowMs`: how far what ended is looked for. */
  async gauges(windowMs: number): Promise<LedgerGauges> {
    return this.#db.call<LedgerGauges>('ledger_gauges', [LIMITS.gauge_rows_max, LIMITS.worker_seen_ms, windowMs], { patienceMs: 0 });
  }

  /** What it did lately, by a read of bounded size: `spans` of equal length. */
  async activity(windowMs: number, spans: number): Promise<LedgerActivity> {
    return this.#db.call<LedgerActivity>('ledger_activity', [LIMITS.gauge_rows_max, windowMs, spans], { patienceMs: 0 });
  }

  /** Every version of every type, newest first for each. */
  async taskTypes(): Promise<readonly TaskTypeRow[]> {
    return this.#db.rows<TaskTypeRow>(TYPES, [], 'task-types');
  }

  /** Which of these tasks are at rest; unknown ones are left out. */
  async taskRests(tasks: readonly string[]): Promise<readonly RestRow[]> {
    return this.#db.rows<RestRow>(RESTS, [tasks], 'task-rests');
  }

  /** Stored receipts, newest first. Throws CURSOR_INVALID. */
  async receiptList(filter: { readonly task?: string; readonly unmatched: boolean; readonly limit?: number; readonly cursor?: string }): Promise<ReceiptPage> {
    const limit = Math.min(filter.limit ?? LIMITS.page_rows_default, LIMITS.page_rows_max);
    const after = readIdCursor(filter.cursor);
    const found = await this.#db.rows<ReceiptListRow>(RECEIPTS, [filter.task ?? null, filter.unmatched, after, limit + 1], 'receipt-list');
    const rows = found.slice(0, limit);
    const last = rows.at(-1);
    return { rows, cursor: found.length > limit && last !== undefined ? idCursor(last.id) : null };
  }

  /** Tasks, newest first, by pages that neither skip nor repeat while rows are added. Throws CURSOR_INVALID. */
  async taskList(filter: ListFilter): Promise<Page> {
    const limit = Math.min(filter.limit ?? LIMITS.page_rows_default, LIMITS.page_rows_max);
    const { text, values } = listStatement(filter, limit + 1);
    const found = await this.#db.rows<TaskListRow & { created_at_micros: string }>(text, values);
    const [clock] = await this.#db.rows<{ as_of: string }>('select throughline._iso(throughline.now()) as as_of', []);
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const cursor = found.length > limit && last !== undefined ? placeCursor(last.created_at_micros, last.id) : null;
    return { rows: page.map(({ created_at_micros: _, ...row }) => row), cursor, as_of: clock?.as_of ?? '' };
  }
}
