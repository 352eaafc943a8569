import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { CALL_MS, VISIBLE_MS, uuid } from '../support/factories.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { snapshot } from '../support/snapshot.ts';
import { HOLDER, Tale } from '../support/tale.ts';
import { LIMITS } from '../../src/state/index.ts';

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger.close());

const lost = async (tale: Tale): Promise<Tale> => (await (await tale.claim()).intend()).settle('lost');
const claimCheck = (tale: Tale, check = uuid(), holdMs = 10_000): ReturnType<Ledger['door']['checkClaim']> => ledger.door.checkClaim(tale.task, tale.step, check, holdMs, HOLDER);

describe('probe', () => {
  test('the first look waits until permission, call and visibility are over', async () => {
    const tale = await lost(await Tale.of(ledger));
    const answer = await claimCheck(tale);
    expect(answer).toMatchObject({ refused: 'not_yet' });
    const ms = (answer as { not_yet_ms: number }).not_yet_ms;
    expect(ms).toBeGreaterThan(LIMITS.send_permission_ms + CALL_MS + VISIBLE_MS - 2_000);
    expect(ms).toBeLessThanOrEqual(LIMITS.send_permission_ms + CALL_MS + VISIBLE_MS);
  });

  test('absence seen too early does not count, however often', async () => {
    const tale = await lost(await Tale.of(ledger, { checks: 9 }));
    for (const _ of [1, 2, 3]) {
      await ledger.query('update throughline.step set next_check_at = throughline.now() where task_id = $1', [tale.task]);
      await tale.tryCheck('absent');
    }
    expect(await tale.row()).toMatchObject({ state: 'unconfirmed', reason: 'probe_inconclusive', checks_used: 3 });
    expect(await tale.effects()).toMatchObject([{ absent_looks: 0, status: 'open' }]);
  });

  test('absence counts when it was seen twice', async () => {
    const tale = await lost(await Tale.of(ledger));
    await tale.probe('absent');
    expect(await tale.row()).toMatchObject({ state: 'unconfirmed', open_count: 1 });
    await tale.probe('absent');
    expect(await tale.row()).toMatchObject({ state: 'queued', reason: 'probe_absent', open_count: 0 });
  });

  test('a new request makes earlier looks worthless', async () => {
    const tale = await lost(await Tale.of(ledger));
    await tale.probe('absent');
    await (await tale.claim()).intend();
    await tale.settle('lost');
    await tale.probe('absent');
    expect(await tale.row()).toMatchObject({ state: 'unconfirmed', open_count: 2 });
  });

  test('absence of what had been confirmed is no proof', async () => {
    const tale = await Tale.of(ledger);
    await (await (await tale.claim()).confirmed()).settle('submitted');
    await tale.overdue();
    await tale.probe('absent', 'absent');
    expect(await tale.row()).toMatchObject({ state: 'dead', reason: 'effect_uncertain' });
  });

  test('after a lost withdrawal, absent means withdrawn and present means refused', async () => {
    const gone = await Tale.of(ledger);
    await (await (await gone.claim()).confirmed()).settle('submitted');
    await (await gone.withdraws()).withdrawalIs('lost');
    await gone.probe('absent', 'absent');
    expect(await gone.row()).toMatchObject({ state: 'cancelled', reason: 'probe_absent_after_cancel', open_count: 0 });
    expect((await gone.effects()).map((row) => [row['name'], row['status']])).toEqual([['post', 'withdrawn'], ['withdraw', 'withdrawn']]);

    const there = await Tale.of(ledger);
    await (await (await there.claim()).confirmed()).settle('submitted');
    await (await there.withdraws()).withdrawalIs('lost');
    await there.probe('present');
    expect(await there.row()).toMatchObject({ state: 'submitted', open_count: 0 });
    expect((await there.effects()).map((row) => [row['name'], row['status']])).toEqual([['post', 'confirmed'], ['withdraw', 'refused']]);
  });

  test('a result that names an earlier check is kept as late and moves nothing', async () => {
    const tale = await lost(await Tale.of(ledger));
    await tale.until('next_check_at');
    const check = uuid();
    const claim = await claimCheck(tale, check);
    if (!('check' in claim)) throw new Error('no check');
    await tale.pass(11_000);
    expect(await claimCheck(tale)).toMatchObject({ refused: 'checker_vanished' });
    const before = await tale.row();
    const late = await ledger.door.probeResult(tale.task, tale.step, { check, check_no: claim.check_no, effect_id: claim.subject?.id ?? '', answer: 'absent', holder: HOLDER });
    expect(late).toMatchObject({ refused: 'check_not_current', check_no: claim.check_no + 1 });
    expect(await tale.row()).toEqual(before);
    expect((await tale.timeline()).at(-1)).toMatchObject({ kind: 'late', facts: { what: 'probe', answer: 'absent' } });
  });

  test('a check is claimed once; a checker that vanished counts as inconclusive', async () => {
    const tale = await lost(await Tale.of(ledger, { checks: 2 }));
    await tale.until('next_check_at');
    const check = uuid();
    const first = await claimCheck(tale, check);
    expect(await claimCheck(tale, check)).toEqual(first);
    expect(await claimCheck(tale)).toMatchObject({ refused: 'held' });
    await tale.pass(11_000);
    expect(await claimCheck(tale)).toMatchObject({ refused: 'checker_vanished' });
    expect(await tale.row()).toMatchObject({ state: 'unconfirmed', reason: 'probe_inconclusive', checks_used: 1 });
  });

  test.each([['present', 'present'], ['absent', 'absent']] as const)('when the last open effect is found %s and the submission stands, the submission decides', async (...looks) => {
    const tale = await lost(await Tale.of(ledger, { effects: 'picture+post' }));
    const message_id = tale.message;
    await tale.probe('absent', 'absent');
    await (await (await tale.claim()).intend('picture')).settle('lost');
    await tale.outcome('confirmed', { message_id });
    expect(await tale.row()).toMatchObject({ state: 'unconfirmed', reason: 'probe_partial', open_count: 1 });
    await tale.probe(...(looks[0] === 'absent' ? looks : (['present'] as const)));
    expect(await tale.row()).toMatchObject({ state: 'submitted', reason: 'outcome_late', open_count: 0 });
  });

  test('a look at a generation that has ended meanwhile is not applied to it', async () => {
    const tale = await Tale.of(ledger, { effects: 'picture+post' });
    await (await tale.claim()).intend();
    await tale.outcome('not_sent');
    await tale.fail();
    await (await (await tale.claim()).intend('picture')).settle('lost');
    await tale.until('next_check_at');
    const check = uuid();
    const claim = await claimCheck(tale, check);
    if (!('check' in claim)) throw new Error('no check');
    const [post] = (await tale.effects()).filter((row) => row['name'] === 'post');
    await tale.receipt('failed', { in_reply_to: tale.messages[0] ?? '' });
    await ledger.door.probeResult(tale.task, tale.step, { check, check_no: claim.check_no, effect_id: String(post?.['id']), answer: 'present', holder: HOLDER });
    expect((await tale.effects()).filter((row) => row['name'] === 'post')).toMatchObject([{ live: false, status: 'failed' }]);
  });
});

