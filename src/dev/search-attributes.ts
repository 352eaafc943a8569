/**
 * Temporal refuses every start that names an unregistered search attribute, so they are registered
 * before the first one: by flags on our dev server, by call on any other.
 */
import type { Connection } from '@temporalio/client';
import { ThroughlineError } from '../errors.ts';
import { searchAttributeNames } from '../workflows/names.ts';

/** All of type Keyword: the task's type, its state, its last reason code. */
export const SEARCH_ATTRIBUTES = Object.values(searchAttributeNames);

/** `INDEXED_VALUE_TYPE_KEYWORD` of Temporal's API. */
const KEYWORD = 2;

/**
 * Registers what is missing; idempotent. Needs the operator service (self-hosted servers; on Temporal
 * Cloud they are added in its own UI).
 * @throws TEMPORAL_UNAVAILABLE if the server can't be asked or refuses.
 */
export async function registerSearchAttributes(connection: Connection, namespace: string): Promise<void> {
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    const missing = SEARCH_ATTRIBUTES.filter((name) => customAttributes[name] === undefined);
    if (missing.length === 0) return;
    const searchAttributes = Object.fromEntries(missing.map((name) => [name, KEYWORD]));
    await connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
  } catch (cause) {
    throw new ThroughlineError('TEMPORAL_UNAVAILABLE', {
      message: `The search attributes ${SEARCH_ATTRIBUTES.join(', ')} could not be registered in namespace ${namespace}: ${cause instanceof Error ? cause.message : String(cause)}`,
      cause,
    });
  }
}
