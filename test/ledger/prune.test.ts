import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { chainHead, Retention } from '../../src/client/retention.ts';
import type { PruneOptions, PruneResult } from '../../src/client/retention.ts';
import { Reader } from '../../src/ledger/index.ts';
import type { EnqueueRow } from '../../src/ledger/index.ts';
import { digestOf, HOUR, uuid, type Shape } from '../support/factories.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { Tale } from '../support/tale.ts';

const DAY = 24 * HOUR;
const QUICK: Shape = { effects: 'none', probe: false, proof: { kind: 'record', requires: ['/url'] } };

let ledger: Ledger;
let retention: Retention;
let reader: Reader;
beforeAll(async () => {
  ledger = await openLedger();
  retention = new Retention(ledger.database, 'ops');
  reader = new Reader(ledger.database);
});
afterAll(() => ledger.close());
/** What a test left behind is none of the next one's business. */
beforeEach(async () => {
  await ledger.query("update throughline.task set created_at = created_at + interval '10 years'");
  await ledger.query("update throughline.receipt set verdict = 'matched' where verdict is null");
});

const prune = (options: Partial<PruneOptions> = {}): Promise<PruneResult> => retention.prune({ olderThan: '90d', ...options });
const sendWakes = async (): Promise<void> => {
  for (let rows = await ledger.door.outboxTake(100, 1); rows.length > 0; rows = await ledger.door.outboxTake(100, 1)) await ledger.door.outboxSent(rows.map(({ task, version }) => ({ task, version })));
};
async function succeeded(enqueue: Partial<EnqueueRow> = {}): Promise<Tale> {
  const tale = await Tale.of(ledger, QUICK, enqueue);
  await (await tale.claim()).done();
  return tale;
}
/** Everything is told, and 91 days pass. */
async function old(): Promise<void> {
  await sendWakes();
  await ledger.shiftClock(91 * DAY);
}
const there = async (tale: Tale): Promise<boolean> => (await ledger.query('select from throughline.task where id = $1', [tale.task])).length === 1;
/** Tables that say to which task a row belongs, and how many rows they have of one. */
async function rowsOf(task: string): Promise<Record<string, number>> {
  const tables = await ledger.query<{ name: string; column: string }>(`
    select c.relname as name, a.attname as column from pg_attribute a join pg_class c on c.oid = a.attrelid
    where c.relnamespace = 'throughline'::regnamespace and c.relkind = 'r' and a.atttypid = 'uuid'::regtype and (a.attname = 'task_id' or (c.relname, a.attname) = ('task', 'id'))`);
  const counts: Record<string, number> = {};
  for (const { name, column } of tables) counts[name] = Number((await ledger.query<{ n: string }>(`select count(*) as n from throughline.${name} where ${column} = $1`, [task]))[0]?.n);
  return counts;
}
const refusal = (work: Promise<unknown>): Promise<unknown> => work.then(() => null, (error: unknown) => error);

/** A life with everything in it: effects, receipts, a checkpoint, an artifact, a failed attempt, a cancel, a replay. */
async function full(): Promise<Tale> {
  const tale = await Tale.of(ledger, { effects: 'picture+post' }, { key: `full/${uuid()}` });
  await (await tale.claim()).fail(false);
  await tale.replays();
  await tale.claim();
  await ledger.door.checkpointPut(tale.task, tale.step, tale.claimed.id, 'half', { n: 1 }, 10);
  await ledger.door.artifactPut(tale.task, tale.step, tale.claimed.id, { name: 'page', sha256: 'a'.repeat(64), uri: `cas:sha256:${'a'.repeat(64)}`, media_type: 'text/html', bytes: 3 }, 10);
  await (await tale.confirmed('picture', 'cover')).confirmed();
  await tale.settle('submitted');
  await tale.cancel();
  await tale.receives('received');
  await tale.receives('completed');
  return tale.accept();
}

