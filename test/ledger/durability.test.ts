import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { uuid } from '../support/factories.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { HOLDER, Tale } from '../support/tale.ts';

let ledger: Ledger;
let client: pg.Client;
beforeAll(async () => {
  ledger = await openLedger();
  client = new pg.Client({ connectionString: ledger.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await ledger.close();
});

/** Whether the transaction of a door call would wait for the disk. */
async function waits(call: string, values: readonly unknown[]): Promise<boolean> {
  await client.query('begin');
  await client.query(`select throughline.${call}`, [...values]);
  const { rows } = await client.query<{ synchronous_commit: string }>('show synchronous_commit');
  await client.query('rollback');
  return rows[0]?.synchronous_commit === 'on';
}

test('the claim of a step that is harmless to repeat need not wait for the disk, any other claim does', async () => {
  const reentrant = await Tale.of(ledger, { effects: 'none' });
  const not = await Tale.of(ledger, { effects: 'none', reentrant: false });
  expect(await waits('step_claim($1, $2, $3, $4)', [reentrant.task, reentrant.step, uuid(), HOLDER])).toBe(false);
  expect(await waits('step_claim($1, $2, $3, $4)', [not.task, not.step, uuid(), HOLDER])).toBe(true);
});

test('what something outside or somebody else relies on is on disk before it is answered', async () => {
  const tale = await Tale.of(ledger);
  const claim = uuid();
  await ledger.door.stepClaim(tale.task, tale.step, claim, HOLDER);
  const intent = JSON.stringify({ claim, message_id: uuid(), name: 'post', item: '', digest: 'd' });
  expect(await waits('effect_intend($1, $2, $3)', [tale.task, tale.step, intent])).toBe(true);
  expect(await waits('step_settle($1, $2, $3)', [tale.task, tale.step, JSON.stringify({ claim, epoch: 1, holder: HOLDER, how: 'release' })])).toBe(true);
  expect(await waits('task_cancel($1, $2)', [tale.task, JSON.stringify({ id: 'c', by: 'li', why: 'x' })])).toBe(true);
  // The setting ends with its transaction.
  expect(await waits('lease_renew($1, $2, $3, 1000, false, $4)', [tale.task, tale.step, claim, HOLDER])).toBe(false);
  expect((await client.query<{ synchronous_commit: string }>('show synchronous_commit')).rows[0]?.synchronous_commit).toBe('on');
});
