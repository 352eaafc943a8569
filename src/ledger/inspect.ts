/** Postgres and the ledger as an operator looks at them; reads only, and works as far as there is something to read. */
import { LIMITS } from '../state/index.ts';
import type { Database } from './database.ts';
import { schemaFound } from './migrate.ts';
import type { FunctionsFound } from './migrate.ts';
import { Reader } from './reader.ts';
import type { LedgerGauges } from './records.ts';

export interface LedgerInspection {
  /** As in `18.4`, and as a number: 180004. */
  readonly version: string;
  readonly version_num: number;
  readonly settings: Readonly<Record<'fsync' | 'full_page_writes' | 'synchronous_commit' | 'synchronous_standby_names' | 'default_transaction_isolation' | 'max_connections', string>>;
  readonly connections: number;
  readonly in_recovery: boolean;
  /** Replicas that are connected now; null: this role may not ask. */
  readonly standbys: number | null;
  /** Postgres's clock minus the middle of our question and its answer, ms. */
  readonly clock_ahead_ms: number;
  readonly schema: { readonly missing: readonly string[]; readonly unknown: readonly string[]; readonly functions: FunctionsFound };
  /** null: no schema that this program can read. */
  readonly ledger: LedgerState | null;
}

export interface LedgerState {
  readonly gauges: LedgerGauges;
  /** The tests' shift of the ledger's clock, ms; 0 everywhere else. */
  readonly clock_shift_ms: number;
  /** Types and versions with open tasks that no live worker offers. */
  readonly unoffered: readonly { readonly type: string; readonly version: number; readonly tasks: number }[];
  readonly workers: readonly { readonly id: string; readonly task_queue: string; readonly clock_skew_ms: number }[];
  readonly parked: readonly string[];
}

const ROWS_MAX = 20;
const WINDOW_MS = 3_600_000;

const SERVER = `
select current_setting('server_version') as version, current_setting('server_version_num')::int as version_num, pg_is_in_recovery() as in_recovery,
  (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as connections, (extract(epoch from clock_timestamp()) * 1000)::float8 as clock_ms,
  case when pg_has_role('pg_monitor', 'member') then (select count(*)::int from pg_stat_replication) end as standbys,
  (select jsonb_object_agg(name, current_setting(name)) from unnest(array['fsync', 'full_page_writes', 'synchronous_commit', 'synchronous_standby_names', 'default_transaction_isolation', 'max_connections']) name) as settings`;

const UNOFFERED = `
select t.type, t.version, count(*)::int as tasks from (select type, version from throughline.task where not at_rest limit $1) t
where not exists (select from throughline.worker w where not w.stopping and w.seen_at > throughline.now() - throughline._interval($2)
  and w.offers @> jsonb_build_array(jsonb_build_object('type', t.type, 'version', t.version)))
group by t.type, t.version order by tasks desc limit ${String(ROWS_MAX)}`;

const WORKERS = `
select id, task_queue, clock_skew_ms::float8 as clock_skew_ms from throughline.worker where not stopping and seen_at > throughline.now() - throughline._interval($1)
order by abs(clock_skew_ms) desc, id limit ${String(ROWS_MAX)}`;

type Server = Omit<LedgerInspection, 'schema' | 'ledger' | 'clock_ahead_ms'> & { readonly clock_ms: number };

/** Throws LEDGER_UNAVAILABLE, and CONFIG_INVALID where Postgres refuses the connection. */
export async function inspectLedger(database: Database): Promise<LedgerInspection> {
  const { clock_ms: clockMs, askedAt, answeredAt, ...server } = await asked(database);
  const schema = await database.withClient(schemaFound);
  const readable = schema.missing.length === 0 && schema.unknown.length === 0 && schema.functions !== 'outdated';
  return { ...server, clock_ahead_ms: Math.round(clockMs - (askedAt + answeredAt) / 2), schema, ledger: readable ? await stateOf(database) : null };
}

/** Asked twice: the first answer waits for the connection, too. */
async function asked(database: Database): Promise<Server & { readonly askedAt: number; readonly answeredAt: number }> {
  await database.rows('select 1', []);
  const askedAt = Date.now();
  const [server] = await database.rows<Server>(SERVER, []);
  if (server === undefined) throw new Error('one row is always there');
  return { ...server, askedAt, answeredAt: Date.now() };
}

async function stateOf(database: Database): Promise<LedgerState> {
  const [gauges, shift, unoffered, workers, parked] = await Promise.all([
    new Reader(database).gauges(WINDOW_MS),
    database.rows<{ ms: number }>('select (extract(epoch from shift) * 1000)::float8 as ms from throughline.clock', []),
    database.rows<LedgerState['unoffered'][number]>(UNOFFERED, [LIMITS.gauge_rows_max, LIMITS.worker_seen_ms]),
    database.rows<LedgerState['workers'][number]>(WORKERS, [LIMITS.worker_seen_ms]),
    database.rows<{ task_id: string }>(`select task_id from throughline.outbox where parked_at is not null order by parked_at limit ${String(ROWS_MAX)}`, []),
  ]);
  return { gauges, clock_shift_ms: shift[0]?.ms ?? 0, unoffered, workers, parked: parked.map(({ task_id: task }) => task) };
}
