import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { LEASE_MS, MINUTE, RECEIPT_MS, uuid } from '../support/factories.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { HOLDER, Tale } from '../support/tale.ts';
import { waiting } from './scenarios/scenario.ts';

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger.close());

const SILENCE_MS = 10_000;
const FREE = { effects: 'none', probe: false } as const;
/** Those of these tasks that the sweep finds; it sees the whole ledger, other tests' tasks too. */
const due = async (...tales: readonly Tale[]): Promise<readonly string[]> => (await ledger.door.sweepDue(200, SILENCE_MS)).filter((task) => tales.some((tale) => tale.task === task));
const sweep = (tale: Tale, holder = 'sweeper/1'): ReturnType<Ledger['door']['taskSweep']> => ledger.door.taskSweep(tale.task, holder, SILENCE_MS);
/** The driver has been told and has vanished. */
const silent = (tale: Tale): Promise<unknown> => ledger.query('delete from throughline.outbox where task_id = $1', [tale.task]);
const woken = async (tale: Tale): Promise<boolean> => (await ledger.query('select from throughline.outbox where task_id = $1', [tale.task])).length === 1;

/** What needs the sweeper when its driver is silent, and where it goes. */
const CASES: Readonly<Record<string, { readonly shape?: object; readonly arrange: (tale: Tale) => Promise<unknown>; readonly pass: number; readonly state: string }>> = {
  'an expired lease': { shape: FREE, arrange: (t) => t.claim(), pass: LEASE_MS + 1, state: 'queued' },
  'a due attempt': { shape: FREE, arrange: async () => undefined, pass: SILENCE_MS + 1, state: 'queued' },
  'a due retry': { shape: FREE, arrange: async (t) => (await t.claim()).fail(), pass: MINUTE, state: 'queued' },
  'an overdue receipt': { arrange: (t) => waiting(t, 'submitted'), pass: RECEIPT_MS + SILENCE_MS + 1, state: 'unconfirmed' },
  'a due probe': { arrange: (t) => waiting(t, 'unconfirmed'), pass: MINUTE, state: 'unconfirmed' },
  'a due acceptance': { arrange: async (t) => (await waiting(t, 'submitted'), t.receives('completed')), pass: MINUTE, state: 'completed' },
  'a check whose checker vanished': {
    arrange: async (t) => (await waiting(t, 'submitted'), await t.receives('completed'), ledger.door.checkClaim(t.task, t.step, uuid(), 1_000, HOLDER)),
    pass: MINUTE,
    state: 'completed',
  },
  'a resend under the same key, without a probe': { shape: { probe: false }, arrange: (t) => waiting(t, 'unconfirmed'), pass: MINUTE, state: 'unconfirmed' },
  'what nothing can resolve any more': { shape: { probe: false }, arrange: (t) => waiting(t, 'unconfirmed'), pass: 60 * MINUTE, state: 'dead' },
};

test.each(Object.entries(CASES))('%s is found, and its driver woken', async (_name, { shape = {}, arrange, pass, state }) => {
  const tale = await Tale.of(ledger, shape);
  await arrange(tale);
  await silent(tale);
  expect(await due(tale)).toEqual([]);
  await tale.pass(pass);
  expect(await due(tale)).toEqual([tale.task]);
  await sweep(tale);
  expect(await tale.state()).toBe(state);
  expect(await woken(tale)).toBe(true);
});

test('four sweepers, one expired lease: one requeue, one row, one attempt', async () => {
  for (let round = 0; round < 20; round += 1) {
    const tale = await (await Tale.of(ledger, FREE)).claim();
    await tale.pass(LEASE_MS + 1);
    const answers = await Promise.all(['a', 'b', 'c', 'd'].map((holder) => sweep(tale, holder)));
    expect(answers.filter(({ moves }) => moves === 1)).toHaveLength(1);
    expect((await tale.timeline()).filter(({ rule }) => rule === 'expire.retry')).toHaveLength(1);
    expect(await tale.row()).toMatchObject({ state: 'queued', attempt: 1, charged: 1 });
  }
});