describe('a pruned task', () => {
  test('leaves no row but its summary and its key, and the summary says how it ended', async () => {
    const tale = await full();
    const record = await reader.taskRecord(tale.task);
    await old();
    expect(await prune()).toMatchObject({ pruned: 1, kept: {}, complete: true });
    const left = Object.entries(await rowsOf(tale.task)).filter(([, rows]) => rows > 0);
    expect(left.sort()).toEqual([['dedupe', 1], ['pruned', 1]]);
    expect(await retention.pruned(tale.task)).toMatchObject({
      id: tale.task, status: 'succeeded', key: record?.task.key, ended_at: record?.task.ended_at, created_by: 'service:test', pruned_by: 'ops',
      steps: [{ name: 'publish', state: 'succeeded', reason: 'proof_accepted', attempt: 2 }],
      counts: { timeline: record?.timeline.length, requests: 2, effects: 2, receipts: 2, artifacts: 1, cancels: 1 },
    });
  });

  test('leaves the end of its chain, which a timeline that was kept gives only if it is whole', async () => {
    const tale = await full();
    const timeline = (await reader.taskRecord(tale.task))?.timeline ?? [];
    await old();
    await prune();
    const head = (await retention.pruned(tale.task))?.chain_head;
    expect(chainHead(tale.task, timeline)).toBe(head);
    expect(chainHead(tale.task, timeline.slice(1))).not.toBe(head);
    expect(chainHead(tale.task, timeline.map((entry, index) => (index === 3 ? { ...entry, actor: 'somebody' } : entry)))).not.toBe(head);
  });

  test('is answered with a code that says when it was pruned and how it had ended, by every door', async () => {
    const tale = await succeeded();
    await old();
    await prune();
    const { id, by, why } = { id: uuid(), by: 'x', why: 'y' };
    for (const knock of [
      reader.whyAbsent(tale.task), refusal(tale.cancel()), refusal(tale.look()), refusal(tale.replay()), refusal(tale.tryClaim()), refusal(ledger.door.taskWithdraw(tale.task, { id, by, why, step: tale.step })),
      refusal(ledger.door.outboxUnpark(tale.task, { by, why })), refusal(ledger.door.timelineCorrect(tale.task, { entry: '1', by, why })), refusal(tale.decide('approved')),
    ]) {
      const error = await knock;
      expect(error).toMatchObject({ code: 'TASK_PRUNED', status: 410, detail: { facts: { id: tale.task, state: 'succeeded' } } });
      expect(String(error)).toMatch(/pruned at \d{4}-.*Z; it ended succeeded at \d{4}-/);
    }
    expect(await reader.taskRests([tale.task])).toMatchObject([{ id: tale.task, status: 'succeeded', at_rest: true }]);
  });

  test('keeps its key: a repeat is answered with its id and state, another input is a conflict that can name its paths', async () => {
    const key = `kept/${uuid()}`;
    const row = { key, input: { a: 1 }, digest: digestOf({ a: 1 }), digests: { '/a': 'x' } };
    const tale = await succeeded(row);
    const { type } = (await tale.taskRow()) as { type: string };
    await old();
    await prune();
    const again = { ...row, type, by: 'service:test' };
    expect(await ledger.door.taskEnqueue({ ...again, id: uuid() })).toEqual({ id: tale.task, state: 'succeeded', created: false });
    expect(await refusal(ledger.door.taskEnqueue({ ...again, id: uuid(), input: { a: 2 }, digest: digestOf({ a: 2 }) }))).toMatchObject({ code: 'DEDUPE_CONFLICT', detail: { facts: { id: tale.task, state: 'succeeded', digests: { '/a': 'x' } } } });
    // Its id is as used as its key.
    expect(await refusal(ledger.door.taskEnqueue({ type, id: tale.task, input: {}, digest: digestOf({}), digests: {}, by: 'x' }))).toMatchObject({ code: 'ID_CONFLICT' });
    expect(await there(tale)).toBe(false);
  });

  test('is not repeated with `again`; one that has a successor names it', async () => {
    const [lone, first] = [await succeeded(), await succeeded()];
    const { type } = (await first.taskRow()) as { type: string };
    const second = await succeeded({ type, again_of: first.task });
    await old();
    // The successor may go before, after, or with it.
    await ledger.query("update throughline.task set ended_at = ended_at + interval '10 days' where id = $1", [first.task]);
    expect(await prune()).toMatchObject({ pruned: 2 });
    const repeat = (of: string): Promise<unknown> => refusal(ledger.door.taskEnqueue({ type, id: uuid(), input: {}, digest: digestOf({}), digests: {}, by: 'x', again_of: of }));
    expect(await repeat(lone.task)).toMatchObject({ code: 'TASK_PRUNED' });
    expect(await repeat(first.task)).toMatchObject({ code: 'AGAIN_TAKEN', detail: { facts: { id: second.task, state: 'succeeded' } } });
    expect((await reader.taskRecord(first.task))?.task.again_as).toBe(second.task);
    await ledger.shiftClock(11 * DAY);
    expect(await prune()).toMatchObject({ pruned: 1 });
    expect(await repeat(first.task)).toMatchObject({ code: 'AGAIN_TAKEN', detail: { facts: { id: second.task, state: 'succeeded' } } });
  });

  test('a receipt for it is kept, with the verdict after_end, and gives it no timeline again', async () => {
    const tale = await full();
    await old();
    await prune();
    const said = { delivery_id: uuid(), digest: 'd' } as const;
    const first = await tale.receipt('completed', said);
    expect(first).toMatchObject({ verdict: 'after_end', facts: { state: 'succeeded' }, applied: false });
    expect(await ledger.query('select verdict, task_id from throughline.receipt where id = $1', [(first as { id: string }).id])).toEqual([{ verdict: 'after_end', task_id: tale.task }]);
    expect(await rowsOf(tale.task)).toMatchObject({ timeline: 0, outbox: 0 });
  });
});

