import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { z } from 'zod';
import { createClient, defineTask } from '../../src/index.ts';
import type { ThroughlineClient } from '../../src/index.ts';
import { openLedger } from '../support/ledger.ts';
import type { Ledger } from '../support/ledger.ts';

const greet = defineTask({
  type: 'greet',
  version: 1,
  input: z.object({ name: z.string().max(50), note: z.object({ lines: z.array(z.string()) }).optional() }),
  dedupeKey: ({ name }) => ({ subject: name, action: 'greet', resourceVersion: '1' }),
  steps: (flow) => flow.step('say', { result: z.object({ text: z.string() }), proof: { record: ['/text'] }, run: ({ input }) => Promise.resolve({ text: input.name }) }),
});

let ledger: Ledger;
let client: ThroughlineClient;

beforeAll(async () => {
  ledger = await openLedger();
  // No Temporal at all: everything here works without it.
  client = createClient({ databaseUrl: ledger.url, by: 'service', temporal: { address: '127.0.0.1:1' } });
});

afterAll(async () => {
  await client.close();
  await ledger.close();
});

const tasks = async (): Promise<number> => Number((await ledger.query<{ n: number }>('select count(*)::int as n from throughline.task'))[0]?.n);

/** The error's code and detail, and proof that nothing was written. */
async function refusal(work: () => Promise<unknown>): Promise<Record<string, unknown>> {
  const before = await tasks();
  const error: unknown = await work().then(() => 'nothing was refused', (thrown: unknown) => thrown);
  expect(await tasks()).toBe(before);
  return JSON.parse(JSON.stringify(error)) as Record<string, unknown>;
}

