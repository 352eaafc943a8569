/** What must hold for every task of a ledger at any moment, whatever happened to it: the product's own audit. */
import { auditLedger, type AuditAnswer, type Database } from '../../src/ledger/index.ts';
import { AUDIT_CHECKS } from '../../src/state/index.ts';

/**
 * Each promise that is broken, with some of the rows that break it; empty: sound. What is merely late does not count: tests
 * let hours pass and have nobody who sees to things.
 */
export async function findings(ledger: { readonly database: Database }): Promise<Readonly<Record<string, AuditAnswer['found'][number]['rows']>>> {
  const { found } = await auditLedger(ledger.database, { rowsMax: 3 });
  return Object.fromEntries(found.filter(({ code }) => AUDIT_CHECKS[code].kind === 'broken').map(({ code, rows }) => [code, rows]));
}
