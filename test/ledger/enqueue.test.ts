import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { Database, Door, type EnqueueRow } from '../../src/ledger/index.ts';
import { digestOf, planOf, uuid } from '../support/factories.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { snapshot } from '../support/snapshot.ts';
import { register, Tale } from '../support/tale.ts';

const PLAN = planOf({ effects: 'none', probe: false });
let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
  await register(ledger, PLAN);
});
afterAll(() => ledger.close());

const rowOf = (key: string | undefined, input: Readonly<Record<string, string>> = { note: 'a' }, more: Partial<EnqueueRow> = {}): EnqueueRow => ({
  type: PLAN.type, id: uuid(), input, digest: digestOf(input), digests: Object.fromEntries(Object.entries(input).map(([path, value]) => [`/${path}`, digestOf(value)])),
  by: 'service:test', ...(key === undefined ? {} : { key }), ...more,
});
const tasks = async (key: string): Promise<number> => (await ledger.query<{ n: number }>('select count(*)::int as n from throughline.task where key = $1', [key]))[0]?.n ?? -1;

async function withClient<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: ledger.url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

describe('one key', () => {
  test('20 parallel callers over two pools: one task, 20 good answers, one of them created', async () => {
    const pools = [1, 2].map(() => new Database({ url: ledger.url, connectionsMax: 10 }));
    const doors = pools.flatMap((pool) => Array.from({ length: 10 }, () => new Door(pool)));
    for (let round = 0; round < 10; round += 1) {
      const key = `parallel-${round}`;
      const answers = await Promise.all(doors.map((door) => door.taskEnqueue(rowOf(key))));
      expect(answers.filter((answer) => answer.created)).toHaveLength(1);
      expect(new Set(answers.map((answer) => answer.id)).size).toBe(1);
      expect(await tasks(key)).toBe(1);
    }
    await Promise.all(pools.map((pool) => pool.end()));
  });

  test('a repeat returns the task and its present state, while it runs and after its end', async () => {
    const row = rowOf('repeat');
    const tale = await Tale.of(ledger, { effects: 'none', probe: false, proof: { kind: 'record', requires: ['/url'] } }, { key: 'repeat' });
    expect(await ledger.door.taskEnqueue({ ...row, type: String((await tale.taskRow())['type']), digest: digestOf({ note: 'hello' }) })).toEqual({ id: tale.task, state: 'queued', created: false });
    await (await tale.claim()).done();
    expect(await ledger.door.taskEnqueue({ ...row, type: String((await tale.taskRow())['type']), digest: digestOf({ note: 'hello' }) })).toEqual({ id: tale.task, state: 'succeeded', created: false });
  });

  test('other input is a conflict that names the task and the digests of its paths', async () => {
    const first = await ledger.door.taskEnqueue(rowOf('conflict', { note: 'a', size: '1' }));
    await expect(ledger.door.taskEnqueue(rowOf('conflict', { note: 'a', size: '2' }))).rejects.toMatchObject({
      code: 'DEDUPE_CONFLICT',
      detail: { facts: { id: first.id, state: 'queued', digests: { '/note': digestOf('a'), '/size': digestOf('1') } } },
    });
    expect(await tasks('conflict')).toBe(1);
  });

  test('is one per type: another type has keys of its own', async () => {
    const other = planOf({ effects: 'none', probe: false, attempts: 7 });
    await register(ledger, other);
    await ledger.door.taskEnqueue(rowOf('per-type'));
    expect(await ledger.door.taskEnqueue(rowOf('per-type', { note: 'b' }, { type: other.type }))).toMatchObject({ created: true });
  });

  test('parallel callers with different inputs: one task, and a conflict for all the others', async () => {
    const results = await Promise.allSettled(Array.from({ length: 10 }, (_, n) => ledger.door.taskEnqueue(rowOf('race', { note: String(n) }))));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const result of results) if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'DEDUPE_CONFLICT' });
  });
});

describe('a lost answer', () => {
  test.each([['with a key', 'lost-1'], ['without a key', undefined]])('%s: repeating the call makes no second task', async (_how, key) => {
    const row = rowOf(key);
    await ledger.door.taskEnqueue(row);
    const before = await snapshot(ledger, row.id);
    expect(await ledger.door.taskEnqueue(row)).toEqual({ id: row.id, state: 'queued', created: false });
    expect(await snapshot(ledger, row.id)).toEqual(before);
  });

  test('an id that belongs to another task is refused and leaves no key behind', async () => {
    const row = rowOf(undefined);
    await ledger.door.taskEnqueue(row);
    await expect(ledger.door.taskEnqueue({ ...rowOf('stolen'), id: row.id })).rejects.toMatchObject({ code: 'ID_CONFLICT' });
    expect(await ledger.door.taskEnqueue(rowOf('stolen'))).toMatchObject({ created: true });
  });
});

