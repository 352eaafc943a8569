import { LIMITS } from './limits.ts';

/** Exponential backoff: `initial_ms * factor^(n-1)`, at most `max_ms`; `jitter` (0 to 1) is the share taken away at random. */
export interface Backoff {
  readonly initial_ms: number;
  readonly factor: number;
  readonly max_ms: number;
  readonly jitter: number;
}

export const BACKOFF_DEFAULT: Backoff = { initial_ms: 1_000, factor: 2, max_ms: 60_000, jitter: 0.2 };

/** The wait before attempt n+1, without jitter: bounded and monotone up to the cap for every n ≥ 1. */
export function backoffMs(backoff: Backoff, n: number): number {
  const cap = Math.min(backoff.max_ms, LIMITS.backoff_ms_max);
  if (backoff.initial_ms === 0) return 0;
  const grown = backoff.initial_ms * Math.pow(backoff.factor, Math.max(0, n - 1));
  return Math.round(Math.min(Number.isFinite(grown) ? grown : cap, cap));
}

/** Enough for every factor above 1.02 to meet its cap. */
const SCHEDULE_ENTRIES_MAX = 1_000;

/**
 * The waits in milliseconds as stored in a plan: entry n-1 before attempt n+1, the last one repeats. The
 * ledger picks the entry, takes the jitter off and never goes below Retry-After, so the arithmetic
 * stands here alone.
 */
export function backoffSchedule(backoff: Backoff): readonly number[] {
  const cap = Math.min(backoff.max_ms, LIMITS.backoff_ms_max);
  const waits: number[] = [];
  for (let n = 1; n <= SCHEDULE_ENTRIES_MAX; n += 1) {
    const wait = backoffMs(backoff, n);
    waits.push(wait);
    if (wait >= cap || backoff.factor === 1 || wait === 0) break;
  }
  return waits;
}
