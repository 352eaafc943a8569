import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { CALL_MS, LEASE_MS, VISIBLE_MS, WINDOW_MS, uuid } from '../support/factories.ts';
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
const generations = async (tale: Tale, name = 'post'): Promise<unknown[]> =>
  (await tale.effects()).filter((row) => row['name'] === name).map((row) => [row['generation'], row['live'], row['status']]);

describe('identity', () => {
  test('repeats an open request under the same key inside its window', async () => {
    const tale = await lost(await Tale.of(ledger));
    await tale.claim();
    expect(await tale.tryIntend()).toMatchObject({ permitted: true, generation: 1, key: `${tale.task}/${tale.step}/post//1` });
    expect(await tale.row()).toMatchObject({ open_count: 2, attempt: 2, charged: 2 });
  });

  test('does not take a step for a resend when permission and call could outlast the window', async () => {
    const tale = await lost(await Tale.of(ledger));
    await tale.pass(WINDOW_MS - LIMITS.send_permission_ms - CALL_MS);
    expect(await tale.tryClaim()).toMatchObject({ refused: 'no_rule' });
  });

  test('refuses the intent when the window closed after the claim', async () => {
    const tale = await lost(await Tale.of(ledger));
    await tale.claim();
    await tale.pass(WINDOW_MS - LIMITS.send_permission_ms - CALL_MS);
    expect(await tale.tryIntend()).toEqual({ refused: 'unanswered' });
  });

  test('never repeats an unanswered request without a key', async () => {
    const tale = await Tale.of(ledger, { keyed: false });
    await (await tale.claim()).intend();
    expect(await tale.tryIntend()).toEqual({ refused: 'unanswered' });
    await tale.settle('lost');
    await tale.pass(10_000);
    expect(await tale.tryClaim()).toMatchObject({ refused: 'no_rule' });
  });

  test('stops a request that changed while an earlier one may have arrived, and lets it change when none was sent', async () => {
    const sent = await lost(await Tale.of(ledger));
    await sent.claim();
    expect(await sent.tryIntend('post', '', 'd2')).toEqual({ refused: 'request_changed' });
    await sent.settle('lost');
    await sent.probe('absent', 'absent');
    await sent.claim();
    expect(await sent.tryIntend('post', '', 'd2')).toEqual({ refused: 'request_changed' });

    const unsent = await Tale.of(ledger);
    await (await unsent.claim()).intend();
    await unsent.outcome('not_sent');
    expect(await unsent.tryIntend('post', '', 'd2')).toMatchObject({ permitted: true, generation: 1 });
  });

  test('another item is another request: refused for the submission while the first may still arrive', async () => {
    const tale = await lost(await Tale.of(ledger));
    await tale.probe('absent', 'absent');
    await tale.claim();
    expect(await tale.tryIntend('post', 'other')).toEqual({ refused: 'request_changed' });
    expect(await tale.tryIntend()).toMatchObject({ permitted: true, generation: 1 });
  });

  test('a generation ends by a refusal', async () => {
    const tale = await Tale.of(ledger);
    await (await tale.claim()).intend();
    await tale.outcome('refused');
    await tale.fail();
    await (await tale.claim()).intend();
    expect(await generations(tale)).toEqual([[1, false, 'refused'], [2, true, 'open']]);
  });

  test.each(['not_sent', 'absent'] as const)('a generation does not end by %s alone', async (how) => {
    const tale = await Tale.of(ledger);
    await (await tale.claim()).intend();
    if (how === 'absent') {
      await tale.settle('lost');
      await tale.probe('absent', 'absent');
    } else {
      await tale.outcome('not_sent');
      await tale.fail();
    }
    await (await tale.claim()).intend();
    expect(await generations(tale)).toEqual([[1, true, 'open']]);
  });

  test('a refusal after an absence does not end the generation: the earlier request may still arrive', async () => {
    const tale = await lost(await Tale.of(ledger));
    await tale.probe('absent', 'absent');
    await (await tale.claim()).intend();
    await tale.outcome('refused');
    expect(await generations(tale)).toEqual([[1, true, 'refused']]);
  });

  test('a refusal does not end the generation while another request of it is open', async () => {
    const tale = await lost(await Tale.of(ledger));
    await (await tale.claim()).intend();
    await tale.outcome('refused');
    expect(await generations(tale)).toEqual([[1, true, 'open']]);
    expect((await tale.row()).open_count).toBe(1);
    await tale.fail();
    expect(await tale.state()).toBe('unconfirmed');
  });

  test('a failed receipt ends the generation and the next request has the next key', async () => {
    const tale = await Tale.of(ledger);
    await (await (await tale.claim()).confirmed()).settle('submitted');
    await tale.receives('failed', { retryable: true });
    await tale.claim();
    expect(await tale.tryIntend()).toMatchObject({ generation: 2, key: `${tale.task}/${tale.step}/post//2` });
  });

  test('a replay that voids an effect starts its next generation', async () => {
    const tale = await Tale.of(ledger, { probe: false, keyed: false });
    await lost(tale);
    expect(await tale.state()).toBe('dead');
    await tale.replays({ void: [{ effect: 'post' }] });
    await (await tale.claim()).intend();
    expect(await generations(tale)).toEqual([[1, false, 'voided'], [2, true, 'open']]);
  });
});

