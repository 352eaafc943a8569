import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { ThroughlineError } from '../errors.ts';
import type { Database } from './database.ts';
import { codedFailure } from './failures.ts';

/** The migrations lie beside src/ and dist/ alike. */
const MIGRATIONS = fileURLToPath(new URL('../../migrations', import.meta.url));
/** The door's functions; in the published build they are copied beside this module. */
const FUNCTIONS = fileURLToPath(new URL('./sql', import.meta.url));
/** Any constant: all processes of this program wait for each other on it. */
const LOCK = 7_461_903_551;

async function repeatables(): Promise<{ readonly text: string; readonly digest: string }> {
  const folders = [`${MIGRATIONS}/repeatable`, FUNCTIONS];
  const texts: string[] = [];
  for (const folder of folders) {
    const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
    for (const name of names) texts.push(await readFile(`${folder}/${name}`, 'utf8'));
  }
  const text = texts.join('\n');
  return { text, digest: createHash('sha256').update(text).digest('hex') };
}

async function numbered(): Promise<readonly string[]> {
  return (await readdir(MIGRATIONS)).filter((name) => /^\d{4}_.*\.sql$/.test(name)).map((name) => name.replace(/\.sql$/, '')).sort();
}

async function applied(client: pg.PoolClient): Promise<readonly string[]> {
  const found = await client.query<{ present: string | null }>("select to_regclass('throughline.migration')::text as present");
  if ((found.rows[0]?.present ?? null) === null) return [];
  const rows = await client.query<{ name: string }>('select name from throughline.migration order by id');
  return rows.rows.map((row) => row.name);
}

/**
 * Brings the schema up to this program's: numbered migrations once each (node-pg-migrate), then rules and
 * functions, if they differ. Any number of processes may call it at once: one migrates, the others wait.
 * Throws LEDGER_NEWER if the database holds migrations that this program does not know; it then changes nothing.
 */
export async function migrate(database: Database, log: (line: string) => void = () => undefined): Promise<{ readonly applied: readonly string[] }> {
  return database.withClient(async (client) => {
    await client.query('select pg_advisory_lock($1)', [LOCK]);
    try {
      const known = await numbered();
      const unknown = (await applied(client)).filter((name) => !known.includes(name));
      if (unknown.length > 0) throw new ThroughlineError('LEDGER_NEWER', { facts: { unknown } });
      // Only who migrates needs it.
      const { runner } = await import('node-pg-migrate');
      const done = await runner({
        dbClient: client,
        dir: MIGRATIONS,
        ignorePattern: '(\\..*|repeatable|schema\\.sql)',
        direction: 'up',
        migrationsTable: 'migration',
        migrationsSchema: 'throughline',
        schema: 'throughline',
        createSchema: true,
        createMigrationsSchema: true,
        noLock: true,
        log: () => undefined,
      });
      await repeat(client);
      for (const { name } of done) log(`applied ${name}`);
      return { applied: done.map(({ name }) => name) };
    } catch (error) {
      throw codedFailure(error);
    } finally {
      await client.query('reset search_path').catch(() => undefined);
      await client.query('select pg_advisory_unlock($1)', [LOCK]).catch(() => undefined);
    }
  });
}

/**
 * What this transaction did not create or replace is of an earlier version. Left there, an old signature would be
 * an overload that calls with fewer arguments still find.
 */
const DROP_LEFT_OVER = `do $$
  declare
    f record;
  begin
    for f in select oid::regprocedure as signature from pg_proc
      where pronamespace = 'throughline'::regnamespace and prokind = 'f' and xmin <> pg_current_xact_id()::xid
    loop
      execute 'drop function ' || f.signature;
    end loop;
  end $$`;

/** What stands in the catalogue: somebody may have replaced a function since it was made. */
const FUNCTIONS_PRESENT = `select obj_description('throughline'::regnamespace, 'pg_namespace') as noted, (select md5(string_agg(line, e'\\n' order by line)) from (
    select proname || '(' || pg_get_function_identity_arguments(oid) || ')' || prosecdef || prosrc as line from pg_proc where pronamespace = 'throughline'::regnamespace and prokind = 'f') f) as present`;

/** `outdated`: of another version; `edited`: of this one, but not as it was made. */
export type FunctionsFound = 'current' | 'outdated' | 'edited';

async function functionsFound(client: pg.PoolClient): Promise<FunctionsFound> {
  const { digest } = await repeatables();
  const { rows } = await client.query<{ noted: string | null; present: string | null }>(FUNCTIONS_PRESENT);
  const [row] = rows;
  if (row?.noted?.startsWith(`throughline functions ${digest}`) !== true) return 'outdated';
  return row.noted === `throughline functions ${digest} ${String(row.present)}` ? 'current' : 'edited';
}

async function repeat(client: pg.PoolClient): Promise<void> {
  const { text, digest } = await repeatables();
  if ((await functionsFound(client)) === 'current') return;
  await client.query('begin');
  try {
    // Functions refer to each other in any order.
    await client.query('set local check_function_bodies = off');
    await client.query(text);
    await client.query(DROP_LEFT_OVER);
    await client.query('select throughline._rights_grant()');
    const { rows } = await client.query<{ present: string }>(FUNCTIONS_PRESENT);
    await client.query(`comment on schema throughline is 'throughline functions ${digest} ${String(rows[0]?.present)}'`);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}

/** What a schema lacks, or has too much of; changes nothing. */
export async function schemaFound(client: pg.PoolClient): Promise<{ readonly missing: readonly string[]; readonly unknown: readonly string[]; readonly functions: FunctionsFound }> {
  const known = await numbered();
  const present = await applied(client);
  const found = await client.query<{ present: string | null }>("select to_regnamespace('throughline')::text as present");
  return {
    missing: known.filter((name) => !present.includes(name)),
    unknown: present.filter((name) => !known.includes(name)),
    functions: (found.rows[0]?.present ?? null) === null ? 'outdated' : await functionsFound(client),
  };
}

/** Refuses to work with a schema that this program does not fit. Throws LEDGER_OUTDATED or LEDGER_NEWER. */
export async function verifySchema(database: Database): Promise<void> {
  await database.withClient(async (client) => {
    const known = await numbered();
    const present = await applied(client);
    if (known.some((name) => !present.includes(name))) throw new ThroughlineError('LEDGER_OUTDATED');
    const unknown = present.filter((name) => !known.includes(name));
    if (unknown.length > 0) throw new ThroughlineError('LEDGER_NEWER', { facts: { unknown } });
  });
}
