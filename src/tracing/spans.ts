/** Spans by OpenTelemetry's API alone: where no SDK is set up, they cost next to nothing and are nowhere. */
import { context, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Attributes } from '@opentelemetry/api';

const tracer = () => trace.getTracer('throughline');

/** What is worth saying of an error in a trace: its code or class. Messages may hold what callers sent. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

/** Runs the work inside a span of this name; its children and the calls that it makes are traced under it. */
export async function traced<T>(name: string, attributes: Attributes, work: () => Promise<T>): Promise<T> {
  return await tracer().startActiveSpan(name, { attributes }, async (span) => {
    try {
      return await work();
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: nameOf(error) });
      throw error;
    } finally {
      span.end();
    }
  });
}

/** More about the span that is in progress. */
export const addToSpan = (attributes: Attributes): void => {
  trace.getActiveSpan()?.setAttributes(attributes);
};

/** The span in progress as W3C traceparent, to be carried where no process can: through the ledger. Empty outside of any. */
export function traceParent(): { readonly trace_parent?: string } {
  const span = trace.getActiveSpan()?.spanContext();
  if (span === undefined || !trace.isSpanContextValid(span)) return {};
  return { trace_parent: `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, '0')}` };
}

const PARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Goes on in the trace of such a parent; without one, in the present context. */
export function withTraceParent<T>(parent: string | null, work: () => T): T {
  const [, traceId, spanId, flags] = PARENT.exec(parent ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return work();
  return context.with(trace.setSpanContext(context.active(), { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }), work);
}
