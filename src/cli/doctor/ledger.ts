import { redactUrl } from '../../config.ts';
import { ThroughlineError } from '../../errors.ts';
import { Database } from '../../index.ts';
import { inspectLedger } from '../../ledger/inspect.ts';
import type { LedgerInspection, LedgerState } from '../../ledger/inspect.ts';
import { finding } from './findings.ts';
import type { Finding } from './findings.ts';

/** uuidv7() came with it. */
const VERSION_MIN = 180_000;
/** A worker wants 24, a client 10. */
const CONNECTIONS_MIN = 50;
/** Leases are 15 s by default, and deadlines are people's. */
const SKEW_MS_MAX = 1_000;
const OUTBOX_LAG_MS_MAX = 10_000;
const QUEUED_MS_MAX = 5 * 60_000;
const EXPIRED_MAX = 0;

export async function checkLedger(databaseUrl: string): Promise<Finding[]> {
  const database = new Database({ url: databaseUrl, connectionsMax: 4, applicationName: 'throughline-doctor', patienceMs: 1_000 });
  const at = redactUrl(databaseUrl);
  try {
    const found = await inspectLedger(database);
    return [finding('ok', 'PG_REACHABLE', { at, version: found.version }), ...postgres(found), ...schema(found), ...(found.ledger === null ? [] : ledger(found.ledger))];
  } catch (error) {
    if (!(error instanceof ThroughlineError)) throw error;
    return [finding('problem', 'PG_UNREACHABLE', { at, error: error.message })];
  } finally {
    await database.end();
  }
}

function postgres({ version, version_num: number, settings, connections, in_recovery: replica, standbys, clock_ahead_ms: ahead }: LedgerInspection): Finding[] {
  const unsafe = (['fsync', 'full_page_writes', 'synchronous_commit'] as const).filter((name) => settings[name] === 'off');
  const max = Number(settings.max_connections);
  return [
    ...(number < VERSION_MIN ? [finding('problem', 'PG_VERSION', { version })] : []),
    ...(replica ? [finding('problem', 'PG_READ_ONLY')] : []),
    ...(unsafe.length > 0 ? [finding('problem', 'PG_UNSAFE_SETTING', { settings: unsafe.join(', ') })] : []),
    ...(settings.default_transaction_isolation === 'read committed' ? [] : [finding('problem', 'PG_ISOLATION', { isolation: settings.default_transaction_isolation })]),
    ...(max < CONNECTIONS_MIN || connections > max * 0.8 ? [finding('warning', 'PG_CONNECTIONS', { used: connections, max })] : []),
    ...(standbys === null || replica ? [] : [replication(standbys, settings.synchronous_standby_names)]),
    finding(Math.abs(ahead) > SKEW_MS_MAX ? 'warning' : 'ok', 'CLOCK_HERE', { ms: ahead }),
  ];
}

function replication(standbys: number, synchronous: string): Finding {
  if (synchronous !== '') return finding('ok', 'PG_REPLICATION_SYNC', { standbys });
  return standbys > 0 ? finding('warning', 'PG_REPLICATION_ASYNC', { standbys }) : finding('warning', 'PG_REPLICATION_NONE');
}

function schema({ schema: { missing, unknown, functions } }: LedgerInspection): Finding[] {
  if (missing.length > 0) return [finding('problem', 'SCHEMA_MISSING', { names: missing.join(', ') })];
  if (unknown.length > 0) return [finding('problem', 'SCHEMA_NEWER', { names: unknown.join(', ') })];
  if (functions === 'outdated') return [finding('problem', 'FUNCTIONS_OUTDATED')];
  return [functions === 'edited' ? finding('problem', 'FUNCTIONS_EDITED') : finding('ok', 'SCHEMA_CURRENT')];
}

function ledger({ gauges, clock_shift_ms: shift, unoffered, workers, parked }: LedgerState): Finding[] {
  const skewed = workers.filter(({ clock_skew_ms: ms }) => Math.abs(ms) > SKEW_MS_MAX);
  const troubled = (state: 'dead' | 'unconfirmed') => gauges.troubled.filter((row) => row.state === state);
  const count = (rows: typeof gauges.troubled): number => rows.reduce((sum, { steps }) => sum + steps, 0);
  const byReason = (rows: typeof gauges.troubled): string => rows.map(({ reason, steps }) => `${reason}: ${String(steps)}`).join(', ');
  const [dead, unconfirmed] = [troubled('dead'), troubled('unconfirmed')];
  const late = gauges.queued.filter(({ oldest_ms: ms }) => ms > QUEUED_MS_MAX);
  const seconds = (ms: number): number => Math.round(ms / 1_000);
  return [
    ...(shift === 0 ? [] : [finding('problem', 'CLOCK_SHIFTED', { ms: shift })]),
    ...(skewed.length === 0 ? [] : [finding('warning', 'CLOCK_WORKERS', { workers: skewed.map(({ id, clock_skew_ms: ms }) => `${id}: ${String(ms)} ms`).join(', ') })]),
    workers.length === 0 ? finding('warning', 'WORKERS_NONE') : finding('ok', 'WORKERS', { workers: gauges.workers.seen, queues: [...new Set(workers.map(({ task_queue: queue }) => queue))].join(', ') }),
    ...(unoffered.length === 0 ? [] : [finding('problem', 'TYPES_UNOFFERED', { types: unoffered.map(({ type, version, tasks }) => `${type} v${String(version)}: ${String(tasks)}`).join(', ') })]),
    gauges.outbox.lag_ms > OUTBOX_LAG_MS_MAX ? finding('problem', 'OUTBOX_LATE', { waiting: gauges.outbox.waiting, seconds: seconds(gauges.outbox.lag_ms) }) : finding('ok', 'OUTBOX', { waiting: gauges.outbox.waiting }),
    ...(parked.length === 0 ? [] : [finding('problem', 'OUTBOX_PARKED', { parked: gauges.outbox.parked, tasks: parked.join(', ') })]),
    ...(late.length === 0 ? [] : [finding('warning', 'QUEUED_LATE', { types: late.map(({ type, oldest_ms: ms }) => `${type}: ${String(seconds(ms))} s`).join(', ') })]),
    ...(gauges.leases.expired > EXPIRED_MAX ? [finding('warning', 'LEASES_EXPIRED', { leases: gauges.leases.expired })] : []),
    ...(dead.length === 0 ? [] : [finding('warning', 'STEPS_DEAD', { steps: count(dead), reasons: byReason(dead) })]),
    ...(unconfirmed.length === 0 ? [] : [finding('warning', 'STEPS_UNCONFIRMED', { steps: count(unconfirmed), reasons: byReason(unconfirmed) })]),
    ...(gauges.cancels_overdue === 0 ? [] : [finding('warning', 'CANCELS_OVERDUE', { cancels: gauges.cancels_overdue })]),
    ...(gauges.receipts_overdue === 0 ? [] : [finding('warning', 'RECEIPTS_OVERDUE', { steps: gauges.receipts_overdue })]),
  ];
}
