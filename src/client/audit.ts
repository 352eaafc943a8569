import { ThroughlineError } from '../errors.ts';
import { auditLedger } from '../ledger/index.ts';
import type { AuditRow, Database } from '../ledger/index.ts';
import { AUDIT_CHECKS } from '../state/index.ts';
import type { AuditCheck, AuditCode } from '../state/index.ts';
import { checkedTaskId, checkedTime } from './checks.ts';

export interface AuditOptions {
  /** One task alone. */
  readonly task?: string;
  /** Tasks that were open at some moment since then: ISO 8601 with a zone. */
  readonly since?: string;
  /** Rows shown of each finding, 1 to 1,000. Default 20. */
  readonly rows?: number;
}

/** One promise that is broken, or kept late: how many rows, and the first of them. */
export interface AuditFinding {
  readonly code: AuditCode;
  readonly kind: AuditCheck['kind'];
  readonly count: number;
  readonly rows: readonly AuditRow[];
}

export interface AuditReport {
  readonly as_of: string;
  readonly tasks: number;
  /** How many promises were asked for. */
  readonly checks: number;
  /** Nothing was found. */
  readonly ok: boolean;
  readonly findings: readonly AuditFinding[];
}

const ROWS_MAX = 1_000;

/** Throws ID_INVALID, TIME_INVALID, FILTER_INVALID, TASK_UNKNOWN. */
export async function audit(database: Database, options: AuditOptions): Promise<AuditReport> {
  const { task, since, rows } = options;
  if (rows !== undefined && (!Number.isInteger(rows) || rows < 1 || rows > ROWS_MAX)) throw new ThroughlineError('FILTER_INVALID', { path: '/rows', limit: ROWS_MAX });
  const { as_of, tasks, found } = await auditLedger(database, {
    ...(task === undefined ? {} : { task: checkedTaskId(task) }), ...(since === undefined ? {} : { since: checkedTime(since, '/since') }), ...(rows === undefined ? {} : { rowsMax: rows }),
  });
  const findings = found.map((one) => ({ ...one, kind: AUDIT_CHECKS[one.code].kind }));
  return { as_of, tasks, checks: Object.keys(AUDIT_CHECKS).length, ok: findings.length === 0, findings };
}