describe('enqueue', () => {
  test('accepts a task, and answers a repeat with the same one', async () => {
    const first = await client.enqueue(greet, { name: 'Ada' });
    expect(first).toMatchObject({ state: 'queued', created: true });
    expect(await client.enqueue(greet, { name: 'Ada' })).toEqual({ ...first, created: false });
    expect(await client.get(first.id)).toMatchObject({ task: first.id, status: 'queued', steps: [{ name: 'say', state: 'queued', reason: 'new_task' }] });
  });

  test('names the paths that differ when a known key comes with another input', async () => {
    await client.enqueue(greet, { name: 'Bob', note: { lines: ['one', 'two'] } });
    expect(await refusal(() => client.enqueue(greet, { name: 'Bob', note: { lines: ['one', 'three'] } }))).toMatchObject({ code: 'DEDUPE_CONFLICT', paths: ['/input/note/lines/1'] });
  });

  test('the order of keys does not matter, the order of lists does', async () => {
    const key = randomUUID();
    const one = await client.enqueue('greet', { name: 'C', note: { lines: ['a', 'b'] } }, { key });
    expect(await client.enqueue('greet', { note: { lines: ['a', 'b'] }, name: 'C' }, { key })).toMatchObject({ id: one.id, created: false });
    expect(await refusal(() => client.enqueue('greet', { name: 'C', note: { lines: ['b', 'a'] } }, { key }))).toMatchObject({ code: 'DEDUPE_CONFLICT' });
  });

  test('twenty at once with one key over two clients: one task, one of them created it', async () => {
    const other = createClient({ databaseUrl: ledger.url });
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? client : other).enqueue(greet, { name: 'Dora' })));
    await other.close();
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    expect(answers.filter(({ created }) => created)).toHaveLength(1);
  });

  test('in a transaction of the caller it exists only if that commits', async () => {
    const connection = new pg.Client({ connectionString: ledger.url });
    await connection.connect();
    await connection.query('begin');
    const { id } = await client.enqueue(greet, { name: 'Eve' }, { tx: connection });
    await connection.query('rollback');
    expect(await refusal(() => client.get(id))).toMatchObject({ code: 'TASK_UNKNOWN' });
    await connection.query('begin isolation level repeatable read');
    await connection.query('select 1 from throughline.task limit 1');
    await client.enqueue(greet, { name: 'Fay' });
    expect(await refusal(() => client.enqueue(greet, { name: 'Fay' }, { tx: connection }))).toMatchObject({ code: 'SERIALIZATION' });
    await connection.query('rollback');
    await connection.end();
  });

  test.each([
    ['an unknown type', () => client.enqueue('nobody-knows', {}), { code: 'TYPE_UNKNOWN' }],
    ['an input that does not fit', () => client.enqueue(greet, { name: 7 } as never), { code: 'INPUT_INVALID', path: '/input/name' }],
    ['a NUL character', () => client.enqueue(greet, { name: 'a\u0000b' }), { code: 'INPUT_NOT_STORABLE', path: '/input/name' }],
    ['a too large input', () => client.enqueue('greet', { name: 'x'.repeat(300_000) }), { code: 'INPUT_TOO_LARGE', limit: '262144 bytes' }],
    ['a too long key', () => client.enqueue(greet, { name: 'G' }, { key: 'k'.repeat(513) }), { code: 'INPUT_TOO_LARGE', path: '/key', limit: 512 }],
    ['a time without zone', () => client.enqueue(greet, { name: 'G' }, { runAt: '2026-05-01T09:00:00' }), { code: 'TIME_INVALID', path: '/runAt' }],
    ['30 February', () => client.enqueue(greet, { name: 'G' }, { runAt: '2026-02-30T09:00:00Z' }), { code: 'TIME_INVALID', path: '/runAt' }],
    ['no time at all', () => client.enqueue(greet, { name: 'G' }, { runAt: 'tomorrow' }), { code: 'TIME_INVALID', path: '/runAt' }],
    ['a negative delay', () => client.enqueue(greet, { name: 'G' }, { delay: -1 }), { code: 'TIME_INVALID', path: '/delay' }],
    ['a delay of NaN', () => client.enqueue(greet, { name: 'G' }, { delay: Number.NaN }), { code: 'TIME_INVALID', path: '/delay' }],
    ['a delay of twenty years', () => client.enqueue(greet, { name: 'G' }, { delay: '7305d' }), { code: 'TIME_INVALID', path: '/delay' }],
    ['a predecessor that is no id', () => client.enqueue(greet, { name: 'G' }, { again: '../x' }), { code: 'ID_INVALID' }],
    ['a predecessor that does not exist', () => client.enqueue(greet, { name: 'G' }, { again: randomUUID() }), { code: 'TASK_UNKNOWN' }],
  ])('refuses %s with a code, and writes nothing', async (_, work, expected) => {
    expect(await refusal(work)).toMatchObject(expected);
  });

  test('a delay beyond 2^31 ms is kept, a past time means now', async () => {
    const late = await client.enqueue(greet, { name: 'H' }, { delay: '60d' });
    const [step] = (await client.get(late.id)).steps;
    expect(step?.next?.in_ms).toBeGreaterThan(59 * 86_400_000);
    const past = await client.enqueue(greet, { name: 'I' }, { runAt: '2020-01-01T00:00:00+02:00' });
    expect((await client.get(past.id)).steps[0]?.next).toMatchObject({ do: 'attempt', in_ms: 0 });
  });

  test('publishing again is a new task, at most one, linked both ways', async () => {
    const first = await client.enqueue(greet, { name: 'J' });
    const again = await client.enqueue(greet, { name: 'J' }, { key: 'J/again', again: first.id });
    expect((await client.record(first.id)).task.again_as).toBe(again.id);
    expect((await client.record(again.id)).task.again_of).toBe(first.id);
    expect(await refusal(() => client.enqueue(greet, { name: 'J' }, { key: 'J/third', again: first.id }))).toMatchObject({ code: 'AGAIN_TAKEN' });
    // The refused one has not used up its key.
    expect(await client.enqueue(greet, { name: 'J' }, { key: 'J/third' })).toMatchObject({ created: true });
  });
});

