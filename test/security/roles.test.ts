/** The database's roles: each process does its work as its role, and can do nothing beside it. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { createClient, type ThroughlineClient } from '../../src/client/client.ts';
import { Database, Door, migrate, Notifications, verifySchema } from '../../src/ledger/index.ts';
import { SCENARIOS } from '../ledger/scenarios/index.ts';
import { uuid } from '../support/factories.ts';
import { emptyDatabase, openLedger, type Ledger } from '../support/ledger.ts';
import { openUsers, type RoleName, type Users } from '../support/roles.ts';
import { Tale } from '../support/tale.ts';

const DENIED = { code: '42501' };
let ledger: Ledger;
let users: Users;
/** The same ledger, as everybody sees it who does a task's work: each call is made by a user of the role whose call it is. */
let seen: Ledger;
let client: ThroughlineClient;
const ends: (() => Promise<unknown>)[] = [];
const pools = new Map<RoleName, pg.Pool>();

/** Any SQL, as a role. */
async function as(role: RoleName, sql: string, values: unknown[] = []): Promise<pg.QueryResult<Record<string, unknown>>> {
  let pool = pools.get(role);
  if (pool === undefined) {
    pool = new pg.Pool({ connectionString: users.url(role), max: 2 });
    ends.push(() => pool?.end() ?? Promise.resolve());
    pools.set(role, pool);
  }
  return pool.query(sql, values);
}

beforeAll(async () => {
  ledger = await openLedger();
  users = await openUsers(ledger.url);
  const [worker, service] = (['worker', 'client'] as const).map((role) => new Database({ url: users.url(role), connectionsMax: 4 }));
  if (worker === undefined || service === undefined) throw new Error('two databases');
  const doors = { worker: new Door(worker), client: new Door(service) };
  const ofServices = new Set(['typeRegister', 'taskEnqueue', 'taskCancel', 'taskWithdraw', 'waitAbandon', 'reviewDecide', 'receiptPut', 'receiptRematch', 'taskReplay', 'effectConfirm', 'timelineCorrect', 'outboxUnpark']);
  const door = new Proxy(doors.worker, {
    get: (_, name: keyof Door) => (ofServices.has(name) ? doors.client[name].bind(doors.client) : doors.worker[name].bind(doors.worker)),
  });
  seen = { ...ledger, door };
  client = createClient({ databaseUrl: users.url('api'), by: 'test', connectionsMax: 4 });
  ends.push(() => worker.end(), () => service.end(), () => client.close());
});
afterAll(async () => {
  for (const end of ends) await end();
  await ledger.close();
  await users.drop();
});

const tables = async (): Promise<string[]> => (await ledger.query<{ name: string }>("select relname as name from pg_class where relnamespace = 'throughline'::regnamespace and relkind = 'r' order by 1")).map(({ name }) => name);

