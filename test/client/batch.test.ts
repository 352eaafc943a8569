/** Many tasks at once: over Postgres alone. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { z } from 'zod';
import { createClient, defineTask, ThroughlineError, type BatchResult, type ThroughlineClient } from '../../src/index.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';

const note = defineTask({
  type: 'batch-note',
  version: 1,
  input: z.object({ name: z.string().min(1), size: z.number().default(1) }),
  dedupeKey: ({ name }) => name,
  steps: (flow) => flow.step('write', { result: z.object({ at: z.string() }), proof: { record: ['/at'] }, run: () => Promise.resolve({ at: 'here' }) }),
});

let ledger: Ledger;
let client: ThroughlineClient;
beforeAll(async () => {
  ledger = await openLedger();
  client = createClient({ databaseUrl: ledger.url, by: 'service' });
  await client.register(note);
});
afterAll(async () => {
  await client.close();
  await ledger.close();
});

const count = async (): Promise<number> => Number((await ledger.query('select count(*)::int as n from throughline.task'))[0]?.['n']);
const ids = (results: readonly BatchResult[]): readonly string[] => results.map((result) => ('error' in result ? result.error.code : result.id));
const names = (some: number, prefix: string): readonly { input: { name: string } }[] => Array.from({ length: some }, (_, n) => ({ input: { name: `${prefix}-${String((n * 7919) % some).padStart(4, '0')}` } }));

describe('a batch', () => {
  test('answers each item in the order given, over several chunks; a repeat answers with the same tasks', async () => {
    const items = names(450, 'order');
    const first = await client.enqueueBatch(note, items);
    expect(first.map(({ index }) => index)).toEqual(items.map((_, index) => index));
    expect(first.every((result) => !('error' in result) && result.created && result.state === 'queued')).toBe(true);
    const third = first[3];
    expect((await client.record(ids(first)[3] ?? '')).task).toMatchObject({ id: third !== undefined && 'id' in third ? third.id : '', key: items[3]?.input.name, created_by: 'service' });
    const again = await client.enqueueBatch(note, [...items].reverse());
    expect(ids(again)).toEqual([...ids(first)].reverse());
    expect(again.some((result) => 'created' in result && result.created)).toBe(false);
  });

  test('a refused item has its code and its path, and stops no other', async () => {
    await client.enqueue(note, { name: 'taken', size: 3 });
    const results = await client.enqueueBatch(note, [
      { input: { name: 'good-1' } },
      { input: { name: '' } },
      { input: { name: 'taken', size: 4 } },
      { input: { name: 'n\u0000l' } },
      { input: { name: 'late' }, runAt: 'tomorrow' },
      { input: { name: 'x' }, again: randomUUID() },
      null as never,
      { input: { name: 'good-2' }, key: 'own-key' },
    ]);
    expect(ids(results)).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), 'INPUT_INVALID', 'DEDUPE_CONFLICT', 'INPUT_NOT_STORABLE', 'TIME_INVALID', 'TASK_UNKNOWN', 'INPUT_INVALID', expect.stringMatching(/^[0-9a-f-]{36}$/)]);
    const shown = JSON.parse(JSON.stringify(results)) as { error?: { path?: string; paths?: string[] } }[];
    expect(shown[1]?.error?.path).toBe('/items/1/input/name');
    expect(shown[2]?.error?.paths).toEqual(['/input/size']);
    expect(shown[4]?.error?.path).toBe('/items/4/runAt');
  });

  test('one key twice in a batch is one task', async () => {
    const results = await client.enqueueBatch(note, [{ input: { name: 'twin' } }, { input: { name: 'twin' } }]);
    expect(new Set(ids(results)).size).toBe(1);
    expect(results.map((result) => 'created' in result && result.created)).toEqual([true, false]);
  });

  test('batches with the same keys in opposite orders, also repeating the same tasks, never wait for each other', async () => {
    const [one, two] = (await client.enqueueBatch(note, [{ input: { name: 'base-1' } }, { input: { name: 'base-2' } }])).map((result) => ('id' in result ? result.id : ''));
    const other = createClient({ databaseUrl: ledger.url, by: 'service' });
    const items = names(120, 'meet');
    const rounds = await Promise.all([
      ...Array.from({ length: 6 }, (_, n) => (n % 2 === 0 ? client : other).enqueueBatch(note, n % 3 === 0 ? items : [...items].reverse())),
      client.enqueueBatch(note, [{ input: { name: 'a-1' }, again: two ?? '' }, { input: { name: 'a-2' }, again: one ?? '' }]),
      other.enqueueBatch(note, [{ input: { name: 'a-2' }, again: one ?? '' }, { input: { name: 'a-1' }, again: two ?? '' }]),
    ]);
    await other.close();
    expect(rounds.flat().filter((result) => 'error' in result)).toEqual([]);
    const created = rounds.slice(0, 6).flat().filter((result) => 'created' in result && result.created);
    expect(created).toHaveLength(120);
  });

  test('is one with the caller\'s transaction', async () => {
    const tx = new pg.Client({ connectionString: ledger.url });
    await tx.connect();
    const before = await count();
    await tx.query('begin');
    expect((await client.enqueueBatch(note, names(250, 'tx'), { tx })).every((result) => 'created' in result && result.created)).toBe(true);
    await tx.query('rollback');
    expect(await count()).toBe(before);
    await tx.query('begin isolation level repeatable read');
    await tx.query('select 1 from throughline.task limit 1');
    await client.enqueue(note, { name: 'seen-by-nobody' });
    await expect(client.enqueueBatch(note, [{ input: { name: 'seen-by-nobody' } }], { tx })).rejects.toMatchObject({ code: 'SERIALIZATION' });
    await tx.query('rollback');
    await tx.end();
  });

  test.each<[string, () => Promise<unknown>, object]>([
    ['too many items', () => client.enqueueBatch(note, names(1_001, 'many')), { code: 'INPUT_TOO_LARGE', detail: { path: '/items', limit: '1000 items' } }],
    ['too much together', () => client.enqueueBatch('batch-note', Array.from({ length: 80 }, () => ({ input: { name: 'x'.repeat(250_000) } }))), { code: 'INPUT_TOO_LARGE', detail: { path: '/items', limit: '16777216 bytes' } }],
    ['what is no list', () => client.enqueueBatch(note, 'all' as never), { code: 'INPUT_INVALID', detail: { path: '/items' } }],
  ])('refuses %s as a whole, and writes nothing', async (_what, work, expected) => {
    const before = await count();
    await expect(work()).rejects.toMatchObject(expected);
    expect(await count()).toBe(before);
  });

  test('nothing in, nothing out', async () => {
    expect(await client.enqueueBatch(note, [])).toEqual([]);
  });

  test('with the ledger away every item says so, and nothing is thrown away', async () => {
    const lost = createClient({ databaseUrl: 'postgres://nobody@127.0.0.1:1/none' });
    const results = await lost.enqueueBatch('batch-note', [{ input: { name: '' }, runAt: 'never' }, { input: { name: 'a' } }]);
    await lost.close();
    expect(ids(results)).toEqual(['TIME_INVALID', 'LEDGER_UNAVAILABLE']);
  });
});

describe('publishing again', () => {
  test('at most one successor, linked both ways, and explain says it from both ends', async () => {
    const first = await client.enqueue(note, { name: 'again' });
    const many = await client.enqueueBatch(note, Array.from({ length: 10 }, (_, n) => ({ input: { name: 'again' }, key: `again-${String(n)}`, again: first.id })));
    const made = many.flatMap((result) => ('id' in result ? [result.id] : []));
    expect(made).toHaveLength(1);
    expect(many.filter((result) => 'error' in result && result.error.code === 'AGAIN_TAKEN')).toHaveLength(9);
    expect((await client.explain(first.id)).task).toMatchObject({ again_of: null, again_as: made[0] });
    expect((await client.explain(made[0] ?? '')).task).toMatchObject({ again_of: first.id, again_as: null });
    expect((await client.history(made[0] ?? '')).find(({ kind }) => kind === 'parent')?.facts['again_of']).toBe(first.id);
  });
});

describe('priority and fairness', () => {
  test('are kept with the task, and handed to the dispatcher for Temporal', async () => {
    const { id } = await client.enqueue(note, { name: 'first' }, { priority: 1, fairnessKey: 'tenant-a', fairnessWeight: 2.5 });
    const plain = await client.enqueue(note, { name: 'plain' });
    expect((await client.record(id)).task).toMatchObject({ priority: 1, fairness_key: 'tenant-a', fairness_weight: 2.5 });
    expect((await client.record(plain.id)).task).toMatchObject({ priority: null, fairness_key: null, fairness_weight: null });
    const due = await ledger.door.outboxTake(10_000, 1);
    expect(due.find(({ task }) => task === id)?.priority).toEqual({ priorityKey: 1, fairnessKey: 'tenant-a', fairnessWeight: 2.5 });
    expect(due.find(({ task }) => task === plain.id)?.priority).toEqual({});
  });

  test.each<[object, string, string]>([
    [{ priority: 0 }, 'INPUT_INVALID', '/priority'],
    [{ priority: 6 }, 'INPUT_INVALID', '/priority'],
    [{ priority: 2.5 }, 'INPUT_INVALID', '/priority'],
    [{ priority: '1' }, 'INPUT_INVALID', '/priority'],
    [{ fairnessKey: 'k'.repeat(65) }, 'INPUT_TOO_LARGE', '/fairnessKey'],
    [{ fairnessKey: '字'.repeat(22) }, 'INPUT_TOO_LARGE', '/fairnessKey'],
    [{ fairnessKey: ' ' }, 'REASON_REQUIRED', '/fairnessKey'],
    [{ fairnessKey: 'a', fairnessWeight: 0 }, 'INPUT_INVALID', '/fairnessWeight'],
    [{ fairnessKey: 'a', fairnessWeight: Number.NaN }, 'INPUT_INVALID', '/fairnessWeight'],
    [{ fairnessWeight: 2 }, 'INPUT_INVALID', '/fairnessWeight'],
  ])('%j is refused with %s', async (options, code, path) => {
    const error: unknown = await client.enqueue(note, { name: 'refused' }, options).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ThroughlineError);
    expect(error).toMatchObject({ code, detail: { path } });
  });
});
