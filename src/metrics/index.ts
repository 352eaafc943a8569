export { LABEL_VALUES_MAX, Metrics, OTHER } from './metrics.ts';
export type { GaugeSource } from './metrics.ts';
export { ObservedDoor } from './observed-door.ts';
export { serveMetrics } from './server.ts';
export type { Health, MetricsServer } from './server.ts';
