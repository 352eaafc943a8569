/** The way of every request through the platform: arrival noted, faults struck, key looked up, act, log, answer. */
import { setTimeout as wait } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { decide } from './access-log.ts';
import type { AccessLog, Decision } from './access-log.ts';
import type { Fault, FaultRegistry, RequestFault } from './faults.ts';
import type { Change, FirstAnswer, PlatformStore } from './store.ts';
import { HEADERS, referenceSchema } from './types.ts';
import type { AccessEntry, Reference, RouteName, Settings } from './types.ts';

/** What all routes work on. */
export interface Platform {
  readonly store: PlatformStore;
  readonly log: AccessLog;
  readonly faults: FaultRegistry;
  readonly settings: Settings;
  readonly token: string | undefined;
  /** Called after a post was accepted. */
  readonly onAccepted: () => void;
}

/** An answer that changes nothing: what was read, or why the request is refused. */
export interface Answer {
  readonly did: 'read' | 'refused' | 'deduped';
  readonly status: number;
  readonly body: unknown;
  readonly code?: string;
  readonly externalId?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A change to be made, with the answer that it earns. */
export interface Act {
  readonly did: 'acted';
  readonly change: Change;
  readonly status: number;
  readonly body: unknown;
  readonly externalId: string;
}

export interface Call {
  readonly reference: Reference;
  readonly now: Date;
}

/** A refusal: `code` is stable, `message` is for people, `path` names the field. */
export function refuse(status: number, code: string, message: string, path?: string): Answer {
  return { did: 'refused', status, code, body: { code, message, ...(path === undefined ? {} : { path }) } };
}

/**
 * Handles one request. `digest` is what must not change while a key lives (null: the route takes no key);
 * `perform` decides at once, without waiting, so that looking up the key and acting can't be torn apart; `about` is
 * the task that a read concerns, for the log and for faults aimed at a task.
 */
export async function handle(
  platform: Platform,
  route: RouteName,
  request: FastifyRequest,
  reply: FastifyReply,
  digest: string | null,
  perform: (call: Call) => Answer | Act,
  about: Partial<Reference> = {},
): Promise<FastifyReply> {
  const given = readReference(request);
  if ('did' in given) {
    logRefusal(platform, route, given);
    return reply.code(given.status).send(given.body);
  }
  const reference = { ...given, ...about };
  const entry = platform.log.arrive(route, reference, new Date());
  const faults = platform.faults.strikeRequest(route, reference);
  const struck = [...faults.keys()];
  const slow = faults.get('slow');
  if (slow !== undefined) await wait(slow.ms);

  const early = beforeActing(platform, request, faults);
  if (early === 'hang' || early === 'cut') {
    conclude(platform, entry, { did: 'ignored', status: null, answered: false, faults: struck });
    return dropCall(reply, early);
  }
  const answer = early ?? once(platform, route, { reference, now: new Date() }, digest, perform, entry, struck);

  const late = faults.get('slow_answer');
  const silent = faults.has('timeout_after') ? 'hang' : faults.has('lost_answer') ? 'cut' : null;
  if (answer.did !== 'acted') {
    const { did, status, code, externalId } = answer;
    conclude(platform, entry, {
      did,
      status,
      code: code ?? null,
      externalId: externalId ?? null,
      answered: silent === null,
      faults: struck,
    });
  }
  if (late !== undefined) await wait(late.ms);
  if (silent !== null) return dropCall(reply, silent);
  if ('headers' in answer) void reply.headers(answer.headers);
  return reply.code(answer.status).send(answer.body);
}

/** Looks the key up and acts, in one go. */
function once(
  platform: Platform,
  route: RouteName,
  call: Call,
  digest: string | null,
  perform: (call: Call) => Answer | Act,
  entry: AccessEntry,
  faults: readonly RequestFault[],
): Answer | Act {
  const { store, settings } = platform;
  const windowMs = settings.idempotencyWindowMs;
  const key = call.reference.key;
  const scope = `${route} ${key ?? ''}`;
  const keyed = digest !== null && key !== null && windowMs !== null;
  const first = keyed ? store.firstAnswer(scope, call.now) : undefined;
  if (first !== undefined) {
    if (first.digest !== digest) {
      return refuse(422, 'key_reused', 'this key was used with another request', HEADERS.key);
    }
    const { status, body, externalId } = first;
    return { did: 'deduped', status, body, externalId, headers: { 'idempotent-replay': 'true' } };
  }
  const result = perform(call);
  if (result.did !== 'acted') return result;
  const answer: FirstAnswer | undefined = keyed
    ? {
        scope,
        digest,
        status: result.status,
        body: result.body,
        externalId: result.externalId,
        expiresAt: new Date(call.now.getTime() + windowMs).toISOString(),
      }
    : undefined;
  const silent = faults.includes('timeout_after') || faults.includes('lost_answer');
  const access = decide(
    { ...entry },
    { did: 'acted', status: result.status, externalId: result.externalId, answered: !silent, faults },
    call.now,
  );
  store.commit({ change: result.change, ...(answer === undefined ? {} : { answer }), access });
  Object.assign(entry, access);
  platform.log.write(entry);
  if (result.change.type === 'post') platform.onAccepted();
  return result;
}

function conclude(platform: Platform, entry: AccessEntry, decision: Decision): void {
  platform.log.write(decide(entry, decision, new Date()));
}

/** The faults that keep a request from acting, and the check of the caller's right to ask. */
function beforeActing(
  platform: Platform,
  request: FastifyRequest,
  faults: ReadonlyMap<RequestFault, Fault>,
): Answer | 'hang' | 'cut' | null {
  if (faults.has('authorization_revoked')) {
    return refuse(401, 'authorization_revoked', 'the authorization of this caller was revoked');
  }
  if (platform.token !== undefined && request.headers.authorization !== `Bearer ${platform.token}`) {
    return refuse(401, 'unauthorized', 'a valid bearer token is needed', 'authorization');
  }
  const many = faults.get('too_many_requests');
  if (many !== undefined) {
    const answer = refuse(429, 'too_many_requests', `try again in ${many.retryAfterS} s`);
    return { ...answer, headers: { 'retry-after': String(many.retryAfterS) } };
  }
  if (faults.has('unavailable')) return refuse(503, 'unavailable', 'the platform is down for a moment');
  const refused = faults.get('refuse');
  if (refused !== undefined) return refuse(422, refused.code ?? 'rejected', 'the platform refuses this request');
  if (faults.has('timeout_before')) return 'hang';
  return faults.has('lost_request') ? 'cut' : null;
}

/** Leaves the caller without an answer: for as long as it cares to wait, or with a destroyed socket. */
function dropCall(reply: FastifyReply, how: 'hang' | 'cut'): FastifyReply {
  const hijacked = reply.hijack();
  if (how === 'cut') reply.raw.destroy();
  return hijacked;
}

/** Logs a request that was refused before it could be read: a malformed header or body, one that is too large. */
export function logRefusal(platform: Platform, route: RouteName, answer: { status: number; code?: string }): void {
  const nobody: Reference = { key: null, messageId: null, threadId: null, taskId: null, step: null, item: null };
  const entry = platform.log.arrive(route, nobody, new Date());
  conclude(platform, entry, { did: 'refused', ...answer, answered: true, faults: [] });
}

/** Reads the reference headers, or says which one is malformed. */
function readReference(request: FastifyRequest): Reference | Answer {
  const given: Record<string, string | null> = {};
  for (const field of ['key', 'messageId', 'threadId', 'taskId', 'step', 'item'] as const) {
    const value = request.headers[HEADERS[field]];
    try {
      given[field] = typeof value === 'string' ? decodeURIComponent(value) : null;
    } catch {
      return refuse(400, 'bad_header', 'is not percent-encoded UTF-8', HEADERS[field]);
    }
  }
  const parsed = referenceSchema.safeParse(given);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  return refuse(400, 'bad_header', issue?.message ?? 'invalid', issue?.path.join('.'));
}
