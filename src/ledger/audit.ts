/** The audit's question to the ledger: one read-only transaction, one moment. */
import { LIMITS } from '../state/index.ts';
import type { AuditCode } from '../state/index.ts';
import type { Database } from './database.ts';
import { codedFailure, throwIfRefused } from './failures.ts';
import type { Stored } from './types.ts';

export interface AuditRow {
  /** null: the row names no task. */
  readonly task: string | null;
  readonly step: string | null;
  /** What contradicts what: ids, states, counts. */
  readonly facts: Readonly<Record<string, Stored>>;
}

export interface AuditAnswer {
  readonly as_of: string;
  /** Tasks that were looked at. */
  readonly tasks: number;
  /** Only codes with rows; `rows` holds the first of `count`. */
  readonly found: readonly { readonly code: AuditCode; readonly count: number; readonly rows: readonly AuditRow[] }[];
}

/**
 * Runs all checks of 96-audit.sql in one repeatable-read, read-only transaction; it waits for no writer, and none for it.
 * Throws TASK_UNKNOWN, LEDGER_UNAVAILABLE.
 */
export async function auditLedger(database: Database, scope: { readonly task?: string; readonly since?: string; readonly rowsMax?: number }): Promise<AuditAnswer> {
  const { task = null, since = null, rowsMax = LIMITS.audit_rows_max } = scope;
  const answer = await database.withClient(async (client) => {
    try {
      await client.query('begin isolation level repeatable read read only');
      const { rows } = await client.query<{ answer: unknown }>('select throughline.audit($1) as answer', [JSON.stringify({ task, since, rows: rowsMax, late_ms: LIMITS.audit_late_ms })]);
      return rows[0]?.answer;
    } catch (error) {
      throw codedFailure(error);
    } finally {
      await client.query('rollback').catch(() => undefined);
    }
  });
  throwIfRefused(answer);
  return answer as AuditAnswer;
}
