/** The HTTP API: a door over the client, which decides everything. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import helmet from '@fastify/helmet';
import rateLimit from '@fastify/rate-limit';
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import fastify from 'fastify';
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify';
import { createJsonSchemaTransform, createJsonSchemaTransformObject, validatorCompiler } from 'fastify-type-provider-zod';
import type { ThroughlineClient } from '../client/client.ts';
import { BASE, consolePlugin } from '../console/index.ts';
import type { ConsoleOptions } from '../console/index.ts';
import { ThroughlineError } from '../errors.ts';
import type { Metrics } from '../metrics/index.ts';
import { LIMITS } from '../state/index.ts';
import type { Permission } from '../state/index.ts';
import { bearerOf, Caller } from './caller.ts';
import type { ApiDeps, ArtifactReader } from './operation.ts';
import { codedRequestError, sendProblem } from './problem.ts';
import { actionRoutes } from './routes/actions.ts';
import { artifactRoutes } from './routes/artifacts.ts';
import { bulkRoutes } from './routes/bulks.ts';
import { eventRoutes } from './routes/events.ts';
import { proofRoutes } from './routes/proof.ts';
import { receiptRoutes } from './routes/receipts.ts';
import { systemRoutes } from './routes/system.ts';
import { taskRoutes } from './routes/tasks.ts';

export interface ApiOptions {
  readonly client: ThroughlineClient;
  /** Null: contents of artifacts can't be read here. */
  readonly artifacts?: ArtifactReader;
  readonly metrics?: Metrics;
  /** A pino logger. Default: none. */
  readonly log?: FastifyBaseLogger;
  readonly requestsPerMinute?: number;
  readonly refusalsPerMinute?: number;
  /** A stream with nothing to say says so after this long, ms. Default 15 s. */
  readonly eventBeatMs?: number;
  /** The console, at /console: see ConsoleOptions. */
  readonly console?: Pick<ConsoleOptions, 'sessionKey' | 'temporalUi'>;
  /** Addresses or networks of proxies, whose X-Forwarded-For is believed. Default: nobody's, so that callers can't choose the address that limits count by. */
  readonly trustProxy?: readonly string[];
}

export interface Api {
  readonly app: FastifyInstance;
  /** What each route asks for, by `METHOD /path`; null: no token. */
  readonly permissions: ReadonlyMap<string, Permission | null>;
  /** Binds the port; resolves with the address. `port` 0 takes a free one. Throws CONFIG_INVALID if it is taken. */
  listen(at: { readonly host: string; readonly port: number }): Promise<string>;
  /** Takes nothing new, ends streams and waits, lets requests end. The client stays open. */
  close(): Promise<void>;
}

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string };

async function describe(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Throughline', version, description: 'Background tasks whose every state can be explained. Errors are RFC 9457 problems with stable codes.' },
      components: { securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'A token tl_…, made by `throughline tokens create`' } } },
      security: [{ token: [] }],
    },
    transform: createJsonSchemaTransform({ skipList: [] }),
    transformObject: createJsonSchemaTransformObject({}),
  });
  await app.register(swaggerUi, { routePrefix: '/docs', uiConfig: { persistAuthorization: false, validatorUrl: null } });
}