describe('each does its work', () => {
  test('every row of the machine is reached by workers and services that log in as their roles', async () => {
    const reached: string[] = [];
    for (const [key, reach] of SCENARIOS) {
      // What is prepared past the door is a superuser's doing.
      if (!('act' in reach) || reach.prepared !== undefined || String(reach.act).includes('_move')) continue;
      const tale = await reach.begin(seen);
      await reach.act(tale);
      reached.push(key);
    }
    expect(reached.length).toBeGreaterThan(100);
  });

  test('the API\'s user enqueues, cancels, takes receipts, explains, replays and lists through the client', async () => {
    const tale = await Tale.of(seen, {});
    await tale.claim();
    await tale.confirmed();
    await tale.settle('submitted');
    const body = { deliveryId: uuid(), sender: 'platform', task: tale.task, step: tale.step, threadId: `${tale.task}/${tale.step}`, inReplyTo: tale.message, kind: 'received' as const };
    expect(await client.deliverReceipt(body)).toMatchObject({ verdict: 'matched' });
    expect(await client.cancel(tale.task, { why: 'no' })).toMatchObject({ verdict: 'pending' });
    expect((await client.explain(tale.task)).headline).toContain('publish');
    expect(await client.explain(tale.task)).toMatchObject({ task: { id: tale.task } });
    expect((await client.list({ limit: 5 })).rows.length).toBeGreaterThan(0);
    expect((await client.evidence(tale.task)).lines).toBeGreaterThan(5);
    expect(await client.audit({ task: tale.task })).toMatchObject({ tasks: 1 });
    expect((await client.health()).ledger).toBe('up');
    expect(await client.webhooks.list()).toEqual([]);
    const bulk = await client.cancels.create({ filter: { type: String((await tale.taskRow())['type']) }, why: 'none' });
    expect(await client.cancels.apply(bulk.id)).toMatchObject({ id: bulk.id });
    await expect(client.access.identify('tl_nobody')).rejects.toMatchObject({ code: 'TOKEN_INVALID' });
  });

  test('the operator\'s user makes tokens, senders\' keys and webhooks, and prunes; the worker\'s user sends what is to be told', async () => {
    const operator = createClient({ databaseUrl: users.url('operator'), by: 'oda', connectionsMax: 2 });
    const worker = new Database({ url: users.url('worker'), connectionsMax: 2 });
    try {
      const { token } = await operator.access.createToken({ name: 'web', role: 'caller' });
      expect(await client.access.identify(token)).toMatchObject({ name: 'web' });
      expect((await operator.access.tokens()).map(({ name }) => name)).toEqual(['web']);
      await operator.access.addSenderKey({ sender: 'platform' });
      expect(await operator.access.senderKeys()).toHaveLength(1);
      const hook = await operator.webhooks.add({ url: 'https://example.org/hook' });
      await operator.webhooks.test(hook.id);
      const [taken] = await new Notifications(worker).notificationTake(5, 5, 1_000);
      expect(taken).toMatchObject({ webhook: hook.id, secrets: [hook.secret] });
      expect(await operator.retention.prune({ olderThan: '90d' })).toMatchObject({ pruned: 0, complete: true });
    } finally {
      await operator.close();
      await worker.end();
    }
  });

  test('the enqueuer\'s user enqueues by SQL', async () => {
    const { type } = await (await Tale.of(seen, {})).taskRow();
    const { rows } = await as('enqueuer', `select id, created from throughline.enqueue($1, '{"note": 1}', key => throughline.natural_key('a', 'b', '1'))`, [type]);
    expect(rows).toMatchObject([{ created: true }]);
  });

  test('the owner\'s user migrates a database from nothing, without being a superuser, and what it makes is the owner\'s', async () => {
    const { url, drop } = await emptyDatabase();
    const there = await openUsers(url);
    const [owner, worker] = [new Database({ url: there.url('owner'), connectionsMax: 2 }), new Database({ url: there.url('worker'), connectionsMax: 2 })];
    try {
      expect((await migrate(owner)).applied.length).toBeGreaterThan(0);
      await verifySchema(worker);
      expect(await worker.rows("select distinct pg_get_userbyid(relowner) as owner from pg_class where relnamespace = 'throughline'::regnamespace", [])).toEqual([{ owner: 'throughline_owner' }]);
      await expect(migrate(worker)).rejects.toThrow(/permission denied/);
    } finally {
      await owner.end();
      await worker.end();
      await drop();
      await there.drop();
    }
  });

  test('roles.sql may be repeated, and takes back what was granted by hand beside it', async () => {
    await ledger.query('grant delete on throughline.timeline to throughline_api; grant execute on function throughline.task_prune(jsonb) to throughline_api');
    await ledger.query(await readFile('deploy/postgres/roles.sql', 'utf8'));
    await expect(as('api', 'delete from throughline.timeline')).rejects.toMatchObject(DENIED);
    await expect(as('api', "select throughline.task_prune('{}')")).rejects.toMatchObject(DENIED);
  });
});

