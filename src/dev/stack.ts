/**
 * The local stack: a real Postgres 18 and Temporal's dev server with its web UI, without Docker. For
 * development, the demo and the tests; production uses servers of its own.
 */
import { mkdir, realpath, rm, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import { readConfig } from '../config.ts';
import { ThroughlineError } from '../errors.ts';
import { endProcess } from './identity.ts';
import type { Log } from './log.ts';
import { canEnter, postgresUser, readablePlace, type SystemUser } from './place.ts';
import { choosePort } from './ports.ts';
import { postgresBinaries } from './postgres-binaries.ts';
import { startPostgres, usePostgres, type Postgres } from './postgres.ts';
import { lockFolder, readRecord, writeRecord, type StackRecord } from './record.ts';
import { POSTGRES_STOP, TEMPORAL_STOP, type ServerProcess } from './server-process.ts';
import { findTemporal } from './temporal-binary.ts';

/** Another program may take a chosen port before the server does; then new ones are chosen. */
const START_TRIES_MAX = 3;

export interface StackOptions {
  /** Folder of this stack's data, made if missing; one stack at a time lives in it. Default: `.throughline` in the working folder. */
  readonly dataDir?: string;
  /** Where an installed Temporal CLI is kept, shared by all stacks of a project. Default: `.throughline/temporal` in the working folder. */
  readonly cacheDir?: string;
  /** Use this Postgres, start none. */
  readonly databaseUrl?: string | undefined;
  /** Ports on 127.0.0.1 that must be taken; others are the ones of the last start, else free ones. */
  readonly ports?: { readonly postgres?: number; readonly temporal?: number; readonly temporalUi?: number };
  /** `file` (default): Temporal's state outlives a restart. `memory`: faster, gone at the stop. */
  readonly temporalStorage?: 'file' | 'memory';
  /** Temporal's dynamic configuration, by key. */
  readonly temporalDynamicConfig?: Readonly<Record<string, string | number | boolean>>;
  /** Postgres settings, by name. */
  readonly postgresSettings?: Readonly<Record<string, string>>;
  /** The stop removes the data. */
  readonly temporary?: boolean;
  /** `TEMPORAL_ADDRESS` (use that server, start none), `TEMPORAL_NAMESPACE`, `PATH`. Default: `process.env`. */
  readonly env?: NodeJS.ProcessEnv;
  readonly log: Log;
}

/** A running Postgres. */
export interface DatabaseStack {
  /** Holds the password of a server that listens on 127.0.0.1 only. */
  readonly databaseUrl: string;
  /** Absolute. */
  readonly dataDir: string;
  /** Holds Postgres's data; elsewhere than `dataDir` if the postgres user can't reach that one. Undefined with a Postgres of somebody else's. */
  readonly postgresDir: string | undefined;
  /** Milliseconds from the call to each server's answer. */
  readonly started_ms: { readonly postgres: number; readonly temporal?: number };
  /** Stops what was started, in order; idempotent. */
  readonly stop: () => Promise<void>;
}

/** A running Postgres and Temporal. */
export interface Stack extends DatabaseStack {
  /** host:port of the frontend. */
  readonly temporalAddress: string;
  readonly temporalNamespace: string;
  /** Undefined with a server of somebody else's. */
  readonly temporalUiUrl: string | undefined;
}

/**
 * Starts both servers, in parallel, and resolves when both answer. They never outlive this process; what a killed
 * start left over in the folder is stopped first.
 * @throws STACK_BUSY if another stack lives in the folder; STACK_FAILED with the server's own words;
 *   TEMPORAL_NOT_FOUND with the ways to get one; TEMPORAL_UNAVAILABLE if TEMPORAL_ADDRESS does not answer; CONFIG_INVALID.
 */
export async function startStack(options: StackOptions & { readonly temporal: false }): Promise<DatabaseStack>;
export async function startStack(options: StackOptions & { readonly temporal?: true }): Promise<Stack>;
export async function startStack(options: StackOptions & { readonly temporal?: boolean }): Promise<DatabaseStack> {
  const starter = await Starter.open(options);
  try {
    return options.temporal === false ? await starter.database() : await starter.both();
  } catch (error) {
    await starter.stop();
    throw error;
  }
}

class Starter {
  readonly #options: StackOptions;
  readonly #dir: string;
  readonly #unlock: () => Promise<void>;
  readonly #begun = performance.now();
  readonly #servers: Partial<Record<keyof StackRecord['servers'], ServerProcess>> = {};
  readonly #taken = new Set<number>();
  #record: StackRecord;
  #postgresDir: string | undefined;
  #written = Promise.resolve();
  #stopped: Promise<void> | undefined;

  private constructor(options: StackOptions, dir: string, unlock: () => Promise<void>, record: StackRecord) {
    this.#options = options;
    this.#dir = dir;
    this.#unlock = unlock;
    this.#record = record;
  }

  static async open(options: StackOptions): Promise<Starter> {
    const wanted = resolve(options.dataDir ?? '.throughline');
    await mkdir(join(wanted, 'logs'), { recursive: true });
    const dir = await realpath(wanted);
    const unlock = await lockFolder(dir);
    const starter = new Starter(options, dir, unlock, await readRecord(dir));
    try {
      await starter.#endLeftOvers();
    } catch (error) {
      await unlock();
      throw error;
    }
    return starter;
  }

  async database(): Promise<DatabaseStack> {
    const postgres = await this.#startPostgres();
    return this.#describe(postgres.databaseUrl, { postgres: postgres.started_ms });
  }

  async both(): Promise<Stack> {
    // Both are awaited to their end, so that a failure of one leaves no half-started other.
    const [postgres, temporal] = await Promise.allSettled([this.#startPostgres(), this.#startTemporal()]);
    if (postgres.status === 'rejected') throw postgres.reason;
    if (temporal.status === 'rejected') throw temporal.reason;
    const { address, namespace, uiUrl, started_ms } = temporal.value;
    return {
      ...this.#describe(postgres.value.databaseUrl, { postgres: postgres.value.started_ms, temporal: started_ms }),
      temporalAddress: address,
      temporalNamespace: namespace,
      temporalUiUrl: uiUrl,
    };
  }

  async stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    await this.#stopped;
  }

  async #stop(): Promise<void> {
    try {
      // Temporal first: nothing that it drives should meet a database that has gone.
      await this.#servers.temporal?.stop(TEMPORAL_STOP);
      await this.#servers.postgres?.stop(POSTGRES_STOP);
      await this.#note({ servers: {} });
      if (this.#options.temporary === true) await this.#remove();
    } finally {
      await this.#unlock();
    }
  }

  async #remove(): Promise<void> {
    const { postgresDir } = this.#record;
    const elsewhere = postgresDir !== undefined && !isInside(postgresDir, this.#dir);
    // With the folder around it, which belongs to this stack alone.
    if (elsewhere) await rm(dirname(postgresDir), { recursive: true, force: true });
    await rm(this.#dir, { recursive: true, force: true });
  }

  #describe(databaseUrl: string, started_ms: DatabaseStack['started_ms']): DatabaseStack {
    return { databaseUrl, dataDir: this.#dir, postgresDir: this.#postgresDir, started_ms, stop: () => this.stop() };
  }

  async #endLeftOvers(): Promise<void> {
    const { temporal, postgres } = this.#record.servers;
    await Promise.all([
      temporal === undefined ? undefined : endProcess(temporal, TEMPORAL_STOP),
      postgres === undefined ? undefined : endProcess(postgres, POSTGRES_STOP),
    ]);
    await this.#note({ servers: {} });
  }

  async #startPostgres(): Promise<Postgres & { started_ms: number }> {
    const { databaseUrl } = this.#options;
    if (databaseUrl !== undefined) {
      await usePostgres(databaseUrl);
      return { databaseUrl, started_ms: performance.now() - this.#begun };
    }
    const user = await postgresUser();
    const binaries = await postgresBinaries(user);
    const dir = await this.#placePostgres(user);
    if (binaries.copiedTo !== undefined) this.#options.log(`Postgres's programs are run from ${binaries.copiedTo} (the user ${user?.name ?? ''} can't reach the original)`);
    const postgres = await this.#withPorts(async () => {
      const port = await this.#port('postgres', this.#options.ports?.postgres);
      const logFile = join(this.#dir, 'logs', 'postgres.log');
      const settings = this.#options.postgresSettings ?? {};
      const onSpawn = this.#noteServer('postgres');
      return await startPostgres({ dir, port, user, binaries, settings, logFile, onSpawn });
    });
    return { ...postgres, started_ms: performance.now() - this.#begun };
  }

  /** The data stay where they were first put, even if the modes of the folders above change. */
  async #placePostgres(user: SystemUser | undefined): Promise<string> {
    const remembered = this.#record.postgresDir;
    const stillThere = remembered !== undefined && (await stat(remembered).catch(() => undefined)) !== undefined;
    let dir = stillThere && (await canEnter(remembered, user)) ? remembered : join(this.#dir, 'postgres');
    if (dir !== remembered) {
      await mkdir(dir, { recursive: true, mode: 0o755 });
      if (user !== undefined && !(await canEnter(dir, user))) dir = join(await readablePlace(this.#dir, user), 'postgres');
      await mkdir(dir, { recursive: true, mode: 0o755 });
      await this.#note({ postgresDir: dir });
    }
    if (user !== undefined && !isInside(dir, this.#dir)) {
      this.#options.log(`Postgres's data are in ${dir} (the user ${user.name}, who runs it as we are root, can't reach ${this.#dir})`);
    }
    this.#postgresDir = dir;
    return dir;
  }

  async #startTemporal(): Promise<{ address: string; namespace: string; uiUrl: string | undefined; started_ms: number }> {
    const env = this.#options.env ?? process.env;
    const { temporalAddress, temporalNamespace: namespace } = readConfig(env, { temporalProfile: false });
    if (temporalAddress !== undefined) {
      const { useTemporal } = await import('./temporal-server.ts');
      await useTemporal(temporalAddress, namespace, env);
      return { address: temporalAddress, namespace, uiUrl: undefined, started_ms: performance.now() - this.#begun };
    }
    const cacheDir = resolve(this.#options.cacheDir ?? join('.throughline', 'temporal'));
    const binary = await findTemporal({ cacheDir, env, log: this.#options.log });
    const ports = await this.#withPorts(() => this.#runTemporal(binary, namespace, env));
    return {
      address: `127.0.0.1:${String(ports.temporal)}`,
      namespace,
      uiUrl: `http://127.0.0.1:${String(ports.temporalUi)}`,
      started_ms: performance.now() - this.#begun,
    };
  }

  async #runTemporal(binary: string, namespace: string, env: NodeJS.ProcessEnv): Promise<{ temporal: number; temporalUi: number }> {
    const demanded = this.#options.ports ?? {};
    const ports = {
      temporal: await this.#port('temporal', demanded.temporal),
      temporalUi: await this.#port('temporalUi', demanded.temporalUi),
      temporalMetrics: await this.#port('temporalMetrics', undefined),
      temporalHttp: await this.#port('temporalHttp', undefined),
    };
    // Loaded here: the SDK takes a second, which a stack without Temporal need not wait for.
    const { startTemporal } = await import('./temporal-server.ts');
    await startTemporal({
      binary,
      dir: this.#dir,
      ports,
      namespace,
      dbFile: this.#options.temporalStorage === 'memory' ? undefined : join(this.#dir, 'temporal.db'),
      dynamicConfig: this.#options.temporalDynamicConfig ?? {},
      env,
      logFile: join(this.#dir, 'logs', 'temporal.log'),
      onSpawn: this.#noteServer('temporal'),
    });
    return ports;
  }

  async #port(name: string, demanded: number | undefined): Promise<number> {
    const port = await choosePort({ demanded, remembered: this.#record.ports[name], taken: this.#taken });
    await this.#note({ ports: { ...this.#record.ports, [name]: port } });
    return port;
  }

  async #withPorts<T>(start: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await start();
      } catch (error) {
        const portTaken = error instanceof ThroughlineError && /address already in use|bind: address/i.test(error.message);
        if (!portTaken || tries === START_TRIES_MAX) throw error;
      }
    }
  }

  /** Noted as soon as it runs, not when it answers: a start that is killed in between leaves a server, too. */
  #noteServer(name: keyof StackRecord['servers']): (server: ServerProcess) => Promise<void> {
    return async (server) => {
      this.#servers[name] = server;
      await this.#note({ servers: { ...this.#record.servers, [name]: server.identity } });
    };
  }

  /** The two servers start at the same time: the record in memory is the truth, the file follows it, one write after the other. */
  async #note(change: Partial<StackRecord>): Promise<void> {
    this.#record = { ...this.#record, ...change };
    this.#written = this.#written.then(() => writeRecord(this.#dir, this.#record));
    await this.#written;
  }
}

function isInside(path: string, folder: string): boolean {
  return !relative(folder, path).startsWith('..');
}
