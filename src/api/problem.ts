/** Errors as RFC 9457 problems: the one catalogue's codes, never a stack or a foreign message. */
import { STATUS_CODES } from 'node:http';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ERRORS, ThroughlineError } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';

export const PROBLEM_TYPE = 'application/problem+json';

export const Problem = z
  .object({
    type: z.string().describe('`urn:throughline:error:` and the code'),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string().describe('the id of this request, as in the log'),
    code: z.string().describe('stable for ever; docs/api.md has an anchor for each'),
    path: z.string().optional().describe('where in the request: a JSON pointer'),
    limit: z.union([z.string(), z.number()]).optional(),
    paths: z.array(z.string()).optional(),
    facts: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: 'Problem' });

/** Seconds after which the same request may do better. */
const RETRY_AFTER_S: Partial<Record<ErrorCode, number>> = { LEDGER_UNAVAILABLE: 1, LEDGER_OUTDATED: 10, TEMPORAL_UNAVAILABLE: 1, ARTIFACT_UNREADABLE: 5, SERIALIZATION: 1, RATE_LIMITED: 10 };

interface Issue {
  readonly instancePath: string;
  readonly message?: string;
  readonly keyword: string;
}

/** Which code says that a part of a request does not fit its schema. */
const CONTEXT_CODES: Readonly<Record<string, ErrorCode>> = { body: 'INPUT_INVALID', querystring: 'FILTER_INVALID', params: 'ID_INVALID', headers: 'FILTER_INVALID' };

const FASTIFY_CODES: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'INPUT_TOO_LARGE',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'MEDIA_TYPE_UNSUPPORTED',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'BODY_INVALID',
  FST_ERR_CTP_INVALID_JSON_BODY: 'BODY_INVALID',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'BODY_INVALID',
  FST_ERR_NOT_FOUND: 'ROUTE_UNKNOWN',
};

const first = (issues: readonly Issue[]): { readonly path: string; readonly message: string } => ({
  path: issues[0]?.instancePath === undefined || issues[0].instancePath === '' ? '/' : issues[0].instancePath,
  message: (issues[0]?.message ?? 'does not fit').slice(0, 300),
});

/** The coded form of whatever a request met. */
export function codedRequestError(error: unknown, bodyLimit: number): ThroughlineError {
  if (error instanceof ThroughlineError) return error;
  const { code, validation, validationContext, statusCode } = error as Partial<FastifyError> & { readonly validation?: readonly Issue[]; readonly validationContext?: string };
  if (validation !== undefined) {
    const { path, message } = first(validation);
    return new ThroughlineError(CONTEXT_CODES[validationContext ?? 'body'] ?? 'INPUT_INVALID', { path, message: `The request does not fit: ${message}.`, paths: validation.slice(0, 10).map((issue) => issue.instancePath) });
  }
  const known = FASTIFY_CODES[code ?? ''];
  if (known === 'INPUT_TOO_LARGE') return new ThroughlineError(known, { limit: `${String(bodyLimit)} bytes`, path: '/' });
  if (known !== undefined) return new ThroughlineError(known);
  // The parser's own refusals (a bad escape in the address, a forbidden key such as __proto__).
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) return new ThroughlineError('BODY_INVALID', { message: 'The request cannot be read.' });
  return new ThroughlineError('INVARIANT_BROKEN', { message: 'The request met something unexpected; it stands in the log under this instance.', cause: error });
}

export function problemOf(error: ThroughlineError, request: FastifyRequest): z.output<typeof Problem> {
  return {
    type: `urn:throughline:error:${error.code}`,
    title: STATUS_CODES[error.status] ?? 'Error',
    status: error.status,
    detail: error.message,
    instance: request.id,
    ...error.toJSON(),
    code: error.code,
  };
}

export async function sendProblem(reply: FastifyReply, request: FastifyRequest, error: ThroughlineError): Promise<FastifyReply> {
  const after = RETRY_AFTER_S[error.code];
  if (after !== undefined && !reply.hasHeader('retry-after')) void reply.header('retry-after', String(after));
  if (error.status === 401) void reply.header('www-authenticate', 'Bearer');
  const { message: _, ...problem } = problemOf(error, request) as z.output<typeof Problem> & { message?: string };
  return reply.code(error.status).type(PROBLEM_TYPE).serializer((payload: unknown) => JSON.stringify(payload)).send(problem);
}

/** Statuses that these codes have, for the API's description. */
export const statusesOf = (codes: readonly ErrorCode[]): readonly number[] => [...new Set(codes.map((code) => ERRORS[code].status))].sort();