describe('acceptance', () => {
  const completed = async (tale: Tale): Promise<Tale> => (await (await tale.claim()).confirmed()).done();

  test('what was just made is not called missing before it could be visible', async () => {
    const tale = await completed(await Tale.of(ledger, { receipt: false }));
    await tale.accept(false);
    expect(await tale.row()).toMatchObject({ state: 'completed', reason: 'acceptance_inconclusive' });
    await tale.pass(60_000);
    await tale.accept(false);
    expect(await tale.row()).toMatchObject({ state: 'dead', reason: 'artifact_missing' });
  });

  test('a success says which check accepted it, and the finding is stored', async () => {
    const tale = await completed(await Tale.of(ledger, { receipt: false }));
    await tale.accept();
    expect((await tale.timeline()).filter(({ rule }) => rule === 'accept')).toMatchObject([{ facts: { found: true, ours: true, minimum: true } }]);
    expect(await ledger.query('select found, ours, minimum from throughline.acceptance where task_id = $1', [tale.task])).toEqual([{ found: true, ours: true, minimum: true }]);
  });

  test.each([
    [{ url: 'x' }, ['/url'], 'succeeded'],
    [{ url: '' }, ['/url'], 'dead'],
    [{ url: null }, ['/url'], 'dead'],
    [{}, ['/url'], 'dead'],
    [null, ['/url'], 'dead'],
    [{ 'a/b': { 'c~d': [1] } }, ['/a~1b/c~0d'], 'succeeded'],
  ] as const)('a record %j with %j required ends %s', async (result, requires, state) => {
    const tale = await Tale.of(ledger, { effects: 'none', probe: false, proof: { kind: 'record', requires: [...requires] } });
    await (await tale.claim()).done(result);
    expect(await tale.state()).toBe(state);
  });

  test('a refused result changes nothing but the late entry', async () => {
    const tale = await completed(await Tale.of(ledger, { receipt: false }));
    await tale.accept();
    const before = await snapshot(ledger, tale.task, ['timeline']);
    expect(await ledger.door.acceptResult(tale.task, tale.step, { check: uuid(), check_no: 1, found: false, ours: null, minimum: null, holder: 'another/1' })).toMatchObject({ refused: 'check_not_current' });
    expect(await snapshot(ledger, tale.task, ['timeline'])).toEqual(before);
  });
});
