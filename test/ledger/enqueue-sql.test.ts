/** throughline.enqueue(…): the same keys, limits and codes as the TypeScript client, from any language. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import pg from 'pg';
import { z } from 'zod';
import { createClient, defineTask, type ThroughlineClient } from '../../src/index.ts';
import { canonicalJson, differingPaths, digest, inputDigests } from '../../src/define/canonical.ts';
import type { Json } from '../../src/define/json.ts';
import { naturalKey } from '../../src/client/checks.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';

const note = defineTask({
  type: 'sql-note', version: 1, input: z.looseObject({ name: z.string().min(1) }),
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

interface Answer extends Record<string, unknown> { id: string; state: string; created: boolean }
const enqueue = async (input: unknown, args = '', values: readonly unknown[] = []): Promise<Answer> => {
  const [row] = await ledger.query<Answer>(`select * from throughline.enqueue('sql-note', $1${args})`, [typeof input === 'string' ? input : JSON.stringify(input), ...values]);
  if (row === undefined) throw new Error('no answer');
  return row;
};
/** SQLSTATE and DETAIL of what was refused, and proof that nothing was written. */
async function refusal(work: () => Promise<unknown>): Promise<{ sqlstate: string | undefined; detail: Record<string, unknown> }> {
  const count = async (): Promise<unknown> => (await ledger.query('select (select count(*) from throughline.task)::int as tasks, (select count(*) from throughline.dedupe)::int as keys'))[0];
  const before = await count();
  const error: unknown = await work().then(() => new Error('nothing was refused'), (thrown: unknown) => thrown);
  expect(await count()).toEqual(before);
  if (!(error instanceof pg.DatabaseError)) throw error;
  return { sqlstate: error.code, detail: JSON.parse(error.detail ?? '{}') as Record<string, unknown> };
}

describe('the same digests', () => {
  const spelled = async (values: readonly Json[]): Promise<readonly { text: string; digest: string; digests: Record<string, string> }[]> =>
    ledger.query(
      `select throughline._canonical(e.v, '/input') as text, throughline._digest(e.v, '/input') as digest, throughline._input_digests(e.v) as digests
       from jsonb_array_elements($1::jsonb) with ordinality e (v, n) order by e.n`, [JSON.stringify(values)]);

  const doubles = fc.double({ noNaN: true, noDefaultInfinity: true });
  const anyDouble = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }).map((bits) => new Float64Array(BigUint64Array.of(bits).buffer)[0] ?? 0).filter(Number.isFinite);
  const edges = fc.integer({ min: -1074, max: 1023 }).map((power) => 2 ** power);
  const decimals = fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: -323, max: 308 })).map(([digit, power]) => Number(`${String(digit)}e${String(power)}`)).filter(Number.isFinite);
  // Whole numbers beyond 2^53 are what they are spelled as; see below.
  const number = fc.oneof(doubles, anyDouble, edges, decimals, fc.integer()).map((n) => Number(JSON.stringify(n)));

  test('numbers are spelled as JavaScript spells them', async () => {
    const numbers = [...fc.sample(number, 4_000), 1e21, 1e-7, 1e23, 5e-324, 1.7976931348623157e308, 0, -0, 0.1, 123456789012345680000, 9007199254740991, 2.2250738585072014e-308, 9.5367431640625e-7];
    const found = await ledger.query<{ text: string }>("select throughline._canonical(e.v, '/input') as text from jsonb_array_elements($1::jsonb) with ordinality e (v, n) order by e.n", [JSON.stringify(numbers)]);
    expect(found.map(({ text }) => text)).toEqual(numbers.map((each) => JSON.stringify(each)));
  });

  test('values of any shape, with odd keys and texts, have the digests of the TypeScript client', async () => {
    const char = fc.oneof(fc.constantFrom('a', 'b', '/', '~', '"', '\\', '\n', '\t', '\u0001', '\u007f', '\u0085', '\u2028', '\u202e', '\ufeff', '\ue000', '\uffff', '😀', '字', '𐀀', ' '), fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }));
    const text = fc.oneof(fc.array(char, { maxLength: 6 }), fc.array(char, { minLength: 30, maxLength: 70 })).map((chars) => chars.join('').replaceAll('\u0000', '').toWellFormed());
    const { json } = fc.letrec<{ json: Json }>((tie) => ({
      json: fc.oneof({ maxDepth: 4, withCrossShrink: true }, text, number, fc.boolean(), fc.constant(null), fc.array(tie('json'), { maxLength: 4 }), fc.dictionary(text, tie('json'), { maxKeys: 5 })),
    }));
    const values = [...fc.sample(json, 250), ...fc.sample(fc.dictionary(text, json, { minKeys: 4, maxKeys: 12 }), 60) as Json[],
      { list: Array.from({ length: 300 }, (_, n) => n), small: { a: 1 } }, Object.fromEntries(Array.from({ length: 199 }, (_, n) => [`k${String(n)}`, { n }]))] as const;
    const plain = JSON.parse(JSON.stringify(values)) as Json[];
    const found = await spelled(plain);
    expect(found.map(({ text: spelling }) => spelling)).toEqual(plain.map(canonicalJson));
    expect(found.map((each) => each.digest)).toEqual(plain.map((each) => digest(each)));
    for (const [at, each] of found.entries()) expect(each.digests).toEqual(inputDigests(plain[at] ?? null));
    // The paths in which two of them differ.
    for (let at = 250; at < 300; at += 1) {
      const [a, b] = [inputDigests(plain[at] ?? null), inputDigests(plain[at + 1] ?? null)];
      expect((await ledger.query('select throughline._differing_paths($1, $2) as paths', [JSON.stringify(a), JSON.stringify(b)]))[0]?.['paths']).toEqual(differingPaths(a, b));
    }
  });

  test('a natural key is the one that a definition makes', async () => {
    for (const key of [{ subject: 'notes/1', action: 'publish', resourceVersion: '3' }, { subject: "a b%c!'()*~", action: '字😀', resourceVersion: 'é/ü' }]) {
      expect((await ledger.query('select throughline.natural_key($1, $2, $3) as key', [key.subject, key.action, key.resourceVersion]))[0]?.['key']).toBe(naturalKey(key));
    }
  });
});

