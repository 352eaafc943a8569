import type { Connection } from '@temporalio/client';
import type { Config } from '../../config.ts';
import { searchAttributeNames } from '../../workflows/names.ts';
import { finding } from './findings.ts';
import type { Finding } from './findings.ts';

const PATIENCE_MS = 5_000;
/** Shorter, and what a workflow did is gone before anybody asks. The ledger keeps its own story. */
const RETENTION_DAYS_MIN = 1;
const NOT_FOUND = 5;
/** `TASK_QUEUE_TYPE_*` of Temporal's API. */
const QUEUE_TYPES = { workflows: 1, activities: 2 } as const;

export async function checkTemporal({ temporalAddress: address, temporalNamespace: namespace, temporalConnection, taskQueue }: Config): Promise<Finding[]> {
  if (address === undefined) return [finding('warning', 'TEMPORAL_UNSET')];
  // The SDK takes a second to load.
  const { Connection: Connections } = await import('@temporalio/client');
  const connection = Connections.lazy({ address, ...temporalConnection });
  try {
    return await connection.withDeadline(Date.now() + PATIENCE_MS, async () => {
      const { serverVersion } = await connection.workflowService.getSystemInfo({});
      return [finding('ok', 'TEMPORAL_REACHABLE', { address, version: serverVersion }), ...(await checkNamespace(connection, namespace, taskQueue))];
    });
  } catch (error) {
    return [finding('problem', 'TEMPORAL_UNREACHABLE', { address, error: error instanceof Error ? error.message.slice(0, 300) : 'unknown' })];
  } finally {
    await connection.close();
  }
}

async function checkNamespace(connection: Connection, namespace: string, taskQueue: string): Promise<Finding[]> {
  let days: number;
  try {
    const { config } = await connection.workflowService.describeNamespace({ namespace });
    days = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0) / 86_400;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === NOT_FOUND) return [finding('problem', 'NAMESPACE_UNKNOWN', { namespace })];
    throw error;
  }
  return [
    finding(days < RETENTION_DAYS_MIN ? 'warning' : 'ok', 'NAMESPACE_RETENTION', { namespace, days: Math.round(days * 10) / 10 }),
    await checkSearchAttributes(connection, namespace),
    await checkPollers(connection, namespace, taskQueue),
  ];
}

async function checkSearchAttributes(connection: Connection, namespace: string): Promise<Finding> {
  const names = Object.values(searchAttributeNames);
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    const missing = names.filter((name) => customAttributes[name] === undefined);
    return missing.length === 0 ? finding('ok', 'SEARCH_ATTRIBUTES') : finding('warning', 'SEARCH_ATTRIBUTES_MISSING', { namespace, names: missing.join(', ') });
  } catch {
    // Temporal Cloud has no operator service for its users.
    return finding('warning', 'SEARCH_ATTRIBUTES_UNREADABLE', { names: names.join(', ') });
  }
}

async function checkPollers(connection: Connection, namespace: string, taskQueue: string): Promise<Finding> {
  const counts = await Promise.all(
    // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- the enum is in a package that is no dependency of ours
    Object.values(QUEUE_TYPES).map(async (taskQueueType) => (await connection.workflowService.describeTaskQueue({ namespace, taskQueue: { name: taskQueue }, taskQueueType })).pollers.length),
  );
  const [workflows = 0, activities = 0] = counts;
  return finding(workflows === 0 || activities === 0 ? 'problem' : 'ok', workflows === 0 || activities === 0 ? 'POLLERS_NONE' : 'POLLERS', { queue: taskQueue, workflows, activities });
}
