/** A ledger of one's own for a test: a fresh database on the run's Postgres, copied from a migrated template. */
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { Database, Door, migrate } from '../../src/ledger/index.ts';
import { findings } from './soundness.ts';
import { stackAddresses } from './stack.ts';

/** A row as the database gives it. */
export type Row = Readonly<Record<string, unknown>>;

export interface Ledger {
  readonly database: Database;
  readonly door: Door;
  /** For programs and pools of their own. */
  readonly url: string;
  /** Lets time pass for everything that asks the ledger for it, without sleeping. */
  shiftClock(ms: number): Promise<void>;
  /** Any SQL, past the door: the result's rows; throws pg.DatabaseError. */
  query<T extends Row = Row>(sql: string, values?: readonly unknown[]): Promise<T[]>;
  /**
   * Ends the connections and drops the database. First it is audited: whatever a test did to it, every promise must hold.
   * `unaudited` says why a test broke one on purpose.
   */
  close(options?: { readonly unaudited: string }): Promise<void>;
}

/** All test processes of a run wait for each other on it while one makes the template. */
const TEMPLATE_LOCK = 7_461_903_552;

const urlOf = (name: string): string => {
  const url = new URL(stackAddresses().databaseUrl);
  url.pathname = `/${name}`;
  return url.href;
};

async function withAdmin<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: stackAddresses().databaseUrl });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Named by what is in it: a server that outlives the run gets a new template when a file changes. */
async function templateName(): Promise<string> {
  const hash = createHash('sha256');
  for (const folder of ['../../migrations', '../../migrations/repeatable', '../../src/ledger/sql']) {
    const dir = fileURLToPath(new URL(folder, import.meta.url));
    // The dump is written from a migrated database and is no part of it.
    const names = (await readdir(dir)).filter((name) => name.endsWith('.sql') && name !== 'schema.sql').sort();
    for (const name of names) hash.update(await readFile(`${dir}/${name}`));
  }
  return `throughline_template_${hash.digest('hex').slice(0, 16)}`;
}

async function makeTemplate(): Promise<string> {
  const name = await templateName();
  return withAdmin(async (client) => {
    await client.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    const found = await client.query('select from pg_database where datname = $1', [name]);
    if (found.rowCount === 0) {
      // Under another name until it is whole: a run that was killed leaves no half-migrated template.
      const raw = `${name}_raw`;
      await client.query(`drop database if exists ${raw}`);
      await client.query(`create database ${raw}`);
      const database = new Database({ url: urlOf(raw), connectionsMax: 1 });
      try {
        await migrate(database);
      } finally {
        await database.end();
      }
      await client.query(`alter database ${raw} rename to ${name}`);
    }
    return name;
  });
}

const drop = (name: string): Promise<void> =>
  withAdmin(async (client) => {
    await client.query(`drop database if exists ${name} with (force)`);
  });

let template: Promise<string> | undefined;

/** An empty database with no schema at all, and a way to drop it. */
export async function emptyDatabase(): Promise<{ readonly url: string; readonly drop: () => Promise<void> }> {
  const name = `t_${randomUUID().replaceAll('-', '')}`;
  await withAdmin((client) => client.query(`create database ${name}`));
  return { url: urlOf(name), drop: () => drop(name) };
}

/** A fresh migrated ledger. Close it in afterAll. */
export async function openLedger(): Promise<Ledger> {
  template ??= makeTemplate();
  const source = await template;
  const name = `t_${randomUUID().replaceAll('-', '')}`;
  await withAdmin((client) => client.query(`create database ${name} template ${source}`));
  const url = urlOf(name);
  const database = new Database({ url, connectionsMax: 20, applicationName: 'throughline-test' });
  const pool = new pg.Pool({ connectionString: url, max: 4, application_name: 'psql-test', allowExitOnIdle: true });
  pool.on('error', () => undefined);
  return {
    database,
    door: new Door(database),
    url,
    async shiftClock(ms) {
      await pool.query("update throughline.clock set shift = shift + make_interval(secs => $1::double precision / 1000)", [ms]);
    },
    async query<T extends Row>(sql: string, values: readonly unknown[] = []) {
      return (await pool.query<T>(sql, [...values])).rows;
    },
    async close(options) {
      try {
        // Not jest's: campaigns run without it.
        if (options === undefined) assert.deepEqual(await findings({ database }), {});
      } finally {
        await Promise.all([database.end(), pool.end()]);
        await drop(name);
      }
    },
  };
}
