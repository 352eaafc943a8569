import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { uuid } from '../support/factories.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { snapshot } from '../support/snapshot.ts';
import { Tale } from '../support/tale.ts';
import { waiting } from './scenarios/scenario.ts';

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger.close());

const verdictOf = async (tale: Tale, id: string): Promise<unknown> => {
  const { verdict, steps } = await tale.cancel({ id });
  return { verdict, reason: steps.find(({ step }) => step === tale.step)?.reason, state: await tale.state() };
};

/** A cancel in every phase: what it is answered, how the story goes on, and how it ends. */
interface Phase {
  readonly arrange: (tale: Tale) => Promise<unknown>;
  readonly answer: { readonly found: string; readonly verdict: string };
  readonly then: (tale: Tale) => Promise<unknown>;
  readonly end: { readonly verdict: string; readonly reason: string; readonly state: string };
}

const nothing = async (): Promise<void> => undefined;
const PHASES: Readonly<Record<string, Phase>> = {
  'before any attempt': { arrange: nothing, answer: { found: 'queued', verdict: 'prevented' }, then: nothing, end: { verdict: 'prevented', reason: 'cancelled_before_execution', state: 'cancelled' } },
  'while backing off': { arrange: async (t) => (await t.claim()).fail(), answer: { found: 'queued', verdict: 'prevented' }, then: nothing, end: { verdict: 'prevented', reason: 'cancelled_before_retry', state: 'cancelled' } },
  'between effects': { arrange: (t) => t.claim(), answer: { found: 'leased', verdict: 'pending' }, then: (t) => t.settle('boundary'), end: { verdict: 'stopped_at_boundary', reason: 'cancelled_at_boundary', state: 'cancelled' } },
  'while the worker is killed': { arrange: (t) => t.claim(), answer: { found: 'leased', verdict: 'pending' }, then: (t) => t.expire(), end: { verdict: 'stopped_at_boundary', reason: 'lease_expired_effects_settled', state: 'cancelled' } },
  'while a failing attempt runs': { arrange: (t) => t.claim(), answer: { found: 'leased', verdict: 'pending' }, then: (t) => t.fail(), end: { verdict: 'stopped_at_boundary', reason: 'cancelled_after_failed_attempt', state: 'cancelled' } },
  'during the call that submits': { arrange: async (t) => (await t.claim()).intend(), answer: { found: 'leased', verdict: 'pending' }, then: async (t) => (await (await (await t.outcome('confirmed')).settle('submitted')).receives('completed')).accept(), end: { verdict: 'too_late', reason: 'receipt_completed', state: 'succeeded' } },
  'during a call whose answer is lost and that did not arrive': { arrange: async (t) => (await t.claim()).intend(), answer: { found: 'leased', verdict: 'pending' }, then: async (t) => (await t.settle('lost')).probe('absent', 'absent'), end: { verdict: 'prevented', reason: 'probe_absent_after_cancel', state: 'cancelled' } },
  'during a call whose answer is lost and that arrived': { arrange: async (t) => (await t.claim()).intend(), answer: { found: 'leased', verdict: 'pending' }, then: async (t) => (await t.settle('lost')).probe('completed'), end: { verdict: 'too_late', reason: 'probe_completed', state: 'completed' } },
  'while it is unconfirmed': { arrange: (t) => waiting(t, 'unconfirmed'), answer: { found: 'unconfirmed', verdict: 'pending' }, then: (t) => t.outcome('not_sent'), end: { verdict: 'prevented', reason: 'probe_absent_after_cancel', state: 'cancelled' } },
  'while a picture is unconfirmed': { arrange: async (t) => (await (await t.claim()).intend('picture')).settle('lost'), answer: { found: 'unconfirmed', verdict: 'pending' }, then: (t) => t.probe('present'), end: { verdict: 'stopped_at_boundary', reason: 'cancelled_at_boundary', state: 'cancelled' } },
  'while waiting for a receipt that then fails': { arrange: (t) => waiting(t, 'submitted'), answer: { found: 'submitted', verdict: 'pending' }, then: (t) => t.receives('failed', { retryable: true }), end: { verdict: 'stopped_at_boundary', reason: 'cancelled_after_failed_attempt', state: 'cancelled' } },
  'while waiting for a receipt that then completes': { arrange: (t) => waiting(t, 'received'), answer: { found: 'received', verdict: 'pending' }, then: (t) => t.receives('completed'), end: { verdict: 'too_late', reason: 'receipt_completed', state: 'completed' } },
  'while waiting, and then nobody can tell': { arrange: (t) => waiting(t, 'submitted'), answer: { found: 'submitted', verdict: 'pending' }, then: async (t) => (await t.overdue()).probe('absent', 'absent'), end: { verdict: 'needs_person', reason: 'effect_uncertain', state: 'dead' } },
  'after completion': { arrange: async (t) => (await waiting(t, 'submitted'), t.receives('completed')), answer: { found: 'completed', verdict: 'too_late' }, then: (t) => t.accept(), end: { verdict: 'too_late', reason: 'cancel_after_effect', state: 'succeeded' } },
  'after death': { arrange: async (t) => (await t.claim()).fail(false), answer: { found: 'dead', verdict: 'needs_person' }, then: nothing, end: { verdict: 'needs_person', reason: 'cancel_recorded', state: 'dead' } },
  'after success': { arrange: async (t) => (await waiting(t, 'submitted'), await t.receives('completed'), t.accept()), answer: { found: 'succeeded', verdict: 'already_terminal' }, then: nothing, end: { verdict: 'already_terminal', reason: 'proof_accepted', state: 'succeeded' } },
  'after a cancel': { arrange: (t) => t.cancel(), answer: { found: 'cancelled', verdict: 'already_terminal' }, then: nothing, end: { verdict: 'already_terminal', reason: 'cancelled_before_execution', state: 'cancelled' } },
};

