/** What a chaos run breaks: Postgres, Temporal, two workers, two API processes and two platforms, each a process, with proxies between them. */
import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { startIntake, type RunningIntake } from '../../examples/note-publishing/intake.ts';
import type { PlatformProcess } from '../../examples/note-publishing/platform/process.ts';
import { isAlive } from '../../src/dev/identity.ts';
import { readRecord } from '../../src/dev/record.ts';
import { startStack, type DatabaseStack, type Stack } from '../../src/dev/stack.ts';
import { createHttpClient, type ThroughlineHttpClient } from '../../src/http/index.ts';
import { createClient, type ThroughlineClient } from '../../src/index.ts';
import { compiled } from '../support/compiled.ts';
import { spawnWorker, type WorkerProcess } from '../support/e2e-process.ts';
import { Hooks } from '../support/e2e-hooks.ts';
import { Proxy } from '../support/e2e-proxy.ts';
import type { E2eTasks, Outside } from '../support/e2e-tasks.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { startPlatform } from '../support/platform.ts';
import { publishStack } from '../support/stack.ts';
import { until } from '../support/waiting.ts';

export const LEASE_MS = 3_000;
const NAMESPACE = 'default';
const OFFERS: readonly (keyof E2eTasks)[] = ['plain', 'quick', 'post', 'direct', 'postWithoutKeys', 'directWithoutKeys'];
export const NOTES = resolve('examples/note-publishing/notes');
const TASK_QUEUE = 'chaos';

/** A worker's place: its own way to the servers, and the process that has it at the moment. */
export interface Seat {
  readonly n: number;
  readonly postgres: Proxy;
  readonly temporal: Proxy;
  worker: WorkerProcess;
}

/** How a worker is started. */
export interface WorkerOptions {
  /** Dies there. */
  readonly failpoint?: string;
  /** Its clock is so much ahead. */
  readonly clockMs?: number;
  /** Its heap's limit. */
  readonly heapMb?: number;
}

export interface ApiProcess {
  readonly url: string;
  readonly client: ThroughlineHttpClient;
  child: ChildProcess;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

const log = (): void => undefined;
const run = promisify(execFile);

export class Surroundings {
  readonly folder: string;
  readonly artifacts: string;
  readonly seats: Seat[] = [];
  readonly apis: ApiProcess[] = [];
  hooks!: Hooks;
  ledger!: Ledger;
  /** Past every proxy: for the run's own questions. */
  client!: ThroughlineClient;
  /** The API's way to Postgres. */
  apiPostgres!: Proxy;
  platform!: PlatformProcess;
  keyless!: PlatformProcess;
  #postgres!: DatabaseStack;
  #temporal!: Stack;
  #intake!: RunningIntake;
  #outside!: Outside;
  #token!: string;
  #mounted = false;

  private constructor(folder: string) {
    this.folder = folder;
    this.artifacts = join(folder, 'artifacts');
  }

  static async open(): Promise<Surroundings> {
    const made = new Surroundings(await mkdtemp(join(tmpdir(), 'throughline-chaos-')));
    try {
      await made.#open();
      return made;
    } catch (error) {
      await made.close();
      throw error;
    }
  }