describe('one key', () => {
  test('20 parallel enqueues through both doors: one task, 20 good answers, one of them created it', async () => {
    for (let round = 0; round < 5; round += 1) {
      const key = `doors-${String(round)}`;
      const answers = await Promise.all(Array.from({ length: 20 }, (_, n): Promise<{ id: string; created: boolean }> =>
        n % 2 === 0 ? client.enqueue(note, { name: 'a', size: [1, 2.5e-9], more: { x: null } }, { key }) : enqueue('{"more": {"x": null}, "size": [1.0, 0.0000000025], "name": "a"}', ', $2', [key])));
      expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
      expect(answers.filter(({ created }) => created)).toHaveLength(1);
    }
  });

  test('other input is a conflict that names the paths, whichever door was first, while it runs and after its end', async () => {
    const first = await enqueue({ name: 'a', list: [1, 2] }, ', $2', ['conflict-1']);
    await expect(client.enqueue(note, { name: 'a', list: [2, 1] }, { key: 'conflict-1' })).rejects.toMatchObject({ code: 'DEDUPE_CONFLICT', detail: { paths: ['/input/list/0', '/input/list/1'] } });
    const again = (): Promise<Answer> => enqueue({ name: 'b', list: [1, 2] }, ', $2', ['conflict-1']);
    expect(await refusal(again)).toEqual({ sqlstate: 'TL010', detail: { error: 'DEDUPE_CONFLICT', id: first.id, state: 'queued', paths: ['/input/name'] } });
    await client.cancel(first.id, { why: 'enough' });
    expect((await refusal(again)).detail).toMatchObject({ error: 'DEDUPE_CONFLICT', state: 'cancelled' });
    expect(await enqueue({ list: [1, 2], name: 'a' }, ', $2', ['conflict-1'])).toEqual({ id: first.id, state: 'cancelled', created: false });
  });

  test('in the caller\'s transaction it exists only if that commits; at REPEATABLE READ a race is a coded 40001', async () => {
    const tx = new pg.Client({ connectionString: ledger.url });
    await tx.connect();
    await tx.query('begin');
    await tx.query("select throughline.enqueue('sql-note', '{\"name\": \"tx\"}', 'tx')");
    await tx.query('rollback');
    expect(await ledger.query("select from throughline.dedupe where key = 'tx'")).toEqual([]);
    await tx.query('begin isolation level repeatable read');
    await tx.query('select 1 from throughline.task limit 1');
    await client.enqueue(note, { name: 'rr' }, { key: 'rr' });
    expect(await refusal(() => tx.query("select throughline.enqueue('sql-note', '{\"name\": \"rr\"}', 'rr')"))).toEqual({ sqlstate: '40001', detail: { error: 'SERIALIZATION' } });
    await tx.query('rollback');
    await tx.end();
  });
});

