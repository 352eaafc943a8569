import { afterEach, expect, test } from '@jest/globals';
import { Database, migrate, verifySchema } from '../../src/ledger/index.ts';
import { emptyDatabase } from '../support/ledger.ts';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function empty(): Promise<() => Database> {
  const { url, drop } = await emptyDatabase();
  cleanups.push(drop);
  return () => {
    const database = new Database({ url, connectionsMax: 2 });
    cleanups.push(() => database.end());
    return database;
  };
}

const DIGEST = "select obj_description('throughline'::regnamespace, 'pg_namespace') as digest";

test('eight that migrate at once: one migrates, all can run', async () => {
  const open = await empty();
  const pools = Array.from({ length: 8 }, open);
  const results = await Promise.all(pools.map((pool) => migrate(pool)));
  expect(results.filter(({ applied }) => applied.length > 0)).toHaveLength(1);
  for (const pool of pools) await verifySchema(pool);
  expect(await pools[0]?.rows('select count(*)::int as n from throughline.transition_rule', [])).not.toEqual([{ n: 0 }]);
});

test('a second migrate changes nothing', async () => {
  const database = (await empty())();
  await migrate(database);
  const before = await database.rows(`${DIGEST}, (select max(xmin::text::bigint) from pg_proc where pronamespace = 'throughline'::regnamespace) as newest`, []);
  expect(await migrate(database)).toEqual({ applied: [] });
  expect(await database.rows(`${DIGEST}, (select max(xmin::text::bigint) from pg_proc where pronamespace = 'throughline'::regnamespace) as newest`, [])).toEqual(before);
});

test('an unmigrated database is called outdated', async () => {
  await expect(verifySchema((await empty())())).rejects.toMatchObject({ code: 'LEDGER_OUTDATED' });
});

test('a database that knows more than this program is refused and left as it is', async () => {
  const database = (await empty())();
  await migrate(database);
  await database.withClient((client) => client.query("insert into throughline.migration (name, run_on) values ('9999_from_the_future', now())"));
  await database.withClient((client) => client.query("comment on schema throughline is 'newer functions'"));
  await expect(migrate(database)).rejects.toMatchObject({ code: 'LEDGER_NEWER', detail: { facts: { unknown: ['9999_from_the_future'] } } });
  await expect(verifySchema(database)).rejects.toMatchObject({ code: 'LEDGER_NEWER' });
  expect(await database.rows(DIGEST, [])).toEqual([{ digest: 'newer functions' }]);
});

test('rules and functions that differ are applied again, and what an earlier version left over is dropped', async () => {
  const database = (await empty())();
  await migrate(database);
  await database.withClient((client) =>
    client.query(`
      create or replace function throughline._ms(p interval) returns bigint language sql immutable as 'select 7::bigint';
      create function throughline._wake(p_task uuid) returns void language sql as '';
      delete from throughline.transition_rule where label = 'claim';
      comment on schema throughline is 'throughline functions of another version'`),
  );
  expect(await migrate(database)).toEqual({ applied: [] });
  expect(await database.rows("select throughline._ms(interval '1 second') as ms, (select count(*)::int from throughline.transition_rule where label = 'claim') as rules", [])).toEqual([{ ms: '1000', rules: 1 }]);
  expect(await database.rows("select oid::regprocedure::text as name from pg_proc where pronamespace = 'throughline'::regnamespace and proname = '_wake'", [])).toHaveLength(1);
});

test('a migration whose functions fail leaves the earlier ones in force', async () => {
  const database = (await empty())();
  await migrate(database);
  // A view on a function that must change its result makes the re-creation fail.
  await database.withClient((client) =>
    client.query(`
      drop function throughline._ms(interval) cascade;
      create function throughline._ms(p interval) returns text language sql immutable as 'select ''x''';
      create view throughline.stubborn as select throughline._ms(interval '1 second') as x;
      comment on schema throughline is 'throughline functions of another version'`),
  );
  await expect(migrate(database)).rejects.toThrow();
  expect(await database.rows(DIGEST, [])).toEqual([{ digest: 'throughline functions of another version' }]);
  expect(await database.rows("select throughline._ms(interval '1 second') as x", [])).toEqual([{ x: 'x' }]);
});
