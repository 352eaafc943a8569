/** What the ledger holds of one task as evidence: its record and its replays, at one moment. */
import type { Database } from './database.ts';
import { codedFailure } from './failures.ts';
import type { TaskRecord } from './records.ts';
import type { Stored } from './types.ts';

export interface ReplayRecord {
  readonly id: string;
  /** null: every dead step. */
  readonly step: string | null;
  readonly by: string;
  readonly why: string;
  readonly at: string;
  readonly options: Stored;
  readonly result: Stored;
}

const REPLAYS = `
select id, step, by, why, throughline._iso(at) as at, options, result from throughline.replay where task_id = $1 order by throughline.replay.at, id`;

/** null: there is no such task. Throws LEDGER_UNAVAILABLE. */
export async function taskEvidence(database: Database, task: string): Promise<{ readonly record: TaskRecord; readonly replays: readonly ReplayRecord[] } | null> {
  return database.withClient(async (client) => {
    try {
      await client.query('begin isolation level repeatable read read only');
      const records = await client.query<{ record: TaskRecord | null }>('select throughline.task_record($1, 0) as record', [task]);
      const record = records.rows[0]?.record ?? null;
      const replays = await client.query<ReplayRecord>(REPLAYS, [task]);
      return record === null ? null : { record, replays: replays.rows };
    } catch (error) {
      throw codedFailure(error);
    } finally {
      await client.query('rollback').catch(() => undefined);
    }
  });
}
