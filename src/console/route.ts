/** A page's route: who may, the form's token and the frame are seen to here. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { h } from 'preact';
import type { ComponentChildren } from 'preact';
import { renderToString } from 'preact-render-to-string';
import type { Caller } from '../api/caller.ts';
import { ThroughlineError } from '../errors.ts';
import type { Permission } from '../state/index.ts';
import { FrameContext } from './frame.ts';
import type { Frame } from './frame.ts';
import { MESSAGES } from './messages/index.ts';
import { pageLanguage } from './session.ts';
import type { ConsoleOptions } from './types.ts';

/** What a page's route gets: who asks, in which language, and how to answer with a page. */
export interface Visit {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly frame: Frame;
  /** Throws TOKEN_REQUIRED where nobody has signed in. */
  readonly caller: Caller;
  readonly show: (page: ComponentChildren, status?: number) => FastifyReply;
}

export interface PageRoute {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  /** null: also for who has not signed in. */
  readonly permission: Permission | null;
  readonly handle: (visit: Visit) => Promise<FastifyReply>;
}

/** A page, or what a form of one does. */
export function page(app: FastifyInstance, { method, url, permission, handle }: PageRoute): void {
  app.route({
    method, url, schema: { hide: true }, config: { page: permission },
    ...(method === 'POST' ? { preHandler: (request, reply, done) => { app.csrfProtection(request, reply, done); } } : {}),
    handler: (request, reply) => {
      const { frame } = request;
      if (frame === null) throw new Error('Broken promise: a visit has its frame');
      return handle({
        request, reply, frame,
        get caller() {
          if (frame.caller === null) throw new ThroughlineError('TOKEN_REQUIRED');
          return frame.caller;
        },
        show: (vnode, status) => show(request, reply, vnode, status),
      });
    },
  });
}

/** Came by another site: without the session's cookie, which an answer must not replace either. */
export const fromElsewhere = (request: FastifyRequest): boolean => request.headers['sec-fetch-site'] === 'cross-site';

export function show(request: FastifyRequest, reply: FastifyReply, vnode: ComponentChildren, status = 200): FastifyReply {
  const frame = { ...(request.frame ?? visitorsFrame(request, null)), csrf: fromElsewhere(request) ? '' : reply.generateCsrf() };
  const html = renderToString(h(FrameContext.Provider, { value: frame }, vnode));
  return reply.code(status).type('text/html; charset=utf-8').header('content-language', frame.lang).send(`<!doctype html>${html}`);
}

export function visitorsFrame(request: FastifyRequest, caller: Caller | null, temporalUi?: ConsoleOptions['temporalUi']): Frame {
  const lang = pageLanguage(request);
  return { lang, m: MESSAGES[lang], caller, csrf: '', here: request.url, temporalUi: temporalUi ?? null };
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Of pages: what they ask for; null: nothing. */
    page?: Permission | null;
  }
  interface FastifyRequest {
    /** null outside the console. */
    frame: Frame | null;
  }
}