describe('intent', () => {
  test('a confirmed answer is reused without a call', async () => {
    const tale = await Tale.of(ledger, { effects: 'picture+post' });
    await (await tale.claim()).confirmed('picture', '1');
    await tale.fail();
    await tale.claim();
    expect(await tale.tryIntend('picture', '1')).toEqual({ reuse: true, external_id: 'ext-1', generation: 1, result: { url: 'https://example.org/1' } });
    expect((await tale.row()).open_count).toBe(0);
  });

  test('the submission is the last effect: refused while another is open, and nothing follows it', async () => {
    const tale = await Tale.of(ledger, { effects: 'picture+post' });
    await (await tale.claim()).intend('picture');
    expect(await tale.tryIntend('post')).toEqual({ refused: 'effect_open' });
    await tale.outcome('confirmed');
    await tale.confirmed('post');
    expect(await tale.tryIntend('picture', 'late')).toEqual({ refused: 'after_submission' });
    expect(await tale.tryIntend('elsewhere')).toEqual({ refused: 'undeclared' });
  });

  test('after a cancel was answered no intent is written', async () => {
    const tale = await Tale.of(ledger);
    await tale.claim();
    await tale.cancel();
    const before = await snapshot(ledger, tale.task);
    expect(await tale.tryIntend()).toEqual({ refused: 'cancel' });
    expect(await snapshot(ledger, tale.task)).toEqual(before);
  });

  test('the lease outlives permission and call', async () => {
    const tale = await Tale.of(ledger, { leaseMs: 1_000 });
    await (await tale.claim()).intend();
    const [row] = await ledger.query<{ ms: string }>('select extract(epoch from lease_expires_at - throughline.now()) * 1000 as ms from throughline.step where task_id = $1', [tale.task]);
    expect(Number(row?.ms)).toBeGreaterThan(LIMITS.send_permission_ms + CALL_MS);
    await tale.pass(LIMITS.send_permission_ms + CALL_MS);
    await tale.look();
    expect(await tale.state()).toBe('leased');
  });

  test('an intent whose answer was lost gets the same permission again, not a longer one', async () => {
    const tale = await Tale.of(ledger);
    await (await tale.claim()).intend();
    await tale.pass(3_000);
    const before = await snapshot(ledger, tale.task);
    const again = await ledger.door.effectIntend(tale.task, tale.step, { claim: tale.claimed.id, message_id: tale.message, name: 'post', item: '', digest: 'd1' });
    expect(again).toMatchObject({ permitted: true, repeated: true, generation: 1, timeout_ms: CALL_MS });
    const left = (again as { send_within_ms: number }).send_within_ms;
    expect(left).toBeLessThanOrEqual(LIMITS.send_permission_ms - 3_000);
    await tale.pass(LEASE_MS);
    expect(await ledger.door.effectIntend(tale.task, tale.step, { claim: tale.claimed.id, message_id: tale.message, name: 'post', item: '', digest: 'd1' })).toMatchObject({ send_within_ms: 0 });
    expect(await snapshot(ledger, tale.task)).toEqual(before);
  });

  test('a worker that lost its lease writes no intent and learns both epochs', async () => {
    const tale = await Tale.of(ledger);
    await (await tale.claim()).expire();
    const old = tale.claimed;
    await tale.claim('another/1');
    const refusal = await ledger.door.effectIntend(tale.task, tale.step, { claim: old.id, message_id: uuid(), name: 'post', item: '', digest: 'd1' });
    expect(refusal).toEqual({ refused: 'fenced', epoch: old.epoch + 2, state: 'leased', held_by: 'another/1' });
    expect((await tale.row()).open_count).toBe(0);
  });
});

