/** Bulk replay and bulk cancel through the client, on a real ledger, with nothing else running: no worker, no Temporal. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createClient } from '../../src/index.ts';
import type { BulkInput, BulkItemPage, ThroughlineClient } from '../../src/index.ts';
import { Bulks } from '../../src/ledger/index.ts';
import { LIMITS } from '../../src/state/index.ts';
import type { Category } from '../../src/state/index.ts';
import { HOUR, uuid } from '../support/factories.ts';
import type { Shape } from '../support/factories.ts';
import { BulkDriver } from '../../src/worker/bulk-driver.ts';
import { quietLogger } from '../../src/worker/log.ts';
import { Metrics } from '../../src/metrics/index.ts';
import { openLedger, type Ledger, type Row } from '../support/ledger.ts';
import { Tale } from '../support/tale.ts';
import { waiting } from '../ledger/scenarios/scenario.ts';

let ledger: Ledger;
let client: ThroughlineClient;
let bulks: Bulks;
/** Each test has a type of its own: one that no other test finds. */
let shape: Shape;
let n = 0;

beforeAll(async () => {
  ledger = await openLedger();
  client = createClient({ databaseUrl: ledger.url, by: 'oda' });
  bulks = new Bulks(ledger.database);
});
beforeEach(() => {
  n += 1;
  shape = { effects: 'none', probe: false, attempts: 2, leaseMs: 15_000 + n };
});
afterAll(async () => {
  await client.close();
  await ledger.close();
});

const dead = async (of: Shape = shape): Promise<Tale> => (await (await Tale.of(ledger, of)).claim()).fail(false);
const several = async (count: number, make: () => Promise<Tale> = dead): Promise<Tale[]> => {
  const tales: Tale[] = [];
  for (let index = 0; index < count; index += 1) tales.push(await make());
  return tales;
};
const typeOf = async (tale: Tale | undefined): Promise<string> => String((await tale?.taskRow())?.['type']);
const states = (tales: readonly Tale[]): Promise<string[]> => Promise.all(tales.map((tale) => tale.state()));
const mine = async (tale: Tale | undefined, more: Partial<BulkInput> = {}) => ({ filter: { type: await typeOf(tale) }, why: 'the bad deploy is rolled back', ratePerSecond: 1_000, ...more });
const everything = (): Promise<Row[]> => ledger.query(`select (select jsonb_agg(to_jsonb(x) order by x.id) from throughline.timeline x) as timeline,
  (select jsonb_agg(to_jsonb(x) order by x.task_id, x.name) from throughline.step x) as steps, (select jsonb_agg(to_jsonb(x) order by x.task_id) from throughline.outbox x) as outbox`);
const code = async (work: () => Promise<unknown>): Promise<Record<string, unknown>> =>
  JSON.parse(JSON.stringify(await work().then(() => 'nothing was refused', (error: unknown) => error))) as Record<string, unknown>;

