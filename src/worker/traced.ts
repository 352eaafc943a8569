/** Temporal's official interceptors, so that workflow and activities stand in the trace of whoever enqueued the task. */
import type { ClientOptions } from '@temporalio/client';
import type { WorkerOptions } from '@temporalio/worker';
import type { Tracing } from '../tracing/index.ts';

/** Loaded only by a worker that traces. */
export async function tracedBy({ spanProcessor, resource }: Tracing): Promise<{ readonly client: Pick<ClientOptions, 'interceptors'>; readonly worker: Pick<WorkerOptions, 'interceptors' | 'sinks'> }> {
  const otel = await import('@temporalio/interceptors-opentelemetry');
  return {
    client: { interceptors: { workflow: [new otel.OpenTelemetryWorkflowClientInterceptor()] } },
    worker: {
      interceptors: { activity: [(ctx) => ({ inbound: new otel.OpenTelemetryActivityInboundInterceptor(ctx), outbound: new otel.OpenTelemetryActivityOutboundInterceptor(ctx) })] },
      sinks: { exporter: otel.makeWorkflowExporter(spanProcessor, resource) },
    },
  };
}
