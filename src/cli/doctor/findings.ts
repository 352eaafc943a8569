/** What the doctor can find. Codes only ever get added. */

/** `problem`: something does not work or a promise is in danger; `warning`: worth a look; `ok`: as it should be. */
export type Level = 'ok' | 'warning' | 'problem';

export const FINDING_CODES = [
  'PROGRAM', 'DATABASE_URL_MISSING', 'PG_UNREACHABLE', 'PG_REACHABLE', 'PG_VERSION', 'PG_READ_ONLY', 'PG_UNSAFE_SETTING', 'PG_ISOLATION', 'PG_CONNECTIONS', 'PG_REPLICATION_NONE',
  'PG_REPLICATION_ASYNC', 'PG_REPLICATION_SYNC', 'SCHEMA_MISSING', 'SCHEMA_NEWER', 'SCHEMA_CURRENT', 'FUNCTIONS_OUTDATED', 'FUNCTIONS_EDITED', 'CLOCK_HERE', 'CLOCK_WORKERS', 'CLOCK_SHIFTED',
  'TEMPORAL_UNSET', 'TEMPORAL_UNREACHABLE', 'TEMPORAL_REACHABLE', 'NAMESPACE_UNKNOWN', 'NAMESPACE_RETENTION', 'SEARCH_ATTRIBUTES', 'SEARCH_ATTRIBUTES_MISSING', 'SEARCH_ATTRIBUTES_UNREADABLE',
  'POLLERS', 'POLLERS_NONE', 'WORKERS', 'WORKERS_NONE', 'TYPES_UNOFFERED', 'OUTBOX', 'OUTBOX_PARKED', 'OUTBOX_LATE', 'QUEUED_LATE', 'STEPS_DEAD', 'STEPS_UNCONFIRMED', 'CANCELS_OVERDUE',
  'RECEIPTS_OVERDUE', 'LEASES_EXPIRED',
] as const;
export type FindingCode = (typeof FINDING_CODES)[number];

/** What a sentence may name: ids, names, numbers. Never a secret. */
export type Facts = Readonly<Record<string, string | number>>;

export interface Finding {
  readonly code: FindingCode;
  readonly level: Level;
  readonly facts: Facts;
}

export const finding = (level: Level, code: FindingCode, facts: Facts = {}): Finding => ({ code, level, facts });

export const worst = (findings: readonly Finding[]): Level => (findings.some(({ level }) => level === 'problem') ? 'problem' : findings.some(({ level }) => level === 'warning') ? 'warning' : 'ok');
