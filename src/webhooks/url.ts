import { ThroughlineError } from '../errors.ts';
import { LIMITS } from '../state/index.ts';

/** A URL that may be told to: https (http only where that is asked for), no user, no fragment. Throws INPUT_INVALID. */
export function checkedUrl(value: unknown, allowHttp: boolean): string {
  const refuse = (message: string, limit?: number): never => {
    throw new ThroughlineError('INPUT_INVALID', { path: '/url', message, ...(limit === undefined ? {} : { limit }) });
  };
  if (typeof value !== 'string' || !URL.canParse(value)) return refuse('The URL cannot be read.');
  const url = new URL(value);
  if (url.href.length > LIMITS.webhook_url_chars_max) return refuse('The URL is too long.', LIMITS.webhook_url_chars_max);
  if (url.protocol !== 'https:' && !(allowHttp && url.protocol === 'http:')) return refuse('The URL must be https://; http:// is sent readable to everybody on the way, and must be allowed explicitly.');
  if (url.username !== '' || url.password !== '') return refuse('The URL may hold no user and no password.');
  if (url.hash !== '') return refuse('The URL may have no fragment.');
  return url.href;
}