describe('cancel', () => {
  test.each(Object.entries(PHASES))('%s: the answer and the end agree', async (_phase, { arrange, answer, then, end }) => {
    const tale = await Tale.of(ledger, { effects: 'picture+post' });
    await arrange(tale);
    const id = uuid();
    const answered = await tale.cancel({ id });
    expect(answered).toMatchObject({ verdict: answer.verdict, steps: [{ step: 'publish', found: answer.found, verdict: answer.verdict }] });
    const mark = (await tale.timeline()).at(-1)?.id ?? '0';
    await then(tale);
    expect(await verdictOf(tale, id)).toEqual(end);
    expect((await tale.timeline(mark)).filter(({ kind }) => kind === 'intent')).toEqual([]);
  });

  test('names the effect in flight and when it is asked about again', async () => {
    const tale = await (await (await Tale.of(ledger)).claim()).intend();
    expect(await tale.cancel()).toMatchObject({ steps: [{ in_flight: [{ effect: 'post', item: '', message_id: tale.message, attempt: 1 }], next_check_in_ms: expect.any(Number), deadline_in_ms: expect.any(Number) }] });
  });

  test('is never lost on a detour: no way leads back to an attempt', async () => {
    const detours: Readonly<Record<string, (tale: Tale) => Promise<unknown>>> = {
      unconfirmed: async (t) => (await t.settle('lost')).probe('absent', 'absent'),
      'receipt failed': async (t) => (await (await t.outcome('confirmed')).settle('submitted')).receives('failed', { retryable: true }),
      rescue: async (t) => (await (await t.outcome('not_sent')).expire()),
      shutdown: async (t) => (await t.outcome('not_sent')).settle('release'),
      'shutdown in a call': async (t) => (await t.settle('release')).probe('absent', 'absent'),
    };
    for (const detour of Object.values(detours)) {
      const tale = await (await (await Tale.of(ledger)).claim()).intend();
      await tale.cancel();
      await detour(tale);
      expect(await tale.state()).toBe('cancelled');
      await tale.pass(3_600_000);
      expect(await tale.tryClaim()).toMatchObject({ refused: 'no_rule' });
    }
  });

  test('twice under the same id: the same answer and nothing new', async () => {
    const tale = await (await Tale.of(ledger)).claim();
    const first = await tale.cancel({ id: 'c1' });
    const before = await snapshot(ledger, tale.task);
    const second = await tale.cancel({ id: 'c1' });
    expect(second).toMatchObject({ ...first, repeated: true, steps: [{ step: 'publish', verdict: 'pending' }] });
    expect(await snapshot(ledger, tale.task)).toEqual(before);
    await expect(tale.cancel({ id: 'c1', step: 'publish' })).rejects.toMatchObject({ code: 'ID_CONFLICT' });
  });

  test('under another id follows the open one and shares its verdict', async () => {
    const tale = await (await Tale.of(ledger)).claim();
    await tale.cancel({ id: 'c1' });
    expect(await tale.cancel({ id: 'c2' })).toMatchObject({ verdict: 'pending', steps: [{ follows: 'c1', found: 'cancel_requested' }] });
    await tale.settle('boundary');
    expect(await verdictOf(tale, 'c1')).toEqual(await verdictOf(tale, 'c2'));
    expect((await tale.timeline()).filter(({ event }) => event === 'cancel')).toHaveLength(1);
  });

  test('of a task answers for each step: what is waiting and queued ends in that same call', async () => {
    const tale = await Tale.of(ledger, [{ name: 'render', effects: 'none', probe: false }, { name: 'review', review: true, needs: ['render'] }, { name: 'publish', needs: ['review'] }]);
    await tale.about('render').claim();
    expect(await tale.cancel()).toMatchObject({
      verdict: 'pending',
      steps: [{ step: 'render', found: 'leased', verdict: 'pending' }, { step: 'review', found: 'waiting', verdict: 'prevented', state: 'cancelled' }, { step: 'publish', found: 'waiting', verdict: 'prevented', state: 'cancelled' }],
    });
  });

  test('of one step cancels what depends on it, and leaves the rest', async () => {
    const tale = await Tale.of(ledger, [{ name: 'render', effects: 'none', probe: false }, { name: 'aside', effects: 'none', probe: false }, { name: 'publish', needs: ['render'] }]);
    await tale.cancel({ step: 'render' });
    expect(await tale.row()).toMatchObject({ state: 'cancelled', reason: 'upstream_cancelled' });
    expect(await tale.about('aside').state()).toBe('queued');
  });

  test('that came too late for what then proved missing is prevented when a person confirms the absence', async () => {
    const tale = await Tale.of(ledger, { receipt: false });
    await (await (await tale.claim()).confirmed()).done();
    const id = uuid();
    expect(await tale.cancel({ id })).toMatchObject({ verdict: 'too_late' });
    await tale.pass(60_000);
    await tale.accept(false);
    await tale.confirms(false);
    expect(await verdictOf(tale, id)).toEqual({ verdict: 'prevented', reason: 'operator_confirmed_absent', state: 'cancelled' });
  });

  test('a replay does not bring back what was cancelled', async () => {
    const tale = await (await (await Tale.of(ledger)).claim()).fail(false);
    await tale.cancel();
    await expect(tale.replay()).rejects.toMatchObject({ code: 'REPLAY_CANCEL_SET' });
  });
});

test('an abandoned wait ends dead, says that it may still happen, and leaves no cancel', async () => {
  const tale = await Tale.of(ledger);
  await waiting(tale, 'received');
  await tale.abandons();
  expect(await tale.row()).toMatchObject({ state: 'dead', reason: 'wait_abandoned', cancel_id: null });
  await tale.replays();
  expect(await tale.state()).toBe('submitted');
});
