import type { Duration } from '../define/types.ts';
import { ThroughlineError } from '../errors.ts';
import { boundedText } from '../ledger/index.ts';
import { LIMITS } from '../state/index.ts';

export { checkedTaskId, checkedUuid, naturalKey } from '../define/ids.ts';

/** Date and time with seconds optional, and a zone, as in `2026-05-01T09:00:00+02:00`. */
const ISO_WITH_ZONE = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})$/i;

/** A moment as ISO 8601 in UTC. Throws TIME_INVALID for what can't be read, has no zone or lies too far away. */
export function checkedTime(value: Date | string, path: string, now = Date.now()): string {
  const date = value instanceof Date ? value : new Date(value);
  if (typeof value === 'string' && !ISO_WITH_ZONE.test(value)) throw new ThroughlineError('TIME_INVALID', { path, message: 'The time must be ISO 8601 with a zone, as in 2026-05-01T09:00:00Z.' });
  // A day that does not exist (30 February) rolls over in `Date`; its digits then differ.
  const day = typeof value === 'string' ? value.slice(0, 10) : null;
  const midnight = day === null ? date : new Date(`${day}T00:00:00Z`);
  const real = !Number.isNaN(date.getTime()) && !Number.isNaN(midnight.getTime()) && (day === null || midnight.toISOString().startsWith(day));
  if (!real) throw new ThroughlineError('TIME_INVALID', { path });
  if (date.getTime() - now > LIMITS.delay_ms_max) throw new ThroughlineError('TIME_INVALID', { path, limit: `${String(LIMITS.delay_ms_max)} ms from now` });
  return date.toISOString();
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A delay in ms, from 0 to ten years. Throws TIME_INVALID. */
export function checkedDelay(value: Duration, path: string): number {
  const [, digits, unit] = typeof value === 'string' ? (/^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(value) ?? []) : [];
  const ms = typeof value === 'number' ? value : Number(digits) * (UNITS[unit ?? ''] ?? NaN);
  if (!Number.isFinite(ms) || ms < 0) throw new ThroughlineError('TIME_INVALID', { path, message: 'The delay must be milliseconds, or text such as 90s, 10m, 2h, 7d.' });
  if (ms > LIMITS.delay_ms_max) throw new ThroughlineError('TIME_INVALID', { path, limit: `${String(LIMITS.delay_ms_max)} ms` });
  return Math.round(ms);
}

/** A dedupe key: 1 to 512 characters. */
export const checkedKey = (value: unknown): string => boundedText(value, '/key', LIMITS.key_chars_max);

/** Rows of a page. FILTER_INVALID. */
export function checkPageLimit(limit: number): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMITS.page_rows_max) throw new ThroughlineError('FILTER_INVALID', { path: '/limit', limit: LIMITS.page_rows_max });
}
