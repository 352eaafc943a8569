import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { HOUR, LEASE_MS, MINUTE, uuid } from '../support/factories.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { FAILURE, HOLDER, Tale } from '../support/tale.ts';

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger.close());

const now = async (): Promise<Date> => (await ledger.query<{ now: Date }>('select throughline.now() as now'))[0]?.now ?? new Date(NaN);
const after = async (ms: number): Promise<string> => new Date((await now()).getTime() + ms).toISOString();
const inMs = async (tale: Tale): Promise<number> => (await tale.look()).steps.find(({ name }) => name === tale.step)?.next?.in_ms ?? NaN;
const FREE = { effects: 'none', probe: false } as const;

describe('time', () => {
  test('is read in one place: every function asks throughline.now()', async () => {
    const readers = await ledger.query<{ name: string }>(`
      select proname as name from pg_proc where pronamespace = 'throughline'::regnamespace
        and prosrc ~* '(^|[^.a-z_])(now\\(\\)|clock_timestamp|current_timestamp|localtimestamp|statement_timestamp|transaction_timestamp|current_date)' order by 1`);
    // worker_seen compares a worker's clock with the real one.
    expect(readers.map(({ name }) => name)).toEqual(['now', 'worker_seen']);
  });

  test('is given as delays, not as instants, to whoever must wait', async () => {
    const tale = await Tale.of(ledger, FREE, { delay_ms: HOUR });
    const answer = await ledger.door.stepClaim(tale.task, tale.step, uuid(), HOLDER);
    expect(answer).toMatchObject({ refused: 'not_yet' });
    expect((answer as { not_yet_ms: number }).not_yet_ms).toBeGreaterThan(HOUR - MINUTE);
    expect(await inMs(tale)).toBeGreaterThan(HOUR - MINUTE);
  });

  test('of a worker decides nothing: an hour ahead or behind is reported, and nothing is claimed early or stolen', async () => {
    for (const skew of [-HOUR, HOUR]) {
      const seen = await ledger.door.workerSeen(`skewed/${skew}`, [], 'q', Date.now() + skew, false);
      expect(Math.abs(seen.clock_skew_ms - skew)).toBeLessThan(5_000);
    }
    const tale = await Tale.of(ledger, FREE, { run_at: await after(30 * MINUTE) });
    expect(await ledger.door.stepClaim(tale.task, tale.step, uuid(), 'skewed/3600000')).toMatchObject({ refused: 'not_yet' });
  });
});

describe('starts', () => {
  test.each([['run_at', 300 * 365 * 24 * HOUR], ['delay_ms', 2 ** 31 + 1], ['delay_ms', 10 * 365 * 24 * HOUR], ['run_at', 90 * MINUTE]] as const)('%s %d ms ahead is kept to the millisecond', async (how, ms) => {
    const tale = await Tale.of(ledger, FREE, how === 'run_at' ? { run_at: await after(ms) } : { delay_ms: ms });
    const left = await inMs(tale);
    expect(left).toBeLessThanOrEqual(ms);
    expect(left).toBeGreaterThan(ms - 10_000);
  });

  test('a start in the past is due now', async () => {
    const tale = await Tale.of(ledger, FREE, { run_at: '1999-01-01T00:00:00Z' });
    expect(await tale.tryClaim()).toMatchObject({ claimed: true });
  });

  test('a delayed step is due at its time and not before', async () => {
    const tale = await Tale.of(ledger, FREE, { delay_ms: HOUR });
    await tale.pass(HOUR - MINUTE);
    expect(await tale.tryClaim()).toMatchObject({ refused: 'not_yet' });
    await tale.pass(MINUTE);
    expect(await tale.tryClaim()).toMatchObject({ claimed: true });
  });

  test('a deadline cancels what has not started and leaves what has', async () => {
    const late = await Tale.of(ledger, FREE, { deadline_at: await after(HOUR) });
    const started = await (await Tale.of(ledger, { ...FREE, leaseMs: 3 * HOUR }, { deadline_at: await after(HOUR) })).claim();
    await late.pass(HOUR + 1);
    expect(await late.tryClaim()).toMatchObject({ refused: 'no_rule' });
    expect(await late.row()).toMatchObject({ state: 'cancelled', reason: 'deadline_passed' });
    await started.look();
    expect(await started.state()).toBe('leased');
  });
});

