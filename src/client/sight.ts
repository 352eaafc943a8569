import type { Client, Connection, ConnectionOptions, WorkflowExecutionDescription } from '@temporalio/client';
import { workflowIdOf } from '../workflows/names.ts';
import type { TemporalSight, TemporalTrouble } from './explain/index.ts';

/** An explanation must not wait for a Temporal that is away. */
const PATIENCE_MS = 1_500;
/** A turn of the workflow's code that fails is tried again at once; from so many on it is no hiccup. */
const WEDGED_ATTEMPTS = 3;
/** A long poll lasts a minute; Temporal remembers pollers for five. */
const POLLER_SEEN_S = 75;

type Raw = Pick<WorkflowExecutionDescription['raw'], 'pendingWorkflowTask' | 'pendingActivities' | 'workflowExecutionInfo'>;
/** The SDK spells this one unlike the server and its UI. */
const name = (status: string): string => (status === 'CANCELLED' ? 'CANCELED' : status);

interface Opened {
  readonly connection: Connection;
  readonly client: Client;
  readonly isNotFound: (error: unknown) => boolean;
}

/** What Temporal says of a task's workflow: describe without a run id, since lists may only hint. */
export class TemporalSightings {
  readonly #options: ConnectionOptions;
  readonly #namespace: string;
  #opened: Promise<Opened> | undefined;

  constructor(options: ConnectionOptions, namespace: string) {
    this.#options = options;
    this.#namespace = namespace;
  }

  async of(task: string): Promise<TemporalSight> {
    const { connection, client, isNotFound } = await this.#open();
    try {
      const description = await connection.withDeadline(Date.now() + PATIENCE_MS, () => client.workflow.getHandle(workflowIdOf(task)).describe());
      const trouble = name(description.status.name) === 'RUNNING' ? await this.#troubleOf(connection, description.raw) : undefined;
      return { status: name(description.status.name), run_id: description.runId, ...(trouble === undefined ? {} : { trouble }) };
    } catch (error) {
      if (isNotFound(error)) return { status: 'NOT_FOUND', run_id: null };
      return { error: error instanceof Error ? error.message.slice(0, 200) : 'unreachable' };
    }
  }

  /** What keeps an open run from going on; undefined: nothing that Temporal tells. */
  async #troubleOf(connection: Connection, { pendingWorkflowTask: turn, pendingActivities, workflowExecutionInfo }: Raw): Promise<TemporalTrouble | undefined> {
    if ((turn?.attempt ?? 0) >= WEDGED_ATTEMPTS) return 'wedged';
    if (pendingActivities?.some(({ paused }) => paused === true) === true) return 'activity_paused';
    const taskQueue = workflowExecutionInfo?.taskQueue ?? '';
    // Only where a turn waits: a run that waits for a timer needs nobody.
    if (turn === undefined || turn === null || (turn.startedTime?.seconds ?? null) !== null || taskQueue === '') return undefined;
    const { pollers } = await connection.withDeadline(Date.now() + PATIENCE_MS, () => connection.workflowService.describeTaskQueue({ namespace: this.#namespace, taskQueue: { name: taskQueue }, }));
    const lately = Date.now() / 1_000 - POLLER_SEEN_S;
    return pollers.some(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) > lately) ? undefined : 'no_poller';
  }

  /** Whether Temporal answers for the namespace. */
  async answers(): Promise<boolean> {
    const { connection } = await this.#open();
    try {
      await connection.withDeadline(Date.now() + PATIENCE_MS, () => connection.workflowService.describeNamespace({ namespace: this.#namespace }));
      return true;
    } catch {
      return false;
    }
  }

  async close(): Promise<void> {
    await (await this.#opened)?.connection.close();
  }

  /** Loads the SDK, which blocks this process meanwhile: not while a connection is being made that has its time limit. */
  async load(): Promise<void> {
    await this.#open();
  }

  /** The SDK takes longer to load than the ledger to answer: only who asks Temporal waits for it. */
  #open(): Promise<Opened> {
    this.#opened ??= import('@temporalio/client').then(({ Client, Connection, WorkflowNotFoundError }) => {
      // Tried once: who is away is said to be away at once, not after ten tries.
      const connection = Connection.lazy({ ...this.#options, interceptors: [] });
      return { connection, client: new Client({ connection, namespace: this.#namespace }), isNotFound: (error) => error instanceof WorkflowNotFoundError };
    });
    return this.#opened;
  }
}
