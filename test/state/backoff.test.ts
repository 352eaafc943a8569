import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { BACKOFF_DEFAULT, LIMITS, backoffMs, backoffSchedule, type Backoff } from '../../src/state/index.ts';

const backoffs: fc.Arbitrary<Backoff> = fc
  .record({
    initial_ms: fc.integer({ min: 1, max: LIMITS.backoff_ms_max }),
    factor: fc.oneof(fc.constant(1), fc.double({ min: 1, max: 1_000, noNaN: true })),
    max_ms: fc.integer({ min: 1, max: 2 * LIMITS.backoff_ms_max }),
    jitter: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .filter(({ initial_ms: initial, max_ms: max }) => initial <= max);
const attempts = fc.oneof(fc.integer({ min: 1, max: 100 }), fc.constantFrom(2_000, 10_000, 2 ** 31, 10 ** 9, Number.MAX_SAFE_INTEGER));

describe('the wait before a further attempt', () => {
  test('by default: 1 s, 2 s, 4 s … a minute', () => {
    expect([1, 2, 3, 6, 7, 8, 2_000, 10 ** 9].map((n) => backoffMs(BACKOFF_DEFAULT, n))).toEqual([1_000, 2_000, 4_000, 32_000, 60_000, 60_000, 60_000, 60_000]);
    expect(backoffSchedule(BACKOFF_DEFAULT)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000]);
  });

  test('is a whole number of milliseconds between the first wait and the cap, at any attempt', () => {
    fc.assert(fc.property(backoffs, attempts, (backoff, n) => {
      const wait = backoffMs(backoff, n);
      const cap = Math.min(backoff.max_ms, LIMITS.backoff_ms_max);
      expect(Number.isSafeInteger(wait)).toBe(true);
      expect(wait).toBeGreaterThanOrEqual(Math.min(backoff.initial_ms, cap));
      expect(wait).toBeLessThanOrEqual(cap);
    }));
  });

  test('never shrinks from one attempt to a later one', () => {
    fc.assert(fc.property(backoffs, attempts, attempts, (backoff, a, b) => {
      expect(backoffMs(backoff, Math.min(a, b))).toBeLessThanOrEqual(backoffMs(backoff, Math.max(a, b)));
    }));
  });

  test('grows until it meets the cap, if it grows at all', () => {
    fc.assert(fc.property(backoffs.filter(({ factor }) => factor >= 1.01), (backoff) => {
      expect(backoffMs(backoff, 10 ** 6)).toBe(Math.min(backoff.max_ms, LIMITS.backoff_ms_max));
    }));
    expect(backoffMs({ ...BACKOFF_DEFAULT, factor: 1 }, 10 ** 9)).toBe(1_000);
  });
});

describe('the schedule of a plan', () => {
  test('holds the same waits, ends with the last one that differs, and is short', () => {
    fc.assert(fc.property(backoffs, (backoff) => {
      const schedule = backoffSchedule(backoff);
      expect(schedule.length).toBeGreaterThanOrEqual(1);
      expect(schedule.length).toBeLessThanOrEqual(1_000);
      expect(schedule).toEqual(schedule.map((_, index) => backoffMs(backoff, index + 1)));
    }));
  });

  test('its last entry is the cap for any factor from 1.03 on', () => {
    fc.assert(fc.property(backoffs.filter(({ factor }) => factor >= 1.03), (backoff) => {
      expect(backoffSchedule(backoff).at(-1)).toBe(Math.min(backoff.max_ms, LIMITS.backoff_ms_max));
    }));
    expect(backoffSchedule({ initial_ms: 5, factor: 1, max_ms: 60_000, jitter: 0 })).toEqual([5]);
    expect(backoffSchedule({ initial_ms: 1_000, factor: 1.05, max_ms: 3_600_000, jitter: 0 }).at(-1)).toBe(3_600_000);
  });

  test('no wait stays no wait, at every attempt', () => {
    expect(backoffSchedule({ initial_ms: 0, factor: 2, max_ms: 60_000, jitter: 0 })).toEqual([0]);
    expect(backoffMs({ initial_ms: 0, factor: 2, max_ms: 60_000, jitter: 0 }, 2_000)).toBe(0);
  });
});
