/** OpenTelemetry's SDK for our own programs, by the standard variables; off unless one of them asks for it. */
import { diag, DiagLogLevel } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { SpanProcessor } from '@opentelemetry/sdk-trace-base';
import { ThroughlineError } from '../errors.ts';

/** What the workflows' spans need beside the global tracer: they are made in a sandbox and handed over finished. */
export interface Tracing {
  readonly spanProcessor: SpanProcessor;
  readonly resource: Resource;
}

export interface StartedTracing extends Tracing {
  /** Sends what is still waiting. */
  stop(): Promise<void>;
}

const said = (env: NodeJS.ProcessEnv, name: string): string => (env[name] ?? '').trim();

/** True if an endpoint is named or the otlp exporter is asked for, and nothing switches it off. */
export function wantsTracing(env: NodeJS.ProcessEnv): boolean {
  if (said(env, 'OTEL_SDK_DISABLED').toLowerCase() === 'true') return false;
  const exporter = said(env, 'OTEL_TRACES_EXPORTER');
  if (exporter !== '') return exporter.split(',').some((name) => name.trim() === 'otlp');
  return said(env, 'OTEL_EXPORTER_OTLP_ENDPOINT') !== '' || said(env, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') !== '';
}

/**
 * Starts it, once in a process, if the environment asks for it; otherwise nothing is loaded. Sampling, batching,
 * endpoint, headers, service name and resource attributes follow the standard OTEL_* variables.
 * @throws CONFIG_INVALID for a protocol other than http/protobuf and http/json.
 */
// The exporter and the sampler read the process's variables themselves.
export async function startTracing(options: { readonly service: string; readonly warn: (message: string) => void }): Promise<StartedTracing | undefined> {
  const { service, warn } = options;
  const { env } = process;
  if (!wantsTracing(env)) return undefined;
  const protocol = said(env, 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') || said(env, 'OTEL_EXPORTER_OTLP_PROTOCOL') || 'http/protobuf';
  if (protocol !== 'http/protobuf' && protocol !== 'http/json') {
    throw new ThroughlineError('CONFIG_INVALID', { path: 'OTEL_EXPORTER_OTLP_PROTOCOL', message: 'Traces are sent by http/protobuf or http/json.' });
  }
  const [{ BatchSpanProcessor, NodeTracerProvider }, { detectResourcesSync, envDetectorSync, Resource }, { OTLPTraceExporter }] = await Promise.all([
    import('@opentelemetry/sdk-trace-node'),
    import('@opentelemetry/resources'),
    protocol === 'http/json' ? import('@opentelemetry/exporter-trace-otlp-http') : import('@opentelemetry/exporter-trace-otlp-proto'),
  ]);
  // The SDK's own trouble (a collector that is away) is a warning, never an error of a task.
  const quiet = (): void => undefined;
  diag.setLogger({ error: (message) => { warn(message.slice(0, 500)); }, warn: (message) => { warn(message.slice(0, 500)); }, info: quiet, debug: quiet, verbose: quiet }, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  const { attributes } = detectResourcesSync({ detectors: [envDetectorSync] });
  const resource = new Resource({ ...Resource.default().attributes, 'service.name': service, ...attributes });
  const spanProcessor = new BatchSpanProcessor(new OTLPTraceExporter());
  const provider = new NodeTracerProvider({ resource, spanProcessors: [spanProcessor] });
  provider.register();
  return { spanProcessor, resource, stop: () => provider.shutdown() };
}
