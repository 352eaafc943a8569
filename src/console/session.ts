/** Who has signed in: a token, sealed into a cookie that no script and no other site can use. */
import { hkdfSync, randomBytes } from 'node:crypto';
import cookie from '@fastify/cookie';
import csrf from '@fastify/csrf-protection';
import formbody from '@fastify/formbody';
import secureSession from '@fastify/secure-session';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { LANGUAGES } from '../config.ts';
import { languageOf } from '../api/language.ts';
import { BASE } from './address.ts';
import type { PageLanguage } from './messages/index.ts';
import type { ConsoleOptions } from './types.ts';

/** A day of work; the token may end before. */
const SESSION_S = 12 * 3_600;
const LANGUAGE_S = 365 * 24 * 3_600;
const LANGUAGE_COOKIE = 'throughline_lang';
const FORM_BYTES_MAX = 262_144;

const strict = (request: FastifyRequest) => ({ path: BASE, httpOnly: true, sameSite: 'strict' as const, secure: request.protocol === 'https' });

export async function sessions(app: FastifyInstance, { sessionKey }: ConsoleOptions): Promise<void> {
  const secret = sessionKey ?? randomBytes(32).toString('hex');
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'throughline console session', 32));
  await app.register(cookie);
  await app.register(secureSession, { key, cookieName: 'throughline_session', expiry: SESSION_S, cookie: { path: BASE, httpOnly: true, sameSite: 'strict' } });
  await app.register(csrf, { sessionPlugin: '@fastify/secure-session', getToken: (request) => (request.body as { _csrf?: string } | undefined)?._csrf });
  await app.register(formbody, { bodyLimit: FORM_BYTES_MAX });
  app.addHook('onRequest', async (request) => {
    request.session.options(strict(request));
  });
}

declare module '@fastify/secure-session' {
  interface SessionData {
    /** The token's text. */
    token?: string;
    /** For whom the last action was. */
    who?: string;
    /** What the last action was answered, as JSON; said once. */
    said?: string;
  }
}

export function tokenOf({ session }: FastifyRequest): string | null {
  return session.get('token') ?? null;
}

/** Nothing of the session before is kept. */
export function signIn(request: FastifyRequest, token: string): void {
  request.session.regenerate();
  request.session.options(strict(request));
  request.session.set('token', token);
}

export function signOut(request: FastifyRequest): void {
  request.session.delete();
}

/** The one chosen here before, else the one that the browser asks for. */
export function pageLanguage(request: FastifyRequest): PageLanguage {
  const chosen = request.cookies[LANGUAGE_COOKIE];
  return LANGUAGES.find((lang) => lang === chosen) ?? languageOf(request.headers['accept-language']);
}

export const languageCookie = (request: FastifyRequest, lang: PageLanguage) => [LANGUAGE_COOKIE, lang, { ...strict(request), maxAge: LANGUAGE_S }] as const;