describe('a bulk replay', () => {
  test('is a dry run until it is applied: it says what each would meet and changes nothing', async () => {
    const tales = await several(3);
    await tales[1]?.cancels();
    const before = await everything();
    const bulk = await client.replays.create({ ...(await mine(tales[0])), filter: { type: await typeOf(tales[0]), reason: 'not_retryable' } });
    expect(bulk).toMatchObject({
      kind: 'replay', status: 'planned', by: 'oda', items: 2, counts: { pending: 2, done: 0, refused: 0, skipped: 0 }, foreseen: [{ to: 'queued', items: 2 }], applied_at: null, next_in_ms: null,
    });
    expect(await client.replays.items(bulk.id)).toMatchObject({ cursor: null, rows: [{ task: tales[0]?.task, found: { state: 'dead', reason: 'not_retryable' }, result: 'pending' }, { task: tales[2]?.task }] });
    const wider = await client.replays.create(await mine(tales[0]));
    expect(wider.foreseen).toEqual([{ to: 'queued', items: 2 }, { refused: 'REPLAY_CANCEL_SET', items: 1 }]);
    expect(await everything()).toEqual(before);
  });

  test('touches what was frozen and nothing that died later', async () => {
    const tales = await several(2);
    const { id } = await client.replays.create(await mine(tales[0]));
    const later = await dead();
    await client.replays.apply(id);
    expect(await client.replays.drive(id)).toMatchObject({ status: 'done', counts: { done: 2 } });
    expect(await states([...tales, later])).toEqual(['queued', 'queued', 'dead']);
  });

  test('does not replay another death of the same step than the one that was frozen', async () => {
    const tale = await dead();
    const { id } = await client.replays.create(await mine(tale));
    await tale.replays();
    await (await tale.claim()).fail(false);
    await client.replays.apply(id);
    await client.replays.drive(id);
    expect(await client.replays.items(id)).toMatchObject({ rows: [{ result: 'refused', code: 'BULK_ITEM_CHANGED', details: { reason: 'not_retryable' } }] });
    expect(await tale.state()).toBe('dead');
  });

  test('does each item once, whoever applies and drives it and how often', async () => {
    const tales = await several(30);
    const { id } = await client.replays.create(await mine(tales[0]));
    const other = createClient({ databaseUrl: ledger.url, by: 'ben' });
    const [one] = await Promise.all([client.replays.apply(id), other.replays.apply(id)]);
    expect(one.applied_by).toMatch(/^(oda|ben)$/);
    await Promise.all([client.replays.drive(id), other.replays.drive(id), client.replays.drive(id)]);
    await other.close();
    expect(await client.replays.get(id)).toMatchObject({ status: 'done', counts: { pending: 0, done: 30 } });
    expect(await client.replays.apply(id)).toMatchObject({ status: 'done', repeated: true });
    const [{ entries, tasks } = {}] = await ledger.query("select count(*)::int as entries, count(distinct task_id)::int as tasks from throughline.timeline where event = 'replay' and facts ->> 'bulk' = $1", [id]);
    expect([entries, tasks]).toEqual([30, 30]);
  });

  test('says in the timeline and in the explanation who, why and as part of what', async () => {
    const tale = await dead();
    const { id } = await client.replays.create(await mine(tale, { by: 'oda' }));
    await client.replays.apply(id, { by: 'ben' });
    await client.replays.drive(id);
    expect((await tale.timeline()).filter(({ event }) => event === 'replay')).toMatchObject([{ actor: 'oda', facts: { bulk: id, why: 'the bad deploy is rolled back' } }]);
    const line = async (lang: 'en' | 'zh-CN') => (await client.explain(tale.task, { lang })).story.find(({ reason }) => reason === 'replayed');
    expect(await line('en')).toMatchObject({ who: 'oda', sentence: expect.stringMatching(`replayed it.*the bad deploy is rolled back.*as part of bulk ${id}`) });
    expect((await line('zh-CN'))?.sentence).toContain(`批量操作 ${id}`);
  });

  test('keeps a refusal with its code and what belongs to it, and does the others', async () => {
    const outside: Shape = { effects: 'post', probe: false, leaseMs: 15_000 + n };
    const overdue = async (): Promise<Tale> => {
      const tale = await Tale.of(ledger, outside);
      await waiting(tale, 'submitted');
      await tale.overdue();
      return tale;
    };
    const proven = await overdue();
    const fine = await overdue();
    const byHand = await overdue();
    const { id, foreseen } = await client.replays.create(await mine(proven));
    expect(foreseen).toEqual([{ to: 'submitted', items: 3 }]);
    await proven.receipt('completed');
    await client.replay(byHand.task, { why: 'looked at it myself' });
    await client.replays.apply(id);
    expect(await client.replays.drive(id)).toMatchObject({ status: 'done', counts: { done: 1, refused: 2 }, refused: [{ code: 'REPLAY_NOT_DEAD', items: 1 }, { code: 'REPLAY_PROOF_ARRIVED', items: 1 }] });
    expect(await client.replays.items(id, { result: 'refused' })).toMatchObject({
      rows: [
        { task: proven.task, code: 'REPLAY_PROOF_ARRIVED', details: { confirm: [{ effect: 'post', item: '' }] }, at: expect.any(String) },
        { task: byHand.task, code: 'REPLAY_NOT_DEAD', details: { state: 'submitted' } },
      ],
    });
    expect((await client.replays.items(id, { code: 'REPLAY_PROOF_ARRIVED' })).rows).toHaveLength(1);
    expect(await states([proven, fine, byHand])).toEqual(['dead', 'submitted', 'submitted']);
    // The way out that the refusal names.
    await proven.confirms(true);
    expect(await proven.state()).toBe('completed');
  });

  test('foresees what a replay then meets, voided effects included', async () => {
    const open: Shape = { effects: 'picture+post', probe: false, receipt: false, leaseMs: 15_000 + n };
    const lost = async (): Promise<Tale> => {
      const tale = await (await (await Tale.of(ledger, open)).claim()).intend('picture', 'a');
      await tale.settle('lost');
      await tale.abandons();
      return tale;
    };
    const tale = await lost();
    const without = await client.replays.create(await mine(tale));
    expect(without.foreseen).toEqual([{ refused: 'REPLAY_EFFECT_OPEN', items: 1 }]);
    expect(await client.replays.items(without.id)).toMatchObject({ rows: [{ foreseen: { confirm: [{ effect: 'picture', item: 'a', open: true }] } }] });
    const voiding = await client.replays.create({ ...(await mine(tale)), void: [{ effect: 'picture', item: 'a' }], dropCheckpoints: true });
    await client.replays.apply(without.id);
    expect(await client.replays.drive(without.id)).toMatchObject({ refused: [{ code: 'REPLAY_EFFECT_OPEN' }] });
    await client.replays.apply(voiding.id);
    await client.replays.drive(voiding.id);
    const [item] = (await client.replays.items(voiding.id)).rows;
    expect([item?.foreseen, item?.result, await tale.state()]).toEqual([{ to: 'queued' }, 'done', 'queued']);
    expect((await tale.timeline()).find(({ event }) => event === 'replay')?.facts).toMatchObject({ void: [{ effect: 'picture', item: 'a' }], drop_checkpoints: true });
  });

  test('aborted in the middle, leaves the rest as it is and says so', async () => {
    const tales = await several(5);
    const { id } = await client.replays.create(await mine(tales[0], { ratePerSecond: 1 }));
    await client.replays.apply(id);
    await bulks.bulkAdvance(id, 50);
    expect(await client.replays.abort(id, { by: 'ben', why: 'it dies again' })).toMatchObject({ status: 'aborted', counts: { pending: 0, done: 1, skipped: 4 }, aborted_by: 'ben', aborted_why: 'it dies again' });
    await ledger.shiftClock(HOUR);
    expect(await bulks.bulkAdvance(id, 50)).toMatchObject({ taken: 0, bulk: { status: 'aborted' } });
    expect(await bulks.bulkAdvance(null, 50)).toMatchObject({ taken: 0, bulk: null });
    expect((await states(tales)).sort()).toEqual(['dead', 'dead', 'dead', 'dead', 'queued']);
    expect(await client.replays.abort(id, { why: 'twice' })).toMatchObject({ repeated: true, aborted_why: 'it dies again' });
    expect(await code(() => client.replays.apply(id))).toMatchObject({ code: 'BULK_ENDED', facts: { status: 'aborted', aborted_by: 'ben' } });
    const other = await client.replays.create(await mine(await dead()));
    await client.replays.apply(other.id);
    await client.replays.drive(other.id);
    expect(await code(() => client.replays.abort(other.id, { why: 'too late' }))).toMatchObject({ code: 'BULK_ENDED', facts: { status: 'done' } });
  });

  test("keeps its rate by the ledger's clock, and does not catch up with what nobody drove", async () => {
    const tales = await several(20);
    const { id } = await client.replays.create(await mine(tales[0], { ratePerSecond: 0.1 }));
    await client.replays.apply(id);
    // One at once, then one in ten seconds.
    expect(await bulks.bulkAdvance(id, 50)).toMatchObject({ taken: 1, done: 1 });
    expect(await bulks.bulkAdvance(id, 50)).toMatchObject({ taken: 0 });
    await ledger.shiftClock(10_000);
    const [a, b] = await Promise.all([bulks.bulkAdvance(id, 50), bulks.bulkAdvance(id, 50)]);
    expect(a.taken + b.taken).toBe(1);
    await ledger.shiftClock(HOUR);
    expect(await bulks.bulkAdvance(null, 50)).toMatchObject({ taken: 1, bulk: { id } });
    const fast = await client.replays.create(await mine(tales[0], { ratePerSecond: 5 }));
    await client.replays.apply(fast.id);
    await ledger.shiftClock(HOUR);
    expect((await bulks.bulkAdvance(fast.id, 50)).taken).toBe(6);
    expect((await bulks.bulkAdvance(fast.id, 50)).taken).toBeLessThanOrEqual(1);
    await Promise.all([id, fast.id].map((one) => client.replays.abort(one, { why: 'shown' })));
  });

  test('puts off a task that somebody else holds, and goes on with the others', async () => {
    const tales = await several(3);
    const { id } = await client.replays.create(await mine(tales[0]));
    await client.replays.apply(id);
    const first = (await client.replays.items(id)).rows[0]?.task;
    const free = await ledger.database.withClient(async (held) => {
      await held.query('begin');
      await held.query('select from throughline.task where id = $1 for no key update', [first]);
      try {
        for (;;) {
          await bulks.bulkAdvance(id, 50);
          const { counts } = await client.replays.get(id);
          if (counts.pending <= 1) return counts;
        }
      } finally {
        await held.query('rollback');
      }
    });
    expect(free).toMatchObject({ pending: 1, done: 2 });
    expect(await client.replays.drive(id)).toMatchObject({ status: 'done', counts: { done: 3 } });
  });

  test('one item that cannot be handled at all stops none of the others', async () => {
    const tales = await several(3);
    const { id } = await client.replays.create(await mine(tales[0]));
    await ledger.query("update throughline.bulk_item set task_id = $2 where bulk_id = $1 and ordinal = 1", [id, uuid()]);
    await ledger.query("create function throughline._break() returns trigger language plpgsql as $$ begin raise exception 'disk on fire'; end $$");
    await ledger.query(`create trigger break before insert on throughline.replay for each row when (new.task_id = '${tales[1]?.task ?? ''}') execute function throughline._break()`);
    await client.replays.apply(id);
    expect(await client.replays.drive(id)).toMatchObject({ status: 'done', counts: { done: 1, refused: 2 } });
    await ledger.query('drop function throughline._break() cascade');
    expect(await client.replays.items(id, { result: 'refused' })).toMatchObject({ rows: [{ code: 'TASK_UNKNOWN' }, { code: 'INVARIANT_BROKEN', details: { message: 'disk on fire' } }] });
    expect(await states(tales)).toEqual(['dead', 'dead', 'queued']);
  });

  test('replays this step, not its siblings', async () => {
    const tale = await Tale.of(ledger, [{ ...shape, name: 'good' }, { ...shape, name: 'publish' }]);
    await (await tale.about('good').claim()).fail(false);
    await (await tale.claim()).fail(false);
    const of = async (category: Category) => (await client.replays.create({ ...(await mine(tale)), filter: { type: await typeOf(tale), category } })).items;
    expect([await of('unavailable'), await of('programming_error')]).toEqual([2, 0]);
    const { id } = await client.replays.create({ ...(await mine(tale)), filter: { type: await typeOf(tale), step: 'publish' } });
    await client.replays.apply(id);
    await client.replays.drive(id);
    expect([await tale.state(), await tale.about('good').state()]).toEqual(['queued', 'dead']);
  });
});

