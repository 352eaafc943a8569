/**
 * Error categories: a closed list, each retryable or not. Decided by error class, HTTP status,
 * SQLSTATE or Node error code; never by the text of a message.
 */
export const CATEGORIES = {
  timeout: { retryable: true, en: 'took too long', zh: '超时' },
  congested: { retryable: true, en: 'the other side asked to slow down', zh: '对方要求放慢' },
  connection: { retryable: true, en: 'no connection', zh: '连接失败' },
  deadlock: { retryable: true, en: 'two transactions met', zh: '事务冲突' },
  unavailable: { retryable: true, en: 'the other side is not available', zh: '对方不可用' },
  worker_lost: { retryable: true, en: 'the worker was lost', zh: '工作进程丢失' },
  invalid_input: { retryable: false, en: 'the input is not acceptable', zh: '输入不可接受' },
  resource_gone: { retryable: false, en: 'what it works on is gone', zh: '所处理的资源已不存在' },
  authorization_revoked: { retryable: false, en: 'not authorized (any more)', zh: '未获授权或授权已撤销' },
  rejected: { retryable: false, en: 'decided against', zh: '被拒绝' },
  artifact_invalid: { retryable: false, en: 'what was produced is not valid', zh: '产物无效' },
  result_too_large: { retryable: false, en: 'the result is too large', zh: '结果过大' },
  programming_error: { retryable: false, en: 'an error in the program', zh: '程序错误' },
} as const satisfies Readonly<Record<string, { retryable: boolean; en: string; zh: string }>>;

export type Category = keyof typeof CATEGORIES;
export const isCategory = (value: unknown): value is Category => typeof value === 'string' && Object.hasOwn(CATEGORIES, value);

/** Where it failed. */
export const STAGES = ['send', 'receive', 'execute', 'accept'] as const;
export type Stage = (typeof STAGES)[number];

/** What the classifier may look at: read from a thrown value by src/activities/thrown.ts. */
export interface ErrorFacts {
  /** An author's own word (TaskError); wins over everything else. */
  readonly category?: string | undefined;
  /** Names along the prototype chain, most specific first: `['ZodError', 'Error']`. */
  readonly classes: readonly string[];
  readonly httpStatus?: number | undefined;
  /** Milliseconds, from a Retry-After header. */
  readonly retryAfterMs?: number | undefined;
  readonly sqlstate?: string | undefined;
  readonly nodeCode?: string | undefined;
}

const BY_STATUS: ReadonlyMap<number, Category> = new Map([
  [400, 'invalid_input'],
  [401, 'authorization_revoked'],
  [403, 'authorization_revoked'],
  [404, 'resource_gone'],
  [405, 'programming_error'],
  [406, 'invalid_input'],
  [408, 'timeout'],
  [409, 'rejected'],
  [410, 'resource_gone'],
  [411, 'invalid_input'],
  [412, 'rejected'],
  [413, 'invalid_input'],
  [415, 'invalid_input'],
  [421, 'unavailable'],
  [422, 'invalid_input'],
  [423, 'congested'],
  [425, 'congested'],
  [429, 'congested'],
  [451, 'rejected'],
  [501, 'programming_error'],
  [504, 'timeout'],
]);