describe('a task stays', () => {
  /** [what it is, how it comes about, why it stays; null: it is not of those that were asked for]. */
  const cases: readonly [string, () => Promise<Tale>, string | null][] = [
    ['queued', () => Tale.of(ledger, QUICK), null],
    ['waiting for a receipt', async () => (await (await (await Tale.of(ledger)).claim()).confirmed()).settle('submitted'), null],
    ['dead, unless dead ones are asked for', async () => (await (await Tale.of(ledger)).claim()).fail(false), null],
    ['whose successor is open', async () => {
      const tale = await succeeded();
      await Tale.of(ledger, QUICK, { again_of: tale.task });
      return tale;
    }, 'successor_open'],
    ['of which a webhook is still to be told', async () => {
      const tale = await succeeded();
      await ledger.query("with w as (insert into throughline.webhook (id, url, secrets, events, enabled, created_at, created_by, changed_at, changed_by) values (gen_random_uuid(), 'https://x.example', '[]', '{task.succeeded}', false, now(), 'x', now(), 'x') returning id) insert into throughline.notification (webhook_id, event, task_id, subject, window_key, at, facts, not_before) select id, 'task.succeeded', $1::uuid, $1::text, 'w', now(), '{}', now() from w", [tale.task]);
      return tale;
    }, 'notification_pending'],
    ['with a stored receipt that nobody judged', async () => {
      const tale = await full();
      await ledger.query("update throughline.receipt set verdict = null where id = (select id from throughline.receipt where task_id = $1 limit 1)", [tale.task]);
      return tale;
    }, 'receipt_waiting'],
  ];

  test.each(cases)('that is %s', async (_what, make, hold) => {
    const tale = await make();
    await old();
    expect(await prune({ dryRun: true })).toMatchObject({ pruned: 0, kept: hold === null ? {} : { [hold]: 1 } });
    expect(await prune()).toMatchObject({ pruned: 0, kept: hold === null ? {} : { [hold]: 1 } });
    expect(await there(tale)).toBe(true);
  });

  test('whose wake-up is not sent, or parked', async () => {
    const tale = await succeeded();
    await ledger.shiftClock(91 * DAY);
    expect(await prune()).toMatchObject({ pruned: 0, kept: { wake_waiting: 1 } });
    await ledger.query('update throughline.outbox set parked_at = now() where task_id = $1', [tale.task]);
    expect(await prune()).toMatchObject({ pruned: 0, kept: { wake_waiting: 1 } });
  });

  test('that is dead with something open outside, or a proof that came since, even where dead ones are asked for', async () => {
    const open = await (await (await Tale.of(ledger, { keyed: false, probe: false })).claim()).intend();
    await open.expire();
    const proven = await (await Tale.of(ledger, { probe: false })).claim();
    await (await proven.confirmed()).settle('submitted');
    await proven.overdue();
    await proven.receipt('completed');
    const plain = await (await (await Tale.of(ledger)).claim()).fail(false);
    expect([await open.state(), await proven.state(), await plain.state()]).toEqual(['dead', 'dead', 'dead']);
    await old();
    expect(await prune({ dead: true })).toMatchObject({ pruned: 1, kept: { effect_open: 1, proof_arrived: 1 } });
    expect([await there(open), await there(proven), await there(plain)]).toEqual([true, true, false]);
    expect(await retention.pruned(plain.task)).toMatchObject({ status: 'dead', reason: 'not_retryable' });
  });

  test('that ended less long ago, by the ledger\'s clock, or is of another type', async () => {
    const tale = await succeeded();
    await sendWakes();
    await ledger.shiftClock(89 * DAY);
    expect(await prune()).toMatchObject({ pruned: 0 });
    await ledger.shiftClock(2 * DAY);
    expect(await prune({ types: ['another'] })).toMatchObject({ pruned: 0, examined: 1 });
    expect(await prune({ dryRun: true })).toMatchObject({ pruned: 1, dryRun: true });
    expect(await there(tale)).toBe(true);
    expect(await prune({ types: [String((await tale.taskRow())['type'])] })).toMatchObject({ pruned: 1 });
  });

  test.each([['23h', 'TIME_INVALID'], ['soon', 'TIME_INVALID'], ['-1d', 'TIME_INVALID']])('when the age is %s', async (olderThan, code) => {
    expect(await refusal(prune({ olderThan: olderThan as '23h' }))).toMatchObject({ code, detail: { path: '/olderThan' } });
  });
});

