/**
 * Writes migrations/schema.sql: what the migrated database is, read from its catalogue in a canonical order.
 * It is for reading and for comparing (test/ledger/schema.test.ts), not for running. With a postgres:// URL
 * as argument that server is used; otherwise one is started for the moment.
 */
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { startStack } from '../src/dev/stack.ts';
import { Database, migrate } from '../src/ledger/index.ts';

/** Runs one SELECT. */
export type Query = (sql: string) => Promise<Readonly<Record<string, unknown>>[]>;

/** node-pg-migrate's own bookkeeping is not ours to fix. */
const NOT_OURS = "'migration'";

const TABLES = `
  select c.oid, c.relname as name, array_to_string(c.reloptions, ', ') as options from pg_class c
  where c.relnamespace = 'throughline'::regnamespace and c.relkind = 'r' and c.relname not in (${NOT_OURS}) order by c.relname`;

const COLUMNS = `
  select a.attrelid as oid, a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
    || case when a.attidentity <> '' then ' generated always as identity' else '' end
    || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')
    || case when a.attnotnull then ' not null' else '' end as line
  from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where a.attrelid in (select oid from pg_class where relnamespace = 'throughline'::regnamespace) and a.attnum > 0 and not a.attisdropped order by a.attrelid, a.attnum`;

/** Not-null constraints are shown with their columns. */
const CONSTRAINTS = `
  select conrelid as oid, 'constraint ' || conname || ' ' || pg_get_constraintdef(oid) as line from pg_constraint
  where connamespace = 'throughline'::regnamespace and contype <> 'n' order by conrelid, array_position('{p,u,f,c}'::"char"[], contype), conname`;

const INDEXES = `
  select i.indrelid as oid, pg_get_indexdef(i.indexrelid) as line from pg_index i join pg_class c on c.oid = i.indexrelid
  where c.relnamespace = 'throughline'::regnamespace and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u')) order by c.relname`;

const TRIGGERS = `
  select t.tgrelid as oid, pg_get_triggerdef(t.oid) as line from pg_trigger t join pg_class c on c.oid = t.tgrelid
  where c.relnamespace = 'throughline'::regnamespace and not t.tgisinternal order by t.tgname`;

const TYPES = `
  select c.oid, c.relname as name from pg_class c where c.relnamespace = 'throughline'::regnamespace and c.relkind = 'c' order by c.relname`;

const FUNCTIONS = `
  select format('function %s(%s) returns %s language %s %s', p.proname, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), l.lanname,
    case p.provolatile when 'i' then 'immutable' when 's' then 'stable' else 'volatile' end) as line
  from pg_proc p join pg_language l on l.oid = p.prolang where p.pronamespace = 'throughline'::regnamespace order by p.proname, p.oid::regprocedure::text`;

/** The schema of a migrated database as text, the same for the same schema. */
export async function dumpSchema(query: Query): Promise<string> {
  const lines = async (sql: string): Promise<Map<unknown, string[]>> => {
    const found = new Map<unknown, string[]>();
    for (const { oid, line } of await query(sql)) found.set(oid, [...(found.get(oid) ?? []), String(line)]);
    return found;
  };
  const columns = await lines(COLUMNS);
  const constraints = await lines(CONSTRAINTS);
  const indexes = await lines(INDEXES);
  const triggers = await lines(TRIGGERS);
  const out = ['-- Written by scripts/dump-schema.ts from the catalogue of a migrated database; do not edit, do not run.', ''];
  for (const { oid, name } of await query(TYPES)) out.push(`type ${String(name)} (`, ...(columns.get(oid) ?? []).map((line) => `  ${line}`), ')', '');
  for (const { oid, name, options } of await query(TABLES)) {
    const body = [...(columns.get(oid) ?? []), ...(constraints.get(oid) ?? [])].map((line) => `  ${line}`);
    const after = [...(indexes.get(oid) ?? []), ...(triggers.get(oid) ?? [])].map((line) => line.replaceAll('throughline.', ''));
    out.push(`table ${String(name)} (`, ...body, typeof options === 'string' && options !== '' ? `) with (${options})` : ')', ...after, '');
  }
  out.push(...(await query(FUNCTIONS)).map(({ line }) => String(line)), '');
  return out.join('\n').replaceAll('throughline.', '');
}

/** The dump's place. */
export const SCHEMA_FILE = fileURLToPath(new URL('../migrations/schema.sql', import.meta.url));

async function writeDump(serverUrl: string): Promise<void> {
  const name = `dump_${randomBytes(8).toString('hex')}`;
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  const admin = new pg.Client({ connectionString: serverUrl });
  await admin.connect();
  await admin.query(`create database ${name}`);
  const database = new Database({ url: url.href });
  try {
    await migrate(database);
    await writeFile(SCHEMA_FILE, await dumpSchema((sql) => database.rows(sql, [])));
    process.stdout.write(`${SCHEMA_FILE} written\n`);
  } finally {
    await database.end();
    await admin.query(`drop database ${name} with (force)`);
    await admin.end();
  }
}

async function main(): Promise<void> {
  const [url] = process.argv.slice(2);
  if (url !== undefined) {
    await writeDump(url);
    return;
  }
  const stack = await startStack({ dataDir: join(tmpdir(), `throughline-dump-${String(process.pid)}`), temporal: false, temporary: true, log: (line) => process.stderr.write(`${line}\n`) });
  await writeDump(stack.databaseUrl).finally(() => stack.stop());
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
