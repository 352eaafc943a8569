/** Durations as authors write them, in milliseconds. */
import { at, refuse, shown, type Place } from './place.ts';

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const WRITTEN = /^(\d{1,15}(?:\.\d{1,9})?)(ms|s|m|h|d)$/;

function milliseconds(value: unknown): number | null {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return null;
  const [, amount, unit] = WRITTEN.exec(value) ?? [];
  // Rounded against binary fractions only: 0.29 s is 290 ms, and 0.5 ms stays refused below.
  return amount === undefined || unit === undefined ? null : Math.round(Number(amount) * (UNITS_MS[unit] ?? Number.NaN) * 1e6) / 1e6;
}

export interface DurationRange {
  readonly min: number;
  readonly max: number;
}

/**
 * A duration in whole milliseconds within `range`, inclusive; may exceed 2^31 ms.
 * Errors: DEFINITION_INVALID naming `place` and `key`.
 */
export function durationMs(place: Place, key: readonly string[], value: unknown, range: DurationRange): number {
  const where = at(place, ...key);
  const name = key.join('.');
  const ms = milliseconds(value);
  if (ms === null) refuse(where, `${name} is ${shown(value)}, but must be milliseconds or text such as "500ms", "15s", "10m", "24h", "7d"`);
  if (!Number.isSafeInteger(ms)) refuse(where, `${name} is ${shown(value)}, but must be a whole number of milliseconds`);
  if (ms < range.min) refuse(where, `${name} is ${shown(value)}, which is too short`, `at least ${range.min} ms`);
  if (ms > range.max) refuse(where, `${name} is ${shown(value)}, which is too long`, `at most ${range.max} ms`);
  return ms;
}