describe('what is refused', () => {
  test.each<[string, unknown, string, readonly unknown[], object]>([
    ['no input', 'null', ", key => 'x', by => ''", [], { error: 'REASON_REQUIRED', path: '/by' }],
    ['an empty key', {}, ", ' '", [], { error: 'REASON_REQUIRED', path: '/key' }],
    ['a too long key', {}, ', $2', ['k'.repeat(513)], { error: 'INPUT_TOO_LARGE', path: '/key', limit: 512 }],
    ['a too large input', { name: 'x'.repeat(262_144) }, '', [], { error: 'INPUT_TOO_LARGE', path: '/input', limit: 262_144 }],
    ['a number beyond every double', '{"a": [1, 1e309]}', '', [], { error: 'INPUT_NOT_STORABLE', path: '/input/a/1' }],
    ['an id that a reader would change', '{"id": 9007199254740993}', '', [], { error: 'INPUT_NOT_STORABLE', path: '/input/id' }],
    ['too deep a value', `${'['.repeat(101)}${']'.repeat(101)}`, '', [], { error: 'INPUT_NOT_STORABLE', limit: '100 levels' }],
    ['a negative delay', {}, ", delay => '-1 s'", [], { error: 'TIME_INVALID', path: '/delay' }],
    ['an endless delay', {}, ", delay => 'infinity'", [], { error: 'TIME_INVALID', path: '/delay' }],
    ['both times', {}, ", run_at => now(), delay => '1 s'", [], { error: 'TIME_INVALID', path: '/delay' }],
    ['a time without end', {}, ", run_at => 'infinity'", [], { error: 'TIME_INVALID', path: '/run_at' }],
    ['a far deadline', {}, ", deadline_at => now() + interval '11 years'", [], { error: 'TIME_INVALID', path: '/deadline_at' }],
    ['a priority of 6', {}, ', priority => 6', [], { error: 'INPUT_INVALID', path: '/priority' }],
    ['a weight without its key', {}, ', fairness_weight => 2', [], { error: 'INPUT_INVALID', path: '/fairness_weight' }],
    ['a predecessor that does not exist', {}, ", 'again', again_of => gen_random_uuid()", [], { error: 'TASK_UNKNOWN' }],
    ['an unknown version', {}, ', version => 7', [], { error: 'TYPE_UNKNOWN', version: 7 }],
  ])('%s', async (_what, input, args, values, expected) => {
    const { sqlstate, detail } = await refusal(() => enqueue(input, args, values));
    expect(sqlstate).toBe('TL010');
    expect(detail).toMatchObject(expected);
  });

  test('the largest input that the client accepts is accepted here, too', async () => {
    const name = 'x'.repeat(262_144 - '{"name":""}'.length);
    const { id } = await client.enqueue(note, { name }, { key: 'largest' });
    expect(await enqueue({ name }, ", 'largest'")).toMatchObject({ id, created: false });
    expect((await refusal(() => enqueue({ name: `${name}x` }))).detail).toMatchObject({ error: 'INPUT_TOO_LARGE' });
  });

  test('a service\'s role needs this function alone, and can do nothing else', async () => {
    const role = `svc_${ledger.url.split('/').at(-1)?.slice(0, 20) ?? ''}`;
    await ledger.query(`create role ${role} login password 'svc'`);
    await ledger.query(`grant usage on schema throughline to ${role}; grant execute on function throughline.enqueue to ${role}`);
    const url = new URL(ledger.url);
    url.username = role;
    url.password = 'svc';
    const service = new pg.Client({ connectionString: url.href });
    await service.connect();
    const { rows } = await service.query<Answer>("select * from throughline.enqueue('sql-note', '{\"name\": \"svc\"}')");
    expect(rows[0]).toMatchObject({ state: 'queued', created: true });
    expect((await client.record(rows[0]?.id ?? '')).task).toMatchObject({ created_by: `database:${role}`, priority: null });
    await expect(service.query('select * from throughline.task')).rejects.toMatchObject({ code: '42501' });
    await expect(service.query("select throughline.task_cancel($1, '{}')", [rows[0]?.id])).rejects.toMatchObject({ code: '42501' });
    await service.end();
    await ledger.query(`drop owned by ${role}; drop role ${role}`);
  });
});
