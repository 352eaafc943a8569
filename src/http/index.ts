/** The client over HTTP, as `throughline/http`: needs neither Postgres nor Temporal. */
export { createHttpClient, ThroughlineHttpClient } from './client.ts';
export type { HttpClientOptions } from './client.ts';
export type { ThroughlineSurface } from '../client/surface.ts';
export { ERRORS, ThroughlineError } from '../errors.ts';
export type { ErrorCode } from '../errors.ts';
