/** The console: pages over the client, which decides everything. One Fastify plugin, mounted by the API's process. */
import type { FastifyInstance } from 'fastify';
import { h } from 'preact';
import { ThroughlineError } from '../errors.ts';
import { address, BASE } from './address.ts';
import { assetRoutes } from './assets.ts';
import { ProblemPage } from './pages/problem.tsx';
import { OnwardPage } from './pages/sign-in.tsx';
import { fromElsewhere, show, visitorsFrame } from './route.ts';
import { actionRoutes } from './routes/actions.ts';
import { accountRoutes } from './routes/account.ts';
import { bulkRoutes } from './routes/bulks.ts';
import { overviewRoutes } from './routes/overview.ts';
import { receiptRoutes } from './routes/receipts.ts';
import { taskPageRoutes } from './routes/task.ts';
import { taskRoutes } from './routes/tasks.ts';
import { sessions, signOut, tokenOf } from './session.ts';
import type { ConsoleOptions } from './types.ts';

/** Nothing from elsewhere, nothing inline, in nobody's frame. */
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

export async function consolePlugin(app: FastifyInstance, options: ConsoleOptions): Promise<void> {
  const { identify, coded, refused, temporalUi } = options;
  app.decorateRequest('frame', null);
  await sessions(app, options);

  app.addHook('onRequest', async (request, reply) => {
    void reply.header('content-security-policy', POLICY).header('referrer-policy', 'same-origin');
    const token = tokenOf(request);
    // A token that is not in force any more ends the session here; what comes then is as for any stranger.
    const caller = token === null || request.routeOptions.config.page === undefined ? null : await identify(token, request).catch((error: unknown) => {
      if (!(error instanceof ThroughlineError) || error.status !== 401) throw error;
      signOut(request);
      return null;
    });
    request.caller = caller;
    request.frame = visitorsFrame(request, caller, temporalUi);
  });
  app.addHook('preHandler', async (request, reply) => {
    const { page: permission } = request.routeOptions.config;
    if (permission === undefined) return;
    if (request.method === 'GET' && fromElsewhere(request) && request.headers['hx-request'] === undefined) return show(request, reply, h(OnwardPage, { to: address('/onward', { to: request.url }) }));
    if (permission === null) return;
    if (request.caller !== null) {
      request.caller.may(permission);
      return;
    }
    // A stream can't show where to sign in either: it says that something changed, and the page asks for itself.
    if (request.headers.accept === 'text/event-stream') return reply.type('text/event-stream; charset=utf-8').send('event: changed\ndata: ended\n\n');
    if (request.method !== 'GET') throw new ThroughlineError('TOKEN_REQUIRED');
    const to = address('/sign-in', { to: request.headers['hx-current-url'] === undefined ? request.url : undefined });
    // A part of a page can't show where to sign in: the page goes there as a whole.
    if (request.headers['hx-request'] !== undefined) return reply.code(401).header('hx-redirect', to).send();
    return reply.redirect(to, 303);
  });
  app.setErrorHandler(async (error, request, reply) => {
    const expired = String((error as { code?: unknown }).code).startsWith('FST_CSRF');
    const problem = expired ? new ThroughlineError('FORM_EXPIRED') : coded(error, request);
    if (problem.status === 401 || problem.status === 403 || problem.status === 429) refused(request, problem);
    if (problem.code === 'INVARIANT_BROKEN') request.log.error({ request: request.id, err: problem.cause ?? problem }, 'unexpected');
    return show(request, reply, h(ProblemPage, { error: problem, request: request.id }), problem.status);
  });
  app.setNotFoundHandler(async (request, reply) => show(request, reply, h(ProblemPage, { error: new ThroughlineError('ROUTE_UNKNOWN'), request: request.id }), 404));

  assetRoutes(app);
  accountRoutes(app, options);
  overviewRoutes(app, options);
  taskRoutes(app, options);
  taskPageRoutes(app, options);
  actionRoutes(app, options);
  receiptRoutes(app, options);
  bulkRoutes(app, options);
}

export { BASE };