describe('in the caller\'s transaction', () => {
  test('a rollback leaves nothing, a commit everything', async () => {
    await withClient(async (client) => {
      const row = rowOf('tx');
      await client.query('begin');
      expect(await ledger.door.taskEnqueue(row, { tx: client })).toMatchObject({ created: true });
      await client.query('rollback');
      expect(await tasks('tx')).toBe(0);
      expect(await ledger.query("select from throughline.dedupe where key = 'tx'")).toEqual([]);
      expect(await ledger.query('select from throughline.timeline where task_id = $1', [row.id])).toEqual([]);
      await client.query('begin');
      await ledger.door.taskEnqueue(row, { tx: client });
      await client.query('commit');
      expect(await ledger.query('select version from throughline.outbox where task_id = $1', [row.id])).toHaveLength(1);
    });
  });

  test('whoever meets an uncommitted key waits, and takes it over if that transaction rolls back', async () => {
    await withClient(async (client) => {
      await client.query('begin');
      const first = rowOf('wait');
      await ledger.door.taskEnqueue(first, { tx: client });
      const second = ledger.door.taskEnqueue(rowOf('wait'));
      await client.query('rollback');
      const answer = await second;
      expect(answer.created).toBe(true);
      expect(answer.id).not.toBe(first.id);
    });
  });

  test.each(['repeatable read', 'serializable'])('a caller at %s gets SERIALIZATION where it cannot see who was first', async (level) => {
    await withClient(async (client) => {
      await client.query(`begin isolation level ${level}`);
      await client.query('select 1 from throughline.task limit 1');
      const key = `rr-${level}`;
      await ledger.door.taskEnqueue(rowOf(key));
      await expect(ledger.door.taskEnqueue(rowOf(key), { tx: client })).rejects.toMatchObject({ code: 'SERIALIZATION' });
      await client.query('rollback');
      // Run again from its start, it finds the task.
      await client.query(`begin isolation level ${level}`);
      expect(await ledger.door.taskEnqueue(rowOf(key), { tx: client })).toMatchObject({ created: false });
      await client.query('commit');
    });
  });
});

describe('what is accepted', () => {
  test('steps start as the table says, and the parent with them', async () => {
    const tale = await Tale.of(ledger, [{ name: 'render' }, { name: 'publish', needs: ['render'] }]);
    expect((await tale.timeline()).map(({ kind, step, from_state, to_state, reason }) => [kind, step, from_state, to_state, reason])).toEqual([
      ['transition', 'render', 'none', 'queued', 'new_task'],
      ['transition', 'publish', 'none', 'waiting', 'new_task'],
      ['parent', null, 'none', 'queued', 'new_task'],
    ]);
    expect(await tale.taskRow()).toMatchObject({ status: 'queued', held_by: 'render', at_rest: false });
  });

  test('an input that is too large is refused with its limit, and nothing is written', async () => {
    const row = rowOf('large', { note: 'x'.repeat(300_000) });
    await expect(ledger.door.taskEnqueue(row)).rejects.toMatchObject({ code: 'INPUT_TOO_LARGE', detail: { path: '/input', limit: 262_144 } });
    expect(await tasks('large')).toBe(0);
    expect(await ledger.query("select from throughline.dedupe where key = 'large'")).toEqual([]);
  });

  test('a NUL anywhere is refused with a code, and six visible characters stay six characters', async () => {
    const NUL = String.fromCharCode(0);
    await expect(ledger.door.taskEnqueue(rowOf('nul', { note: `a${NUL}b` }))).rejects.toMatchObject({ code: 'INPUT_NOT_STORABLE' });
    await expect(ledger.door.taskEnqueue(rowOf(`k${NUL}`))).rejects.toMatchObject({ code: 'INPUT_NOT_STORABLE' });
    const six = '\\u0000';
    expect(six).toHaveLength(6);
    const row = rowOf('six', { note: six });
    await ledger.door.taskEnqueue(row);
    expect(await ledger.query('select input from throughline.task where id = $1', [row.id])).toEqual([{ input: { note: six } }]);
  });

  test.each([0, -1, 2.5, Number.NaN])('a plan of %d attempts is refused, and nothing is written', async (attempts) => {
    const plan = planOf({ name: 'bad', effects: 'none', probe: false, attempts });
    await register(ledger, plan);
    const row = rowOf(`attempts-${attempts}`, { note: 'a' }, { type: plan.type });
    await expect(ledger.door.taskEnqueue(row)).rejects.toThrow();
    expect(await tasks(`attempts-${attempts}`)).toBe(0);
    expect(await ledger.query('select from throughline.dedupe where key = $1', [row.key])).toEqual([]);
  });

  test('a successor: at most one, linked, and a refused one keeps its key free', async () => {
    const tale = await Tale.of(ledger);
    await tale.cancel();
    const first = rowOf('again-1', { note: 'a' }, { again_of: tale.task });
    await ledger.door.taskEnqueue(first);
    await expect(ledger.door.taskEnqueue(rowOf('again-2', { note: 'a' }, { again_of: tale.task }))).rejects.toMatchObject({ code: 'AGAIN_TAKEN', detail: { facts: { id: first.id } } });
    await expect(ledger.door.taskEnqueue(rowOf('again-2', { note: 'a' }, { again_of: uuid() }))).rejects.toMatchObject({ code: 'TASK_UNKNOWN' });
    expect(await ledger.door.taskEnqueue(rowOf('again-2'))).toMatchObject({ created: true });
  });
});