describe('outcome', () => {
  test('is recorded once, however often it is reported', async () => {
    const tale = await (await Tale.of(ledger)).claim();
    await tale.confirmed();
    const before = await snapshot(ledger, tale.task);
    expect(await tale.tryOutcome('confirmed')).toEqual({ recorded: true, repeated: true });
    expect(await snapshot(ledger, tale.task)).toEqual(before);
  });

  test('still brings its result when a receipt confirmed the effect first', async () => {
    const tale = await (await Tale.of(ledger)).claim();
    await tale.intend();
    await tale.receives('received');
    await tale.outcome('confirmed');
    expect(await tale.effects()).toMatchObject([{ status: 'confirmed', external_id: 'ext-1', result: { url: 'https://example.org/1' } }]);
    await tale.settle('lost');
    expect(await tale.row()).toMatchObject({ state: 'received', result: { url: 'https://example.org/1' } });
  });

  const after = {
    'leased by another': async (tale: Tale) => (await tale.expire()).claim('another/1'),
    submitted: async (tale: Tale) => (await tale.outcome('confirmed')).settle('submitted'),
    'unconfirmed because no receipt came': async (tale: Tale) => (await (await tale.outcome('confirmed')).settle('submitted')).overdue(),
    completed: async (tale: Tale) => (await tale.settle('lost')).probe('completed'),
    succeeded: async (tale: Tale) => (await (await tale.settle('lost')).probe('completed')).accept(),
    cancelled: async (tale: Tale) => (await (await tale.settle('lost')).cancels()).probe('absent', 'absent'),
    dead: async (tale: Tale) => (await tale.settle('lost')).abandons(),
  } as const;
  const outcomes = ['confirmed', 'refused', 'not_sent'] as const;
  test.each(Object.entries(after).flatMap(([state, arrange]) => outcomes.map((outcome) => ({ state, outcome, arrange }))))(
    'a late $outcome is evidence and moves nothing when the step is $state',
    async ({ arrange, outcome }) => {
      const tale = await Tale.of(ledger);
      await (await tale.claim()).intend();
      const message = tale.message;
      const claimed = { ...tale.claimed };
      await arrange(tale);
      const before = await tale.row();
      const entries = (await tale.timeline()).length;
      await ledger.door.effectOutcome(tale.task, tale.step, { claim: claimed.id, holder: HOLDER, message_id: message, outcome, ...(outcome === 'confirmed' ? { external_id: 'ext-1' } : {}) });
      const now = await tale.row();
      expect({ state: now.state, seq: now.seq, epoch: now.epoch }).toEqual({ state: before.state, seq: before.seq, epoch: before.epoch });
      expect((await tale.timeline()).slice(entries).filter(({ kind }) => kind === 'transition')).toEqual([]);
    },
  );

  test.each([[false, 'queued', 'probe_absent'], [true, 'cancelled', 'probe_absent_after_cancel']] as const)('a late refusal proves absence to an unconfirmed step (cancel set: %s)', async (cancel, state, reason) => {
    const tale = await lost(await Tale.of(ledger));
    if (cancel) await tale.cancel();
    await tale.outcome('refused');
    expect(await tale.row()).toMatchObject({ state, reason });
  });

  test('a settle that comes after the lease was lost is refused, naming both epochs, and is kept as late', async () => {
    const tale = await (await Tale.of(ledger)).claim();
    await tale.expire();
    const old = { ...tale.claimed };
    await tale.claim('another/1');
    const answer = await ledger.door.stepSettle(tale.task, tale.step, { claim: old.id, epoch: old.epoch, holder: old.holder, how: 'done' });
    expect(answer).toMatchObject({ refused: 'fenced', epoch: old.epoch + 2 });
    expect((await tale.timeline()).at(-1)).toMatchObject({ kind: 'late', facts: { what: 'settle', claim_epoch: old.epoch, current_epoch: old.epoch + 2 } });
  });
});

test('picture 2 of 3 lost its answer and is found: the step goes on with picture 3, not charged, and is no success yet', async () => {
  const tale = await Tale.of(ledger, { effects: 'picture+post', attempts: 1, keyed: false });
  await (await tale.claim()).confirmed('picture', '1');
  await (await tale.intend('picture', '2')).settle('lost');
  await tale.pass(LIMITS.send_permission_ms + CALL_MS + VISIBLE_MS);
  await tale.probe('present');
  expect(await tale.row()).toMatchObject({ state: 'queued', reason: 'resume_after_probe' });
  const answer = await tale.tryClaim();
  expect(answer).toMatchObject({ claimed: true, attempt: 2, charged: 1, effects: [{ item: '1', status: 'confirmed' }, { item: '2', status: 'confirmed' }] });
  expect(await tale.tryIntend('picture', '2')).toMatchObject({ reuse: true });
  expect(await tale.tryIntend('picture', '3')).toMatchObject({ permitted: true });
});
