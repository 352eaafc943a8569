/** Fastify: start a task, ask for its steps, cancel it, and have it explained. `DATABASE_URL=… node --import tsx examples/services/fastify.ts` */
import { fileURLToPath } from 'node:url';
import fastify from 'fastify';
import type { FastifyInstance } from 'fastify';
import { createClient, ThroughlineError } from '../../src/index.ts';
import type { ThroughlineClient } from '../../src/index.ts';

export function createService(client: ThroughlineClient): FastifyInstance {
  const app = fastify({ bodyLimit: 64 * 1024 });

  // The key comes from the business: a second request, or a retry after a lost answer, is the same task.
  app.post<{ Params: { note: string }; Body: { revision?: number } }>('/notes/:note/publish', async ({ params: { note }, body: { revision = 1 } }, reply) => {
    const { id, created, state } = await client.enqueue('publish-note', { note, revision }, { key: `publish/${note}`, by: 'service:notes' });
    return reply.code(created ? 201 : 200).header('location', `/tasks/${id}`).send({ id, state });
  });

  app.get<{ Params: { task: string } }>('/tasks/:task', async ({ params: { task } }) => {
    const { status, at_rest: atRest, steps } = await client.get(task);
    return { status, atRest, steps: steps.map(({ name, state, attempt }) => ({ name, state, attempt })) };
  });

  app.get<{ Params: { task: string } }>('/tasks/:task/why', async ({ params: { task } }) => {
    const { headline, will_run_again: next } = await client.explain(task);
    return { headline, willRunAgain: next.sentence };
  });

  // Answers at once: prevented, already too late, or pending with the time of the next look.
  app.post<{ Params: { task: string }; Body: { why?: string; id?: string } }>('/tasks/:task/cancel', async ({ params: { task }, body: { why = '', id } }) => {
    const { verdict, steps } = await client.cancel(task, { why, by: 'service:notes', ...(id === undefined ? {} : { id }) });
    return { verdict, steps };
  });

  app.setErrorHandler(async (error, _request, reply) => {
    if (!(error instanceof ThroughlineError)) throw error;
    return reply.code(error.status).send(error.toJSON());
  });
  return app;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await createService(createClient({ databaseUrl: process.env['DATABASE_URL'] ?? '' })).listen({ port: Number(process.env['PORT'] ?? 3000) });
}
