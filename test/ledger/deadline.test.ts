import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { HOUR, MINUTE } from '../support/factories.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { Tale } from '../support/tale.ts';

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger.close());

const FREE = { effects: 'none', probe: false } as const;
/** A deadline in the ledger's own time. */
async function after(ms: number): Promise<string> {
  const [row] = await ledger.query<{ at: string }>('select throughline._iso(throughline.now() + throughline._interval($1)) as at', [ms]);
  return row?.at ?? '';
}

test('a start planned after the deadline is cancelled at the deadline, not at the start', async () => {
  const tale = await Tale.of(ledger, FREE, { run_at: await after(3 * HOUR), deadline_at: await after(HOUR) });
  const next = (await tale.look()).steps[0]?.next;
  expect(next?.do).toBe('watch');
  expect(next?.in_ms).toBeLessThanOrEqual(HOUR);
  await tale.pass(HOUR + 1);
  expect(await tale.look()).toMatchObject({ status: 'cancelled', reason: 'deadline_passed', at_rest: true });
});

test('a step whose driver is gone is cancelled at the deadline by the sweeper', async () => {
  const tale = await Tale.of(ledger, FREE, { run_at: await after(3 * HOUR), deadline_at: await after(HOUR) });
  await ledger.query('delete from throughline.outbox where task_id = $1', [tale.task]);
  expect(await ledger.door.sweepDue(200, 10_000)).not.toContain(tale.task);
  await tale.pass(HOUR + MINUTE);
  expect(await ledger.door.sweepDue(200, 10_000)).toContain(tale.task);
  await ledger.door.taskSweep(tale.task, 'sweeper/1', 10_000);
  expect(await tale.row()).toMatchObject({ state: 'cancelled', reason: 'deadline_passed', attempt: 0 });
});

test('an attempt in progress is not cut by the deadline, the steps after it are', async () => {
  const tale = await Tale.of(ledger, [{ ...FREE, name: 'first', leaseMs: 2 * HOUR }, { ...FREE, name: 'second', needs: ['first'] }], { deadline_at: await after(HOUR) });
  const [first] = (await tale.look()).steps;
  const leading = tale.about(first?.name ?? '');
  await leading.claim();
  await tale.pass(HOUR + 1);
  await tale.look();
  expect(await leading.state()).toBe('leased');
  expect(await tale.row()).toMatchObject({ state: 'cancelled', reason: 'deadline_passed' });
});