const BY_NODE_CODE: ReadonlyMap<string, Category> = new Map([
  ['ECONNREFUSED', 'connection'],
  ['ECONNRESET', 'connection'],
  ['ECONNABORTED', 'connection'],
  ['EPIPE', 'connection'],
  ['ENOTFOUND', 'connection'],
  ['EAI_AGAIN', 'connection'],
  ['EHOSTUNREACH', 'connection'],
  ['ENETUNREACH', 'connection'],
  ['ENETDOWN', 'connection'],
  ['UND_ERR_SOCKET', 'connection'],
  ['UND_ERR_CLOSED', 'connection'],
  ['ETIMEDOUT', 'timeout'],
  ['ESOCKETTIMEDOUT', 'timeout'],
  ['ABORT_ERR', 'timeout'],
  ['UND_ERR_CONNECT_TIMEOUT', 'timeout'],
  ['UND_ERR_HEADERS_TIMEOUT', 'timeout'],
  ['UND_ERR_BODY_TIMEOUT', 'timeout'],
  ['EMFILE', 'unavailable'],
  ['ENFILE', 'unavailable'],
  ['ENOMEM', 'unavailable'],
  ['ENOSPC', 'unavailable'],
  ['EAGAIN', 'unavailable'],
  ['EBUSY', 'unavailable'],
  ['ENOENT', 'resource_gone'],
  ['EACCES', 'authorization_revoked'],
  ['EPERM', 'authorization_revoked'],
]);

/** Exact SQLSTATEs first, then classes (their first two characters). */
const BY_SQLSTATE: ReadonlyMap<string, Category> = new Map([
  ['40001', 'deadlock'],
  ['40P01', 'deadlock'],
  ['55P03', 'deadlock'],
  ['57014', 'timeout'],
  ['25P03', 'timeout'],
  ['42501', 'authorization_revoked'],
  ['08', 'connection'],
  ['57', 'unavailable'],
  ['53', 'unavailable'],
  ['58', 'unavailable'],
  ['28', 'authorization_revoked'],
  ['22', 'invalid_input'],
  ['23', 'invalid_input'],
]);

const BY_CLASS: ReadonlyMap<string, Category> = new Map([
  ['TimeoutError', 'timeout'],
  ['AbortError', 'timeout'],
  ['ZodError', 'invalid_input'],
]);

export interface Classified {
  readonly category: Category;
  readonly retryable: boolean;
  readonly retryAfterMs: number | null;
}

function categoryOf(facts: ErrorFacts): Category {
  if (isCategory(facts.category)) return facts.category;
  const status = facts.httpStatus;
  if (status !== undefined && status >= 400 && status <= 599) {
    return BY_STATUS.get(status) ?? (status >= 500 ? 'unavailable' : 'invalid_input');
  }
  if (facts.sqlstate !== undefined) {
    const bySqlstate = BY_SQLSTATE.get(facts.sqlstate) ?? BY_SQLSTATE.get(facts.sqlstate.slice(0, 2));
    if (bySqlstate !== undefined) return bySqlstate;
  }
  if (facts.nodeCode !== undefined) {
    const byCode = BY_NODE_CODE.get(facts.nodeCode);
    if (byCode !== undefined) return byCode;
  }
  for (const name of facts.classes) {
    const byClass = BY_CLASS.get(name);
    if (byClass !== undefined) return byClass;
  }
  return 'programming_error';
}

/** What kind of failure this is, and whether a further attempt makes sense. */
export function classify(facts: ErrorFacts): Classified {
  const category = categoryOf(facts);
  const { retryable } = CATEGORIES[category];
  return { category, retryable, retryAfterMs: retryable ? (facts.retryAfterMs ?? null) : null };
}

/** Node codes that prove that no connection was made, so that nothing can have been sent. */
const NEVER_CONNECTED: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);

const MAY_HAVE_ACTED: ReadonlySet<number> = new Set([408, 409, 425]);

/**
 * What an error thrown inside an effect's call says about the outside.
 * `refused`: the other side answered no (4xx except 408, 409, 425: those don't say whether it acted; 409 is what many
 * answer while the first request under the same key is still running).
 * `not_sent`: no connection was made. `lost`: everything else; never a licence to send again.
 */
export function effectAnswer(facts: ErrorFacts): 'refused' | 'not_sent' | 'lost' {
  const status = facts.httpStatus;
  if (status !== undefined) return status >= 400 && status < 500 && !MAY_HAVE_ACTED.has(status) ? 'refused' : 'lost';
  if (facts.nodeCode !== undefined && NEVER_CONNECTED.has(facts.nodeCode)) return 'not_sent';
  return 'lost';
}
