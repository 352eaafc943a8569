/**
 * `npm run bench:scale -- --tasks 1000000`: what questions and writes cost with that many finished tasks in the ledger, full timelines
 * included, beside an empty ledger on the same Postgres, in interleaved rounds.
 *
 * Flags: --tasks N (default 100000) --rounds N (default 5) --data DIR (kept and used again) --audit (of all, too: minutes) --json
 */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { createClient, Database, explanationText, migrate } from '../src/index.ts';
import type { ThroughlineClient } from '../src/index.ts';
import { startStack } from '../src/dev/index.ts';
import { loadCopies } from './load.ts';
import { measure, median, quantile } from './measure.ts';
import { bare, runTemplates } from './templates.ts';

const { values } = parseArgs({
  options: { tasks: { type: 'string', default: '100000' }, rounds: { type: 'string', default: '5' }, data: { type: 'string' }, audit: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
});
const [tasks, rounds] = [Number(values.tasks), Number(values.rounds)];
const say = (line: string): void => void process.stderr.write(`${line}\n`);
const WRITES = 400;
const LANES = 10;

const dataDir = resolve(values.data ?? '.throughline/scale');
const stack = await startStack({
  dataDir, cacheDir: '.throughline/temporal', temporalStorage: 'memory', log: say, postgresSettings: { max_wal_size: '8GB', checkpoint_timeout: '15min' },
});
const urlOf = (name: string): string => Object.assign(new URL(stack.databaseUrl), { pathname: `/${name}` }).toString();
const admin = new pg.Client({ connectionString: stack.databaseUrl });
await admin.connect();
const full = `scale_${String(tasks)}`;
const known = async (name: string): Promise<boolean> => (await admin.query('select from pg_database where datname = $1', [name])).rowCount === 1;
if (!(await known(full))) {
  // A load that was cut off leaves no ledger behind that looks whole.
  await admin.query(`drop database if exists ${full}_part`);
  await make(`${full}_part`, true);
  await admin.query(`alter database ${full}_part rename to ${full}`);
}
if (await known('scale_empty')) await admin.query('drop database scale_empty');
await make('scale_empty', false);
await admin.end();

async function make(name: string, load: boolean): Promise<void> {
  await admin.query(`create database ${name}`);
  const database = new Database({ url: urlOf(name), connectionsMax: 2 });
  await migrate(database);
  await database.end();
  const artifacts = resolve(dataDir, 'artifacts');
  const templates = await runTemplates({ databaseUrl: urlOf(name), temporalAddress: stack.temporalAddress, artifacts });
  if (load) {
    const from = performance.now();
    await loadCopies(urlOf(name), templates, tasks, say);
    say(`loaded ${String(tasks)} tasks in ${((performance.now() - from) / 1_000).toFixed(0)} s`);
  }
}

const sides = { empty: open('scale_empty'), full: open(full) };
function open(name: string): { readonly client: ThroughlineClient; readonly database: Database } {
  return { client: createClient({ databaseUrl: urlOf(name), connectionsMax: LANES, by: 'service:bench' }), database: new Database({ url: urlOf(name), connectionsMax: LANES }) };
}

/** One enqueue, one claim, one settle: the door alone, without Temporal. */
const writes = {
  enqueue: async (side: (typeof sides)['full'], ids: string[]) => measure(WRITES, LANES, async () => void ids.push((await side.client.enqueue(bare, { n: 1 }, { key: randomUUID() })).id)),
  claim: async (side: (typeof sides)['full'], ids: string[], claims: Map<string, { claim: string; epoch: number }>) =>
    measure(ids.length, LANES, async (index) => {
      const id = ids[index] ?? '';
      const claim = randomUUID();
      const answer = await side.database.call<{ claimed?: true; epoch: number }>('step_claim', [id, 'only', claim, 'bench']);
      if (answer.claimed !== true) throw new Error(`a claim was refused: ${JSON.stringify(answer)}`);
      claims.set(id, { claim, epoch: answer.epoch });
    }),
  settle: async (side: (typeof sides)['full'], ids: string[], claims: Map<string, { claim: string; epoch: number }>) =>
    measure(ids.length, LANES, async (index) => {
      const id = ids[index] ?? '';
      const answer = await side.database.call<{ settled?: true }>('step_settle', [id, 'only', { ...claims.get(id), holder: 'bench', how: 'done', result: { ok: true } }]);
      if (answer.settled !== true) throw new Error(`a settle was refused: ${JSON.stringify(answer)}`);
    }),
};
type Write = keyof typeof writes;
const rates: Record<keyof typeof sides, Record<Write, number[]>> = { empty: { enqueue: [], claim: [], settle: [] }, full: { enqueue: [], claim: [], settle: [] } };

const { client, database } = sides.full;
const reads: Record<string, { p50: number; p95: number; rows?: number }> = {};
async function timed(name: string, count: number, ask: (index: number) => Promise<number>): Promise<void> {
  let rows = 0;
  const { latenciesMs } = await measure(count, 1, async (index) => {
    rows = await ask(index);
  });
  reads[name] = { p50: quantile(latenciesMs, 0.5), p95: quantile(latenciesMs, 0.95), rows };
  say(`${name}: p50 ${quantile(latenciesMs, 0.5).toFixed(1)} ms, p95 ${quantile(latenciesMs, 0.95).toFixed(1)} ms, ${String(rows)} rows`);
}

try {
  const some = await database.rows<{ id: string; key: string; created_at: string }>(
    `select id, key, throughline._iso(created_at) as created_at from throughline.task where key is not null order by md5(id::text) limit 300`, []);
  const at = (index: number): (typeof some)[number] => {
    const one = some[index % some.length];
    if (one === undefined) throw new Error('the ledger is empty');
    return one;
  };
  const list = async (filter: Parameters<ThroughlineClient['list']>[0]): Promise<number> => (await client.list(filter)).rows.length;
  await timed('explain', 300, async (index) => explanationText(await client.explain(at(index).id)).length);
  await timed('list: newest', 40, () => list({}));
  for (const status of ['succeeded', 'dead', 'cancelled', 'unconfirmed'] as const) await timed(`list: ${status}`, 40, () => list({ status }));
  for (const reason of ['attempts_exhausted', 'proof_accepted', 'effect_uncertain'] as const) await timed(`list: reason ${reason}`, 40, () => list({ reason }));
  await timed('list: type', 40, () => list({ type: 'bench-failing' }));
  await timed('list: a type with few', 40, () => list({ type: 'bench-bare' }));
  await timed('list: type and status', 40, () => list({ type: 'bench-publish', status: 'cancelled' }));
  await timed('list: types', 40, () => list({ types: ['bench-failing', 'bench-bare'] }));
  await timed('list: open', 40, () => list({ atRest: false }));
  await timed('list: one day', 40, (index) => list({ createdFrom: new Date(Date.parse(at(index).created_at) - 86_400_000).toISOString(), createdTo: at(index).created_at }));
  await timed('list: exact key', 40, (index) => list({ key: at(index).key }));
  await timed('list: text, a key\'s beginning', 40, (index) => list({ text: at(index).key }));
  await timed('list: text that fits many', 40, () => list({ text: 'template-' }));
  await timed('list: text, an id\'s beginning', 40, (index) => list({ text: at(index).id.slice(0, 13) }));
  const deep = (one: (typeof some)[number]): string => Buffer.from(`${one.created_at.replace('T', ' ').replace('Z', '+00')}/${one.id}`).toString('base64url');
  await timed('list: a page far behind', 40, (index) => list({ cursor: deep(at(index)) }));
  await timed('list: dead, a page far behind', 40, (index) => list({ status: 'dead', cursor: deep(at(index)) }));
  await timed('audit of one task', 40, async (index) => (await client.audit({ task: at(index).id })).findings.length);
  await timed('audit of the last hour', 2, async () => (await client.audit({ since: new Date(Date.now() - 3_600_000).toISOString() })).tasks);
  if (values.audit) await timed('audit of all', 1, async () => {
    const report = await client.audit({});
    if (!report.ok) say(`the audit found: ${JSON.stringify(report.findings.map(({ code, count, rows: first }) => ({ code, count, first: first[0] })))}`);
    return report.tasks;
  });
  for (let round = 0; round <= rounds; round += 1) {
    for (const name of round % 2 === 0 ? (['empty', 'full'] as const) : (['full', 'empty'] as const)) {
      const [ids, claims] = [[] as string[], new Map<string, { claim: string; epoch: number }>()];
      for (const write of ['enqueue', 'claim', 'settle'] as const) {
        const { perSecond } = await writes[write](sides[name], ids, claims);
        // The first round warms both up.
        if (round > 0) rates[name][write].push(perSecond);
      }
    }
  }
  const { rows: [size] } = { rows: await database.rows<{ bytes: number; entries: number }>(`select pg_database_size(current_database())::float8 as bytes, (select reltuples::float8 from pg_class where oid = 'throughline.timeline'::regclass) as entries`, []) };
  const written = Object.fromEntries((['enqueue', 'claim', 'settle'] as const).map((write) => [write, {
    empty: median(rates.empty[write]), full: median(rates.full[write]), ratio: median(rates.full[write].map((rate, index) => rate / (rates.empty[write][index] ?? NaN))),
  }]));
  for (const [write, { empty, full: at_n, ratio }] of Object.entries(written)) say(`${write}: ${empty.toFixed(0)}/s empty, ${at_n.toFixed(0)}/s with ${String(tasks)} tasks, ratio ${ratio.toFixed(2)}`);
  say(`${((size?.bytes ?? NaN) / 2 ** 30).toFixed(2)} GiB, ${String(size?.entries)} entries`);
  if (values.json) process.stdout.write(`${JSON.stringify({ tasks, reads, written, ...size })}\n`);
} finally {
  for (const side of Object.values(sides)) {
    await side.client.close();
    await side.database.end();
  }
  await stack.stop();
  if (values.data === undefined) await rm(dataDir, { recursive: true, force: true });
}
