/**
 * `npm run bench`: the three-step task beside a plain three-activity Temporal workflow, on the same servers in one
 * run, in interleaved rounds. Compare the ratios; absolute rates are this machine's.
 *
 * Flags: --tasks N (a round, default 200) --rounds N (default 5) --concurrency N (default 50) --json
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { createClient, createLogger, Database, migrate, TaskWorker } from '../src/index.ts';
import { startStack } from '../src/dev/index.ts';
import { measure, median, quantile } from './measure.ts';
import type { Round } from './measure.ts';
import * as plainActivities from './plain/activities.ts';
import { threeStep } from './three-step.ts';

const { values } = parseArgs({
  options: { tasks: { type: 'string', default: '200' }, rounds: { type: 'string', default: '5' }, concurrency: { type: 'string', default: '50' }, json: { type: 'boolean', default: false } },
});
const [tasks, rounds, concurrency] = [Number(values.tasks), Number(values.rounds), Number(values.concurrency)];
const say = (line: string): void => void (values.json ? process.stderr : process.stdout).write(`${line}\n`);

Runtime.install({ logger: { log: () => undefined, trace: () => undefined, debug: () => undefined, info: () => undefined, warn: console.warn, error: console.error } });
const dataDir = await mkdtemp(join(tmpdir(), 'throughline-bench-'));
const stack = await startStack({ dataDir, cacheDir: '.throughline/temporal', temporalStorage: 'memory', temporary: true, log: say });
const database = new Database({ url: stack.databaseUrl });
await migrate(database);

const worker = await TaskWorker.create({
  databaseUrl: stack.databaseUrl, temporalAddress: stack.temporalAddress, taskQueue: 'bench-throughline', tasks: [threeStep], artifacts: join(dataDir, 'artifacts'), log: createLogger('warn'), attemptsAtOnce: 100,
});
const running = worker.run();
const native = await NativeConnection.connect({ address: stack.temporalAddress });
const plainWorker = await Worker.create({
  connection: native, taskQueue: 'bench-plain', workflowsPath: fileURLToPath(new URL('plain/workflows.ts', import.meta.url)), activities: plainActivities, maxConcurrentActivityTaskExecutions: 100,
});
const plainRunning = plainWorker.run();
const connection = await Connection.connect({ address: stack.temporalAddress });
const temporal = new Client({ connection });
const client = createClient({ databaseUrl: stack.databaseUrl, connectionsMax: 20 });

let serial = 0;
const throughline = async (): Promise<void> => {
  const { id } = await client.enqueue(threeStep, { n: 1 });
  const rest = await client.waitFor(id, { timeoutMs: 120_000 });
  if (rest.status !== 'succeeded') throw new Error(`a task ended ${rest.status}`);
};
const plain = async (): Promise<void> => {
  serial += 1;
  const answer: unknown = await temporal.workflow.execute('plain', { taskQueue: 'bench-plain', workflowId: `plain/${String(serial)}`, args: [1] });
  if (answer !== 4) throw new Error(`the plain workflow returned ${String(answer)}`);
};

const results: Record<'throughline' | 'plain', Round[]> = { throughline: [], plain: [] };
const alone: Record<'throughline' | 'plain', number[]> = { throughline: [], plain: [] };
try {
  say('warming up');
  await measure(concurrency, concurrency, throughline);
  await measure(concurrency, concurrency, plain);
  const before = await counters(database);
  for (let round = 1; round <= rounds; round += 1) {
    const mine = await measure(tasks, concurrency, throughline);
    const theirs = await measure(tasks, concurrency, plain);
    results.throughline.push(mine);
    results.plain.push(theirs);
    say(`round ${String(round)}: throughline ${mine.perSecond.toFixed(1)}/s, plain ${theirs.perSecond.toFixed(1)}/s, ratio ${(mine.perSecond / theirs.perSecond).toFixed(2)}`);
  }
  const after = await counters(database);
  for (let round = 0; round < rounds; round += 1) {
    alone.throughline.push(...(await measure(4, 1, throughline)).latenciesMs);
    alone.plain.push(...(await measure(4, 1, plain)).latenciesMs);
  }
  report(before, after);
} finally {
  worker.shutdown();
  plainWorker.shutdown();
  await Promise.all([running, plainRunning]);
  await client.close();
  await database.end();
  await connection.close();
  await native.close();
  await stack.stop();
  await rm(dataDir, { recursive: true, force: true });
}

interface Counters {
  readonly rows: number;
  readonly commits: number;
  readonly busyMs: number;
}

/** What Postgres itself counted: rows of the timeline, commits, and time spent executing. */
async function counters(db: Database): Promise<Counters> {
  const [row] = await db.rows<Counters>(
    `select (select count(*)::float8 from throughline.timeline) as rows, (xact_commit)::float8 as commits, active_time as "busyMs" from pg_stat_database where datname = current_database()`,
    [],
  );
  if (row === undefined) throw new Error('Postgres has no statistics of its own database');
  return row;
}

function report(before: Counters, after: Counters): void {
  const line = (name: 'throughline' | 'plain'): { readonly perSecond: number; readonly p50: number; readonly p95: number; readonly alone: number } => {
    const latencies = results[name].flatMap(({ latenciesMs }) => latenciesMs);
    return { perSecond: median(results[name].map(({ perSecond }) => perSecond)), p50: quantile(latencies, 0.5), p95: quantile(latencies, 0.95), alone: median(alone[name]) };
  };
  const mine = line('throughline');
  const theirs = line('plain');
  const ratio = median(results.throughline.map(({ perSecond }, index) => perSecond / (results.plain[index]?.perSecond ?? NaN)));
  const done = tasks * rounds;
  const limits = {
    timeline_rows_a_task: (after.rows - before.rows) / done,
    commits_a_task: (after.commits - before.commits) / done,
    postgres_ms_a_task: (after.busyMs - before.busyMs) / done,
    wall_ms_a_task: 1_000 / mine.perSecond,
  };
  if (values.json) process.stdout.write(`${JSON.stringify({ tasks, rounds, concurrency, throughline: mine, plain: theirs, ratio, latency_ratio_alone: mine.alone / theirs.alone, limits })}\n`);
  say(`\n${String(tasks)} tasks a round, ${String(rounds)} interleaved rounds, concurrency ${String(concurrency)}; medians`);
  say('                          tasks/s   p50 ms   p95 ms   alone ms');
  for (const [name, row] of [['throughline, three steps', mine], ['plain, three activities', theirs]] as const) {
    say(`${name.padEnd(25)}${row.perSecond.toFixed(1).padStart(8)}${row.p50.toFixed(0).padStart(9)}${row.p95.toFixed(0).padStart(9)}${row.alone.toFixed(0).padStart(11)}`);
  }
  say(`ratio of rates            ${ratio.toFixed(2)} (median of the rounds' ratios)\nratio of latencies alone  ${(mine.alone / theirs.alone).toFixed(2)}`);
  say(`what limits it: ${limits.timeline_rows_a_task.toFixed(1)} timeline rows and ${limits.commits_a_task.toFixed(1)} commits a task; Postgres was executing for ${limits.postgres_ms_a_task.toFixed(1)} ms a task, over all connections, of ${limits.wall_ms_a_task.toFixed(1)} ms between two tasks' ends;`);
  say('the rest is Temporal\'s server and the SDK, which the plain workflow pays as well.');
}
