/** Replays and cancels of many as objects: made as a dry run, applied by name, each item with a result of its own. */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { ThroughlineError } from '../errors.ts';
import { boundedText, BULK_RESULTS, Bulks } from '../ledger/index.ts';
import type { BulkFilterRow, BulkItemPage, BulkKind, BulkOptionsRow, BulkPage, BulkResult, BulkRow, Database } from '../ledger/index.ts';
import { isCategory, LIMITS, PARENT_STATUSES, REASON_CODES } from '../state/index.ts';
import type { Category, ParentStatus, ReasonCode } from '../state/index.ts';
import { checkedTime, checkedUuid, checkPageLimit } from './checks.ts';

/** What a bulk is about; at least one part, each narrows it. */
export interface BulkFilter {
  /** The dead step's reason; of a cancel, the task's last one. */
  readonly reason?: ReasonCode;
  /** Of the step's last failure, such as `programming_error`. */
  readonly category?: Category;
  readonly type?: string;
  /** Only steps of this name; a cancel then cancels this step instead of the whole task. */
  readonly step?: string;
  /** The task's status. */
  readonly status?: ParentStatus;
  /** ISO 8601 with zone: when the step died; of a cancel, when the task was accepted. From included, to not. */
  readonly from?: Date | string;
  readonly to?: Date | string;
  /** Only these, 1 to 500. */
  readonly tasks?: readonly string[];
}

export interface BulkInput {
  readonly filter: BulkFilter;
  readonly why: string;
  readonly by?: string;
  /** Items in a second, 0.01 to 1,000. Default 10. */
  readonly ratePerSecond?: number;
  /** A UUID that makes it idempotent. */
  readonly id?: string;
}

export interface BulkReplayInput extends BulkInput {
  readonly dropCheckpoints?: boolean;
  /** Effects to be treated as ended without lasting effect, wherever an item has them. */
  readonly void?: readonly { readonly effect: string; readonly item?: string }[];
}

export interface BulkItemQuery {
  readonly result?: BulkResult;
  /** Of refusals. */
  readonly code?: string;
  /** 1 to 500. Default 50. */
  readonly limit?: number;
  readonly cursor?: string;
}

const RATE_PER_S_MIN = 0.01;
/** Between two looks at a bulk that another driver has in hand, ms; a long wait is cut short to see whether it was aborted. */
const LOOK_MS = { min: 20, max: 1_000 } as const;

const bad = (path: string, message: string, limit?: string): ThroughlineError => new ThroughlineError('FILTER_INVALID', { path, message, ...(limit === undefined ? {} : { limit }) });

function checkedFilter(filter: BulkFilter): BulkFilterRow {
  const { reason, category, type, step, status } = filter;
  if (reason !== undefined && !REASON_CODES.includes(reason)) throw bad('/filter/reason', 'The reason is none of the codes of docs/state-machine.md.');
  if (category !== undefined && !isCategory(category)) throw bad('/filter/category', 'The category is none of the list of failures.');
  if (status !== undefined && !PARENT_STATUSES.includes(status)) throw bad('/filter/status', `The status must be one of ${PARENT_STATUSES.join(', ')}.`);
  const from = filter.from === undefined ? undefined : checkedTime(filter.from, '/filter/from');
  const to = filter.to === undefined ? undefined : checkedTime(filter.to, '/filter/to');
  if (from !== undefined && to !== undefined && from >= to) throw bad('/filter/to', 'The range is empty: its end is not after its beginning.');
  const row = {
    ...(reason === undefined ? {} : { reason }), ...(category === undefined ? {} : { category }), ...(status === undefined ? {} : { status }),
    ...(type === undefined ? {} : { type: boundedText(type, '/filter/type', LIMITS.name_chars_max) }), ...(step === undefined ? {} : { step: boundedText(step, '/filter/step', LIMITS.name_chars_max) }),
    ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }), ...(filter.tasks === undefined ? {} : { tasks: checkedTasks(filter.tasks) }),
  };
  if (Object.keys(row).length === 0) throw bad('/filter', 'A filter that is empty would mean everything: say at least one of reason, category, type, step, status, from, to, tasks.');
  return row;
}

function checkedTasks(tasks: readonly string[]): readonly string[] {
  if (tasks.length === 0 || tasks.length > LIMITS.page_rows_max) throw bad('/filter/tasks', 'The tasks are a list of ids.', `1 to ${String(LIMITS.page_rows_max)}`);
  return [...new Set(tasks.map((task, index) => checkedUuid(task, `/filter/tasks/${String(index)}`)))].sort();
}

function checkedRate(rate: number): number {
  if (typeof rate !== 'number' || !(rate >= RATE_PER_S_MIN && rate <= LIMITS.bulk_rate_per_s_max)) {
    throw new ThroughlineError('INPUT_INVALID', { path: '/ratePerSecond', message: 'The rate is a number of items in a second.', limit: `${String(RATE_PER_S_MIN)} to ${String(LIMITS.bulk_rate_per_s_max)}` });
  }
  return rate;
}

function checkedVoids(voids: BulkReplayInput['void']): Pick<BulkOptionsRow, 'void'> {
  if (voids === undefined || voids.length === 0) return {};
  if (voids.length > LIMITS.bulk_voids_max) throw new ThroughlineError('INPUT_TOO_LARGE', { path: '/void', limit: `${String(LIMITS.bulk_voids_max)} effects` });
  return {
    void: voids.map(({ effect, item }, index) => ({
      effect: boundedText(effect, `/void/${String(index)}/effect`, LIMITS.name_chars_max),
      ...(item === undefined || item === '' ? {} : { item: boundedText(item, `/void/${String(index)}/item`, LIMITS.item_chars_max) }),
    })),
  };
}