describe('retries', () => {
  test('wait as planned, and never less than the other side asked for', async () => {
    const tale = await Tale.of(ledger, { ...FREE, attempts: 4 });
    await (await tale.claim()).fail();
    expect(await inMs(tale)).toBeGreaterThan(500);
    expect(await inMs(tale)).toBeLessThanOrEqual(1_000);
    await (await tale.claim()).fail(true, { retry_after_ms: 30_000, error: { ...FAILURE, category: 'congested' } });
    expect(await inMs(tale)).toBeGreaterThan(28_000);
    await (await tale.claim()).fail(true, { retry_after_ms: 10 });
    expect(await inMs(tale)).toBeGreaterThan(3_000);
  });

  test('are bounded at attempt 2,000, monotone to the cap, jittered, never before Retry-After', async () => {
    const schedule = JSON.stringify({ schedule_ms: [100, 200, 400, 800, 1_000], jitter: 0 });
    const waits = await ledger.query<{ ms: string }>('select throughline._wait_ms($1, n, 0) as ms from unnest(array[1, 2, 3, 4, 5, 6, 1999, 2000, 2147483647]) n', [schedule]);
    expect(waits.map(({ ms }) => Number(ms))).toEqual([100, 200, 400, 800, 1_000, 1_000, 1_000, 1_000, 1_000]);
    const jittered = await ledger.query<{ ms: string; floor: string }>(`select throughline._wait_ms('{"schedule_ms": [1000], "jitter": 0.5}', 2000, 0) as ms, throughline._wait_ms('{"schedule_ms": [1000], "jitter": 1}', 1, 900) as floor from generate_series(1, 200)`);
    const values = jittered.map(({ ms }) => Number(ms));
    expect(Math.min(...values)).toBeGreaterThanOrEqual(500);
    expect(Math.max(...values)).toBeLessThanOrEqual(1_000);
    expect(new Set(values).size).toBeGreaterThan(10);
    expect(Math.min(...jittered.map(({ floor }) => Number(floor)))).toBeGreaterThanOrEqual(900);
  });
});

describe('leases', () => {
  test('a step that renews is never rescued by its age', async () => {
    const tale = await (await Tale.of(ledger, FREE)).claim();
    for (let minute = 0; minute < 60; minute += 1) {
      for (let i = 0; i < 5; i += 1) await tale.pass(LEASE_MS - 3_000);
      // Late, but nobody rescued it: it is still the holder.
      expect(await ledger.door.leaseRenew(tale.task, tale.step, tale.claimed.id, LEASE_MS, false, HOLDER)).toMatchObject({ renewed: true });
      await tale.look();
      await ledger.door.taskSweep(tale.task, 'sweeper', 1_000);
    }
    expect(await tale.row()).toMatchObject({ state: 'leased', attempt: 1, epoch: String(tale.claimed.epoch) });
    await tale.done();
    expect(await tale.state()).toBe('completed');
  });

  test('while the ledger was away nobody is fenced for it and nothing is charged', async () => {
    const shape = { ...FREE, reentrant: true };
    const reporter = await (await Tale.of(ledger, shape)).claim('reporter/1');
    const silent = await (await Tale.of(ledger, shape)).claim('silent/1');
    // A minute passes during which no renewal came through; then one holder says so.
    await silent.pass(MINUTE);
    expect(await ledger.door.leaseRenew(reporter.task, reporter.step, reporter.claimed.id, LEASE_MS, true, 'reporter/1')).toMatchObject({ renewed: true });
    await silent.look();
    expect(await silent.tryClaim('thief/1')).toMatchObject({ refused: 'held' });
    expect(await silent.row()).toMatchObject({ state: 'leased', charged: 1 });
    // The view does not ask to be looked at again before the rescue may happen.
    expect(await inMs(silent)).toBeGreaterThan(LEASE_MS - 5_000);
    expect(await ledger.door.leaseRenew(silent.task, silent.step, silent.claimed.id, LEASE_MS, false, 'silent/1')).toMatchObject({ renewed: true });
  });

  test('one lease length after the ledger came back, who is still silent is rescued', async () => {
    const tale = await (await Tale.of(ledger, FREE)).claim();
    await tale.pass(MINUTE);
    const other = await (await Tale.of(ledger, FREE)).claim();
    await ledger.door.leaseRenew(other.task, other.step, other.claimed.id, LEASE_MS, true, HOLDER);
    await tale.pass(LEASE_MS + 1);
    await tale.look();
    expect(await tale.row()).toMatchObject({ state: 'queued', reason: 'lease_expired', charged: 1 });
  });

  test('no lease is rescued for one lease length after the server started', async () => {
    await ledger.query("update throughline.ledger_gap set ended_at = '-infinity'");
    const [row] = await ledger.query<{ ok: boolean }>("select throughline._rescue_at('-infinity', 15000) = pg_postmaster_start_time() + interval '15 seconds' as ok");
    expect(row).toEqual({ ok: true });
  });
});
