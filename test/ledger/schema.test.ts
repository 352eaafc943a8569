import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { dumpSchema, SCHEMA_FILE } from '../../scripts/dump-schema.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger.close());

test('migrations/schema.sql is what a migrated database is (else: node --import tsx scripts/dump-schema.ts)', async () => {
  expect(await dumpSchema((sql) => ledger.query(sql))).toBe(await readFile(SCHEMA_FILE, 'utf8'));
});

test('every text column is bounded, by a CHECK or by a key that it refers to', async () => {
  // Written by rules.sql or the door itself from closed lists and bounded values; never by a caller.
  const closed = /^(transition_rule|transition_edge|parent_rule|reason)\./;
  const derived = ['timeline.rule', 'timeline.from_state', 'timeline.to_state', 'step.needs', 'checkpoint.step', 'effect.step', 'request.step', 'artifact.step', 'acceptance.step', 'receipt.content_digest', 'receipt.verdict', 'cancel_step.cancel_id', 'cancel_step.step', 'cancel_step.follows', 'cancel_step.found', 'replay.step', 'dedupe.type', 'recovery.step', 'task.type'];
  const unbounded = await ledger.query<{ name: string }>(`
    select c.relname || '.' || a.attname as name from pg_attribute a join pg_class c on c.oid = a.attrelid
    where c.relnamespace = 'throughline'::regnamespace and c.relkind = 'r' and c.relname <> 'migration' and a.attnum > 0 and format_type(a.atttypid, null) like 'text%'
      and not exists (select from pg_constraint k where k.conrelid = c.oid and k.contype in ('c', 'f') and a.attnum = any (k.conkey) and (k.contype = 'f' or cardinality(k.conkey) = 1)) order by 1`);
  expect(unbounded.map(({ name }) => name).filter((name) => !closed.test(name) && !derived.includes(name))).toEqual([]);
});

test('every foreign key into a table that is changed by task has an index that finds its rows', async () => {
  const tables = await ledger.query<{ name: string }>(`
    select k.conrelid::regclass || ' ' || k.conname as name from pg_constraint k
    where k.connamespace = 'throughline'::regnamespace and k.contype = 'f' and k.confdeltype <> 'a'`);
  // Nothing cascades: a row that others refer to is not deleted behind their back.
  expect(tables).toEqual([]);
});
