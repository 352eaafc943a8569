/** What may be enqueued, checked and made a row of the ledger; one at a time or many at once. */
import { randomUUID } from 'node:crypto';
import { differingPaths, digest, inputDigests, storable } from '../define/canonical.ts';
import type { TaskDefinition } from '../define/definition.ts';
import type { Json } from '../define/json.ts';
import type { Duration } from '../define/types.ts';
import { ThroughlineError } from '../errors.ts';
import { boundedText } from '../ledger/index.ts';
import type { EnqueueRow, Enqueued, Queryable } from '../ledger/index.ts';
import { LIMITS } from '../state/index.ts';
import { checkedDelay, checkedKey, checkedTaskId, checkedTime, checkedUuid, naturalKey } from './checks.ts';

/** Temporal clamps to this range; a weight outside of it would not mean what it says. */
const FAIRNESS_WEIGHT = { min: 0.001, max: 1_000 } as const;

/** How work of a full queue is ordered and shared; passed through to Temporal, activities inherit it. */
export interface Ordering {
  /** 1 (first) to 5. Default: Temporal's, 3. */
  readonly priority?: number;
  /** Whose turn it is, for example a tenant: 1 to 64 bytes. */
  readonly fairnessKey?: string;
  /** This key's share, 0.001 to 1,000. Default 1. */
  readonly fairnessWeight?: number;
}

export interface EnqueueOptions extends Ordering {
  /** Unique per type, for ever. Default: what the definition's `dedupeKey` says. */
  readonly key?: string;
  /** Write in the caller's own transaction (`pg.Client` or `pg.PoolClient`, READ COMMITTED). */
  readonly tx?: Queryable;
  /** Not before: a date, or ISO 8601 with zone. A past one means now. */
  readonly runAt?: Date | string;
  readonly delay?: Duration;
  /** A step that has not started by then is cancelled (`deadline_passed`). */
  readonly deadline?: Date | string;
  /** Publish again: the task that this one repeats; it may have one successor. */
  readonly again?: string;
  readonly version?: number;
  /** The new task's id, a UUID: the same call again is then the same task, with and without a key. Default: a random one. */
  readonly id?: string;
  readonly by?: string;
}

/** One of a batch; what it says itself goes before what the batch says. */
export interface BatchItem<Accepts> extends Omit<EnqueueOptions, 'tx' | 'version'> {
  readonly input: Accepts;
}

/** What holds for every item that doesn't say otherwise. */
export type BatchOptions = Omit<EnqueueOptions, 'key' | 'again' | 'id'>;

/** One item's answer, in the caller's order. */
export type BatchResult = ({ readonly index: number } & Enqueued) | { readonly index: number; readonly error: ThroughlineError };

export type Definition<Accepts> = TaskDefinition<unknown, unknown, Accepts>;

function ordering(options: Ordering): Pick<EnqueueRow, 'priority' | 'fairness_key' | 'fairness_weight'> {
  const { priority, fairnessKey, fairnessWeight } = options;
  const refuse = (path: string, message: string, limit: string): never => {
    throw new ThroughlineError('INPUT_INVALID', { path, message, limit });
  };
  if (priority !== undefined && !(Number.isInteger(priority) && priority >= 1 && priority <= LIMITS.priority_max)) {
    refuse('/priority', 'The priority must be a whole number; 1 goes first.', `1 to ${String(LIMITS.priority_max)}`);
  }
  if (fairnessKey !== undefined) {
    boundedText(fairnessKey, '/fairnessKey', LIMITS.fairness_key_bytes_max);
    if (Buffer.byteLength(fairnessKey) > LIMITS.fairness_key_bytes_max) throw new ThroughlineError('INPUT_TOO_LARGE', { path: '/fairnessKey', limit: `${String(LIMITS.fairness_key_bytes_max)} bytes` });
  }
  if (fairnessWeight !== undefined) {
    if (fairnessKey === undefined) throw new ThroughlineError('INPUT_INVALID', { path: '/fairnessWeight', message: 'A weight says how much a fairness key gets: give the key as well.' });
    if (!(fairnessWeight >= FAIRNESS_WEIGHT.min && fairnessWeight <= FAIRNESS_WEIGHT.max)) {
      refuse('/fairnessWeight', 'The weight must be a number within its limits.', `${String(FAIRNESS_WEIGHT.min)} to ${String(FAIRNESS_WEIGHT.max)}`);
    }
  }
  return {
    ...(priority === undefined ? {} : { priority }),
    ...(fairnessKey === undefined ? {} : { fairness_key: fairnessKey }),
    ...(fairnessWeight === undefined ? {} : { fairness_weight: fairnessWeight }),
  };
}

/** The row of one task. Throws INPUT_INVALID, INPUT_TOO_LARGE, INPUT_NOT_STORABLE, TIME_INVALID, ID_INVALID, REASON_REQUIRED. */
export function enqueueRow(task: Definition<unknown> | string, input: unknown, options: Omit<EnqueueOptions, 'tx'>, by: string): EnqueueRow {
  const definition = typeof task === 'string' ? null : task;
  const parsed = definition === null ? storable(input, '/input', LIMITS.input_bytes_max) : (definition.parseInput(input) as Json);
  if (options.runAt !== undefined && options.delay !== undefined) throw new ThroughlineError('TIME_INVALID', { path: '/delay', message: 'Give runAt or delay, not both.' });
  const natural = definition?.dedupeKey(parsed) ?? null;
  const derived = natural === null || typeof natural === 'string' ? natural : naturalKey(natural);
  const key = options.key ?? derived;
  return {
    type: definition?.type ?? boundedText(task, '/type', LIMITS.name_chars_max),
    id: options.id === undefined ? randomUUID() : checkedUuid(options.id, '/id'),
    input: parsed,
    digest: digest(parsed),
    digests: inputDigests(parsed),
    by: boundedText(options.by ?? by, '/by', LIMITS.actor_chars_max),
    ...(definition === null ? { raw: true, ...(options.version === undefined ? {} : { version: options.version }) } : { version: definition.version }),
    ...(key === null ? {} : { key: checkedKey(key) }),
    ...(options.runAt === undefined ? {} : { run_at: checkedTime(options.runAt, '/runAt') }),
    ...(options.delay === undefined ? {} : { delay_ms: checkedDelay(options.delay, '/delay') }),
    ...(options.deadline === undefined ? {} : { deadline_at: checkedTime(options.deadline, '/deadline') }),
    ...(options.again === undefined ? {} : { again_of: checkedTaskId(options.again) }),
    ...ordering(options),
  };
}

/** The ledger keeps digests per path; what differs is named without the values. */
export function conflictWithPaths(error: unknown, own: Readonly<Record<string, string>>): unknown {
  if (!(error instanceof ThroughlineError) || error.code !== 'DEDUPE_CONFLICT') return error;
  const { digests, ...facts } = error.detail.facts ?? {};
  const paths = differingPaths(digests as Readonly<Record<string, string>>, own);
  return new ThroughlineError('DEDUPE_CONFLICT', { paths, facts, message: `This key belongs to a task with another input; it differs at ${paths.join(', ')}.` });
}
