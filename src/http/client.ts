/** The client over HTTP: the surface of `createClient`, for services that see the API and not Postgres. */
import { randomUUID } from 'node:crypto';
import ky, { HTTPError } from 'ky';
import type { KyInstance, Options } from 'ky';
import type { AuditOptions, AuditReport } from '../client/audit.ts';
import type { BulkInput, BulkReplayInput } from '../client/bulk.ts';
import type { Action, ReceiptInput } from '../client/client.ts';
import type { BatchItem, BatchOptions, BatchResult, Definition, EnqueueOptions } from '../client/enqueue.ts';
import type { Evidence } from '../client/evidence.ts';
import type { Explanation, ExplainLanguage } from '../client/explain/index.ts';
import type { Health } from '../client/health.ts';
import type { Absence, Correction, Deed, Presence } from '../client/operator.ts';
import type { ReceiptFilter, Rematch } from '../client/receipts.ts';
import type { Decision, ReplayAction, ThroughlineSurface } from '../client/surface.ts';
import type { Rest, WaitOptions } from '../client/wait.ts';
import { storable } from '../define/canonical.ts';
import { checkedTaskId, checkedUuid, naturalKey } from '../define/ids.ts';
import type { Json } from '../define/json.ts';
import { ThroughlineError } from '../errors.ts';
import type { CancelAnswer, ConfirmAnswer, CorrectAnswer, Enqueued, ListFilter, Page, ReceiptAnswer, ReceiptPage, RematchAnswer, ReplayAnswer, TaskRecord, TaskTypeRow, TimelineRow, UnparkAnswer } from '../ledger/index.ts';
import { LIMITS } from '../state/index.ts';
import type { View } from '../state/index.ts';
import { HttpBulks } from './bulk.ts';
import { errorOf, errorOfAnswer } from './problem.ts';

export interface HttpClientOptions {
  /** Where the API is, for example `https://throughline.example.com`; a path before `/v1` is kept. */
  readonly url: string;
  /** A token of `throughline tokens create`. Sent to `url` alone: redirects are not followed. */
  readonly token: string;
  /** For whom the token acts, where a call doesn't say: recorded as `token:NAME/BY`. */
  readonly by?: string;
  /** How often a request is sent again that met a lost connection, 429, 502, 503 or 504; Retry-After is waited for. Default 5. */
  readonly retries?: number;
  /** The longest wait for one answer, ms. Default 30 s. */
  readonly timeoutMs?: number;
  readonly fetch?: typeof fetch;
}

/** Waits between repeats, ms: doubling from the first one up to the cap; Retry-After goes before, up to its own. */
const BACKOFF = { first: 200, cap: 5_000, retryAfterMax: 60_000 } as const;
/** Beyond the wait that is asked for. */
const ANSWER_MS = 10_000;
/** It reads everything. */
const AUDIT_MS = 10 * 60_000;

type SentItem = { readonly input: Json; readonly id: string } & Readonly<Record<string, unknown>>;
type Query = Readonly<Record<string, string | number | boolean>>;

const defined = <T extends object>(value: T): T => Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as T;
/** Dates as the API reads them; a missing part is none. */
const queryOf = (filter: object): Query => Object.fromEntries(Object.entries(filter).filter(([, each]) => each !== undefined).map(([name, each]: [string, unknown]) => [name, each instanceof Date ? (moment(each) ?? '') : (each as string)]));
const moment = (value: Date | string | undefined): string | undefined => {
  if (!(value instanceof Date)) return value;
  if (Number.isNaN(value.getTime())) throw new ThroughlineError('TIME_INVALID');
  return value.toISOString();
};

export class ThroughlineHttpClient implements ThroughlineSurface {
  /** Replays of many, as objects. */
  readonly replays: HttpBulks<BulkReplayInput>;
  /** Cancels of many, as objects. */
  readonly cancels: HttpBulks<BulkInput>;
  readonly #http: KyInstance;
  readonly #by: string | undefined;
  readonly #timeoutMs: number;
  readonly #closed = new AbortController();

