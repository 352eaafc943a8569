/** A small HTTP intake for the platform's receipts: checks them, hands them on, answers when they are stored. */
import { timingSafeEqual } from 'node:crypto';
import { fastify } from 'fastify';
import type { FastifyError } from 'fastify';
import { sign } from './platform/receipts.ts';
import { HEADERS, receiptSchema } from './platform/types.ts';
import type { Receipt } from './platform/types.ts';

/** A receipt is a few hundred bytes; a larger body is not one. */
export const RECEIPT_BODY_BYTES_MAX = 16 * 1024;

export interface IntakeOptions {
  readonly host?: string;
  /** Default 0: a free one. */
  readonly port?: number;
  /** When given, a receipt without the matching signature is refused with 401. */
  readonly secret?: string;
  /**
   * Stores the receipt. The platform hears 2xx only after this resolved and sends again otherwise, so it has to be
   * harmless to call it twice with one `deliveryId`.
   */
  readonly deliver: (receipt: Receipt) => Promise<unknown>;
  /** Told why a receipt could not be stored; its sender only hears 503. */
  readonly onError?: (error: unknown, receipt: Receipt) => void;
}

export interface RunningIntake {
  /** The callback URL to give to the platform. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * `POST /receipts`: 204 when it is stored · 400 `{code, message, path}` for a malformed one · 401 for a bad signature ·
 * 413 above 16 KiB · 503 when it could not be stored. Never reads a receipt's meaning: judging is the ledger's.
 */
export async function startIntake(options: IntakeOptions): Promise<RunningIntake> {
  const app = fastify({ bodyLimit: RECEIPT_BODY_BYTES_MAX, forceCloseConnections: true });
  // The raw bytes are needed: a signature covers them, not what a parser makes of them.
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, body);
  });
  app.setErrorHandler<FastifyError>((error, _request, reply) => {
    const status = error.statusCode ?? 500;
    const limit = status === 413 ? { limit: `${RECEIPT_BODY_BYTES_MAX} bytes` } : {};
    return reply.code(status).send({ code: error.code, message: error.message, path: 'body', ...limit });
  });
  app.get('/health', () => ({ ok: true }));
  app.post('/receipts', async (request, reply) => {
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    if (options.secret !== undefined && !isSigned(body, request.headers[HEADERS.signature], options.secret)) {
      return reply.code(401).send({ code: 'bad_signature', message: 'the signature is missing or wrong' });
    }
    const parsed = receiptSchema.safeParse(parseJson(body));
    if (!parsed.success) {
      const issue = parsed.error.issues[0];
      const path = issue?.path.map(String).join('.') ?? '';
      const limit = issue?.code === 'too_big' ? { limit: String(issue.maximum) } : {};
      return reply.code(400).send({ code: 'invalid_receipt', message: issue?.message ?? 'invalid', path, ...limit });
    }
    try {
      await options.deliver(parsed.data);
    } catch (error) {
      options.onError?.(error, parsed.data);
      return reply.code(503).send({ code: 'not_stored', message: 'send it again later' });
    }
    return reply.code(204).send();
  });
  const address = await app.listen({ host: options.host ?? '127.0.0.1', port: options.port ?? 0 });
  return { url: `${address}/receipts`, close: () => app.close() };
}

/** Undefined for what isn't JSON: the schema then refuses it with the path of the whole. */
function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

function isSigned(body: Buffer, given: unknown, secret: string): boolean {
  if (typeof given !== 'string') return false;
  const wanted = Buffer.from(sign(body, secret));
  const got = Buffer.from(given);
  return wanted.length === got.length && timingSafeEqual(wanted, got);
}
