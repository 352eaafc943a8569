/** Names of tasks and of what they are about. */
import { ThroughlineError } from '../errors.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** A UUID, in lower case. Throws ID_INVALID. */
export function checkedUuid(value: unknown, path: string): string {
  if (typeof value !== 'string' || !UUID.test(value)) throw new ThroughlineError('ID_INVALID', { path });
  return value.toLowerCase();
}

/** A task's id: a UUID. Throws ID_INVALID. */
export const checkedTaskId = (value: unknown): string => checkedUuid(value, '/task');

/** Subject, action and resource version as one key; `/` inside a part can't be mistaken for the separator. */
export const naturalKey = (key: { readonly subject: string; readonly action: string; readonly resourceVersion: string }): string =>
  [key.subject, key.action, key.resourceVersion].map(encodeURIComponent).join('/');
