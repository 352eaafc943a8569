export { TaskWorker } from './worker.ts';
export type { WorkerOptions } from './worker.ts';
export { createLogger } from './log.ts';
export { sweepOnce } from './sweep-once.ts';
export type { SweepReport } from './sweep-once.ts';
export type { Deployment } from './versioning.ts';
