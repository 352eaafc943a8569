/** The timeline as server-sent events. The id of each is where to go on from, also when a proxy cut the stream. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { ThroughlineError } from '../../errors.ts';
import { LIMITS } from '../../state/index.ts';
import { operation } from '../operation.ts';
import type { ApiDeps } from '../operation.ts';

const KINDS = ['transition', 'parent', 'intent', 'outcome', 'receipt', 'cancel', 'check', 'correction', 'late', 'note'] as const;
const Query = z.strictObject({
  task: z.string().optional().meta({ format: 'uuid' }), type: z.string().optional(), kind: z.enum(KINDS).optional(),
  state: z.string().max(63).optional().describe('the state or status after the entry'), reason: z.string().max(63).optional(),
  after: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional().describe('the id of the last entry that was seen; the Last-Event-ID header goes first'),
});

/** For a reader to take what was written before the end. */
const END_PATIENCE_MS = 1_000;

/** Writes, and waits until the reader has taken enough. False: it has gone. */
async function write(response: ServerResponse, text: string, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted || response.destroyed) return false;
  if (response.write(text)) return true;
  await once(response, 'drain', { signal }).catch(() => undefined);
  return !signal.aborted;
}

function lastId(header: unknown, after: number | undefined): number | undefined {
  if (header === undefined || header === '') return after;
  if (typeof header !== 'string' || !/^\d{1,15}$/.test(header)) throw new ThroughlineError('CURSOR_INVALID', { path: '/last-event-id', message: 'Last-Event-ID is not one that this stream gave out.' });
  return Number(header);
}

export function eventRoutes(app: FastifyInstance, { client, stopping, eventBeatMs }: ApiDeps): void {
  let open = 0;
  operation(app, {
    method: 'GET', url: '/v1/events', id: 'streamEvents', tag: 'events', stream: true, permission: 'read', summary: 'The timeline as server-sent events',
    description: 'One task from its beginning, or all that pass the filter from now on; `after` or Last-Event-ID goes on from there, without holes or repeats. Each event: `id`, `event` (the kind), `data` (the entry with `task` and `type`).',
    query: Query, headers: z.object({ 'last-event-id': z.string().max(100).optional() }),
    answers: { 200: { description: 'A stream without an end', content: { 'text/event-stream': { schema: z.string() } } } },
    codes: ['TASK_UNKNOWN', 'TASK_PRUNED', 'ID_INVALID', 'TYPE_FORBIDDEN', 'CURSOR_INVALID', 'FILTER_INVALID'],
    async handle({ query, caller, request, reply }) {
      const { type, after, task, ...filter } = query;
      const view = task === undefined ? null : await client.get(task);
      if (view !== null) caller.mayType(view.type);
      const types = caller.typesFor(type);
      const from = lastId(request.headers['last-event-id'], after);
      if (open >= LIMITS.event_streams_max) throw new ThroughlineError('RATE_LIMITED', { message: 'This process has no more streams.', limit: `${String(LIMITS.event_streams_max)} streams` });
      const gone = new AbortController();
      const signal = AbortSignal.any([gone.signal, stopping]);
      const response = reply.raw;
      response.once('close', () => { gone.abort(); });
      reply.hijack();
      open += 1;
      try {
        for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) response.setHeader(name, value);
        response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no', connection: 'close' });
        await write(response, 'retry: 1000\n: open\n\n', signal);
        const wanted = { ...(view === null ? {} : { task: view.task }), ...(types === undefined ? {} : { types }), ...filter, ...(from === undefined ? {} : { after: from }), signal, beatMs: eventBeatMs };
        for await (const { entries, at } of client.events.batches(wanted as never)) {
          // An id without data moves the reader's place over entries that were not for it, and dispatches nothing.
          if (entries.length === 0 && !(await write(response, `: beat\nid: ${String(at)}\n\n`, signal))) break;
          for (const entry of entries) {
            if (!(await write(response, `id: ${String(entry.id)}\nevent: ${entry.kind}\ndata: ${JSON.stringify(entry)}\n\n`, signal))) return await reply;
          }
        }
      } catch (error) {
        request.log.warn({ err: error }, 'a stream ended');
      } finally {
        open -= 1;
        // Who doesn't read, or is half gone, must not hold up a stop.
        const patience = setTimeout(() => { response.destroy(); }, END_PATIENCE_MS);
        response.once('close', () => { clearTimeout(patience); });
        response.end();
      }
      return reply;
    },
  });
}