  async #open(): Promise<void> {
    await mkdir(this.artifacts);
    // Small enough to be filled; where nothing may be mounted, that fault is left out and counted as such.
    this.#mounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', this.artifacts]).then(() => true, () => false);
    this.#postgres = await this.#startPostgres();
    this.#temporal = await this.#startTemporal();
    publishStack({ databaseUrl: this.#postgres.databaseUrl, temporalAddress: this.#temporal.temporalAddress, temporalNamespace: NAMESPACE });
    this.ledger = await openLedger();
    this.client = createClient({ databaseUrl: this.ledger.url, temporal: { address: this.#temporal.temporalAddress, namespace: NAMESPACE }, by: 'chaos' });
    ({ token: this.#token } = await this.client.access.createToken({ name: 'chaos', role: 'admin' }));
    const through = await Proxy.ofPostgres(this.ledger.url);
    this.apiPostgres = through.proxy;
    await Promise.all([0, 1].map((n) => this.#addApi(n, through.url)));
    // Stored through the API, as a platform's own calls would be.
    this.#intake = await startIntake({
      deliver: ({ deliveryId, taskId, step, threadId, inReplyTo, kind, externalId, code, artifact, text }) =>
        this.door(0).deliverReceipt({ deliveryId, sender: 'platform', task: taskId ?? 'none', step: step ?? 'none', threadId, inReplyTo, kind, externalId, code, ...(artifact === null ? {} : { artifact: { ...artifact } }), text }),
    });
    [this.platform, this.keyless] = await Promise.all([startPlatform({ data: join(this.folder, 'platform') }), startPlatform({ data: join(this.folder, 'keyless'), flags: ['--no-keys'] })]);
    this.hooks = await Hooks.open();
    this.#outside = { hooks: this.hooks.url, platform: this.platform.address, keyless: this.keyless.address, receipts: this.#intake.url, leaseMs: LEASE_MS, callTimeoutMs: 1_000, retryMs: 200 };
    await Promise.all([0, 1].map((n) => this.#addSeat(n)));
  }

  #n = 0;
  /** One of the API's processes, in turn; `tries` moves on to the other. */
  door(tries: number): ThroughlineHttpClient {
    this.#n += 1;
    const api = this.apis[(this.#n + tries) % this.apis.length];
    if (api === undefined) throw new Error('no API');
    return api.client;
  }

  #startPostgres(port?: number): Promise<DatabaseStack> {
    // Crashes of its processes lose nothing without fsync; nobody pulls the machine's plug.
    const postgresSettings = { max_connections: '300', fsync: 'off', full_page_writes: 'off' };
    return startStack({ dataDir: join(this.folder, 'postgres'), temporal: false, postgresSettings, log, ...(port === undefined ? {} : { ports: { postgres: port } }) });
  }

  #startTemporal(): Promise<Stack> {
    const env = { PATH: process.env['PATH'], TEMPORAL_NAMESPACE: NAMESPACE };
    return startStack({ dataDir: join(this.folder, 'temporal'), databaseUrl: this.#postgres.databaseUrl, temporalStorage: 'file', env, log });
  }

  /** `SIGQUIT`: as if it had crashed; `SIGINT`: its fast shutdown. */
  async restartPostgres(signal: 'SIGQUIT' | 'SIGINT'): Promise<void> {
    const { servers } = await readRecord(this.#postgres.dataDir);
    if (servers.postgres !== undefined) await end(servers.postgres, signal);
    await this.#postgres.stop();
    this.#postgres = await this.#startPostgres(Number(new URL(this.#postgres.databaseUrl).port));
  }

  /** Killed, and started again on what it kept, or on nothing. */
  async restartTemporal(keeps: boolean): Promise<void> {
    const { servers } = await readRecord(this.#temporal.dataDir);
    if (servers.temporal !== undefined) await end(servers.temporal, 'SIGKILL');
    await this.#temporal.stop();
    if (!keeps) for (const name of await readdir(this.#temporal.dataDir)) if (name.startsWith('temporal.db')) await rm(join(this.#temporal.dataDir, name));
    this.#temporal = await this.#startTemporal();
    const [host = '', port] = this.#temporal.temporalAddress.split(':');
    for (const { temporal } of this.seats) temporal.turnTo({ host, port: Number(port) });
  }

  async restartPlatform(which: 'platform' | 'keyless'): Promise<void> {
    const { port } = this[which];
    await this[which].kill();
    this[which] = await startPlatform({ data: join(this.folder, which), port, flags: which === 'keyless' ? ['--no-keys'] : [] });
  }

  async #addApi(n: number, databaseUrl: string): Promise<void> {
    const port = await freePort();
    const url = `http://127.0.0.1:${String(port)}`;
    this.apis[n] = { url, client: createHttpClient({ url, token: this.#token, by: 'mei', retries: 1, timeoutMs: 8_000 }), child: await this.#startApi(port, databaseUrl) };
  }

  async #startApi(port: number, databaseUrl: string): Promise<ChildProcess> {
    const env: NodeJS.ProcessEnv = { ...process.env, DATABASE_URL: databaseUrl, TEMPORAL_ADDRESS: this.#temporal.temporalAddress, TEMPORAL_NAMESPACE: NAMESPACE, THROUGHLINE_LOG_LEVEL: 'fatal' };
    delete env['NODE_OPTIONS'];
    const child = spawn(process.execPath, [compiled('src/cli/main.ts'), 'api', '--json', '--port', String(port)], { env, stdio: ['ignore', 'pipe', 'ignore'] });
    const ended = once(child, 'exit').then(() => null);
    if ((await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended])) === null) throw new Error('the API ended before it was ready');
    return child;
  }

  /** Killed, and started again at the same address. */
  async restartApi(n: number): Promise<void> {
    const api = this.apis[n];
    if (api === undefined) return;
    await endChild(api.child);
    const url = new URL(this.ledger.url);
    url.hostname = '127.0.0.1';
    url.port = String(this.apiPostgres.port);
    // While Postgres is away, it does not start.
    api.child = await until('an API has started', () => this.#startApi(Number(new URL(api.url).port), url.href).catch(() => null));
  }

  async #addSeat(n: number): Promise<void> {
    const { proxy } = await Proxy.ofPostgres(this.ledger.url);
    const [host = '', port] = this.#temporal.temporalAddress.split(':');
    const temporal = await Proxy.open({ host, port: Number(port) });
    const seat = { n, postgres: proxy, temporal };
    this.seats[n] = { ...seat, worker: await this.startWorker(seat) };
  }

  async startWorker({ postgres, temporal }: Pick<Seat, 'postgres' | 'temporal'>, options: WorkerOptions = {}): Promise<WorkerProcess> {
    const url = new URL(this.ledger.url);
    url.hostname = '127.0.0.1';
    url.port = String(postgres.port);
    const settings = {
      databaseUrl: url.href, temporalAddress: `127.0.0.1:${String(temporal.port)}`, temporalNamespace: NAMESPACE, taskQueue: TASK_QUEUE, artifacts: this.artifacts, outside: this.#outside, offers: OFFERS, shutdownGraceMs: 1_000,
      publishNote: { notes: NOTES, platform: this.platform.address, callbackUrl: this.#intake.url, leaseMs: LEASE_MS, callTimeoutMs: 1_000, retryMs: 200, lookMs: 300 },
    };
    const flags = [...(options.heapMb === undefined ? [] : [`--max-old-space-size=${String(options.heapMb)}`]), ...(options.clockMs === undefined ? [] : ['--import', compiled('test/support/other-clock.ts')])];
    const env = { ...(options.failpoint === undefined ? {} : { THROUGHLINE_FAILPOINT: options.failpoint }), ...(options.clockMs === undefined ? {} : { OTHER_CLOCK_MS: String(options.clockMs) }) };
    return spawnWorker(settings, { env, flags });
  }

  async close(): Promise<void> {
    for (const { worker } of this.seats) {
      worker.signal('SIGCONT');
      worker.signal('SIGKILL');
      await worker.ended;
    }
    for (const { child, client } of this.apis) {
      await endChild(child);
      await client.close();
    }
    for (const one of [this.platform, this.keyless] as (PlatformProcess | undefined)[]) await one?.kill();
    await (this.hooks as Hooks | undefined)?.close();
    await (this.#intake as RunningIntake | undefined)?.close();
    for (const proxy of [this.apiPostgres as Proxy | undefined, ...this.seats.flatMap(({ postgres, temporal }) => [postgres, temporal])]) await proxy?.close();
    await (this.client as ThroughlineClient | undefined)?.close();
    // What was found is in the report.
    await (this.ledger as Ledger | undefined)?.close({ unaudited: 'the report has the audit' });
    await (this.#temporal as Stack | undefined)?.stop();
    await (this.#postgres as DatabaseStack | undefined)?.stop();
    if (this.#mounted) await run('umount', [this.artifacts]);
    await rm(this.folder, { recursive: true, force: true });
  }
}

async function end(server: Parameters<typeof isAlive>[0], signal: NodeJS.Signals): Promise<void> {
  process.kill(server.pid, signal);
  await until('a server has ended', async () => !(await isAlive(server)));
}

async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGCONT');
  child.kill('SIGKILL');
  await ended;
}
