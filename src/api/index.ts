export { createApi } from './server.ts';
export type { Api, ApiOptions } from './server.ts';
export type { ArtifactReader } from './operation.ts';
