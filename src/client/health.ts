import { ThroughlineError } from '../errors.ts';
import { verifySchema } from '../ledger/index.ts';
import type { Database, LedgerActivity, LedgerGauges } from '../ledger/index.ts';

/** `outdated` and `newer`: the ledger answers, but its schema is not this program's. */
export interface Health {
  readonly ledger: 'up' | 'down' | 'outdated' | 'newer';
  /** Without it everything is accepted and asked as before; execution waits. */
  readonly temporal: 'up' | 'down' | 'not_configured';
}

/** The ledger in numbers. `gauges` and `activity` look back 24 hours for what has ended or happened. */
export interface Overview {
  readonly gauges: LedgerGauges;
  readonly activity: LedgerActivity;
  readonly health: Health;
}

export async function ledgerHealth(database: Database): Promise<Health['ledger']> {
  try {
    await verifySchema(database);
    return 'up';
  } catch (error) {
    const code = error instanceof ThroughlineError ? error.code : null;
    return code === 'LEDGER_OUTDATED' ? 'outdated' : code === 'LEDGER_NEWER' ? 'newer' : 'down';
  }
}
