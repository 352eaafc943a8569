/** One signed request to an endpoint. */
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { LIMITS } from '../state/index.ts';
import type { AddressPolicy } from './address.ts';

export interface PostOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly addresses: AddressPolicy;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface PostAnswer {
  readonly status: number;
  /** As it came; see `retryAfterMs`. */
  readonly retryAfter: string | null;
}

/**
 * Sends it once: no redirect is followed, no proxy asked, nothing of the answer but its head is used. Throws
 * ADDRESS_REFUSED before anything was sent, or what Node says of connection, TLS and time.
 */
export async function post(options: PostOptions): Promise<PostAnswer> {
  const { addresses, body, signal, timeoutMs = LIMITS.webhook_timeout_ms } = options;
  const url = new URL(options.url);
  addresses.checkHost(url.hostname);
  const deadline = AbortSignal.timeout(timeoutMs);
  const content = Buffer.from(body, 'utf8');
  return new Promise<PostAnswer>((resolve, reject) => {
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
      method: 'POST',
      // A connection of its own: a pooled one might lead to an address that was allowed once.
      agent: false,
      lookup: addresses.lookup,
      headers: { ...options.headers, 'content-type': 'application/json; charset=utf-8', 'content-length': content.byteLength },
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    });
    request.on('error', (error) => {
      reject(deadline.aborted ? new DOMException(`no answer within ${String(timeoutMs)} ms`, 'TimeoutError') : error);
    });
    request.on('response', (response) => {
      const { statusCode = 0, headers } = response;
      resolve({ status: statusCode, retryAfter: headers['retry-after'] ?? null });
      let bytes = 0;
      response.on('error', () => undefined);
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.byteLength;
        if (bytes > LIMITS.webhook_answer_bytes_max) response.destroy();
      });
    });
    request.end(content);
  });
}

/** Retry-After in milliseconds, from seconds or an HTTP date; null: unreadable. Never more than the limit. */
export function retryAfterMs(header: string | null, now: Date): number | null {
  // A date takes 29 characters. The endpoint is not ours: what it sends is no work for a search.
  if (header === null || header.length > 100) return null;
  const ms = /^\d{1,12}$/.test(header.trim()) ? Number(header) * 1_000 : /[A-Za-z]{3}.*\d{2}:\d{2}/.test(header) ? Date.parse(header) - now.getTime() : Number.NaN;
  return Number.isFinite(ms) ? Math.min(Math.max(0, ms), LIMITS.retry_after_ms_max) : null;
}