/**
 * The bulks of one kind. A bulk freezes what it is about when it is made; nothing else changes until it is applied. Then any
 * worker drives it, or whoever calls `drive`, at its rate by the ledger's clock. Works while Temporal is down. Throws ThroughlineError.
 */
export abstract class BulkActions {
  readonly #ledger: Bulks;
  readonly #kind: BulkKind;
  readonly #by: string;

  constructor(database: Database, kind: BulkKind, by: string) {
    this.#ledger = new Bulks(database);
    this.#kind = kind;
    this.#by = by;
  }

  protected make({ filter, why, by, ratePerSecond = LIMITS.bulk_rate_per_s_default, id }: BulkInput, options: BulkOptionsRow): Promise<BulkRow> {
    return this.#ledger.bulkCreate(
      {
        id: id === undefined ? randomUUID() : checkedUuid(id, '/id'), kind: this.#kind, filter: checkedFilter(filter), by: this.#who(by), why: boundedText(why, '/why', LIMITS.why_chars_max), options,
        rate_per_s: checkedRate(ratePerSecond),
      },
      LIMITS.bulk_items_max,
    );
  }

  /** As it stands, with counts. BULK_UNKNOWN. */
  async get(id: string): Promise<BulkRow> {
    return this.#ledger.bulk(checkedUuid(id, '/id'), this.#kind);
  }

  /** Newest first. FILTER_INVALID, CURSOR_INVALID. */
  async list({ limit = LIMITS.page_rows_default, cursor }: { readonly limit?: number; readonly cursor?: string } = {}): Promise<BulkPage> {
    checkPageLimit(limit);
    return this.#ledger.list(this.#kind, { limit, ...(cursor === undefined ? {} : { cursor }) });
  }

  /** Each with its result; of a refusal, the code and what belongs to it. BULK_UNKNOWN, FILTER_INVALID, CURSOR_INVALID. */
  async items(id: string, { result, code, limit = LIMITS.page_rows_default, cursor }: BulkItemQuery = {}): Promise<BulkItemPage> {
    checkPageLimit(limit);
    if (result !== undefined && !BULK_RESULTS.includes(result)) throw bad('/result', `The result must be one of ${BULK_RESULTS.join(', ')}.`);
    const { id: known } = await this.get(id);
    return this.#ledger.items(known, { limit, ...(cursor === undefined ? {} : { cursor }), ...(result === undefined ? {} : { result }), ...(code === undefined ? {} : { code }) });
  }

  /** Has it done; from here on workers drive it. Idempotent. BULK_UNKNOWN, BULK_ENDED if it was aborted. */
  async apply(id: string, { by }: { readonly by?: string } = {}): Promise<BulkRow> {
    return this.#ledger.bulkApply(checkedUuid(id, '/id'), this.#kind, { by: this.#who(by) });
  }

  /** What is pending is skipped; what was done stays done. Idempotent. BULK_UNKNOWN, BULK_ENDED if it is done. */
  async abort(id: string, { by, why }: { readonly by?: string; readonly why: string }): Promise<BulkRow> {
    return this.#ledger.bulkAbort(checkedUuid(id, '/id'), this.#kind, { by: this.#who(by), why: boundedText(why, '/why', LIMITS.why_chars_max) });
  }

  /**
   * Drives an applied bulk until it has ended, beside whatever worker does the same: no item is done twice and the rate is
   * theirs together. Ends early, without an error, when `signal` is aborted; it then goes on without us.
   */
  async drive(id: string, { signal, onTurn }: { readonly signal?: AbortSignal; readonly onTurn?: (bulk: BulkRow) => void } = {}): Promise<BulkRow> {
    let bulk = await this.get(id);
    while (bulk.status === 'running' && signal?.aborted !== true) {
      const turn = await this.#ledger.bulkAdvance(bulk.id, LIMITS.bulk_batch_rows);
      bulk = turn.bulk ?? bulk;
      onTurn?.(bulk);
      if (bulk.status !== 'running') break;
      const pause = Math.min(Math.max(bulk.next_in_ms ?? 0, turn.taken === 0 || turn.taken === turn.busy ? LOOK_MS.min : 0), LOOK_MS.max);
      if (pause > 0) await wait(pause, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
    }
    return bulk;
  }

  #who(by: string | undefined): string {
    return boundedText(by ?? this.#by, '/by', LIMITS.actor_chars_max);
  }
}

export class BulkReplays extends BulkActions {
  /**
   * Freezes the dead steps that the filter finds and says what a replay of each would meet; nothing is replayed before `apply`.
   * BULK_TOO_LARGE, FILTER_INVALID, TIME_INVALID, TYPE_UNKNOWN, INPUT_INVALID, REASON_REQUIRED, ID_CONFLICT.
   */
  async create(input: BulkReplayInput): Promise<BulkRow> {
    return this.make(input, { ...checkedVoids(input.void), ...(input.dropCheckpoints === true ? { drop_checkpoints: true } : {}) });
  }
}

export class BulkCancels extends BulkActions {
  /** Freezes the tasks that the filter finds among those not at rest, and says what a cancel of each would be answered. Throws as a bulk replay does. */
  async create(input: BulkInput): Promise<BulkRow> {
    return this.make(input, {});
  }
}

export { BULK_RESULTS };
export type { BulkFilterRow, BulkForeseen, BulkItemPage, BulkItemRow, BulkKind, BulkPage, BulkResult, BulkRow, BulkStatus } from '../ledger/index.ts';