describe('cancel and the questions, with Temporal down', () => {
  test('a queued task is cancelled at once; the same id, another id, and a second time tell the same', async () => {
    const { id } = await client.enqueue(greet, { name: 'K' });
    const first = await client.cancel(id, { id: 'one', why: 'not wanted' });
    expect(first).toMatchObject({ verdict: 'prevented', status: 'cancelled', steps: [{ step: 'say', found: 'queued', verdict: 'prevented' }] });
    const entries = (await client.history(id)).length;
    expect(await client.cancel(id, { id: 'one', why: 'not wanted' })).toMatchObject({ verdict: 'prevented', repeated: true });
    expect((await client.history(id)).length).toBe(entries);
    expect(await client.cancel(id, { id: 'two', why: 'still not' })).toMatchObject({ verdict: 'already_terminal' });
    expect(await client.waitFor(id, { timeoutMs: 5_000 })).toMatchObject({ status: 'cancelled', reason: 'cancelled_before_execution' });
    const explanation = await client.explain(id);
    expect(explanation.success).toBe(false);
    expect(explanation.will_run_again.answer).toBe('no');
  });

  test('says who must act and why, and refuses without', async () => {
    const { id } = await client.enqueue(greet, { name: 'L' });
    expect(await refusal(() => client.cancel(id, { why: ' ' }))).toMatchObject({ code: 'REASON_REQUIRED', path: '/why' });
    expect(await refusal(() => client.cancel(id, { why: 'x', by: '' }))).toMatchObject({ code: 'REASON_REQUIRED', path: '/by' });
    expect(await refusal(() => client.cancel(id, { why: 'x', step: 'nope' }))).toMatchObject({ code: 'STEP_UNKNOWN' });
    expect(await refusal(() => client.cancel(randomUUID(), { why: 'x' }))).toMatchObject({ code: 'TASK_UNKNOWN' });
    expect(await refusal(() => client.replay(id, { why: 'x' }))).toMatchObject({ code: 'REPLAY_NOT_DEAD' });
    expect(await refusal(() => client.decide(id, { step: 'say', verdict: 'approved', by: 'mei', why: 'ok' }))).toMatchObject({ code: 'REVIEW_NOT_OPEN' });
  });

  test('a receipt for no task is stored and answered with its verdict', async () => {
    expect(await client.deliverReceipt({ deliveryId: randomUUID(), sender: 'platform', task: 'no such task', step: 'publish', kind: 'completed' })).toMatchObject({ verdict: 'unknown_task' });
    expect(await refusal(() => client.deliverReceipt({ deliveryId: 'x', sender: 'reviewer:me', task: randomUUID(), step: 'publish', kind: 'completed' }))).toMatchObject({ code: 'INPUT_INVALID', path: '/sender' });
    expect(await refusal(() => client.deliverReceipt({ deliveryId: '', sender: 'platform', task: 'x', step: 'publish', kind: 'completed' }))).toMatchObject({ path: '/deliveryId' });
  });

  test('explain says that the hand-over is pending and that Temporal could not be asked', async () => {
    const { id } = await client.enqueue(greet, { name: 'M' });
    const explanation = await client.explain(id);
    expect(explanation.driver.handed_over).toBe(false);
    expect(explanation.driver.agrees_with_temporal).toBe('unknown');
  });

  test('a wait that is over says so', async () => {
    const { id } = await client.enqueue(greet, { name: 'N' });
    expect(await refusal(() => client.waitFor(id, { timeoutMs: 100 }))).toMatchObject({ code: 'WAIT_TIMEOUT' });
    expect(await refusal(() => client.waitFor(randomUUID()))).toMatchObject({ code: 'TASK_UNKNOWN' });
  });
});

describe('list', () => {
  test('pages neither skip nor repeat while tasks are added', async () => {
    const own = await openLedger();
    const lister = createClient({ databaseUrl: own.url });
    const make = (from: number, count: number): Promise<unknown> => Promise.all(Array.from({ length: count }, (_, index) => lister.enqueue(greet, { name: `n${String(from + index)}` })));
    await make(0, 120);
    const expected = new Set((await own.query<{ id: string }>('select id from throughline.task')).map(({ id }) => id));
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: { rows: readonly { id: string }[]; cursor: string | null } = await lister.list({ limit: 7, ...(cursor === null ? {} : { cursor }) });
      seen.push(...page.rows.map(({ id }) => id));
      cursor = page.cursor;
      await make(1_000 + seen.length * 10, 3);
    } while (cursor !== null);
    expect(seen).toHaveLength(120);
    expect(new Set(seen)).toEqual(expected);
    await lister.close();
    await own.close();
  });

  test.each([
    ['an unknown status', { status: 'green' as never }, { code: 'FILTER_INVALID', path: '/status' }],
    ['an unknown reason', { reason: 'because' as never }, { code: 'FILTER_INVALID', path: '/reason' }],
    ['a limit of 0', { limit: 0 }, { code: 'FILTER_INVALID', path: '/limit' }],
    ['a foreign cursor', { cursor: 'abc' }, { code: 'CURSOR_INVALID', path: '/cursor' }],
    ['a time without zone', { createdFrom: '2026-01-01' }, { code: 'TIME_INVALID', path: '/createdFrom' }],
  ])('refuses %s', async (_, filter, expected) => {
    expect(await refusal(() => client.list(filter))).toMatchObject(expected);
  });
});
