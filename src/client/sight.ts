import type { Client, Connection, ConnectionOptions } from '@temporalio/client';
import { workflowIdOf } from '../workflows/names.ts';
import type { TemporalSight } from './explain/index.ts';

/** An explanation must not wait for a Temporal that is away. */
const PATIENCE_MS = 1_500;

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
      // The SDK spells this one unlike the server and its UI.
      const { name } = description.status;
      return { status: name === 'CANCELLED' ? 'CANCELED' : name, run_id: description.runId };
    } catch (error) {
      if (isNotFound(error)) return { status: 'NOT_FOUND', run_id: null };
      return { error: error instanceof Error ? error.message.slice(0, 200) : 'unreachable' };
    }
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

  /** The SDK takes longer to load than the ledger to answer: only who asks Temporal waits for it. */
  #open(): Promise<Opened> {
    this.#opened ??= import('@temporalio/client').then(({ Client, Connection, WorkflowNotFoundError }) => {
      const connection = Connection.lazy(this.#options);
      return { connection, client: new Client({ connection, namespace: this.#namespace }), isNotFound: (error) => error instanceof WorkflowNotFoundError };
    });
    return this.#opened;
  }
}
