import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { HOLDER, Tale } from '../support/tale.ts';
import { waiting } from './scenarios/scenario.ts';

let ledger: Ledger;
let user: string;
beforeAll(async () => {
  ledger = await openLedger();
  user = String((await ledger.query('select session_user as name'))[0]?.['name']);
});
afterAll(() => ledger.close());

const edit = (tale: Tale, state: string): Promise<unknown> => ledger.query('update throughline.step set state = $3 where task_id = $1 and name = $2', [tale.task, tale.step, state]);
const wake = async (tale: Tale): Promise<unknown> => (await ledger.query('select version from throughline.outbox where task_id = $1', [tale.task]))[0]?.['version'];
const sent = (tale: Tale): Promise<unknown> => ledger.query('delete from throughline.outbox where task_id = $1', [tale.task]);

test('an edit by hand gets its entry with the database user, and the step refers to it', async () => {
  const tale = await Tale.of(ledger);
  await edit(tale, 'dead');
  const entry = (await tale.timeline()).find(({ reason, kind }) => reason === 'manual_correction' && kind === 'transition');
  expect(entry).toMatchObject({ kind: 'transition', event: 'manual_correction', rule: 'manual', from_state: 'queued', to_state: 'dead', actor: `database:${user}`, facts: { application: 'psql-test' } });
  expect(await tale.row()).toMatchObject({ state: 'dead', seq: entry?.id, reason: 'manual_correction' });
});

test('an edit by hand fences the holder: its lease is cleared and the epoch raised', async () => {
  const tale = await (await Tale.of(ledger)).claim();
  await edit(tale, 'queued');
  expect(await tale.row()).toMatchObject({ state: 'queued', claim_id: null, holder: null, lease_expires_at: null, epoch: String(tale.claimed.epoch + 1), charging: false });
  expect(await tale.trySettle('done')).toMatchObject({ refused: 'fenced', epoch: tale.claimed.epoch + 1 });
  expect(await tale.tryIntend()).toMatchObject({ refused: 'fenced' });
  expect(await ledger.door.leaseRenew(tale.task, tale.step, tale.claimed.id, 1_000, false, HOLDER)).toMatchObject({ refused: 'fenced' });
});

test('an edit by hand rolls up, moves dependents and wakes the driver', async () => {
  const tale = await Tale.of(ledger, [{ name: 'render', effects: 'none', probe: false }, { needs: ['render'] }]);
  await sent(tale);
  await edit(tale.about('render'), 'succeeded');
  expect(await tale.row()).toMatchObject({ state: 'queued', reason: 'upstream_succeeded' });
  expect(await wake(tale)).toBe('1');
  await edit(tale, 'dead');
  expect(await tale.taskRow()).toMatchObject({ status: 'dead', at_rest: true, held_by: 'publish' });
});

test('a result that belongs to a check before the edit is refused', async () => {
  const tale = await Tale.of(ledger, { receipt: false });
  await (await (await tale.claim()).confirmed()).done();
  const check = '00000000-0000-4000-8000-000000000001';
  const claim = await ledger.door.checkClaim(tale.task, tale.step, check, 60_000, HOLDER);
  if (!('check' in claim)) throw new Error('no check');
  await edit(tale, 'unconfirmed');
  expect(await ledger.door.acceptResult(tale.task, tale.step, { check, check_no: claim.check_no, found: true, ours: true, minimum: true, holder: HOLDER })).toMatchObject({ refused: 'check_not_current' });
});

test.each(['submitted', 'received', 'in_progress'])('a step set to %s by hand has its receipt due', async (state) => {
  const tale = await Tale.of(ledger);
  await waiting(tale, 'submitted');
  await edit(tale, 'dead');
  expect((await tale.row())['receipt_due_at']).toBeNull();
  await edit(tale, state);
  await tale.overdue();
  expect(await tale.row()).toMatchObject({ state: 'unconfirmed', reason: 'receipt_overdue' });
});

test.each([[true, 'unconfirmed'], [false, 'dead']] as const)('a step set to unconfirmed by hand is looked up if there is something to look for (asked outside: %s), else given to a person', async (asked, state) => {
  const tale = await Tale.of(ledger);
  if (asked) await (await (await tale.claim()).confirmed()).settle('submitted');
  await edit(tale, 'unconfirmed');
  const answer = await ledger.door.checkClaim(tale.task, tale.step, '00000000-0000-4000-8000-000000000002', 1_000, HOLDER);
  expect('check' in answer).toBe(asked);
  await tale.look();
  expect(await tale.state()).toBe(state);
});

test('an edit that a state excludes is refused as a whole', async () => {
  const tale = await (await Tale.of(ledger, { keyed: false })).claim();
  await tale.intend();
  const before = await tale.timeline();
  await expect(edit(tale, 'queued')).rejects.toMatchObject({ code: '23514' });
  expect(await tale.timeline()).toEqual(before);
  expect(await tale.state()).toBe('leased');
});

test('an edit of anything but the state is no transition', async () => {
  const tale = await Tale.of(ledger);
  const before = await tale.timeline();
  await ledger.query("update throughline.step set next_run_at = next_run_at + interval '1 hour' where task_id = $1", [tale.task]);
  await ledger.query('update throughline.step set state = state where task_id = $1', [tale.task]);
  expect(await tale.timeline()).toEqual(before);
});

test('a cancel that waits learns that a step was ended by hand', async () => {
  const tale = await Tale.of(ledger);
  await waiting(tale, 'submitted');
  const { id } = await tale.cancel();
  await edit(tale, 'dead');
  expect(await tale.cancel({ id })).toMatchObject({ verdict: 'needs_person' });
});