describe('and nothing beside it', () => {
  test.each(['api', 'operator', 'client', 'worker', 'reader', 'enqueuer'] as const)('the %s\'s role cannot insert, update, delete or truncate a row of any table, nor reach a secret', async (role) => {
    await Tale.of(seen, {});
    const columns = await ledger.query<{ table: string; column: string }>(`select format('throughline.%I', relname) as "table", (select quote_ident(attname) from pg_attribute a where a.attrelid = c.oid
      and attnum > 0 and attidentity = '' and not attisdropped limit 1) as "column" from pg_class c where relnamespace = 'throughline'::regnamespace and relkind = 'r'`);
    const statements = columns.flatMap(({ table, column }) => [`insert into ${table} default values`, `update ${table} set ${column} = ${column}`, `delete from ${table}`, `truncate ${table} cascade`]);
    expect(statements.length).toBeGreaterThan(100);
    // In one block: whatever is not refused for want of the right to it, ends it.
    await as(role, `do $$ declare v text; begin foreach v in array array[${statements.map((sql) => `'${sql}'`).join(', ')}] loop
      begin execute v; raise exception 'was let through: %', v; exception when insufficient_privilege then null; end; end loop; end $$`);
    for (const sql of ['select secrets from throughline.webhook', 'select secret from throughline.sender_key', 'select hash from throughline.api_token']) await expect(as(role, sql)).rejects.toMatchObject(DENIED);
  });

  test.each(['api', 'operator', 'client', 'worker', 'reader', 'enqueuer'] as const)('the %s\'s role cannot change the rules, the triggers, the clock, the functions, or who owns them', async (role) => {
    const attempts = [
      "alter table throughline.timeline disable trigger all", 'drop trigger timeline_append_only on throughline.timeline', "set session_replication_role = 'replica'",
      "update throughline.clock set shift = '1 day'", 'create table throughline.mine ()', "create or replace function throughline.now() returns timestamptz language sql as 'select null::timestamptz'",
      'drop function throughline.audit(jsonb)', 'drop schema throughline cascade', 'set role throughline_owner', 'alter table throughline.step owner to current_user', "grant delete on throughline.task to public",
    ];
    // A GRANT by who may not grant is a warning; what counts is that nothing was granted.
    for (const sql of attempts) await as(role, sql).then((done) => { expect([sql, done.command]).toEqual([sql, 'GRANT']); }, (error: unknown) => { expect(error).toMatchObject(DENIED); });
    await expect(as(role, 'delete from throughline.task')).rejects.toMatchObject(DENIED);
  });

  test('each public function has its roles, runs as the owner, and is called by those alone', async () => {
    const found = await ledger.query<{ name: string; definer: boolean; path: string[] | null; roles: string[] | null; may: string[] }>(`
      select p.proname as name, p.prosecdef as definer, p.proconfig as path, r.roles,
        array(select x.rolname::text from pg_roles x where x.rolname like 'throughline\\_%' and x.rolname <> 'throughline_owner' and has_function_privilege(x.oid, p.oid, 'execute')
          and not exists (select from pg_auth_members m join pg_roles y on y.oid = m.roleid where m.member = x.oid and has_function_privilege(y.oid, p.oid, 'execute')) order by 1) as may
      from pg_proc p left join throughline._rights() r on r.name = p.proname
      where p.pronamespace = 'throughline'::regnamespace and p.proname not like '\\_%' and p.proname not in ('now', 'natural_key') order by 1`);
    expect(found.length).toBeGreaterThan(60);
    for (const { name, definer, path, roles, may } of found) expect({ name, definer, safe: path?.includes('search_path=pg_catalog, pg_temp'), roles: may }).toEqual({ name, definer: true, safe: true, roles: [...(roles ?? [])].sort() });
  });

  test('private functions run as their caller: the state machine\'s own move is of no use to anybody', async () => {
    const tale = await Tale.of(seen, {});
    const definers = await ledger.query("select proname from pg_proc where pronamespace = 'throughline'::regnamespace and proname like '\\_%' and prosecdef");
    expect(definers).toEqual([]);
    for (const role of ['api', 'worker', 'reader', 'enqueuer'] as const) {
      await expect(as(role, "select throughline._move($1, 'publish', 'cancel', throughline.now(), 'me', '{}')", [tale.task])).rejects.toMatchObject(DENIED);
      await expect(as(role, "select throughline._wake($1, throughline.now())", [tale.task])).rejects.toMatchObject(DENIED);
    }
  });

  test('who calls as its role cannot lead the door astray by a table or function of its own', async () => {
    const { rows } = await as('api', `
      create temp table task (id uuid); create temp table step (name text);
      create function pg_temp.clock_timestamp() returns timestamptz language sql as 'select ''-infinity''::timestamptz';
      set search_path = pg_temp, public; select throughline.task_cancel('${(await Tale.of(seen, {})).task}', '{"id": "c-1", "by": "me", "why": "no"}') ->> 'verdict' as verdict`).then((results) => (results as unknown as pg.QueryResult[]).at(-1) as pg.QueryResult<Record<string, unknown>>);
    expect(rows).toEqual([{ verdict: 'prevented' }]);
  });

  test('the reader reads every table but those with secrets, and the enqueuer none', async () => {
    for (const table of await tables()) {
      const sql = `select * from throughline.${table} limit 1`;
      const secret = ['api_token', 'sender_key', 'webhook'].includes(table);
      await (secret ? expect(as('reader', sql)).rejects.toMatchObject(DENIED) : expect(as('reader', sql)).resolves.toBeDefined());
      await expect(as('enqueuer', sql)).rejects.toMatchObject(DENIED);
    }
  });
});
