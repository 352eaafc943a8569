/** Typed client of the publishing platform: one call, one request, no retries; errors lose nothing. */
import { HEADERS } from './types.ts';
import type { NewPost, Picture, PostView } from './types.ts';

/** On whose behalf a changing call is made; all of it travels inside the request. */
export interface CallIdentity {
  /** Idempotency key; leave out for a platform without keys. */
  readonly key?: string;
  /** Names this one request; receipts answer it. */
  readonly messageId: string;
  readonly threadId?: string;
  readonly taskId: string;
  readonly step: string;
  readonly item?: string;
}

export interface CallOptions {
  /** Ends the wait; the request may have arrived all the same. */
  readonly signal?: AbortSignal;
  /** Default: the client's own. */
  readonly timeoutMs?: number;
}

export interface PlatformClientOptions {
  /** For example `http://127.0.0.1:4455`. */
  readonly address: string;
  readonly token?: string;
  /** The longest that one call may take; default 10,000 ms. */
  readonly timeoutMs?: number;
}

/** An answer of the platform that is larger than this is not read. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Why a call failed, as facts.
 *
 * `status`: the platform answered with this HTTP status. Without it nobody knows more than `code` says: a Node or
 * undici error code (`ECONNREFUSED`, `ECONNRESET`, `UND_ERR_SOCKET`, ...), `ETIMEDOUT` when the client's own time ran
 * out, `ABORT_ERR` when the caller's signal ended it. `platformCode` is the platform's own word (`key_reused`, ...).
 */
export class PlatformError extends Error {
  override readonly name = 'PlatformError';
  readonly status: number | undefined;
  readonly code: string | undefined;
  /** From Retry-After, whether it came as seconds or as a date. */
  readonly retryAfterMs: number | undefined;
  readonly platformCode: string | undefined;
  readonly request: string;

  constructor(
    request: string,
    facts: {
      readonly status?: number;
      readonly code?: string;
      readonly retryAfterMs?: number;
      readonly platformCode?: string;
      readonly message?: string;
      readonly cause?: unknown;
    },
  ) {
    const what = facts.status === undefined ? (facts.code ?? 'failed') : `HTTP ${facts.status}`;
    const own = [facts.platformCode, facts.message].filter((text) => text !== undefined).join(': ');
    super(`${request}: ${what}${own === '' ? '' : ` (${own})`}`, { cause: facts.cause });
    this.request = request;
    this.status = facts.status;
    this.code = facts.code;
    this.retryAfterMs = facts.retryAfterMs;
    this.platformCode = facts.platformCode;
  }
}

/** All methods throw PlatformError; reads answer null where the platform says 404. */
export class PlatformClient {
  readonly #options: PlatformClientOptions;

  constructor(options: PlatformClientOptions) {
    this.#options = options;
  }

  /** Uploads one picture; the platform refuses bytes that don't have the sha256 given. */
  async uploadPicture(
    picture: { readonly bytes: Uint8Array; readonly contentType: string; readonly sha256: string },
    identity: CallIdentity,
    options: CallOptions = {},
  ): Promise<Picture> {
    const headers = {
      ...identityHeaders(identity),
      'content-type': picture.contentType,
      [HEADERS.digest]: picture.sha256,
    };
    const body = Buffer.from(picture.bytes);
    return this.#json<Picture>('POST', '/pictures', { headers, body }, options);
  }

  /** Posts the body. What comes back says that it was accepted, not that it came out. */
  async publishPost(post: NewPost, identity: CallIdentity, options: CallOptions = {}): Promise<PostView> {
    const headers = { ...identityHeaders(identity), 'content-type': 'application/json' };
    return this.#json<PostView>('POST', '/posts', { headers, body: JSON.stringify(post) }, options);
  }

  /** Takes a post back; refused with 409 `already_final` once it is final. */
  async withdrawPost(
    id: string,
    identity: CallIdentity,
    options: CallOptions = {},
  ): Promise<{ readonly id: string; readonly withdrawn: boolean }> {
    return this.#json('DELETE', `/posts/${encodeURIComponent(id)}`, { headers: identityHeaders(identity) }, options);
  }

