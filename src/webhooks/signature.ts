/**
 * Signed webhooks as Standard Webhooks has them: what we send and what we are sent. The headers `webhook-id`,
 * `webhook-timestamp` (seconds) and `webhook-signature` (one `v1,…` for each secret, set apart by blanks) sign id,
 * time and body together.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { ThroughlineError } from '../errors.ts';

/** Further than this from the receiver's clock, a message may be a recorded one that is sent again. */
export const SIGNATURE_TOLERANCE_MS = 5 * 60_000;
/** The specification's bounds of a key. */
const KEY_BYTES_MIN = 24;
const KEY_BYTES_MAX = 64;
const PREFIX = 'whsec_';
/** A signature takes some 50 characters; more than this is no honest sender's. */
const SIGNATURES_MAX = 20;
const HEADER_CHARS_MAX = 4_000;

/** The three headers, in lower case. */
export interface SignatureHeaders {
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
}

/** A new secret: `whsec_` and 32 random bytes in base64. */
export const createSecret = (): string => `${PREFIX}${randomBytes(32).toString('base64')}`;

/** A secret as it may be used: `whsec_` and 24 to 64 bytes in base64. The value is never shown. Throws INPUT_INVALID. */
export function checkedSecret(value: unknown, path = '/secret'): string {
  const text = typeof value === 'string' ? value : '';
  const key = text.startsWith(PREFIX) ? Buffer.from(text.slice(PREFIX.length), 'base64') : Buffer.alloc(0);
  const isCanonical = key.toString('base64').replace(/=+$/, '') === text.slice(PREFIX.length).replace(/=+$/, '');
  if (!isCanonical || key.byteLength < KEY_BYTES_MIN || key.byteLength > KEY_BYTES_MAX) {
    throw new ThroughlineError('INPUT_INVALID', { path, message: 'A secret is whsec_ and a key in base64.', limit: `${KEY_BYTES_MIN} to ${KEY_BYTES_MAX} bytes` });
  }
  return text;
}

/** Signs a message with each of the secrets, newest first: receivers that know any of them accept it. */
export function sign(message: { readonly id: string; readonly at: Date; readonly body: string; readonly secrets: readonly string[] }): SignatureHeaders {
  const { id, at, body, secrets } = message;
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, at, body)).join(' '),
  };
}

export interface Verified {
  /** Names the message: a repeat of it has the same. */
  readonly id: string;
  readonly at: Date;
  /** Which of the secrets given has signed it, from 0: with 0 the newest alone, the older ones can go. */
  readonly secret: number;
}

export interface VerifyOptions {
  /** As Node gives them, names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The very bytes that came: parsed and written again they would be others. */
  readonly body: string | Buffer;
  /** Those in force, newest first: during a rotation the old and the new one. */
  readonly secrets: readonly string[];
  /** The receiver's clock; the ledger's where there is one. */
  readonly now: Date;
  readonly toleranceMs?: number;
}

/**
 * Checks that a message was signed with one of the secrets, lately. What was seen before is the caller's to know, by
 * `id`. Throws SIGNATURE_INVALID; `facts.why` is header_missing, timestamp_unreadable, too_old, too_new or no_match.
 */
export function verify(options: VerifyOptions): Verified {
  const { headers, body, secrets, now, toleranceMs = SIGNATURE_TOLERANCE_MS } = options;
  const [id, timestamp, signature] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => headers[name]);
  const isHeader = (value: unknown): value is string => typeof value === 'string' && value !== '' && value.length <= HEADER_CHARS_MAX;
  if (!isHeader(id) || !isHeader(timestamp) || !isHeader(signature)) throw invalid('header_missing');
  if (!/^\d{1,12}$/.test(timestamp)) throw invalid('timestamp_unreadable');
  const at = new Date(Number(timestamp) * 1_000);
  if (now.getTime() - at.getTime() > toleranceMs) throw invalid('too_old');
  if (at.getTime() - now.getTime() > toleranceMs) throw invalid('too_new');
  const text = typeof body === 'string' ? body : body.toString('utf8');
  const given = signature.split(' ').slice(0, SIGNATURES_MAX).map((one) => Buffer.from(one));
  for (const [secret, key] of secrets.entries()) {
    const expected = Buffer.from(new Webhook(key).sign(id, at, text));
    if (given.some((one) => one.byteLength === expected.byteLength && timingSafeEqual(one, expected))) return { id, at, secret };
  }
  throw invalid('no_match');
}

type Why = 'header_missing' | 'timestamp_unreadable' | 'too_old' | 'too_new' | 'no_match';
const invalid = (why: Why): ThroughlineError => new ThroughlineError('SIGNATURE_INVALID', { facts: { why } });
