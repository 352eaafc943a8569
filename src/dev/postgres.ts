/** A Postgres 18 of our own: a cluster made on first use, on the loopback address, with one database. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, lstat, mkdir, open, readFile, readlink, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { redactUrl } from '../config.ts';
import { ThroughlineError } from '../errors.ts';
import { endProcess, identify } from './identity.ts';
import type { SystemUser } from './place.ts';
import type { PostgresBinaries } from './postgres-binaries.ts';
import { POSTGRES_STOP, ServerProcess } from './server-process.ts';

const run = promisify(execFile);

const MAJOR = '18';
const USER = 'throughline';
const DATABASE = 'throughline';
const READY_WITHIN_MS = 60_000;

export interface PostgresOptions {
  /** The cluster is its subfolder `data`; `user` must be able to enter this folder. */
  readonly dir: string;
  readonly port: number;
  readonly user: SystemUser | undefined;
  readonly binaries: PostgresBinaries;
  /** Server settings, by name; they win over ours. */
  readonly settings: Readonly<Record<string, string>>;
  readonly logFile: string;
  readonly onSpawn: (server: ServerProcess) => Promise<void>;
}

export interface Postgres {
  /** Holds the password; the loopback address only. */
  readonly databaseUrl: string;
}

/**
 * Makes the cluster if there is none, stops a server that was left over on it, starts, waits until it answers.
 * @throws STACK_FAILED with the last lines of the server's log.
 */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const { dir, user, binaries, port } = options;
  const data = join(dir, 'data');
  const passwordFile = join(dir, 'password');
  await endLeftOver(data);
  if ((await lstat(join(data, 'PG_VERSION')).catch(() => undefined)) === undefined) {
    await makeCluster(options, data, passwordFile);
  }
  const version = (await readFile(join(data, 'PG_VERSION'), 'utf8')).trim();
  if (version !== MAJOR) {
    throw new ThroughlineError('STACK_FAILED', {
      message: `${data} was made by Postgres ${version}, this program brings ${MAJOR}: move that folder away`,
    });
  }
  const password = (await readFile(passwordFile, 'utf8')).trim();
  const settings = { listen_addresses: '127.0.0.1', unix_socket_directories: '', ...options.settings };
  const server = await ServerProcess.start({
    command: binaries.postgres,
    args: ['-D', data, '-p', String(port), ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    cwd: data,
    env: cleanEnv(),
    logFile: options.logFile,
    user,
  });
  try {
    await options.onSpawn(server);
    await makeDatabase(server, { host: '127.0.0.1', port, user: USER, password });
  } catch (error) {
    await server.stop(POSTGRES_STOP);
    throw error;
  }
  return { databaseUrl: `postgres://${USER}:${password}@127.0.0.1:${String(port)}/${DATABASE}` };
}

/**
 * Checks a Postgres that somebody else runs.
 * @throws LEDGER_UNAVAILABLE naming host and database, never the password.
 */
export async function usePostgres(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('select 1');
  } catch (cause) {
    throw new ThroughlineError('LEDGER_UNAVAILABLE', {
      message: `No Postgres answers at ${redactUrl(databaseUrl)}: ${cause instanceof Error ? cause.message : String(cause)}`,
      cause,
    });
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** A postmaster that still holds the folder, though `stack.json` may be gone. Postgres itself judges every other lock file. */
async function endLeftOver(data: string): Promise<void> {
  const pid = Number.parseInt((await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')[0] ?? '', 10);
  if (!Number.isInteger(pid) || pid <= 1) return;
  const identity = await identify(pid);
  // A postmaster works in its data folder; anything else with this pid is a stranger.
  const cwd = await readlink(`/proc/${String(pid)}/cwd`).catch(() => undefined);
  if (identity !== undefined && cwd === data) await endProcess(identity, POSTGRES_STOP);
}

/** Made beside its place and moved there whole: a start that was killed half-way leaves nothing that looks like a cluster. */
async function makeCluster(options: PostgresOptions, data: string, passwordFile: string): Promise<void> {
  const { dir, user, binaries } = options;
  const part = join(dir, 'data.part');
  await rm(part, { recursive: true, force: true });
  await mkdir(part, { mode: 0o700 });
  await rm(passwordFile, { force: true });
  const file = await open(passwordFile, 'wx', 0o600);
  await file.writeFile(`${randomBytes(18).toString('base64url')}\n`);
  await file.close();
  if (user !== undefined) await Promise.all([part, passwordFile].map((path) => chown(path, user.uid, user.gid)));
  // The built-in locale needs none of the system's: the same order and case rules on every machine.
  const flags = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'];
  const args = [`--pgdata=${part}`, `--username=${USER}`, `--pwfile=${passwordFile}`, '--auth=scram-sha-256', ...flags];
  try {
    // Without waiting for the disk: a crash of the machine right now leaves at worst a cluster to delete.
    await run(binaries.initdb, [...args, '--no-sync'], { cwd: dir, env: cleanEnv(), ...(user && { uid: user.uid, gid: user.gid }) });
  } catch (cause) {
    const said = (cause as { stderr?: string }).stderr?.trim() ?? String(cause);
    throw new ThroughlineError('STACK_FAILED', { message: `initdb failed: ${said}`, cause });
  }
  await rm(data, { recursive: true, force: true });
  await rename(part, data);
}

async function makeDatabase(server: ServerProcess, connection: pg.ClientConfig): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS;
  for (;;) {
    const client = new pg.Client({ ...connection, database: 'postgres', connectionTimeoutMillis: 5_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [DATABASE]);
      if (rowCount === 0) await client.query(`create database ${DATABASE}`);
      return;
    } catch (cause) {
      if (server.hasEnded || performance.now() > deadline) {
        throw new ThroughlineError('STACK_FAILED', { message: `Postgres did not start:\n${await server.logTail()}`, cause });
      }
      await delay(50);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

/** Without PG* variables, which change what the server and initdb do, and without foreign libraries. */
function cleanEnv(): NodeJS.ProcessEnv {
  const env = Object.entries(process.env).filter(([name]) => !/^PG|^LD_|^DYLD_|^LC_|^LANG/.test(name));
  return { ...Object.fromEntries(env), LC_ALL: 'C' };
}
