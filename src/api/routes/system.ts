import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { operation } from '../operation.ts';
import type { ApiDeps } from '../operation.ts';
import { NoQuery } from '../schemas.ts';

const Ready = z.looseObject({ status: z.enum(['ready', 'degraded', 'unavailable']), ledger: z.enum(['up', 'down', 'outdated', 'newer']), temporal: z.enum(['up', 'down', 'not_configured']) }).meta({ id: 'Readiness' });

export function systemRoutes(app: FastifyInstance, { client, metrics }: ApiDeps): void {
  operation(app, {
    method: 'GET', url: '/healthz', id: 'health', tag: 'system', permission: null, summary: 'Whether this process lives', query: NoQuery, answers: { 200: z.object({ ok: z.literal(true) }) },
    handle: () => Promise.resolve({ ok: true }),
  });
  operation(app, {
    method: 'GET', url: '/readyz', id: 'readiness', tag: 'system', permission: null, summary: 'Whether it can serve',
    description: 'Without Postgres, or with a schema that is not its own: 503. Without Temporal: 200 and `degraded`, since all is accepted and answered and only execution waits.',
    query: NoQuery, answers: { 200: Ready, 503: Ready },
    async handle({ reply }) {
      const health = await client.health();
      const status = health.ledger !== 'up' ? 'unavailable' : health.temporal === 'down' ? 'degraded' : 'ready';
      if (status === 'unavailable') void reply.code(503).header('retry-after', '1');
      return { status, ...health };
    },
  });
  operation(app, {
    method: 'GET', url: '/metrics', id: 'metrics', tag: 'system', permission: 'metrics', summary: 'For Prometheus', query: NoQuery,
    answers: { 200: { description: 'The exposition text', content: { 'text/plain': { schema: z.string() } } } },
    async handle({ reply }) {
      return metrics === null ? reply.type('text/plain').send('') : reply.type(metrics.contentType).send(await metrics.text());
    },
  });
}
