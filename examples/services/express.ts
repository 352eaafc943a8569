/** Express: start a task, ask for its steps, cancel it, and have it explained. `DATABASE_URL=… node --import tsx examples/services/express.ts` */
import { fileURLToPath } from 'node:url';
import express from 'express';
import type { ErrorRequestHandler, Express } from 'express';
import { createClient, ThroughlineError } from '../../src/index.ts';
import type { ThroughlineClient } from '../../src/index.ts';

export function createService(client: ThroughlineClient): Express {
  const app = express();
  app.use(express.json({ limit: '64kb' }));

  // The key comes from the business: a second request, or a retry after a lost answer, is the same task.
  app.post('/notes/:note/publish', async ({ params: { note }, body }, response) => {
    const { revision = 1 } = body as { revision?: unknown };
    const { id, created, state } = await client.enqueue('publish-note', { note, revision }, { key: `publish/${note}`, by: 'service:notes' });
    response.status(created ? 201 : 200).location(`/tasks/${id}`).json({ id, state });
  });

  app.get('/tasks/:task', async ({ params: { task } }, response) => {
    const { status, at_rest: atRest, steps } = await client.get(task);
    response.json({ status, atRest, steps: steps.map(({ name, state, attempt }) => ({ name, state, attempt })) });
  });

  app.get('/tasks/:task/why', async ({ params: { task } }, response) => {
    const { headline, will_run_again: next } = await client.explain(task);
    response.json({ headline, willRunAgain: next.sentence });
  });

  // Answers at once: prevented, already too late, or pending with the time of the next look.
  app.post('/tasks/:task/cancel', async ({ params: { task }, body }, response) => {
    const { why = '', id } = body as { why?: string; id?: string };
    const { verdict, steps } = await client.cancel(task, { why, by: 'service:notes', ...(id === undefined ? {} : { id }) });
    response.json({ verdict, steps });
  });

  const coded: ErrorRequestHandler = (error, _request, response, next) => {
    if (error instanceof ThroughlineError) response.status(error.status).json(error);
    else next(error);
  };
  app.use(coded);
  return app;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  createService(createClient({ databaseUrl: process.env['DATABASE_URL'] ?? '' })).listen(Number(process.env['PORT'] ?? 3000));
}
