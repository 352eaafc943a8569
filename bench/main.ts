/**
 * `npm run bench`: the three-step task, ordinary and quick, beside a plain three-activity Temporal workflow, on the same
 * servers in one run, in interleaved rounds. Compare the ratios; absolute rates are this machine's.
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
import { threeQuick, threeStep } from './three-step.ts';

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
  databaseUrl: stack.databaseUrl, temporalAddress: stack.temporalAddress, taskQueue: 'bench-throughline', tasks: [threeStep, threeQuick], artifacts: join(dataDir, 'artifacts'), log: createLogger('warn'), attemptsAtOnce: 100,
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

const NOTHING: Counters = { rows: 0, commits: 0, busyMs: 0 };
let serial = 0;
const ours = (task: typeof threeStep) => async (): Promise<void> => {
  const { id } = await client.enqueue(task, { n: 1 });
  const rest = await client.waitFor(id, { timeoutMs: 120_000 });
  if (rest.status !== 'succeeded') throw new Error(`a task ended ${rest.status}`);
};
const plain = async (): Promise<void> => {
  serial += 1;
  const answer: unknown = await temporal.workflow.execute('plain', { taskQueue: 'bench-plain', workflowId: `plain/${String(serial)}`, args: [1] });
  if (answer !== 4) throw new Error(`the plain workflow returned ${String(answer)}`);
};

const CONTENDERS = { steps: ours(threeStep), quick: ours(threeQuick), plain } as const;
type Contender = keyof typeof CONTENDERS;
const NAMES = Object.keys(CONTENDERS) as Contender[];
const TITLES: Record<Contender, string> = { steps: 'throughline, three steps', quick: 'throughline, quick steps', plain: 'plain, three activities' };
const results: Record<Contender, Round[]> = { steps: [], quick: [], plain: [] };
const alone: Record<Contender, number[]> = { steps: [], quick: [], plain: [] };
const spent: Record<'steps' | 'quick', Counters> = { steps: NOTHING, quick: NOTHING };
try {
  say('warming up');
  for (const name of NAMES) await measure(concurrency, concurrency, CONTENDERS[name]);
  for (let round = 1; round <= rounds; round += 1) {
    for (const name of NAMES) {
      const before = await counters(database);
      results[name].push(await measure(tasks, concurrency, CONTENDERS[name]));
      if (name !== 'plain') spent[name] = add(spent[name], before, await counters(database));
    }
    const rate = (name: Contender): number => results[name].at(-1)?.perSecond ?? NaN;
    say(`round ${String(round)}: ${NAMES.map((name) => `${name} ${rate(name).toFixed(1)}/s`).join(', ')}; ratios ${(rate('steps') / rate('plain')).toFixed(2)} and ${(rate('quick') / rate('plain')).toFixed(2)}`);
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const name of NAMES) alone[name].push(...(await measure(4, 1, CONTENDERS[name])).latenciesMs);
  }
  report();
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

function add(sum: Counters, before: Counters, after: Counters): Counters {
  return {
    rows: sum.rows + after.rows - before.rows, commits: sum.commits + after.commits - before.commits, busyMs: sum.busyMs + after.busyMs - before.busyMs,
  };
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

function report(): void {
  const line = (name: Contender) => {
    const latencies = results[name].flatMap(({ latenciesMs }) => latenciesMs);
    const ratio = median(results[name].map(({ perSecond }, index) => perSecond / (results.plain[index]?.perSecond ?? NaN)));
    return { perSecond: median(results[name].map(({ perSecond }) => perSecond)), p50: quantile(latencies, 0.5), p95: quantile(latencies, 0.95), alone: median(alone[name]), ratio, latency_ratio_alone: median(alone[name]) / median(alone.plain) };
  };
  const lines = { steps: line('steps'), quick: line('quick'), plain: line('plain') };
  const done = tasks * rounds;
  const limits = (name: 'steps' | 'quick') => ({
    timeline_rows_a_task: spent[name].rows / done,
    commits_a_task: spent[name].commits / done,
    postgres_ms_a_task: spent[name].busyMs / done,
    wall_ms_a_task: 1_000 / lines[name].perSecond,
  });
  if (values.json) process.stdout.write(`${JSON.stringify({ tasks, rounds, concurrency, ...lines, limits: { steps: limits('steps'), quick: limits('quick') } })}\n`);
  say(`\n${String(tasks)} tasks a round, ${String(rounds)} interleaved rounds, concurrency ${String(concurrency)}; medians; ratios to the plain workflow of the same round`);
  say('                          tasks/s  ratio   p50 ms   p95 ms   alone ms  ratio');
  for (const name of NAMES) {
    const { perSecond, ratio, p50, p95, alone: own, latency_ratio_alone } = lines[name];
    say(`${TITLES[name].padEnd(25)}${perSecond.toFixed(1).padStart(8)}${ratio.toFixed(2).padStart(7)}${p50.toFixed(0).padStart(9)}${p95.toFixed(0).padStart(9)}${own.toFixed(0).padStart(11)}${latency_ratio_alone.toFixed(2).padStart(7)}`);
  }
  for (const name of ['steps', 'quick'] as const) {
    const { timeline_rows_a_task, commits_a_task, postgres_ms_a_task, wall_ms_a_task } = limits(name);
    say(`what limits ${TITLES[name]}: ${timeline_rows_a_task.toFixed(1)} timeline rows and ${commits_a_task.toFixed(1)} commits a task; Postgres was executing for ${postgres_ms_a_task.toFixed(1)} ms a task, over all connections, of ${wall_ms_a_task.toFixed(1)} ms between two tasks' ends`);
  }
  say("the rest is Temporal's server and the SDK, which the plain workflow pays as well; quick steps spare the queue of each activity.");
}
