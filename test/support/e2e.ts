/** The surroundings of one end-to-end test file: a ledger, a task queue, a platform and workers, each a process. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import pg from 'pg';
import { startReceipts } from '../../examples/note-publishing/demo/surroundings.ts';
import type { PlatformProcess } from '../../examples/note-publishing/platform/process.ts';
import { createClient } from '../../src/index.ts';
import type { TaskDefinition, TaskRecord, ThroughlineClient, View } from '../../src/index.ts';
import { disagreements } from './e2e-books.ts';
import { Hooks } from './e2e-hooks.ts';
import { createE2eTasks } from './e2e-tasks.ts';
import type { E2eTasks, Outside } from './e2e-tasks.ts';
import { spawnWorker } from './e2e-process.ts';
import type { WorkerProcess } from './e2e-process.ts';
import type { E2eWorkerSettings } from './e2e-worker.ts';
import { openLedger } from './ledger.ts';
import type { Ledger } from './ledger.ts';
import { startPlatform } from './platform.ts';
import { stackAddresses } from './stack.ts';
import { PATIENCE_MS, until } from './waiting.ts';

export type { WorkerProcess } from './e2e-process.ts';
export { PATIENCE_MS, until, within } from './waiting.ts';

export interface StageOptions {
  readonly outside?: Omit<Outside, 'platform' | 'receipts' | 'hooks'>;
  readonly platformFlags?: readonly string[];
}

export class Stage {
  readonly ledger: Ledger;
  readonly client: ThroughlineClient;
  readonly platform: PlatformProcess;
  readonly hooks: Hooks;
  readonly tasks: E2eTasks;
  readonly temporal: Client;
  readonly outside: Outside;
  readonly folder: string;
  readonly taskQueue = `e2e-${randomUUID()}`;
  readonly #ends: (() => Promise<unknown>)[];

  private constructor(parts: Pick<Stage, 'ledger' | 'client' | 'platform' | 'hooks' | 'tasks' | 'temporal' | 'outside' | 'folder'>, ends: (() => Promise<unknown>)[]) {
    ({ ledger: this.ledger, client: this.client, platform: this.platform, hooks: this.hooks, tasks: this.tasks, temporal: this.temporal, outside: this.outside, folder: this.folder } = parts);
    this.#ends = ends;
  }

  static async open(options: StageOptions = {}): Promise<Stage> {
    const ends: (() => Promise<unknown>)[] = [];
    const folder = await mkdtemp(join(tmpdir(), 'throughline-e2e-'));
    ends.push(() => rm(folder, { recursive: true, force: true }));
    const [ledger, hooks, platform] = await Promise.all([openLedger(), Hooks.open(), startPlatform({ data: join(folder, 'platform'), flags: options.platformFlags ?? [] })]);
    const { temporalAddress, temporalNamespace } = stackAddresses();
    const client = createClient({ databaseUrl: ledger.url, temporal: { address: temporalAddress, namespace: temporalNamespace }, by: 'e2e' });
    const intake = await startReceipts(client, () => undefined);
    const connection = await Connection.connect({ address: temporalAddress });
    const temporal = new Client({ connection, namespace: temporalNamespace });
    ends.push(() => ledger.close(), () => client.close(), () => connection.close(), () => hooks.close(), () => intake.close(), () => platform.kill());
    const outside: Outside = { ...options.outside, platform: platform.address, receipts: intake.url, hooks: hooks.url };
    return new Stage({ ledger, client, platform, hooks, tasks: createE2eTasks(outside), temporal, outside, folder }, ends);
  }

  onEnd(end: () => Promise<unknown>): void {
    this.#ends.push(end);
  }

  async end(): Promise<void> {
    for (const end of this.#ends.reverse()) await end();
  }

  settings(more: Partial<E2eWorkerSettings> = {}): E2eWorkerSettings {
    const { temporalAddress, temporalNamespace } = stackAddresses();
    return {
      databaseUrl: this.ledger.url, temporalAddress, temporalNamespace, taskQueue: this.taskQueue, artifacts: join(this.folder, 'artifacts'), outside: this.outside,
      offers: ['plain', 'quick', 'post', 'direct', 'reviewed'], shutdownGraceMs: 1_000, ...more,
    };
  }

  /** A worker of its own process; killed at the end, whatever it is doing. */
  async worker(more: Partial<E2eWorkerSettings> = {}): Promise<WorkerProcess> {
    const worker = await spawnWorker(this.settings(more));
    this.onEnd(async () => {
      worker.signal('SIGKILL');
      await worker.ended;
    });
    return worker;
  }

  /** Accepts a task under a key of its own; `before` runs while nobody else can see it yet. */
  async start<Accepts>(task: TaskDefinition<unknown, unknown, Accepts>, input: NoInfer<Accepts>, before?: (id: string) => unknown): Promise<string> {
    const key = randomUUID();
    if (before === undefined) return (await this.client.enqueue(task, input, { key })).id;
    await this.client.register(task);
    const tx = new pg.Client({ connectionString: this.ledger.url });
    await tx.connect();
    try {
      await tx.query('begin');
      const { id } = await this.client.enqueue(task, input, { tx, key });
      await before(id);
      await tx.query('commit');
      return id;
    } finally {
      await tx.end();
    }
  }

  /** Waits until the view of a task is as wanted. */
  async view(task: string, what: string, holds: (view: View) => boolean): Promise<View> {
    return until(what, async () => {
      const view = await this.client.get(task);
      return holds(view) && view;
    });
  }

  /** Waits until a step is in a state. */
  async state(task: string, state: string, step?: string): Promise<View> {
    return this.view(task, `${task} is ${state}`, ({ steps }) => (step === undefined ? steps.at(-1) : steps.find(({ name }) => name === step))?.state === state);
  }

  /** Everything known of a task at rest. */
  async rested(task: string, timeoutMs = PATIENCE_MS): Promise<TaskRecord> {
    await this.client.waitFor(task, { timeoutMs }).catch(async (error: unknown) => {
      throw new Error(`${task} does not come to rest\n${await this.#all(task)}`, { cause: error });
    });
    return this.client.record(task);
  }

  /** Everything that ledger and Temporal know of a task, for the message of a failing test. */
  async #all(task: string): Promise<string> {
    const { timeline } = await this.client.record(task);
    const { headline, driver } = await this.client.explain(task);
    const outbox = await this.ledger.query('select * from throughline.outbox where task_id = $1', [task]);
    const history = await this.temporal.workflow.getHandle(`task/${task}`).fetchHistory().catch(String);
    const events = typeof history === 'string' ? [history] : (history.events ?? []).map(({ eventId, eventTime, eventType, ...rest }) => `${String(eventId)} ${String(eventTime?.seconds)}.${String(eventTime?.nanos)} ${String(eventType)} ${JSON.stringify(rest).slice(0, 400)}`);
    return [headline, JSON.stringify(driver), ...timeline.map((row) => JSON.stringify(row)), ...outbox.map((row) => JSON.stringify(row)), ...events].join('\n');
  }

  /** What the platform and the ledger disagree about; empty when all is well. */
  async disagreements(task: string): Promise<string[]> {
    return disagreements(await this.client.record(task), await this.platform.admin.log({ task }));
  }
}

/** The states that a step went through, without repetition. */
export const path = (record: TaskRecord, step: string): string[] =>
  record.timeline.filter((row) => row.step === step && row.kind === 'transition').map(({ to_state: to, reason }) => `${to} (${String(reason)})`);

export const stepOf = (record: TaskRecord, step?: string): TaskRecord['steps'][number] => {
  const found = step === undefined ? record.steps.at(-1) : record.steps.find(({ name }) => name === step);
  if (found === undefined) throw new Error(`no step ${String(step)}`);
  return found;
};