describe('nobody else deletes', () => {
  test.each([
    ['a timeline', 'delete from throughline.timeline where task_id = $1'],
    ['a summary', 'delete from throughline.pruned where task_id <> $1'],
    ['a summary\'s words', "update throughline.pruned set status = 'dead' where task_id <> $1"],
    ['an open task, by writing its summary', "insert into throughline.pruned (task_id, pruned_by) values ($1, 'me')"],
    ['a timeline, with a setting', "with s as (select set_config('throughline.pruning', 'on', false)) delete from throughline.timeline using s where task_id = $1"],
  ])('%s', async (_what, statement) => {
    const gone = await succeeded();
    await old();
    await prune();
    expect(await there(gone)).toBe(false);
    const tale = await Tale.of(ledger, QUICK);
    const before = await tale.timeline();
    await expect(ledger.query(statement, [tale.task])).rejects.toMatchObject({ code: 'TL002' });
    expect(await tale.timeline()).toEqual(before);
  });

  test('a part of a task: a summary beside its task is refused at commit', async () => {
    const tale = await succeeded();
    await old();
    await expect(ledger.query(`with s as (insert into throughline.pruned (task_id, pruned_by) values ('${tale.task}', 'me')) select 1`)).rejects.toMatchObject({ code: 'TL002' });
    expect(await there(tale)).toBe(true);
    expect(await retention.pruned(tale.task)).toBeNull();
  });

  test('without the right to: who may not prune is refused, and whoever is granted it needs nothing else', async () => {
    const role = `r_${uuid().replaceAll('-', '')}`;
    await ledger.query(`create role ${role}`);
    const client = new pg.Client({ connectionString: ledger.url });
    await client.connect();
    try {
      await ledger.query(`grant usage on schema throughline to ${role}`);
      await client.query(`set role ${role}`);
      const call = `select throughline.task_prune('{"older_than_ms": 86400000, "limit": 1, "dead": false, "dry_run": true, "by": "x"}')`;
      await expect(client.query(call)).rejects.toMatchObject({ code: '42501' });
      await ledger.query(`grant execute on function throughline.task_prune(jsonb) to ${role}`);
      await expect(client.query(call)).resolves.toMatchObject({ rowCount: 1 });
      await expect(client.query('delete from throughline.task')).rejects.toMatchObject({ code: '42501' });
    } finally {
      await client.end();
      await ledger.query(`drop owned by ${role}`);
      await ledger.query(`drop role ${role}`);
    }
  });
});

