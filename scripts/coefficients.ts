/**
 * `npm run coefficients -- --tasks 200`: what one three-step task costs the ledger, on a stack of its own: rows, updates, WAL, transactions,
 * bytes at rest, and Postgres connections of a worker and a client. docs/scaling.md has the figures. Prints JSON.
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { z } from 'zod';
import { startStack } from '../src/dev/index.ts';
import { createClient, createLogger, Database, defineTask, migrate, TaskWorker } from '../src/index.ts';

const { values } = parseArgs({ options: { tasks: { type: 'string', default: '200' } } });
const count = Number(values.tasks);
const done = z.object({ done: z.boolean() });
const run = async (): Promise<{ done: boolean }> => Promise.resolve({ done: true });
const three = defineTask({
  type: 'three', version: 1, input: z.object({ n: z.int() }),
  steps: (flow) =>
    flow
      .step('a', { result: done, proof: { record: ['/done'] }, run })
      .step('b', { needs: ['a'], result: done, proof: { record: ['/done'] }, run })
      .step('c', { needs: ['b'], result: done, proof: { record: ['/done'] }, run }),
});

const dataDir = mkdtempSync(join(tmpdir(), 'throughline-coefficients-'));
const stack = await startStack({ dataDir, temporary: true, temporalStorage: 'memory', log: (line) => process.stderr.write(`${line}\n`) });
const setup = new Database({ url: stack.databaseUrl, connectionsMax: 1 });
await migrate(setup);
await setup.end();
const sql = new pg.Client({ connectionString: stack.databaseUrl, application_name: 'coefficients' });
await sql.connect();

interface Table { readonly name: string; readonly inserted: number; readonly updated: number; readonly hot: number; readonly deleted: number; readonly bytes: number }
interface Look { readonly tables: readonly Table[]; readonly wal: number; readonly commits: number }
async function look(): Promise<Look> {
  // Statistics are sent at a transaction's end, but no more than once a second.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  await sql.query('select pg_stat_clear_snapshot()');
  const { rows: tables } = await sql.query<Table>(`select relname as name, n_tup_ins::int as inserted, n_tup_upd::int as updated, n_tup_hot_upd::int as hot, n_tup_del::int as deleted,
    pg_total_relation_size(relid)::int as bytes from pg_stat_user_tables where schemaname = 'throughline' order by relname`);
  const { rows: [rest] } = await sql.query<{ wal: string; commits: string }>(`select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as wal, (select xact_commit from pg_stat_database where datname = current_database()) as commits`);
  return { tables, wal: Number(rest?.wal), commits: Number(rest?.commits) };
}
const connections = async (): Promise<unknown> => Object.fromEntries((await sql.query<{ name: string; n: number }>(`select application_name as name, count(*)::int as n from pg_stat_activity where datname = current_database() and application_name like 'throughline%' group by 1 order by 1`)).rows.map(({ name, n }) => [name, n]));

const client = createClient({ databaseUrl: stack.databaseUrl });
const worker = await TaskWorker.create({ databaseUrl: stack.databaseUrl, temporalAddress: stack.temporalAddress, temporalNamespace: stack.temporalNamespace, tasks: [three], artifacts: join(dataDir, 'artifacts'), log: createLogger('error') });
const running = worker.run();
const each = async (from: number, to: number): Promise<void> => {
  const made = await client.enqueueBatch(three, Array.from({ length: to - from }, (_, n) => ({ input: { n: from + n }, key: String(from + n) })));
  await Promise.all(made.map((one) => ('id' in one ? client.waitFor(one.id) : Promise.reject(one.error))));
};
try {
  await each(0, 20);
  const atRest = await connections();
  // What an idle worker does in the time that the measurement takes is part of every deployment, and is told apart.
  const [idleFrom, idleSince] = [await look(), performance.now()];
  await new Promise((resolve) => setTimeout(resolve, 10_000));
  const idle = (await look()).commits - idleFrom.commits;
  const idleSeconds = (performance.now() - idleSince) / 1_000;
  const before = await look();
  const started = performance.now();
  await each(20, 20 + count);
  const seconds = (performance.now() - started) / 1_000;
  const atWork = await connections();
  const after = await look();
  const per = (n: number): number => Number((n / count).toFixed(2));
  const tables = after.tables.map((now) => ({ now, was: before.tables.find(({ name }) => name === now.name) ?? { inserted: 0, updated: 0, hot: 0, deleted: 0, bytes: 0 } }))
    .map(({ now, was }) => ({ table: now.name, inserted: per(now.inserted - was.inserted), updated: per(now.updated - was.updated), hot: per(now.hot - was.hot), deleted: per(now.deleted - was.deleted), bytes: per(now.bytes - was.bytes) }))
    .filter(({ inserted, updated, deleted }) => inserted + updated + deleted > 0.05);
  process.stdout.write(`${JSON.stringify({
    tasks: count, seconds: Number(seconds.toFixed(1)), per_task: { tables, wal_bytes: per(after.wal - before.wal), transactions: per(after.commits - before.commits) },
    idle_transactions_per_second: Number((idle / idleSeconds).toFixed(1)), connections: { at_rest: atRest, at_work: atWork },
  }, null, 2)}\n`);
} finally {
  worker.shutdown();
  await running;
  await client.close();
  await sql.end();
  await stack.stop();
}
