/** Signing in and out, and the language. */
import type { FastifyInstance } from 'fastify';
import { h } from 'preact';
import { z } from 'zod';
import { LANGUAGES } from '../../config.ts';
import { ThroughlineError } from '../../errors.ts';
import { mayDo } from '../../state/index.ts';
import { address, ownAddress } from '../address.ts';
import { SignInPage } from '../pages/sign-in.tsx';
import { page } from '../route.ts';
import { languageCookie, signIn, signOut } from '../session.ts';
import type { ConsoleOptions } from '../types.ts';

const SignIn = z.object({ token: z.string().trim().min(1).max(200), to: z.string().max(2_000).optional() });
const Choice = z.object({ lang: z.enum(LANGUAGES), to: z.string().max(2_000).optional() });

export function accountRoutes(app: FastifyInstance, { identify }: ConsoleOptions): void {
  page(app, {
    method: 'GET', url: '/sign-in', permission: null,
    async handle({ request, reply, frame, show }) {
      const { to } = request.query as { to?: unknown };
      if (frame.caller !== null) return reply.redirect(ownAddress(to), 303);
      return show(h(SignInPage, { to: ownAddress(to) }));
    },
  });
  page(app, {
    method: 'GET', url: '/onward', permission: null,
    handle: async ({ request, reply }) => reply.redirect(ownAddress((request.query as { to?: unknown }).to), 303),
  });
  page(app, {
    method: 'POST', url: '/sign-in', permission: null,
    async handle({ request, reply, frame: { m }, show }) {
      const form = SignIn.safeParse(request.body);
      const to = ownAddress(form.data?.to);
      if (!form.success) return show(h(SignInPage, { to, refused: m.sign_in.refused }), 401);
      try {
        const { token } = await identify(form.data.token, request);
        if (!mayDo(token.role, 'read')) return await show(h(SignInPage, { to, refused: m.sign_in.role }), 403);
      } catch (error) {
        if (error instanceof ThroughlineError && error.status === 401) return show(h(SignInPage, { to, refused: m.sign_in.refused }), 401);
        throw error;
      }
      signIn(request, form.data.token);
      // The first pages of two windows must not each make a form token of their own.
      reply.generateCsrf();
      return reply.redirect(to, 303);
    },
  });
  page(app, {
    method: 'POST', url: '/sign-out', permission: null,
    async handle({ request, reply }) {
      signOut(request);
      return reply.redirect(address('/sign-in'), 303);
    },
  });
  page(app, {
    method: 'POST', url: '/language', permission: null,
    async handle({ request, reply }) {
      const form = Choice.safeParse(request.body);
      if (!form.success) throw new ThroughlineError('INPUT_INVALID', { path: '/lang', message: `The language must be one of ${LANGUAGES.join(', ')}.` });
      return reply.setCookie(...languageCookie(request, form.data.lang)).redirect(ownAddress(form.data.to), 303);
    },
  });
}
