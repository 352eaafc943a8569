export { startTracing, wantsTracing } from './setup.ts';
export type { StartedTracing, Tracing } from './setup.ts';
