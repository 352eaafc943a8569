import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client';
import { workflowIdOf } from '../workflows/names.ts';
import type { TemporalSight } from './explain/index.ts';

/** An explanation must not wait for a Temporal that is away. */
const PATIENCE_MS = 1_500;

/** What Temporal says of a task's workflow: describe without a run id, since lists may only hint. */
export class TemporalSightings {
  readonly #connection: Connection;
  readonly #client: Client;

  constructor(address: string, namespace: string) {
    this.#connection = Connection.lazy({ address });
    this.#client = new Client({ connection: this.#connection, namespace });
  }

  async of(task: string): Promise<TemporalSight> {
    try {
      const description = await this.#connection.withDeadline(Date.now() + PATIENCE_MS, () => this.#client.workflow.getHandle(workflowIdOf(task)).describe());
      return { status: description.status.name, run_id: description.runId };
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return { status: 'NOT_FOUND', run_id: null };
      return { error: error instanceof Error ? error.message.slice(0, 200) : 'unreachable' };
    }
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }
}