test('a silent driver is woken once, ever later while nothing happens, at once when something else falls due', async () => {
  const tale = await Tale.of(ledger, FREE);
  const wakes = async (): Promise<boolean> => {
    await silent(tale);
    const found = (await due(tale)).length === 1;
    expect(await sweep(tale)).toMatchObject({ woken: found });
    return found;
  };
  await tale.pass(SILENCE_MS + 1);
  expect([await wakes(), await wakes()]).toEqual([true, false]);
  const waits: number[] = [];
  for (let units = 1; waits.length < 8; units += 1) {
    await tale.pass(3 * SILENCE_MS);
    if (!(await wakes())) continue;
    waits.push(units);
    units = 0;
  }
  // In units of the first wait; the longest is LIMITS.driver_wake_ms_max.
  expect(waits).toEqual([1, 2, 4, 8, 16, 30, 30, 30]);
  await tale.claim();
  await tale.fail();
  await tale.pass(MINUTE);
  expect([await wakes(), await wakes()]).toEqual([true, false]);
  await tale.pass(3 * SILENCE_MS);
  expect(await wakes()).toBe(true);
});

test('rows that nobody can run do not hide the others', async () => {
  const own = await openLedger();
  const stuck = [];
  for (let n = 0; n < 5; n += 1) stuck.push(await Tale.of(own, FREE));
  await own.shiftClock(SILENCE_MS);
  const other = await Tale.of(own, FREE);
  await own.query('delete from throughline.outbox');
  await own.shiftClock(SILENCE_MS + 1);
  const seen = new Set<string>();
  for (let pass = 0; pass < 3; pass += 1) {
    for (const task of await own.door.sweepDue(3, SILENCE_MS)) {
      seen.add(task);
      await own.door.taskSweep(task, 's', SILENCE_MS);
      await own.query('delete from throughline.outbox');
    }
  }
  await own.close();
  expect(stuck).toHaveLength(5);
  expect(seen).toContain(other.task);
});

test('what somebody is working on is passed over, not waited for', async () => {
  const tale = await (await Tale.of(ledger, FREE)).claim();
  await tale.pass(LEASE_MS + 1);
  await ledger.database.withClient(async (client) => {
    await client.query('begin');
    await client.query('select from throughline.task where id = $1 for no key update', [tale.task]);
    expect(await sweep(tale)).toEqual({ busy: true });
    await client.query('rollback');
  });
  expect(await sweep(tale)).toMatchObject({ moves: 1 });
});

test('a receipt that cannot be judged stops neither the sweep of its task nor that of others', async () => {
  const tale = await (await Tale.of(ledger)).claim();
  await tale.intend();
  await ledger.query("insert into throughline.receipt (delivery_id, sender, content_digest, task_ref, task_id, step, kind, in_reply_to, thread_id, received_at) select 'd', 'p', 'x', $1::text, $1::uuid, $2, 'completed', $3, 'x', throughline.now()", [tale.task, tale.step, tale.message]);
  await ledger.query("create function throughline._no() returns trigger language plpgsql as 'begin raise exception ''broken''; end'");
  await ledger.query("create trigger no before update on throughline.receipt for each row when (new.verdict is not null) execute function throughline._no()");
  await tale.pass(MINUTE);
  expect(await sweep(tale)).toMatchObject({ moves: 1, judged: 0 });
  expect(await tale.state()).toBe('unconfirmed');
  expect(await ledger.query('select verdict, verdict_facts from throughline.receipt where task_id = $1', [tale.task])).toEqual([{ verdict: null, verdict_facts: { judging_failed: 'broken' } }]);
  await ledger.query('drop trigger no on throughline.receipt');
  expect(await sweep(tale)).toMatchObject({ judged: 1 });
});

test('a step that is at rest or healthy is left alone', async () => {
  const healthy = await (await Tale.of(ledger, { ...FREE, leaseMs: 15 * MINUTE })).claim();
  const waits = await Tale.of(ledger);
  await waiting(waits, 'received');
  const ended = await Tale.of(ledger, FREE);
  await ended.cancel();
  for (const tale of [healthy, waits, ended]) await silent(tale);
  await healthy.pass(MINUTE);
  expect(await due(healthy, waits, ended)).toEqual([]);
});
