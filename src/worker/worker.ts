import { Client } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { createActivities, definitionKey } from '../activities/index.ts';
import { openArtifactStore } from '../activities/artifact-place.ts';
import type { ArtifactStore } from '../activities/artifacts.ts';
import type { TemporalConnection } from '../config.ts';
import type { AnyTaskDefinition } from '../define/definition.ts';
import { ThroughlineError } from '../errors.ts';
import { Bulks, Database, Door, Notifications, Reader, verifySchema } from '../ledger/index.ts';
import type { Health, Metrics } from '../metrics/index.ts';
import { ObservedDoor } from '../metrics/observed-door.ts';
import { LIMITS } from '../state/index.ts';
import type { Tracing } from '../tracing/index.ts';
import { AddressPolicy } from '../webhooks/address.ts';
import { BulkDriver } from './bulk-driver.ts';
import { workflowBundle } from './bundle.ts';
import { Dispatcher } from './dispatcher.ts';
import { Drift } from './drift.ts';
import { Loop } from './loop.ts';
import { quietLogger } from './log.ts';
import { Notifier } from './notifier.ts';
import { Sweeper } from './sweeper.ts';
import { connect, hasSearchAttributes, installRuntime, sdkLogger } from './temporal.ts';
import { tracedBy } from './traced.ts';
import { versioningOptions } from './versioning.ts';
import type { Deployment } from './versioning.ts';

/** How often a worker shows itself to the ledger. */
const SEEN_INTERVAL_MS = 5_000;

/**
 * After 5 s the SDK stops workflow code in its tracks, which can end the whole process (Node: "async hook stack has
 * become corrupted"). Our workflow code never loops, but a long history on a busy machine takes its time. The
 * option is not in the SDK's types.
 */
const PATIENT_WITH_WORKFLOWS: object = { isolateExecutionTimeout: '60s' };

export interface WorkerOptions {
  /** postgres:// URL of the ledger; migrated by `throughline migrate`. */
  readonly databaseUrl: string;
  /** host:port of Temporal's frontend. */
  readonly temporalAddress: string;
  readonly temporalNamespace?: string;
  /** TLS, API key, headers. Default: a plain connection. */
  readonly temporalConnection?: TemporalConnection;
  readonly taskQueue?: string;
  readonly tasks: readonly AnyTaskDefinition[];
  /** A store, or its place: a folder, or `s3://bucket/prefix?endpoint=…`; see docs/artifacts.md. */
  readonly artifacts: ArtifactStore | string;
  readonly log?: Logger;
  /** Attempts at once. Default 50. */
  readonly attemptsAtOnce?: number;
  /** After a stop was asked, handlers may go on for this long, ms; then their claims are given back. Default 5,000. */
  readonly shutdownGraceMs?: number;
  /** Shown as holder; an instance and boot id is added. Default: host name and process id. */
  readonly name?: string;
  readonly dispatchIntervalMs?: number;
  readonly sweepIntervalMs?: number;
  /** Counts what this worker does, and reads the ledger's gauges; one may serve several parts of a process. */
  readonly metrics?: Metrics;
  /** Traces workflows and activities; spans of attempts and effects go to the global tracer in any case. */
  readonly tracing?: Tracing;
  /** Takes part in a Worker Deployment of Temporal; see docs/deployment.md. Default: unversioned. */
  readonly deployment?: Deployment;
  /** host:port at which the Temporal SDK serves its own metrics for Prometheus. Default: not at all. */
  readonly temporalMetricsAddress?: string;
  /** Addresses and ranges (`10.0.0.0/8`) that webhooks may call although they are not public. Default: none. */
  readonly webhookAllow?: readonly string[];
}

/**
 * A worker process's engine: attempts, checks, drivers, and the loops that rescue what others left. Stops
 * gracefully: no new claims, work in progress is finished or given back at once, uncharged.
 */
