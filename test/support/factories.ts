/**
 * Tasks for tests: plans of any shape, and a `Tale` that tells a task's life through the door alone. A step
 * comes into a state only by calls that a client, worker, platform or person could have made.
 */
import { createHash, randomUUID } from 'node:crypto';
import { REVIEW_EFFECT, type Plan, type PlanEffect, type PlanStep } from '../../src/state/index.ts';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const WINDOW_MS = HOUR;
export const VISIBLE_MS = 1_000;
export const CALL_MS = 2_000;
export const LEASE_MS = 15_000;
export const RECEIPT_MS = 10 * MINUTE;

const effect = (name: string, submits: boolean, keyed: boolean, absenceIsProof: boolean): PlanEffect => ({
  name,
  submits,
  dedupe_window_ms: keyed ? WINDOW_MS : null,
  visible_within_ms: VISIBLE_MS,
  absence_is_proof: absenceIsProof,
  timeout_ms: CALL_MS,
});

/** The kinds of outside. */
export interface Shape {
  readonly name?: string;
  readonly needs?: readonly string[];
  /** `post`: one effect that submits; `picture+post`: another one before it; `none`: the step asks nothing of the outside; `picture`: one that does not submit. */
  readonly effects?: 'none' | 'picture' | 'post' | 'picture+post';
  /** The other side dedupes by key. Default true. */
  readonly keyed?: boolean;
  readonly probe?: boolean;
  readonly receipt?: boolean;
  /** A review: the wait is on our own inbox. */
  readonly review?: boolean;
  readonly reentrant?: boolean;
  readonly absenceIsProof?: boolean;
  readonly attempts?: number;
  readonly checks?: number;
  readonly proof?: PlanStep['proof'];
  readonly senders?: readonly string[];
  readonly leaseMs?: number;
  /** What it submits may be taken back; `keyed`: the other side dedupes the withdrawal, too. Default: yes, without keys. */
  readonly withdraw?: 'no' | 'keyed';
  readonly withdrawAttempts?: number;
}

/** A step of a plan: effects post, keyed, with a probe and a receipt, unless the shape says otherwise. */
export function planStep(shape: Shape = {}): PlanStep {
  const { effects = 'post', keyed = true, receipt = true, review = false, absenceIsProof = true } = shape;
  const declared = review
    ? [{ ...effect(REVIEW_EFFECT, true, false, true), visible_within_ms: 0 }]
    : [
        ...(effects.startsWith('picture') ? [effect('picture', false, keyed, absenceIsProof)] : []),
        ...(effects.endsWith('post') ? [effect('post', true, keyed, absenceIsProof)] : []),
      ];
  const waits = review || (receipt && effects.endsWith('post'));
  return {
    name: shape.name ?? 'publish',
    kind: review ? 'review' : 'run',
    needs: shape.needs ?? [],
    reentrant: shape.reentrant ?? true,
    attempts: shape.attempts ?? 3,
    backoff: { schedule_ms: [1_000, 2_000, 4_000], jitter: 0 },
    lease_ms: shape.leaseMs ?? LEASE_MS,
    timeout_ms: 10 * MINUTE,
    effects: declared,
    receipt: waits ? { within_ms: RECEIPT_MS, senders: shape.senders ?? [], inbox: review } : null,
    probe: shape.probe ?? !review,
    checks: { attempts: shape.checks ?? 3, schedule_ms: [1_000], jitter: 0 },
    proof: shape.proof ?? (review ? { kind: 'verdict' } : { kind: 'read_back' }),
    ...(review || shape.withdraw === 'no' || !effects.endsWith('post') ? {} : {
      withdraw: { timeout_ms: CALL_MS, dedupe_window_ms: shape.withdraw === 'keyed' ? WINDOW_MS : null, visible_within_ms: VISIBLE_MS, attempts: shape.withdrawAttempts ?? 3 },
    }),
  };
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A plan with a type of its own for each set of shapes. */
export function planOf(...shapes: readonly Shape[]): Plan {
  const steps = shapes.map(planStep);
  return { type: `t-${sha256(JSON.stringify(steps)).slice(0, 12)}`, version: 1, steps };
}

export const digestOf = (value: unknown): string => sha256(JSON.stringify(value));
export const uuid = (): string => randomUUID();