  async readPost(id: string, options: CallOptions = {}): Promise<PostView | null> {
    return absentAsNull(this.#json<PostView>('GET', `/posts/${encodeURIComponent(id)}`, {}, options));
  }

  /** The picture's bytes as they are served. */
  async readPicture(
    id: string,
    options: CallOptions = {},
  ): Promise<{ readonly bytes: Buffer; readonly contentType: string | null } | null> {
    return absentAsNull(
      this.#call('GET', `/pictures/${encodeURIComponent(id)}`, {}, options, (bytes, headers) => ({
        bytes,
        contentType: headers.get('content-type'),
      })),
    );
  }

  /** Posts that carry the task reference and are visible by now, oldest first. */
  async findPosts(
    reference: { readonly task: string; readonly step?: string; readonly item?: string },
    options: CallOptions = {},
  ): Promise<readonly PostView[]> {
    const found = await this.#json<{ posts: PostView[] }>('GET', `/posts?${query(reference)}`, {}, options);
    return found.posts;
  }

  /** Pictures that carry the task reference and are visible by now, oldest first. */
  async findPictures(
    reference: { readonly task: string; readonly step?: string; readonly item?: string },
    options: CallOptions = {},
  ): Promise<readonly Picture[]> {
    const found = await this.#json<{ pictures: Picture[] }>('GET', `/pictures?${query(reference)}`, {}, options);
    return found.pictures;
  }

  async #json<T>(
    method: string,
    path: string,
    init: { readonly headers?: Record<string, string>; readonly body?: string | Uint8Array<ArrayBuffer> },
    options: CallOptions,
  ): Promise<T> {
    return this.#call(method, path, init, options, (bytes) => JSON.parse(bytes.toString('utf8')) as T);
  }

  async #call<T>(
    method: string,
    path: string,
    init: { readonly headers?: Record<string, string>; readonly body?: string | Uint8Array<ArrayBuffer> },
    options: CallOptions,
    read: (bytes: Buffer, headers: Headers) => T,
  ): Promise<T> {
    const request = `${method} ${path.split('?')[0] ?? path}`;
    const time = AbortSignal.timeout(options.timeoutMs ?? this.#options.timeoutMs ?? 10_000);
    const signal = options.signal === undefined ? time : AbortSignal.any([options.signal, time]);
    const headers: Record<string, string> = { ...init.headers };
    if (this.#options.token !== undefined) headers['authorization'] = `Bearer ${this.#options.token}`;
    try {
      const body = init.body === undefined ? {} : { body: init.body };
      const response = await fetch(`${this.#options.address}${path}`, { method, headers, ...body, signal });
      const bytes = await readAnswer(response, request);
      if (!response.ok) throw answeredError(request, response, bytes);
      return read(bytes, response.headers);
    } catch (error) {
      if (error instanceof PlatformError) throw error;
      throw unansweredError(request, error, options.signal, time);
    }
  }
}

function identityHeaders(identity: CallIdentity): Record<string, string> {
  const headers: Record<string, string> = {};
  const put = (name: string, value: string | undefined): void => {
    if (value !== undefined) headers[name] = encodeURIComponent(value);
  };
  put(HEADERS.key, identity.key);
  put(HEADERS.messageId, identity.messageId);
  put(HEADERS.threadId, identity.threadId);
  put(HEADERS.taskId, identity.taskId);
  put(HEADERS.step, identity.step);
  put(HEADERS.item, identity.item);
  return headers;
}

function query(reference: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(reference).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return new URLSearchParams(given).toString();
}

async function absentAsNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof PlatformError && error.status === 404) return null;
    throw error;
  }
}

async function readAnswer(response: Response, request: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    const bytes = Buffer.from(chunk as Uint8Array);
    size += bytes.length;
    if (size > ANSWER_BYTES_MAX) {
      throw new PlatformError(request, { code: 'ANSWER_TOO_LARGE', message: `more than ${ANSWER_BYTES_MAX} bytes` });
    }
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

function answeredError(request: string, response: Response, bytes: Buffer): PlatformError {
  const retryAfterMs = readRetryAfter(response.headers.get('retry-after'));
  let said: { code?: unknown; message?: unknown } = {};
  try {
    said = (JSON.parse(bytes.toString('utf8')) ?? {}) as typeof said;
  } catch {
    // A proxy's page instead of the platform's JSON: the status is all there is.
  }
  return new PlatformError(request, {
    status: response.status,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(typeof said.code === 'string' ? { platformCode: said.code.slice(0, 100) } : {}),
    ...(typeof said.message === 'string' ? { message: said.message.slice(0, 500) } : {}),
  });
}

/** fetch hides the cause below `TypeError: fetch failed`; this digs it out. */
function unansweredError(request: string, error: unknown, caller: AbortSignal | undefined, time: AbortSignal): PlatformError {
  if (caller?.aborted === true) return new PlatformError(request, { code: 'ABORT_ERR', cause: error });
  if (time.aborted) return new PlatformError(request, { code: 'ETIMEDOUT', cause: error });
  let at = error;
  for (let depth = 0; depth < 5 && typeof at === 'object' && at !== null; depth += 1) {
    const { code, cause } = at as { code?: unknown; cause?: unknown };
    if (typeof code === 'string') return new PlatformError(request, { code, cause: error });
    at = cause;
  }
  return new PlatformError(request, { cause: error });
}

/** Seconds or an HTTP date; undefined when it is neither. */
function readRetryAfter(header: string | null): number | undefined {
  if (header === null) return undefined;
  if (/^\d{1,9}$/u.test(header.trim())) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}
