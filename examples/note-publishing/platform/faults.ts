/** Faults that can be switched on while the platform runs. Kept in memory: a restart begins without any. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { PLATFORM_LIMITS, RECEIPT_KINDS, ROUTES, referenceText } from './types.ts';
import type { Reference, RouteName } from './types.ts';

/**
 * Faults of a request, in the order in which they strike:
 * `slow` waits `ms` and goes on · `authorization_revoked` 401 · `too_many_requests` 429 with Retry-After ·
 * `unavailable` 503 · `refuse` 422 with `code` · `timeout_before` never answers and doesn't act · `lost_request`
 * destroys the socket and doesn't act · then the request acts · `slow_answer` acts, waits `ms`, answers ·
 * `timeout_after` acts and never answers · `lost_answer` acts and destroys the socket.
 */
export const REQUEST_FAULTS = [
  'slow',
  'authorization_revoked',
  'too_many_requests',
  'unavailable',
  'refuse',
  'timeout_before',
  'lost_request',
  'slow_answer',
  'timeout_after',
  'lost_answer',
] as const;

/**
 * Faults of the receipts of a post, decided when it is accepted:
 * `no_receipt` · `late_receipt` by `ms` · `duplicate_receipt` the same delivery twice · `foreign_receipt` one that
 * names another task and message (before the right one, or `instead` of it) · `text_only_receipt` a sentence
 * (instead of the right one unless `instead` is false) · `failed_receipt` the post fails with `code` after all ·
 * `contradicting_receipt` a `failed` after the `completed`.
 */
export const RECEIPT_FAULTS = [
  'no_receipt',
  'late_receipt',
  'duplicate_receipt',
  'foreign_receipt',
  'text_only_receipt',
  'failed_receipt',
  'contradicting_receipt',
] as const;

export type RequestFault = (typeof REQUEST_FAULTS)[number];
export type ReceiptFault = (typeof RECEIPT_FAULTS)[number];

/** A fault as it is switched on: what, for which calls, and how often. */
export const faultSchema = z.strictObject({
  kind: z.enum([...REQUEST_FAULTS, ...RECEIPT_FAULTS]),
  /** Only calls of this route; receipt faults always belong to `publish_post`. */
  route: z.enum(ROUTES).optional(),
  task: referenceText.optional(),
  step: referenceText.optional(),
  item: referenceText.optional(),
  /** Strikes from the nth matching call on. */
  nth: z.int().min(1).default(1),
  /** How many calls it strikes; null: every one until it is removed. */
  count: z.int().min(1).nullable().default(1),
  ms: z.int().min(0).max(PLATFORM_LIMITS.delay_ms_max).default(1_000),
  retryAfterS: z.int().min(0).max(86_400).default(1),
  code: referenceText.optional(),
  /** Which receipts a receipt fault strikes; without it all, for `text_only_receipt` only `completed`. */
  receipts: z.array(z.enum(RECEIPT_KINDS)).optional(),
  instead: z.boolean().optional(),
  asTask: referenceText.optional(),
  asMessage: referenceText.optional(),
});
export type NewFault = z.input<typeof faultSchema>;
type FaultRule = z.infer<typeof faultSchema>;

/** A fault in force: how many calls it matched and how many it struck. */
export interface Fault extends FaultRule {
  readonly id: string;
  matched: number;
  struck: number;
}

const requestKinds: ReadonlySet<string> = new Set(REQUEST_FAULTS);

/** The faults in force, in the order in which they were switched on. */
export class FaultRegistry {
  #faults: Fault[] = [];

  /** Switches a fault on. Throws RangeError when there are too many. */
  add(rule: FaultRule): Fault {
    if (this.#faults.length >= PLATFORM_LIMITS.faults_max) {
      throw new RangeError(`at most ${PLATFORM_LIMITS.faults_max} faults`);
    }
    const fault: Fault = { ...rule, id: randomUUID(), matched: 0, struck: 0 };
    this.#faults.push(fault);
    return fault;
  }

  list(): readonly Fault[] {
    return this.#faults;
  }

  /** Removes one fault by id, or all; returns how many went. */
  remove(id?: string): number {
    const before = this.#faults.length;
    this.#faults = id === undefined ? [] : this.#faults.filter((fault) => fault.id !== id);
    return before - this.#faults.length;
  }

  /** The request faults that strike this call; counts it for each that matches. */
  strikeRequest(route: RouteName, reference: Reference): ReadonlyMap<RequestFault, Fault> {
    return this.#strike(route, reference, true) as Map<RequestFault, Fault>;
  }

  /** The receipt faults that strike a post now accepted. */
  strikeReceipts(reference: Reference): ReadonlyMap<ReceiptFault, Fault> {
    return this.#strike('publish_post', reference, false) as Map<ReceiptFault, Fault>;
  }

  #strike(route: RouteName, reference: Reference, request: boolean): Map<string, Fault> {
    const struck = new Map<string, Fault>();
    for (const fault of this.#faults) {
      if (requestKinds.has(fault.kind) !== request || !matches(fault, route, reference)) continue;
      fault.matched += 1;
      const spent = fault.count !== null && fault.struck >= fault.count;
      // One rule of a kind per call: the next rule of that kind keeps its count for a later call.
      if (fault.matched < fault.nth || spent || struck.has(fault.kind)) continue;
      fault.struck += 1;
      struck.set(fault.kind, fault);
    }
    return struck;
  }
}

function matches(fault: FaultRule, route: RouteName, reference: Reference): boolean {
  return (
    (fault.route === undefined || fault.route === route) &&
    (fault.task === undefined || fault.task === reference.taskId) &&
    (fault.step === undefined || fault.step === reference.step) &&
    (fault.item === undefined || fault.item === reference.item)
  );
}
