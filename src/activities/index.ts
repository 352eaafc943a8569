import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { createHash } from 'node:crypto';
import { digest, inputDigests } from '../define/canonical.ts';
import { invariant, ThroughlineError } from '../errors.ts';
import { runAttempt } from './attempt.ts';
import { runCheck } from './check.ts';
import { CLAIM_PATIENCE_MS } from './deps.ts';
import type { ActivityDeps } from './deps.ts';
import { runWithdrawal } from './withdraw.ts';
import type { TaskActivities } from './types.ts';
import type { Json } from '../define/json.ts';
import { checkedAction } from '../ledger/index.ts';

export type { ActivityDeps } from './deps.ts';
export { definitionKey } from './deps.ts';
export type * from './types.ts';

/** A coded refusal will be the same next time: only an unreachable ledger is worth Temporal's retry. */
async function coded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ThroughlineError && error.code !== 'LEDGER_UNAVAILABLE' && error.code !== 'TEMPORAL_UNAVAILABLE') {
      throw ApplicationFailure.create({ message: error.message, type: error.code, nonRetryable: true, details: [error.toJSON()] });
    }
    throw error;
  }
}

/** A task's id from its type and key, so that a start repeated by a plain client names the same task. */
export function taskIdOf(type: string, key: string): string {
  const hex = createHash('sha256').update(`${type}\n${key}`).digest('hex');
  // UUID version 8 (RFC 9562): the layout is ours.
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** The activities of one worker. */
export function createActivities(deps: ActivityDeps): TaskActivities {
  const run = (): { workflowId: string; runId: string } => {
    const execution = Context.current().info.workflowExecution;
    invariant(execution !== undefined, 'these activities run for a workflow');
    return execution;
  };
  const heartbeat = (): void => {
    Context.current().heartbeat();
  };
  return {
    look: ({ task }) => coded(() => deps.door.taskLook(task, run().runId, { patienceMs: CLAIM_PATIENCE_MS })),
    attempt: (input) => coded(() => runAttempt(deps, input, heartbeat)),
    check: (input) => coded(() => runCheck(deps, input)),
    withdraw: (input) => coded(() => runWithdrawal(deps, input)),
    cancel: ({ task, ...row }) => coded(async () => deps.door.taskCancel(task, checkedAction(row))),
    enqueue: (input) =>
      coded(async () => {
        const versions = [...deps.definitions.values()].filter(({ type, version }) => type === input.type && (input.version === undefined || version === input.version));
        const definition = versions.sort((a, b) => b.version - a.version)[0];
        if (definition === undefined) throw new ThroughlineError('TYPE_UNKNOWN', { facts: { type: input.type } });
        const parsed = definition.parseInput(input.input) as Json;
        const { id } = await deps.door.taskEnqueue({
          type: definition.type, version: definition.version, id: taskIdOf(input.type, input.key), key: input.key, input: parsed,
          digest: digest(parsed), digests: inputDigests(parsed), by: 'temporal',
        });
        return { task: id };
      }),
    requestClose: async () => {
      const { workflowId, runId } = run();
      await deps.requestCancellation(workflowId, runId);
    },
  };
}
