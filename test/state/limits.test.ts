import { describe, expect, test } from '@jest/globals';
import { BACKOFF_DEFAULT, LIMITS, type LimitName } from '../../src/state/index.ts';

const INT32_MAX = 2 ** 31 - 1;

describe('limits', () => {
  test('are whole positive numbers whose name ends with what they count', () => {
    for (const [name, value] of Object.entries(LIMITS)) {
      expect([name, Number.isSafeInteger(value) && value > 0]).toEqual([name, true]);
      expect(name).toMatch(/_(ms|rows|bytes|chars|max|min|default)$/);
    }
  });

  test('that are counts fit a Postgres integer; times may be longer', () => {
    for (const [name, value] of Object.entries(LIMITS)) if (!name.includes('_ms')) expect([name, value <= INT32_MAX]).toEqual([name, true]);
    expect(LIMITS.delay_ms_max).toBeGreaterThan(INT32_MAX);
  });

  test.each<[string, LimitName, LimitName]>([
    ['a default lies within its limits', 'lease_ms_min', 'lease_ms_default'],
    ['a default lies within its limits', 'lease_ms_default', 'lease_ms_max'],
    ['a default lies within its limits', 'call_timeout_ms_default', 'call_timeout_ms_max'],
    ['a default lies within its limits', 'attempt_timeout_ms_default', 'attempt_timeout_ms_max'],
    ['a default lies within its limits', 'page_rows_default', 'page_rows_max'],
    ['a default lies within its limits', 'receipt_wait_ms_default', 'delay_ms_max'],
    ['a default lies within its limits', 'review_reminder_ms_default', 'delay_ms_max'],
    ['a call is shorter than the attempt that it is part of', 'call_timeout_ms_max', 'attempt_timeout_ms_max'],
    ['a call is shorter than the attempt that it is part of', 'call_timeout_ms_default', 'attempt_timeout_ms_default'],
    ['the permission to send is shorter than the shortest lease that is given by default', 'send_permission_ms', 'lease_ms_default'],
    ['the margin is shorter than the permission, so that it never decides alone', 'lease_margin_ms', 'send_permission_ms'],
    ['a wait that the other side asks for can be kept', 'retry_after_ms_max', 'delay_ms_max'],
    ['a wait between attempts can be kept', 'backoff_ms_max', 'delay_ms_max'],
    ['wake-ups are sent faster than the sweeper looks', 'dispatch_interval_ms', 'sweep_interval_ms'],
    ['a driver is called silent only after several looks', 'sweep_interval_ms', 'driver_silence_ms'],
    ['a silent driver is woken again before it is left alone for long', 'driver_silence_ms', 'driver_wake_ms_max'],
    ['a worker is called gone only after several looks', 'sweep_interval_ms', 'worker_seen_ms'],
    ['a sender gives up before its rows are another one\'s', 'webhook_timeout_ms', 'notify_hold_ms'],
    ['one webhook never takes a whole batch', 'notify_each_rows', 'notify_batch_rows'],
    ['a default lies within its limits', 'webhook_overlap_ms_default', 'webhook_overlap_ms_max'],
    ['an artifact may be larger than what a row holds', 'result_bytes_max', 'artifact_bytes_max'],
    ['an effect name and an item fit an idempotency key', 'item_chars_max', 'key_chars_max'],
  ])('%s: %s < %s', (_, smaller, larger) => {
    expect(LIMITS[smaller]).toBeLessThan(LIMITS[larger]);
  });

  test('the key task/step/effect/item/g fits its column with the longest names', () => {
    const [uuid, generation, slashes] = [36, 10, 4];
    expect(uuid + LIMITS.name_chars_max * 2 + LIMITS.item_chars_max + generation + slashes).toBeLessThanOrEqual(LIMITS.key_chars_max);
  });

  test('a lease that outlives permission, call and margin is still one that may be asked for', () => {
    expect(LIMITS.send_permission_ms + LIMITS.call_timeout_ms_max + LIMITS.lease_margin_ms).toBeLessThanOrEqual(LIMITS.lease_ms_max);
  });

  test('the default backoff keeps its limits', () => {
    expect(BACKOFF_DEFAULT.initial_ms).toBeLessThanOrEqual(BACKOFF_DEFAULT.max_ms);
    expect(BACKOFF_DEFAULT.max_ms).toBeLessThanOrEqual(LIMITS.backoff_ms_max);
    expect(BACKOFF_DEFAULT.factor).toBeGreaterThanOrEqual(1);
    expect(BACKOFF_DEFAULT.jitter).toBeGreaterThan(0);
    expect(BACKOFF_DEFAULT.jitter).toBeLessThan(1);
  });

  test("a run of the workflow ends well before Temporal's own limits", () => {
    const [signals, events] = [10_000, 51_200];
    expect(LIMITS.signals_per_run_max).toBeLessThan(signals / 2);
    // Each signal and what it causes are a handful of events.
    expect(LIMITS.history_events_max).toBeLessThan(events / 2);
  });

  test('an error of every attempt stays small in the sum', () => {
    expect(LIMITS.error_text_chars_max * (1 + LIMITS.error_causes_max) * 20).toBeLessThan(1024 * 1024);
  });
});