export class TaskWorker {
  /** Process and boot: never the same after a restart. */
  readonly holder: string;
  readonly dispatcher: Dispatcher;
  readonly sweeper: Sweeper;
  readonly #worker: Worker;
  readonly #loops: readonly Loop[];
  readonly #shutdown: AbortController;
  readonly #close: () => Promise<void>;
  #run: Promise<void> | undefined;

  private constructor(parts: { holder: string; worker: Worker; dispatcher: Dispatcher; sweeper: Sweeper; loops: readonly Loop[]; shutdown: AbortController; close: () => Promise<void> }) {
    this.holder = parts.holder;
    this.#worker = parts.worker;
    this.dispatcher = parts.dispatcher;
    this.sweeper = parts.sweeper;
    this.#loops = parts.loops;
    this.#shutdown = parts.shutdown;
    this.#close = parts.close;
  }

  /**
   * Connects, registers the task types and gets ready. Throws LEDGER_OUTDATED, LEDGER_NEWER, PLAN_CHANGED,
   * LEDGER_UNAVAILABLE, TEMPORAL_UNAVAILABLE.
   */
  static async create(options: WorkerOptions): Promise<TaskWorker> {
    const log = options.log ?? quietLogger();
    installRuntime(log, options.temporalMetricsAddress);
    const namespace = options.temporalNamespace ?? 'default';
    const taskQueue = options.taskQueue ?? 'throughline';
    const holder = `${options.name ?? `${hostname()}:${String(process.pid)}`}/${randomUUID().slice(0, 8)}`.slice(0, 280);
    const attemptsAtOnce = options.attemptsAtOnce ?? 50;
    const database = new Database({ url: options.databaseUrl, applicationName: 'throughline-worker', reportsGapsAs: holder, connectionsMax: Math.min(attemptsAtOnce, 20) + 4 });
    const opened: (() => Promise<void>)[] = [() => database.end()];
    const close = async (): Promise<void> => {
      for (const end of opened.reverse()) await end().catch((error: unknown) => { log.warn({ err: error }, 'closing'); });
    };
    try {
      await verifySchema(database);
      const { metrics, tracing } = options;
      const door = metrics === undefined ? new Door(database) : new ObservedDoor(database, metrics);
      const reader = new Reader(database);
      metrics?.readLedger(reader);
      for (const { type, version, plan, planDigest, inputSchema } of options.tasks) {
        await door.typeRegister({ type, version, plan, plan_digest: planDigest, input_schema: inputSchema, input_bytes_max: LIMITS.input_bytes_max, by: holder });
      }
      const [connection, native] = await connect({ address: options.temporalAddress, ...options.temporalConnection }, opened);
      const traced = tracing === undefined ? undefined : await tracedBy(tracing);
      const client = new Client({ connection, namespace, ...traced?.client });
      const shutdown = new AbortController();
      const definitions = new Map(options.tasks.map((task) => [definitionKey(task.type, task.version), task]));
      const artifacts = typeof options.artifacts === 'string' ? await openArtifactStore(options.artifacts) : options.artifacts;
      const shutdownGraceMs = options.shutdownGraceMs ?? 5_000;
      const activities = createActivities({
        door, offers: (type, version) => reader.offers(type, version), artifacts, definitions, holder, log, shutdown: shutdown.signal, shutdownGraceMs,
        requestCancellation: async (workflowId, runId) => {
          await client.workflow.getHandle(workflowId, runId).cancel();
        },
      });
      const worker = await Worker.create({
        connection: native, namespace, taskQueue, activities: { ...activities }, identity: holder,
        workflowBundle: await workflowBundle(sdkLogger(log), tracing !== undefined),
        ...traced?.worker,
        ...versioningOptions(options.deployment),
        maxConcurrentActivityTaskExecutions: attemptsAtOnce,
        ...PATIENT_WITH_WORKFLOWS,
        // What a killed worker had cached is offered to the others after this; its histories are short, so that reading one anew costs little.
        stickyQueueScheduleToStartTimeout: '750ms',
        // Our own grace comes first; this one stands behind it.
        shutdownGraceTime: shutdownGraceMs + 5_000,
        // Heartbeats say that the ledger granted a renewal; they must not be held back long.
        maxHeartbeatThrottleInterval: '5s', defaultHeartbeatThrottleInterval: '5s',
      });
      const searchAttributes = await hasSearchAttributes(connection, namespace, log);
      const drift = new Drift({ door, client, taskQueue, holder, log, ...(metrics === undefined ? {} : { metrics }) });
      const dispatcher = new Dispatcher({ door, client, taskQueue, searchAttributes, log, cancelIfTerminated: (task) => drift.cancelIfTerminated(task) });
      const sweeper = new Sweeper({ door, holder, log, ...(metrics === undefined ? {} : { metrics }) });
      const notifier = new Notifier({ notifications: new Notifications(database), reader, addresses: new AddressPolicy(options.webhookAllow), log, signal: shutdown.signal });
      const bulks = new BulkDriver({ bulks: new Bulks(database), log, ...(metrics === undefined ? {} : { metrics }) });
      const offers = options.tasks.map(({ type, version }) => ({ type, version }));
      const seen = (stopping: boolean) => door.workerSeen(holder, offers, taskQueue, Date.now(), stopping);
      await seen(false);
      opened.push(async () => {
        await seen(true);
      });
      const loops = [
        { name: 'dispatch', intervalMs: options.dispatchIntervalMs ?? LIMITS.dispatch_interval_ms, runOnce: async () => (await dispatcher.runOnce()).taken >= LIMITS.dispatch_batch_rows },
        { name: 'sweep', intervalMs: options.sweepIntervalMs ?? LIMITS.sweep_interval_ms, runOnce: async () => (await sweeper.runOnce()).looked_at >= LIMITS.sweep_batch_rows },
        { name: 'drift', intervalMs: LIMITS.drift_interval_ms, runOnce: async () => { await drift.runOnce(); return false; } },
        { name: 'notify', intervalMs: LIMITS.notify_interval_ms, runOnce: async () => (await notifier.runOnce()).taken >= LIMITS.notify_each_rows },
        { name: 'bulk', intervalMs: LIMITS.bulk_interval_ms, runOnce: async () => (await bulks.runOnce()).taken > 0 },
        { name: 'seen', intervalMs: SEEN_INTERVAL_MS, runOnce: async () => { await seen(false); return false; } },
      ].map((loop) => new Loop({ ...loop, log, ...(metrics === undefined ? {} : { metrics }) }));
      return new TaskWorker({ holder, worker, dispatcher, sweeper, loops, shutdown, close });
    } catch (error) {
      await close();
      throw error;
    }
  }

