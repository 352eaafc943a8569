/**
 * Next.js, App Router. A route handler is a function of Request to Response, so these need nothing of Next to run. In an app each
 * stands in a `route.ts` of its own, for example `app/tasks/[task]/route.ts`:
 *
 *     import { createHandlers } from '@/throughline';
 *     export const { status: GET } = createHandlers(client);
 *
 * Keep one client for the process (`globalThis`), since `next dev` loads modules again and again; and the Node.js runtime, not Edge.
 */
import { ThroughlineError } from '../../src/index.ts';
import type { ThroughlineClient } from '../../src/index.ts';

type Handler<Params> = (request: Request, context: { readonly params: Promise<Params> }) => Promise<Response>;
interface Handlers {
  /** POST of app/notes/[note]/publish */
  readonly publish: Handler<{ note: string }>;
  /** GET of app/tasks/[task] */
  readonly status: Handler<{ task: string }>;
  /** GET of app/tasks/[task]/why */
  readonly why: Handler<{ task: string }>;
  /** POST of app/tasks/[task]/cancel */
  readonly cancel: Handler<{ task: string }>;
}

/** Refusals as their code's status. */
const coded = <Params>(handler: Handler<Params>): Handler<Params> => async (request, context) => {
  try {
    return await handler(request, context);
  } catch (error) {
    if (error instanceof ThroughlineError) return Response.json(error, { status: error.status });
    throw error;
  }
};

export function createHandlers(client: ThroughlineClient): Handlers {
  return {
    // The key comes from the business: a second request, or a retry after a lost answer, is the same task.
    publish: coded(async (request, { params }) => {
      const { note } = await params;
      const { revision = 1 } = (await request.json()) as { revision?: number };
      const { id, created, state } = await client.enqueue('publish-note', { note, revision }, { key: `publish/${note}`, by: 'service:notes' });
      return Response.json({ id, state }, { status: created ? 201 : 200, headers: { location: `/tasks/${id}` } });
    }),
    status: coded(async (_request, { params }) => {
      const { status, at_rest: atRest, steps } = await client.get((await params).task);
      return Response.json({ status, atRest, steps: steps.map(({ name, state, attempt }) => ({ name, state, attempt })) });
    }),
    why: coded(async (_request, { params }) => {
      const { headline, will_run_again: next } = await client.explain((await params).task);
      return Response.json({ headline, willRunAgain: next.sentence });
    }),
    // Answers at once: prevented, already too late, or pending with the time of the next look.
    cancel: coded(async (request, { params }) => {
      const { why = '', id } = (await request.json()) as { why?: string; id?: string };
      const { verdict, steps } = await client.cancel((await params).task, { why, by: 'service:notes', ...(id === undefined ? {} : { id }) });
      return Response.json({ verdict, steps });
    }),
  };
}