describe('at once, and interrupted', () => {
  const many = async (count: number, key?: string): Promise<Tale[]> => {
    const tales: Tale[] = [];
    for (let n = 0; n < count; n += 1) tales.push(await succeeded(key === undefined ? {} : { key: `${key}/${String(n)}` }));
    await old();
    return tales;
  };
  const summaries = async (tales: readonly Tale[]): Promise<number> => (await ledger.query('select from throughline.pruned where task_id = any($1::uuid[])', [tales.map(({ task }) => task)])).length;

  test('prunes beside each other prune each task once', async () => {
    const tales = await many(24);
    const done = await Promise.all([prune({ batch: 5 }), prune({ batch: 7 }), prune({ batch: 24 }), prune({ batch: 1 })]);
    const rest = await prune();
    expect(done.reduce((sum, { pruned }) => sum + pruned, rest.pruned)).toBe(24);
    expect(await summaries(tales)).toBe(24);
  });

  test('one that is interrupted has pruned whole tasks, and the next one goes on', async () => {
    const tales = await many(9);
    const stop = new AbortController();
    const first = await prune({ batch: 2, signal: stop.signal, onProgress: ({ pruned }) => { if (pruned >= 4) stop.abort(); } });
    expect(first).toMatchObject({ pruned: 4, complete: false });
    for (const tale of tales) {
      const left = await rowsOf(tale.task);
      expect([left['task'], left['timeline'] === 0, left['step'], left['pruned']]).toEqual(left['pruned'] === 1 ? [0, true, 0, 1] : [1, false, 1, 0]);
    }
    expect(await prune({ batch: 2 })).toMatchObject({ pruned: 5, complete: true });
  });

  test('a connection that is cut in the middle of a batch leaves every task of it', async () => {
    const tales = await many(6);
    const client = new pg.Client({ connectionString: ledger.url });
    client.on('error', () => undefined);
    await client.connect();
    await client.query('begin');
    await client.query(`select throughline.task_prune('{"older_than_ms": 86400000, "limit": 100, "dead": false, "dry_run": false, "by": "x"}')`);
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    await ledger.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
    await client.end().catch(() => undefined);
    expect(await Promise.all(tales.map(there))).toEqual(tales.map(() => true));
    expect(await prune()).toMatchObject({ pruned: 6 });
  });

  test('what somebody holds is passed over, not waited for', async () => {
    const [held] = await many(2);
    const client = new pg.Client({ connectionString: ledger.url });
    await client.connect();
    try {
      await client.query('begin');
      await client.query('select from throughline.task where id = $1 for no key update', [held?.task]);
      expect(await prune()).toMatchObject({ pruned: 1, kept: { busy: 1 } });
    } finally {
      await client.end();
    }
    expect(await prune()).toMatchObject({ pruned: 1 });
  });

  test('enqueues under the keys of what is being pruned are all answered with the old task, and none is made', async () => {
    const key = `beside/${uuid()}`;
    const tales = await many(12, key);
    const type = String((await tales[0]?.taskRow())?.['type']);
    const input = { note: 'hello' };
    const repeats = tales.flatMap((tale, n) => [0, 1].map(async () => {
      const answer = await ledger.door.taskEnqueue({ type, id: uuid(), key: `${key}/${String(n)}`, input, digest: digestOf(input), digests: {}, by: 'x' });
      return [answer.id === tale.task, answer.state, answer.created];
    }));
    const [done, ...answers] = await Promise.all([prune({ batch: 3 }), ...repeats]);
    expect(done).toMatchObject({ pruned: 12 });
    expect(answers).toEqual(answers.map(() => [true, 'succeeded', false]));
    expect((await ledger.query('select from throughline.task where type = $1 and key like $2', [type, `${key}/%`])).length).toBe(0);
  });

  test('a task that is enqueued as `again` of one that is being pruned has it as predecessor, or is refused', async () => {
    const tales = await many(8);
    const type = String((await tales[0]?.taskRow())?.['type']);
    const successors = tales.map((tale) => refusal(ledger.door.taskEnqueue({ type, id: uuid(), input: {}, digest: digestOf({}), digests: {}, by: 'x', again_of: tale.task })));
    const [, ...answers] = await Promise.all([prune({ batch: 1 }), ...successors]);
    const stays = await Promise.all(tales.map(there));
    expect(answers.map((answer) => (answer === null ? 'made' : (answer as { code: string }).code))).toEqual(stays.map((stay) => (stay ? 'made' : 'TASK_PRUNED')));
  });
});

test('what is measured does not fall: nothing younger than the metrics\' window is ever pruned', async () => {
  await succeeded();
  await sendWakes();
  await ledger.shiftClock(2 * HOUR);
  const before = await reader.gauges(HOUR);
  expect(await refusal(prune({ olderThan: '1h' }))).toMatchObject({ code: 'TIME_INVALID' });
  expect((await reader.gauges(HOUR)).ended).toEqual(before.ended);
});
