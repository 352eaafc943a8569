/** Everything that the ledger holds of a task, for "changes nothing". */
import type { Ledger, Row } from './ledger.ts';

const TABLES = ['step', 'timeline', 'effect', 'request', 'receipt', 'checkpoint', 'artifact', 'acceptance', 'cancel', 'cancel_step', 'replay', 'outbox', 'recovery'] as const;
type Table = (typeof TABLES)[number] | 'task';

/** The driver's sign of life and a delivery's count change with each call and mean nothing here. */
const IGNORED: Partial<Record<Table, string>> = { task: "- 'driver_seen_at' - 'driver_run_id'", receipt: "- 'deliveries'" };

/** All rows of a task, by table, in a fixed order. */
export async function snapshot(ledger: Ledger, task: string, without: readonly Table[] = []): Promise<Readonly<Record<string, unknown>>> {
  const parts = [...TABLES, 'task' as const]
    .filter((table) => !without.includes(table))
    .map((table) => `select '${table}' as name, coalesce(jsonb_agg(to_jsonb(x) ${IGNORED[table] ?? ''} order by to_jsonb(x)::text), '[]') as rows from throughline.${table} x where ${table === 'task' ? 'id' : 'task_id'} = $1`);
  const found = await ledger.query<Row & { name: string; rows: unknown }>(parts.join(' union all '), [task]);
  return Object.fromEntries(found.map(({ name, rows }) => [name, rows]));
}