  constructor({ url, token, by, retries = 5, timeoutMs = 30_000, fetch: fetcher }: HttpClientOptions) {
    if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) throw new ThroughlineError('CONFIG_INVALID', { path: '/url', message: 'The address of the API must be an http or https URL.' });
    this.#by = by;
    this.#timeoutMs = timeoutMs;
    this.#http = ky.create({
      prefixUrl: url,
      ...(fetcher === undefined ? {} : { fetch: fetcher }),
      redirect: 'error',
      headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
      timeout: timeoutMs,
      // Every write carries an id that was made before its first try, so each may be sent again.
      retry: {
        limit: retries, methods: ['get', 'post'], statusCodes: [429, 502, 503, 504], afterStatusCodes: [429, 503], maxRetryAfter: BACKOFF.retryAfterMax,
        backoffLimit: BACKOFF.cap, delay: (attempt) => BACKOFF.first * 2 ** (attempt - 1), jitter: true, retryOnTimeout: true,
      },
    });
    const send = { by, get: <A>(path: string, query: object = {}) => this.#get<A>(path, { searchParams: queryOf(query) }), post: <A>(path: string, body: object) => this.#post<A>(path, defined(body)) };
    this.replays = new HttpBulks(send, 'replays');
    this.cancels = new HttpBulks(send, 'cancels');
  }

  /** As the direct client's; the type must be registered (TYPE_UNKNOWN), which workers do at their start. */
  async enqueue<Accepts>(task: Definition<Accepts> | string, input: NoInfer<Accepts>, options: Omit<EnqueueOptions, 'tx'> = {}): Promise<Enqueued> {
    const { type, version } = this.#typeOf(task, options.version);
    const body = this.#item(task, input, options, '');
    const answer = await this.#post<Enqueued>('v1/tasks', { ...body, type, ...version });
    return this.#own(answer, options.id, body.id);
  }

  /** As the direct client's. */
  async enqueueBatch<Accepts>(task: Definition<Accepts> | string, items: readonly BatchItem<NoInfer<Accepts>>[], options: Omit<BatchOptions, 'tx'> = {}): Promise<readonly BatchResult[]> {
    if (!Array.isArray(items)) throw new ThroughlineError('INPUT_INVALID', { path: '/items', message: 'A batch is a list of {input, key?, …}.' });
    const { type, version } = this.#typeOf(task, options.version);
    const { runAt, deadline, version: _, by, ...rest } = options;
    const refused = new Map<number, ThroughlineError>();
    const sent = new Map<number, SentItem>();
    const listed = items as readonly BatchItem<Accepts>[];
    for (const [index, { input, ...own }] of listed.entries()) {
      try {
        sent.set(index, this.#item(task, input, own, `/items/${String(index)}`));
      } catch (error) {
        if (!(error instanceof ThroughlineError)) throw error;
        refused.set(index, error);
      }
    }
    const places = [...sent.keys()];
    const shared = defined({ ...rest, runAt: moment(runAt), deadline: moment(deadline), by: by ?? this.#by });
    const { results } = await this.#post<{ results: readonly (Enqueued & { index: number; error?: unknown })[] }>('v1/tasks/batch', { ...shared, type, ...version, items: [...sent.values()] });
    const answers = results.map(({ index: at, error, ...answer }): BatchResult => {
      const index = places[at] ?? at;
      if (error === undefined) return { index, ...this.#own(answer, listed[index]?.id, sent.get(index)?.id) };
      const coded = errorOf(error) ?? new ThroughlineError('API_UNAVAILABLE', { message: 'The API refused this item with a code that is not known here.' });
      return { index, error: coded };
    });
    return [...answers, ...[...refused].map(([index, error]) => ({ index, error }))].sort((a, b) => a.index - b.index);
  }

  async cancel(task: string, action: Action): Promise<CancelAnswer> {
    return this.#act(task, 'cancel', action);
  }

  async withdraw(task: string, action: Action): Promise<CancelAnswer> {
    return this.#act(task, 'withdraw', action);
  }

  async abandonWait(task: string, action: Action): Promise<CancelAnswer> {
    return this.#act(task, 'abandon-wait', action);
  }

  async confirmEffect(task: string, seen: Presence): Promise<ConfirmAnswer> {
    return this.#act(task, 'confirm-effect', seen);
  }

  async confirmAbsent(task: string, seen: Absence): Promise<ConfirmAnswer> {
    return this.#act(task, 'confirm-absent', seen);
  }

  async correct(task: string, correction: Correction): Promise<CorrectAnswer> {
    return this.#act(task, 'correct', correction);
  }

  async unpark(task: string, deed: Deed): Promise<UnparkAnswer> {
    return this.#act(task, 'unpark', deed);
  }

  async rematchReceipt(delivery: string, rematch: Rematch): Promise<RematchAnswer> {
    return this.#post(`v1/receipts/${encodeURIComponent(delivery)}/rematch`, defined({ ...rematch, id: rematch.id ?? randomUUID(), by: rematch.by ?? this.#by }));
  }

  async decide(task: string, decision: Decision): Promise<ReceiptAnswer> {
    return this.#act(task, 'decide', decision);
  }

  async replay(task: string, action: ReplayAction): Promise<ReplayAnswer> {
    return this.#act(task, 'replay', action);
  }

  /** With a token of the role `platform`, under its own name; `deliveryId` makes it safe to repeat. */
  async deliverReceipt(receipt: ReceiptInput): Promise<ReceiptAnswer> {
    return this.#post('v1/receipts', receipt);
  }

  async get(task: string): Promise<View> {
    return this.#get(this.#path(task));
  }

  async record(task: string): Promise<TaskRecord> {
    return this.#get(this.#path(task, 'record'));
  }

  async steps(task: string): Promise<TaskRecord['steps']> {
    return (await this.#get<{ steps: TaskRecord['steps'] }>(this.#path(task, 'steps'))).steps;
  }

  async history(task: string): Promise<readonly TimelineRow[]> {
    return (await this.#get<{ timeline: readonly TimelineRow[] }>(this.#path(task, 'timeline'))).timeline;
  }

  async explain(task: string, options: { readonly lang?: ExplainLanguage } = {}): Promise<Explanation> {
    return this.#get(this.#path(task, 'explanation'), { headers: { 'accept-language': options.lang ?? 'en' } });
  }

  async list(filter: Omit<ListFilter, 'types'> = {}): Promise<Page> {
    return this.#get('v1/tasks', { searchParams: queryOf(filter) });
  }

  async receipts(filter: ReceiptFilter = {}): Promise<ReceiptPage> {
    return this.#get('v1/receipts', { searchParams: queryOf(filter) });
  }

  /** As the direct client's; with many tasks on record, name one or `since`. */
  async audit(options: AuditOptions = {}): Promise<AuditReport> {
    return this.#get('v1/audit', { searchParams: queryOf(options), timeout: AUDIT_MS });
  }

  async evidence(task: string): Promise<Evidence> {
    return this.#get(this.#path(task, 'evidence'));
  }

  async taskTypes(): Promise<readonly TaskTypeRow[]> {
    return (await this.#get<{ rows: readonly TaskTypeRow[] }>('v1/task-types')).rows;
  }

  /** What the API's process sees. API_UNAVAILABLE if there is none. */
  async health(): Promise<Health> {
    const response = await this.#send('readyz', { throwHttpErrors: false, retry: 0 });
    const { ledger, temporal } = await this.#json<Health>(response);
    return { ledger, temporal };
  }

  /** An artifact's bytes, by the digest that the record names. ARTIFACT_UNKNOWN, ARTIFACT_UNREADABLE. */
  async artifact(task: string, sha256: string): Promise<Uint8Array> {
    return new Uint8Array(await (await this.#send(this.#path(task, `artifacts/${encodeURIComponent(sha256)}/content`), {})).arrayBuffer());
  }

  /** Resolves when the task is at rest. WAIT_TIMEOUT, TASK_UNKNOWN. An API that is away for longer than the repeats is API_UNAVAILABLE. */
  async waitFor(task: string, { timeoutMs, signal }: WaitOptions = {}): Promise<Rest> {
    const path = this.#path(task);
    const end = timeoutMs === undefined ? Infinity : performance.now() + timeoutMs;
    for (;;) {
      signal?.throwIfAborted();
      const left = Math.max(0, end - performance.now());
      const wait = Math.min(LIMITS.api_wait_seconds_max, left / 1_000);
      const { at_rest: rests, task: id, status, reason, held_by, seq } = await this.#get<View>(path, {
        searchParams: { wait }, timeout: Math.max(this.#timeoutMs, wait * 1_000 + ANSWER_MS), ...(signal === undefined ? {} : { signal }),
      });
      if (rests) return { id, status, reason, held_by, seq };
      if (left === 0) throw new ThroughlineError('WAIT_TIMEOUT', { limit: `${String(timeoutMs)} ms`, facts: { task } });
    }
  }

  /** Ends what is in progress. */
  async close(): Promise<void> {
    this.#closed.abort(new ThroughlineError('API_UNAVAILABLE', { message: 'This client was closed.' }));
    return Promise.resolve();
  }

  #typeOf(task: Definition<unknown> | string, version: number | undefined): { readonly type: string; readonly version: { readonly version?: number } } {
    if (typeof task !== 'string') return { type: task.type, version: { version: task.version } };
    return { type: task, version: version === undefined ? {} : { version } };
  }

  /** One task as the API takes it, with an id that makes it safe to send again. */
  #item(task: Definition<unknown> | string, input: unknown, options: Omit<EnqueueOptions, 'tx' | 'version'>, at: string): SentItem {
    const definition = typeof task === 'string' ? null : task;
    const parsed = definition === null ? storable(input, `${at}/input`, LIMITS.input_bytes_max) : (definition.parseInput(input) as Json);
    const natural = definition?.dedupeKey(parsed) ?? null;
    const key = options.key ?? (natural === null || typeof natural === 'string' ? natural : naturalKey(natural)) ?? undefined;
    const { version: _, ...rest } = options as EnqueueOptions;
    return defined({
      ...rest, key, runAt: moment(options.runAt), deadline: moment(options.deadline), by: options.by ?? this.#by,
      input: parsed, id: options.id === undefined ? randomUUID() : checkedUuid(options.id, `${at}/id`),
    });
  }

  /** Nobody else knew the id: what is there under it was created by this call, though its first answer was lost. */
  #own<A extends Enqueued>(answer: A, given: string | undefined, made: string | undefined): A {
    return given === undefined && answer.id === made ? { ...answer, created: true } : answer;
  }

  #path(task: string, part?: string): string {
    return `v1/tasks/${checkedTaskId(task)}${part === undefined ? '' : `/${part}`}`;
  }

  async #act<A>(task: string, verb: string, action: object & { readonly id?: string; readonly by?: string }): Promise<A> {
    return this.#post(this.#path(task, verb), defined({ ...action, id: action.id ?? randomUUID(), by: action.by ?? this.#by }));
  }

  async #get<A>(path: string, options: Options = {}): Promise<A> {
    return this.#json<A>(await this.#send(path, options));
  }

  async #post<A>(path: string, body: object): Promise<A> {
    return this.#json<A>(await this.#send(path, { method: 'post', json: body }));
  }

  async #json<A>(response: Response): Promise<A> {
    const text = await response.text().catch((cause: unknown) => { throw this.#away(cause); });
    try {
      return JSON.parse(text) as A;
    } catch {
      throw errorOfAnswer(response.status, '');
    }
  }

  async #send(path: string, options: Options): Promise<Response> {
    const { signal } = options;
    try {
      return await this.#http(path, { ...options, signal: signal ? AbortSignal.any([signal, this.#closed.signal]) : this.#closed.signal });
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason;
      if (error instanceof HTTPError) throw errorOfAnswer(error.response.status, await error.response.text().catch(() => ''));
      throw this.#away(error);
    }
  }

  #away(cause: unknown): ThroughlineError {
    return cause instanceof ThroughlineError ? cause : new ThroughlineError('API_UNAVAILABLE', { cause });
  }
}

/** A client of the API at `url`. Opens nothing before the first call. Throws CONFIG_INVALID. */
export const createHttpClient = (options: HttpClientOptions): ThroughlineHttpClient => new ThroughlineHttpClient(options);
