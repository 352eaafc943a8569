export { Database } from './database.ts';
export type { DatabaseOptions, Queryable } from './database.ts';
export { Door } from './door.ts';
export { isUnavailable } from './failures.ts';
export { migrate, verifySchema } from './migrate.ts';
export type * from './types.ts';