/** Builds the server without binding a port. */
export async function createApi(options: ApiOptions): Promise<Api> {
  const { client, artifacts = null, metrics = null, log } = options;
  const stop = new AbortController();
  const app: FastifyInstance = fastify({
    ...(log === undefined ? { logger: false } : { loggerInstance: log }),
    bodyLimit: LIMITS.api_body_bytes_max,
    genReqId: () => randomUUID(),
    // Addresses may hold keys and ids; bodies and headers hold inputs and tokens: none is written.
    disableRequestLogging: true,
    trustProxy: options.trustProxy === undefined || options.trustProxy.length === 0 ? false : [...options.trustProxy],
    routerOptions: { maxParamLength: 200, ignoreTrailingSlash: false },
    requestTimeout: 60_000,
    forceCloseConnections: 'idle',
    frameworkErrors: (error, request, reply) => {
      void sendProblem(reply, request, codedRequestError(error, LIMITS.api_body_bytes_max));
    },
  });
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  app.decorateRequest('caller', null);
  const permissions = new Map<string, Permission | null>();
  app.addHook('onRoute', ({ method, url, config }) => {
    if (config?.permission !== undefined) permissions.set(`${String(method)} ${url}`, config.permission);
  });
  keepRawBody(app);
  await app.register(helmet);
  await describe(app);
  const refusals = metrics?.refusals;
  await app.register(rateLimit, {
    global: true,
    hook: 'preValidation',
    max: options.requestsPerMinute ?? LIMITS.api_requests_per_minute_max,
    timeWindow: 60_000,
    keyGenerator: (request) => request.caller?.token.id ?? request.ip,
    errorResponseBuilder: (_, { ttl }) => new ThroughlineError('RATE_LIMITED', { facts: { retry_in_ms: ttl } }),
  });
  const strangers = app.createRateLimit({ max: options.refusalsPerMinute ?? LIMITS.api_refusals_per_minute_max, timeWindow: 60_000, keyGenerator: (request) => `stranger/${request.ip}` });

  const record = (request: FastifyRequest, error: ThroughlineError): void => {
    refusals?.inc({ code: error.code });
    request.log.warn({ request: request.id, code: error.code, route: request.routeOptions.url, ip: request.ip, token: request.caller?.token.name, facts: error.detail.facts }, 'refused');
  };

  const identify = async (token: () => string, request: FastifyRequest): Promise<Caller> => {
    try {
      return new Caller(await client.access.identify(token()), client);
    } catch (error) {
      const limit = error instanceof ThroughlineError && error.status === 401 ? await strangers(request) : null;
      if (limit !== null && !limit.isAllowed && limit.isExceeded) throw new ThroughlineError('RATE_LIMITED', { message: 'Too many requests without a token in force.' });
      throw error;
    }
  };
  app.addHook('onRequest', async (request, reply) => {
    void reply.header('x-request-id', request.id).header('cache-control', 'no-store');
    const { permission } = request.routeOptions.config;
    if (permission === undefined || permission === null) return;
    // A signed receipt needs no token: its sender's key is checked with the body.
    if (permission === 'deliver_receipt' && request.headers.authorization === undefined && request.headers['webhook-signature'] !== undefined) return;
    request.caller = await identify(() => bearerOf(request), request);
    request.caller.may(permission);
  });
  app.addHook('onResponse', (request, reply, done) => {
    request.log.debug({ request: request.id, method: request.method, route: request.routeOptions.url, status: reply.statusCode, ms: Math.round(reply.elapsedTime), token: request.caller?.token.name }, 'answered');
    done();
  });
  app.setErrorHandler(async (error, request, reply) => {
    const coded = codedRequestError(error, request.routeOptions.bodyLimit);
    if (coded.status === 401 || coded.status === 403 || coded.status === 429) record(request, coded);
    if (coded.code === 'INVARIANT_BROKEN') request.log.error({ request: request.id, err: coded.cause ?? coded }, 'unexpected');
    return sendProblem(reply, request, coded);
  });
  app.setNotFoundHandler(async (request, reply) => sendProblem(reply, request, new ThroughlineError('ROUTE_UNKNOWN')));

  const deps: ApiDeps = { client, artifacts, metrics, stopping: stop.signal, eventBeatMs: options.eventBeatMs ?? LIMITS.event_beat_ms };
  for (const routes of [taskRoutes, actionRoutes, receiptRoutes, bulkRoutes, proofRoutes, artifactRoutes, eventRoutes, systemRoutes]) routes(app, deps);
  app.get('/openapi.json', { schema: { hide: true } as never }, () => app.swagger());
  await app.register(consolePlugin, {
    prefix: BASE, client, artifacts, stopping: stop.signal, beatMs: deps.eventBeatMs, ...options.console,
    identify: (token, request) => identify(() => token, request), refused: record, coded: (error, request) => codedRequestError(error, request.routeOptions.bodyLimit),
  });
  await app.ready();
  return {
    app,
    permissions,
    async listen({ host, port }) {
      try {
        return await app.listen({ host, port });
      } catch (cause) {
        throw new ThroughlineError('CONFIG_INVALID', { path: '--port', message: `The port ${String(port)} cannot be used (${String((cause as NodeJS.ErrnoException).code)}).`, cause });
      }
    },
    async close() {
      stop.abort();
      await app.close();
    },
  };
}

/** JSON as Fastify reads it, and the bytes beside it for whoever checks a signature. */
function keepRawBody(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    if (request.routeOptions.config.permission === 'deliver_receipt') request.rawBody = body as Buffer;
    void parse(request, body.toString('utf8'), done);
  });
}
