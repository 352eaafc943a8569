import { randomUUID } from 'node:crypto';
import { Database, Door, verifySchema } from '../ledger/index.ts';
import { LIMITS } from '../state/index.ts';
import { quietLogger } from './log.ts';
import { Sweeper, type SweepCounts } from './sweeper.ts';

export interface SweepReport extends SweepCounts {
  /** Moves of this pass by reason code. */
  readonly moves: Readonly<Record<string, number>>;
  /** In the outbox: workers send them. */
  readonly wakeups_waiting: number;
  readonly wakeups_parked: number;
  /** The pass was full: another one finds more. */
  readonly more: boolean;
}

/**
 * One bounded pass of the sweeper, beside any number of others, with or without Temporal. `by` is written where it moves
 * a step, as `sweeper:BY/…`. Throws LEDGER_UNAVAILABLE, LEDGER_OUTDATED, LEDGER_NEWER.
 */
export async function sweepOnce(options: { readonly databaseUrl: string; readonly by: string }): Promise<SweepReport> {
  const database = new Database({ url: options.databaseUrl, applicationName: 'throughline-sweep', connectionsMax: 2 });
  try {
    await verifySchema(database);
    const door = new Door(database);
    const holder = `${options.by}/${randomUUID().slice(0, 8)}`;
    const { mark } = await door.sweepMark();
    const counts = await new Sweeper({ door, holder, log: quietLogger() }).runOnce();
    return { ...counts, ...(await door.sweepReport(mark, `sweeper:${holder}`)), more: counts.looked_at >= LIMITS.sweep_batch_rows };
  } finally {
    await database.end();
  }
}
