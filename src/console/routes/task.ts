/** One task: its page, the stream that keeps it live, and what its artifacts look like. */
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { h } from 'preact';
import { ThroughlineError } from '../../errors.ts';
import { LIMITS } from '../../state/index.ts';
import { TaskPage } from '../pages/task.tsx';
import { takeSaid } from '../said.ts';
import { mediaOf, PREVIEW_POLICY, previewOf, previewType } from '../preview.ts';
import { page } from '../route.ts';
import type { Visit } from '../route.ts';
import { tokenOf } from '../session.ts';
import type { ConsoleOptions } from '../types.ts';

/** What happens in a burst renews a page once. */
const BURST_MS = 300;
const END_PATIENCE_MS = 1_000;

const param = ({ request }: Visit, name: string): string => (request.params as Record<string, string>)[name] ?? '';

function placeOf({ request }: Visit): number {
  const given = request.headers['last-event-id'] ?? (request.query as { after?: unknown }).after ?? '0';
  if (typeof given !== 'string' || !/^\d{1,15}$/.test(given)) throw new ThroughlineError('CURSOR_INVALID', { path: '/after' });
  return Number(given);
}

export function taskPageRoutes(app: FastifyInstance, options: ConsoleOptions): void {
  const { client, stopping, beatMs, identify } = options;
  page(app, {
    method: 'GET', url: '/tasks/:task', permission: 'read',
    async handle(visit) {
      const { record, explanation } = await client.inspect(param(visit, 'task'), { lang: visit.frame.lang });
      visit.caller.mayType(record.task.type);
      return visit.show(h(TaskPage, { record, e: explanation, said: takeSaid(visit.request, record.task.id) }));
    },
  });

  let open = 0;
  page(app, {
    method: 'GET', url: '/tasks/:task/live', permission: 'read',
    async handle(visit) {
      const { request, reply, caller } = visit;
      const { task, type } = await client.get(param(visit, 'task'));
      caller.mayType(type);
      const after = placeOf(visit);
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
        response.write('retry: 1000\n: open\n\n');
        for await (const { entries, at } of client.events.batches({ task, after, signal, beatMs })) {
          // A session that has ended shows nothing any more: the page asks for itself and is sent to sign in.
          const ended = entries.length === 0 && !(await identify(tokenOf(request) ?? '', request).then(() => true, () => false));
          const said = entries.length === 0 && !ended ? `: beat\nid: ${String(at)}\n\n` : `id: ${String(at)}\nevent: changed\ndata: ${String(at)}\n\n`;
          // A reader that does not read has its buffer full: it comes again, from where it was.
          if (!response.write(said) || ended) break;
          await delay(BURST_MS, undefined, { signal }).catch(() => undefined);
        }
      } catch (error) {
        request.log.warn({ err: error }, 'a live page ended');
      } finally {
        open -= 1;
        const patience = setTimeout(() => { response.destroy(); }, END_PATIENCE_MS);
        response.once('close', () => { clearTimeout(patience); });
        response.end();
      }
      return reply;
    },
  });

  /** Throws ARTIFACT_UNKNOWN, ARTIFACT_UNREADABLE. */
  const artifactOf = async (visit: Visit) => {
    const record = await client.record(param(visit, 'task'));
    visit.caller.mayType(record.task.type);
    const row = record.artifacts.find(({ sha256 }) => sha256 === param(visit, 'sha256'));
    if (row === undefined) throw new ThroughlineError('ARTIFACT_UNKNOWN', { facts: { sha256: param(visit, 'sha256') } });
    return row;
  };
  const bytesOf = async (uri: string): Promise<Buffer> => {
    if (options.artifacts === null) throw new ThroughlineError('ARTIFACT_UNREADABLE', { message: 'This process has no artifact store.' });
    const bytes = await options.artifacts.get(uri);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  };
  page(app, {
    method: 'GET', url: '/tasks/:task/artifacts/:sha256/preview', permission: 'read',
    async handle(visit) {
      const { uri, media_type: type, bytes } = await artifactOf(visit);
      if (previewOf(type, bytes) === null) throw new ThroughlineError('ARTIFACT_UNKNOWN', { message: `There is no preview of ${mediaOf(type)} of this size.` });
      return visit.reply.type(previewType(type)).header('content-security-policy', PREVIEW_POLICY).header('content-disposition', 'inline').send(await bytesOf(uri));
    },
  });
  page(app, {
    method: 'GET', url: '/tasks/:task/artifacts/:sha256/content', permission: 'read',
    async handle(visit) {
      const { uri, name } = await artifactOf(visit);
      // A name of the author's choosing: only letters and digits of it reach the header.
      const file = name.replace(/[^A-Za-z0-9._-]+/g, '_').slice(0, 100) || 'artifact';
      return visit.reply.type('application/octet-stream').header('content-security-policy', "default-src 'none'; sandbox").header('content-disposition', `attachment; filename="${file}"`).send(await bytesOf(uri));
    },
  });
}
