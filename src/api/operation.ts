/** One route: what it asks for, what it answers, who may. Everything that is described is checked, and nothing else is. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { ThroughlineClient } from '../client/client.ts';
import { ThroughlineError } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';
import type { Metrics } from '../metrics/index.ts';
import type { Permission } from '../state/index.ts';
import type { Caller } from './caller.ts';
import { Problem, PROBLEM_TYPE, statusesOf } from './problem.ts';

/** Where artifacts are read from; `localArtifactStore` is one. */
export interface ArtifactReader {
  get(uri: string): Promise<Uint8Array>;
}

export interface ApiDeps {
  readonly client: ThroughlineClient;
  readonly artifacts: ArtifactReader | null;
  readonly metrics: Metrics | null;
  /** Aborted when the server stops: waits and streams end. */
  readonly stopping: AbortSignal;
  /** A stream with nothing to say says so after this long, ms. */
  readonly eventBeatMs: number;
}

export interface Call<P, Q, B> {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** Throws TOKEN_REQUIRED where a route lets callers in without. */
  readonly caller: Caller;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

export interface Operation<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** null: no token is asked for here; the handler checks for itself. */
  readonly permission: Permission | null;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly headers?: z.ZodType;
  readonly bodyLimit?: number;
  /** Its answer has no end: there is no HEAD of it. */
  readonly stream?: true;
  readonly answers: Readonly<Record<number, z.ZodType | { readonly description: string; readonly content: Readonly<Record<string, { readonly schema: z.ZodType }>> }>>;
  /** Beyond those that every route may answer. */
  readonly codes?: readonly ErrorCode[];
  handle(call: Call<z.output<P>, z.output<Q>, z.output<B>>): Promise<unknown>;
}

const EVERYWHERE: readonly ErrorCode[] = ['BODY_INVALID', 'RATE_LIMITED', 'LEDGER_UNAVAILABLE', 'INPUT_INVALID'];
const WITH_TOKEN: readonly ErrorCode[] = ['TOKEN_REQUIRED', 'ROLE_FORBIDDEN'];
const WITH_BODY: readonly ErrorCode[] = ['INPUT_TOO_LARGE', 'MEDIA_TYPE_UNSUPPORTED'];

const problemAnswer = (status: number) => ({ description: `A problem (${String(status)})`, content: { [PROBLEM_TYPE]: { schema: Problem } } });

export function operation<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType>(app: FastifyInstance, spec: Operation<P, Q, B>): void {
  const { method, url, id, tag, summary, description, permission, params, query, body, headers, bodyLimit, answers, codes = [] } = spec;
  const problems = statusesOf([...EVERYWHERE, ...(permission === null ? [] : WITH_TOKEN), ...(body === undefined ? [] : WITH_BODY), ...codes]);
  app.route({
    method,
    url,
    exposeHeadRoute: spec.stream !== true,
    ...(bodyLimit === undefined ? {} : { bodyLimit }),
    config: { permission },
    schema: {
      operationId: id, tags: [tag], summary, ...(description === undefined ? {} : { description }),
      ...(permission === null ? { security: [] } : {}),
      ...(params === undefined ? {} : { params }), ...(query === undefined ? {} : { querystring: query }), ...(body === undefined ? {} : { body }), ...(headers === undefined ? {} : { headers }),
      response: { ...Object.fromEntries(problems.map((status) => [status, problemAnswer(status)])), ...answers },
    },
    handler: async (request, reply) => {
      const answer = spec.handle({
        params: request.params as z.output<P>, query: request.query as z.output<Q>, body: request.body as z.output<B>, request, reply,
        get caller() {
          if (request.caller === null) throw new ThroughlineError('TOKEN_REQUIRED');
          return request.caller;
        },
      });
      return answer.catch((error: unknown) => {
        // How a pruned task ended is as much of its type's as the task was.
        if (error instanceof ThroughlineError && error.code === 'TASK_PRUNED') request.caller?.mayType(String(error.detail.facts?.['type']));
        throw error;
      });
    },
  });
}

declare module 'fastify' {
  interface FastifyContextConfig {
    permission?: Permission | null;
  }
  interface FastifyRequest {
    /** null where no token is asked for. */
    caller: Caller | null;
  }
}