  /** For whoever restarts processes: not ok once Temporal's worker has failed. A ledger or Temporal that is away is no reason to restart. */
  health(): Health {
    const state = this.#worker.getState();
    const loops = Object.fromEntries(this.#loops.map(({ name, failures }) => [name, failures === 0 ? 'ok' : 'failing']));
    return { ok: state !== 'FAILED', facts: { holder: this.holder, worker: state.toLowerCase(), stopping: this.#shutdown.signal.aborted, loops } };
  }

  /** Runs until `shutdown` was called and all is given back. Throws if Temporal's worker fails. */
  run(): Promise<void> {
    this.#run ??= this.#runOnce();
    return this.#run;
  }

  /** Asks for a graceful stop; `run` resolves when it is done. Before `run`, that one then stops at once. */
  shutdown(): void {
    this.#shutdown.abort(new ThroughlineError('WAIT_TIMEOUT', { message: 'the worker shuts down' }));
    if (this.#worker.getState() === 'RUNNING') this.#worker.shutdown();
  }

  async #runOnce(): Promise<void> {
    for (const loop of this.#loops) loop.start();
    try {
      const running = this.#worker.run();
      // Asked before there was anything to stop.
      if (this.#shutdown.signal.aborted && this.#worker.getState() === 'RUNNING') this.#worker.shutdown();
      await running;
    } finally {
      await Promise.all(this.#loops.map((loop) => loop.stop()));
      await this.#close();
    }
  }
}