describe('a bulk cancel', () => {
  test('gives each task a cancel of its own with its verdict, and says beforehand what it would be', async () => {
    const queued = await Tale.of(ledger, shape);
    const leased = await (await Tale.of(ledger, shape)).claim();
    const over = await Tale.of(ledger, shape);
    await over.cancels();
    const bulk = await client.cancels.create(await mine(queued, { why: 'the feed was wrong' }));
    expect(bulk.foreseen).toEqual([{ verdict: 'pending', items: 1 }, { verdict: 'prevented', items: 1 }]);
    expect(await states([queued, leased])).toEqual(['queued', 'leased']);
    await client.cancels.apply(bulk.id);
    expect(await client.cancels.drive(bulk.id)).toMatchObject({ status: 'done', counts: { done: 2 } });
    expect(await client.cancels.items(bulk.id)).toMatchObject({ rows: [{ task: queued.task, step: null, result: 'done', verdict: 'prevented' }, { task: leased.task, verdict: 'pending', details: { verdict: 'pending' } }] });
    await leased.settle('boundary');
    // The verdict as it is now, beside the answer that was given.
    expect((await client.cancels.items(bulk.id)).rows[1]).toMatchObject({ verdict: 'stopped_at_boundary', details: { verdict: 'pending' } });
    const { cancels, story } = await client.explain(queued.task);
    expect(cancels).toMatchObject([{ by: 'oda', why: 'the feed was wrong', verdict: 'prevented' }]);
    expect(story.find(({ kind }) => kind === 'cancel')?.sentence).toContain(`as part of bulk ${bulk.id}`);
    expect(await code(() => client.replays.get(bulk.id))).toMatchObject({ code: 'BULK_UNKNOWN' });
  });

  test('of one step leaves the others of the task alone', async () => {
    const tale = await Tale.of(ledger, [{ ...shape, name: 'good' }, { ...shape, name: 'publish' }]);
    const { id } = await client.cancels.create({ ...(await mine(tale)), filter: { type: await typeOf(tale), step: 'publish' } });
    await client.cancels.apply(id);
    await client.cancels.drive(id);
    expect([await tale.state(), await tale.about('good').state()]).toEqual(['cancelled', 'queued']);
  });
});

