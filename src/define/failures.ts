/** Errors that task authors throw to say more than an error of a library does. */
import type { Category } from '../state/index.ts';
import type { RefusalDetail } from './types.ts';

/** What a failure may say beside its category. */
export interface FailureDetail {
  /** The author's own stable code, shown beside the category. */
  readonly code?: string;
  /** Milliseconds before which no further attempt makes sense; counts only where the category is retryable. */
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

class Failure extends Error {
  readonly category: Category;
  readonly code: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(category: Category, message: string, detail: FailureDetail) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.category = category;
    this.code = detail.code;
    this.retryAfterMs = detail.retryAfterMs;
  }
}

/** This attempt failed. Whether it is tried again follows from the category; see `CATEGORIES`. */
export class TaskError extends Failure {
  override readonly name = 'TaskError';

  constructor(category: Category, message: string, detail: FailureDetail = {}) {
    super(category, message, detail);
  }
}

/**
 * Thrown inside an effect's call: the other side said no. Nothing happened, and nothing will for this
 * request. Category: `rejected` unless said otherwise.
 */
export class EffectRefused extends Failure {
  override readonly name = 'EffectRefused';

  constructor(message: string, detail: RefusalDetail = {}) {
    super(detail.category ?? 'rejected', message, detail);
  }
}

/**
 * Thrown inside an effect's call: the request certainly never left. Category: `connection` unless said
 * otherwise. When in doubt, let the original error through instead: a lost answer is looked into, a
 * request that is called not sent is sent again.
 */
export class EffectNotSent extends Failure {
  override readonly name = 'EffectNotSent';

  constructor(message: string, detail: RefusalDetail = {}) {
    super(detail.category ?? 'connection', message, detail);
  }
}
