import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { Tale } from '../support/tale.ts';

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
// What is due is due for all tests.
beforeEach(() => ledger.query('delete from throughline.outbox'));
afterAll(() => ledger.close());

const HOLD_MS = 10_000;
const take = (limit = 100): ReturnType<Ledger['door']['outboxTake']> => ledger.door.outboxTake(limit, HOLD_MS);
const row = async (tale: Tale): Promise<unknown> => (await ledger.query('select version, attempts, parked_at is not null as parked from throughline.outbox where task_id = $1', [tale.task]))[0];
const FREE = { effects: 'none', probe: false } as const;

test('a wake-up is taken by one dispatcher at a time, and again when that one vanished', async () => {
  const tale = await Tale.of(ledger, FREE);
  const taken = await Promise.all([take(), take(), take(), take()]);
  expect(taken.flat()).toMatchObject([{ task: tale.task, version: 1, view: { status: 'queued' } }]);
  expect(await take()).toEqual([]);
  await tale.pass(HOLD_MS + 1);
  expect(await take()).toMatchObject([{ task: tale.task, version: 1 }]);
});

test('a sent wake-up goes, unless it was asked for again meanwhile', async () => {
  const tale = await Tale.of(ledger, FREE);
  const [first] = await take();
  await tale.cancel();
  expect(await ledger.door.outboxSent([{ task: tale.task, version: first?.version ?? 0 }])).toBe(0);
  expect(await row(tale)).toEqual({ version: '2', attempts: 0, parked: false });
  const [second] = await take();
  expect(second).toMatchObject({ task: tale.task, version: 2 });
  expect(await ledger.door.outboxSent([{ task: tale.task, version: 2 }])).toBe(1);
  expect(await row(tale)).toBeUndefined();
});

test('many reasons to wake are one row', async () => {
  const tale = await (await Tale.of(ledger)).claim();
  await (await tale.intend()).settle('lost');
  for (const id of ['c1', 'c2', 'c3']) await tale.cancel({ id });
  expect(await ledger.query('select count(*)::int as n from throughline.outbox')).toEqual([{ n: 1 }]);
});

test('a row that commits late is still sent', async () => {
  const client = new pg.Client({ connectionString: ledger.url });
  await client.connect();
  await client.query('begin');
  const early = await Tale.of(ledger, FREE);
  const { type } = (await early.taskRow()) as { type: string };
  const late = '018f0000-0000-7000-8000-000000000001';
  await ledger.door.taskEnqueue({ type, id: late, input: {}, digest: 'x'.repeat(64), digests: {}, by: 'x' }, { tx: client });
  const after = await Tale.of(ledger, FREE);
  const first = await take();
  expect(first.map(({ task }) => task).sort()).toEqual([early.task, after.task].sort());
  await ledger.door.outboxSent(first.map(({ task, version }) => ({ task, version })));
  await client.query('commit');
  await client.end();
  expect((await take()).map(({ task }) => task)).toEqual([late]);
});

test('a row that fails by its own fault is parked after its attempts, shown, and sent again by a person; others pass', async () => {
  const [bad, good] = [await Tale.of(ledger, FREE), await Tale.of(ledger, FREE)];
  for (let n = 1; n <= 3; n += 1) {
    await bad.pass(HOLD_MS + 1);
    expect((await take()).map(({ task }) => task)).toContain(bad.task);
    expect(await ledger.door.outboxFailed(bad.task, 'NUL in search attribute', 100, true, 3)).toEqual({ parked: n === 3, attempts: n });
    await ledger.door.outboxSent([{ task: good.task, version: 1 }]);
  }
  await bad.pass(HOLD_MS + 1);
  expect(await take()).toEqual([]);
  expect(await row(bad)).toMatchObject({ parked: true });
  expect(await ledger.door.outboxUnpark(bad.task, { by: 'operator:oda', why: 'fixed' })).toEqual({ unparked: true });
  expect(await ledger.door.outboxUnpark(bad.task, { by: 'operator:oda', why: 'fixed' })).toEqual({ unparked: false });
  expect((await take()).map(({ task }) => task)).toEqual([bad.task]);
  expect((await bad.timeline()).at(-1)).toMatchObject({ kind: 'note', actor: 'operator:oda', facts: { what: 'unparked', why: 'fixed' } });
});

test('what everybody fails by parks no row', async () => {
  const tale = await Tale.of(ledger, FREE);
  for (let n = 0; n < 50; n += 1) expect(await ledger.door.outboxFailed(tale.task, 'Temporal is away', 0, false, 3)).toEqual({ parked: false, attempts: 0 });
});

test('a failed row waits as long as it was told to', async () => {
  const tale = await Tale.of(ledger, FREE);
  await take();
  await ledger.door.outboxFailed(tale.task, 'x', 60_000, true, 20);
  expect(await take()).toEqual([]);
  await tale.pass(60_001);
  expect(await take()).toHaveLength(1);
});

test('the limit bounds what is taken', async () => {
  for (let n = 0; n < 5; n += 1) await Tale.of(ledger, FREE);
  expect(await take(2)).toHaveLength(2);
  expect(await take(2)).toHaveLength(2);
  expect(await take(2)).toHaveLength(1);
});

test('a wake-up never carries an older view than the entry that it clears, whatever commits while it is taken', async () => {
  for (let round = 0; round < 12; round += 1) {
    const tales = await Promise.all(Array.from({ length: 20 }, () => Tale.of(ledger)));
    const seen = new Map<string, number>();
    let cancelling = true;
    const dispatch = async (): Promise<void> => {
      for (let last = false; ; ) {
        const rows = await ledger.door.outboxTake(50, 60_000);
        for (const { task, view } of rows) seen.set(task, Math.max(seen.get(task) ?? 0, view.seq));
        if (rows.length > 0) await ledger.door.outboxSent(rows.map(({ task, version }) => ({ task, version })));
        if (rows.length === 0 && last) return;
        last = !cancelling;
      }
    };
    const cancels = Promise.all(tales.map((tale) => tale.cancel())).finally(() => { cancelling = false; });
    await Promise.all([dispatch(), dispatch(), cancels]);
    for (const { task } of tales) expect([task, seen.get(task)]).toEqual([task, Number((await ledger.query<{ seq: string }>('select seq from throughline.task where id = $1', [task]))[0]?.seq)]);
  }
});