describe('what cannot be meant is refused with a code and a path', () => {
  const why = 'x';
  test.each([
    ['nothing at all', { filter: {}, why }, { code: 'FILTER_INVALID', path: '/filter' }],
    ['an unknown reason', { filter: { reason: 'bad_luck' as never }, why }, { code: 'FILTER_INVALID', path: '/filter/reason' }],
    ['an unknown category', { filter: { category: 'bad_luck' as never }, why }, { code: 'FILTER_INVALID', path: '/filter/category' }],
    ['an unknown status', { filter: { status: 'sad' as never }, why }, { code: 'FILTER_INVALID', path: '/filter/status' }],
    ['an unknown type', { filter: { type: 'nobody-registered-this' }, why }, { code: 'TYPE_UNKNOWN', path: '/filter/type' }],
    ['an end before the beginning', { filter: { from: '2026-05-02T00:00:00Z', to: '2026-05-01T00:00:00Z' }, why }, { code: 'FILTER_INVALID', path: '/filter/to' }],
    ['a time without a zone', { filter: { from: '2026-05-02T00:00:00' }, why }, { code: 'TIME_INVALID', path: '/filter/from' }],
    ['no why', { filter: { reason: 'not_retryable' }, why: ' ' }, { code: 'REASON_REQUIRED', path: '/why' }],
    ['a rate of nothing', { filter: { reason: 'not_retryable' }, why, ratePerSecond: 0 }, { code: 'INPUT_INVALID', path: '/ratePerSecond' }],
    ['an id that is none', { filter: { reason: 'not_retryable' }, why, id: 'ticket-812' }, { code: 'ID_INVALID', path: '/id' }],
  ] satisfies readonly [string, BulkInput, Record<string, string>][])('%s', async (_, input, refusal) => {
    const [{ n: before } = {}] = await ledger.query('select count(*)::int as n from throughline.bulk');
    expect(await code(() => client.replays.create(input))).toMatchObject(refusal);
    expect(await code(() => client.cancels.create(input))).toMatchObject(refusal);
    expect(await ledger.query('select count(*)::int as n from throughline.bulk')).toEqual([{ n: before }]);
  });

  test('an id that was used for another one, an unknown one, a cursor of another list', async () => {
    const id = uuid();
    const input = { filter: { reason: 'not_retryable' }, why, id } as const;
    const first = await client.replays.create(input);
    expect(await client.replays.create(input)).toEqual({ ...first, as_of: expect.any(String), repeated: true });
    expect(await code(() => client.replays.create({ ...input, ratePerSecond: 3 }))).toMatchObject({ code: 'ID_CONFLICT' });
    expect(await code(() => client.cancels.create(input))).toMatchObject({ code: 'ID_CONFLICT' });
    for (const work of [() => client.replays.get(uuid()), () => client.replays.apply(uuid()), () => client.replays.abort(uuid(), { why }), () => client.replays.items(uuid()), () => client.cancels.apply(id)]) {
      expect(await code(work)).toMatchObject({ code: 'BULK_UNKNOWN' });
    }
    expect(await code(() => client.replays.list({ cursor: 'x' }))).toMatchObject({ code: 'CURSOR_INVALID' });
    expect(await code(() => client.replays.items(id, { limit: 0 }))).toMatchObject({ code: 'FILTER_INVALID', path: '/limit' });
  });

  test('more items than one may hold: the limit is named and nothing is made', async () => {
    const tales = await several(3);
    const filter = { type: await typeOf(tales[0]) };
    const id = uuid();
    expect(await code(() => bulks.bulkCreate({ id, kind: 'replay', filter, by: 'oda', why, options: {}, rate_per_s: 1 }, 2))).toMatchObject({ code: 'BULK_TOO_LARGE', path: '/filter', limit: '2 items' });
    expect(await code(() => client.replays.get(id))).toMatchObject({ code: 'BULK_UNKNOWN' });
  });
});

