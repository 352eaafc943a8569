export { TaskWorker } from './worker.ts';
export type { WorkerOptions } from './worker.ts';
export { createLogger } from './log.ts';
export type { Deployment } from './versioning.ts';