test('is driven by workers as well, and by several bulks in turn, with what each item was counted once', async () => {
  const tales = await several(4);
  const open = await Tale.of(ledger, shape);
  const metrics = new Metrics();
  const driver = new BulkDriver({ bulks, log: quietLogger(), metrics });
  const type = await typeOf(open);
  const replay = await client.replays.create({ filter: { type }, why: 'x', ratePerSecond: 1_000 });
  const cancel = await client.cancels.create({ filter: { type, status: 'queued' }, why: 'x', ratePerSecond: 1_000 });
  expect(await driver.runOnce()).toMatchObject({ bulk: null, taken: 0 });
  await Promise.all([client.replays.apply(replay.id), client.cancels.apply(cancel.id)]);
  while ((await client.replays.get(replay.id)).status === 'running' || (await client.cancels.get(cancel.id)).status === 'running') await driver.runOnce();
  expect([await states(tales), await open.state()]).toEqual([['queued', 'queued', 'queued', 'queued'], 'cancelled']);
  const said = await metrics.registry.metrics();
  expect(said).toMatch(/actions_total\{action="bulk_replay",verdict="done"[^}]*\} 4/);
  expect(said).toMatch(/actions_total\{action="bulk_cancel",verdict="done"[^}]*\} 1/);
});

test('a thousand items: frozen in one call, paged without gap or repeat, each turn bounded, lists newest first', async () => {
  const own = await openLedger();
  const client = createClient({ databaseUrl: own.url });
  const bulks = new Bulks(own.database);
  const first = await (await (await Tale.of(own, shape)).claim()).fail(false);
  const type = await typeOf(first);
  // Copies of one that died, made past the door: a thousand real lives would take the suite's time.
  const count = 1_000;
  await own.query(`with made as (
      insert into throughline.task (id, type, version, input, status, at_rest, reason, held_by, seq, since, created_at, created_by, ended_at)
      select gen_random_uuid(), type, version, input, status, at_rest, reason, held_by, seq, since, created_at, created_by, ended_at from throughline.task, generate_series(2, ${String(count)}) where id = $1 returning id),
    told as (
      insert into throughline.timeline (task_id, step, kind, at, event, rule, part, from_state, to_state, reason, attempt, epoch, actor, facts)
      select made.id, l.step, l.kind, l.at, l.event, l.rule, l.part, l.from_state, l.to_state, l.reason, l.attempt, l.epoch, l.actor, l.facts
      from made, throughline.timeline l join throughline.step s on s.task_id = l.task_id and s.seq = l.id where l.task_id = $1 returning task_id, id)
    insert into throughline.step (task_id, name, ordinal, kind, state, seq, reason, since, needs, reentrant, attempts_max, has_receipt, inbox, has_probe, quick, checks_max, attempt, charged, epoch, next_run_at)
    select told.task_id, s.name, s.ordinal, s.kind, s.state, told.id, s.reason, s.since, s.needs, s.reentrant, s.attempts_max, s.has_receipt, s.inbox, s.has_probe, s.quick, s.checks_max, s.attempt, s.charged, s.epoch, s.next_run_at
    from told, throughline.step s where s.task_id = $1`, [first.task]);
  const bulk = await client.replays.create({ filter: { type }, why: 'many', ratePerSecond: 1_000 });
  expect(bulk).toMatchObject({ items: count, foreseen: [{ to: 'queued', items: count }] });
  await client.replays.apply(bulk.id);
  const turn = await bulks.bulkAdvance(bulk.id, LIMITS.bulk_batch_rows);
  expect(turn.taken).toBeLessThanOrEqual(LIMITS.bulk_batch_rows);
  const seen = new Set<string>();
  let cursor: string | null = null;
  do {
    const page: BulkItemPage = await client.replays.items(bulk.id, { limit: 300, ...(cursor === null ? {} : { cursor }) });
    for (const { task } of page.rows) seen.add(task);
    ({ cursor } = page);
    await bulks.bulkAdvance(null, LIMITS.bulk_batch_rows);
  } while (cursor !== null);
  expect(seen.size).toBe(count);
  await client.replays.abort(bulk.id, { why: 'enough of them' });
  for (const reason of ['not_retryable', 'attempts_exhausted'] as const) await client.replays.create({ filter: { reason }, why: 'a list' });
  const listed = await client.replays.list({ limit: 2 });
  expect(listed.rows.map(({ filter }) => filter)).toEqual([{ reason: 'attempts_exhausted' }, { reason: 'not_retryable' }]);
  expect(await client.replays.list({ limit: 2, cursor: listed.cursor ?? '' })).toMatchObject({ rows: [{ id: bulk.id, status: 'aborted' }], cursor: null });
  await client.close();
  await own.close({ unaudited: 'copies of one task that never lived' });
});
