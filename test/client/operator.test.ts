/** What a named person settles through the client, on a real ledger and without any Temporal. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createClient } from '../../src/index.ts';
import type { ThroughlineClient } from '../../src/index.ts';
import { reviewing, waiting } from '../ledger/scenarios/scenario.ts';
import { uuid } from '../support/factories.ts';
import { openLedger } from '../support/ledger.ts';
import type { Ledger } from '../support/ledger.ts';
import { snapshot } from '../support/snapshot.ts';
import { Tale } from '../support/tale.ts';

const UNKNOWN = '3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10';
const WHY = { by: 'operator:oda', why: 'asked by support' };
let ledger: Ledger;
let client: ThroughlineClient;
beforeAll(async () => {
  ledger = await openLedger();
  client = createClient({ databaseUrl: ledger.url, by: 'service', temporal: { address: '127.0.0.1:1' } });
});
afterAll(async () => {
  await client.close();
  await ledger.close();
});

/** The error's code and facts, and proof that the task is as it was. */
async function refusal(task: string, work: () => Promise<unknown>): Promise<Record<string, unknown>> {
  const before = await snapshot(ledger, task);
  const error: unknown = await work().then((answer) => ({ refused: 'nothing', answer }), (thrown: unknown) => thrown);
  expect(await snapshot(ledger, task)).toEqual(before);
  return JSON.parse(JSON.stringify(error)) as Record<string, unknown>;
}
/** The second call answers as the first, and changes nothing. */
async function repeated(task: string, work: () => Promise<object>, answer: object): Promise<void> {
  const before = await snapshot(ledger, task);
  expect(await work()).toMatchObject({ ...answer, repeated: true });
  expect(await snapshot(ledger, task)).toEqual(before);
}
const evidence = 'https://example.org/post-81 is online';
const seen = (tale: Tale, more: object = {}) => ({ ...WHY, step: tale.step, effect: 'post', evidence, id: 'ticket-1', ...more });
const storyOf = async (tale: Tale, lang: 'en' | 'zh-CN' = 'en'): Promise<string> => (await client.explain(tale.task, { lang })).story.map(({ sentence }) => sentence).join('\n');
/** Dead, with the submission open. */
const open = async (shape: object = {}): Promise<Tale> => {
  const tale = await (await (await Tale.of(ledger, { keyed: false, probe: false, ...shape })).claim()).intend();
  await tale.settle('lost');
  return tale;
};

describe('abandon wait', () => {
  test.each(['submitted', 'received', 'in_progress', 'unconfirmed'])('ends the wait of a step that is %s, once under its id, and says that it may still happen', async (state) => {
    const tale = await Tale.of(ledger);
    await waiting(tale, state);
    const abandon = () => client.abandonWait(tale.task, { ...WHY, step: tale.step, id: 'ticket-1' });
    const answer = await abandon();
    expect(answer).toMatchObject({ verb: 'abandon_wait', verdict: 'needs_person', by: WHY.by, why: WHY.why, steps: [{ step: 'publish', found: state, state: 'dead' }] });
    await repeated(tale.task, abandon, { verdict: 'needs_person' });
    const e = await client.explain(tale.task);
    expect(e.cancels).toMatchObject([{ verb: 'abandon_wait', sentence: expect.stringContaining('it may still happen outside') }]);
    expect((await client.explain(tale.task, { lang: 'zh-CN' })).cancels[0]?.sentence).not.toBe(e.cancels[0]?.sentence);
  });

  test('without a step: each step that waits, and no other', async () => {
    const tale = await Tale.of(ledger, [{ name: 'one' }, { name: 'two' }, { name: 'three' }]);
    await waiting(tale.about('one'), 'submitted');
    await waiting(tale.about('two'), 'unconfirmed');
    const abandon = () => client.abandonWait(tale.task, { ...WHY, id: 'ticket-2' });
    const answer = await abandon();
    expect(answer.steps.map(({ step, found, state }) => [step, found, state])).toEqual([['one', 'submitted', 'dead'], ['two', 'unconfirmed', 'dead']]);
    await repeated(tale.task, abandon, { verdict: 'needs_person' });
    expect(await refusal(tale.task, () => client.abandonWait(tale.task, WHY))).toMatchObject({ code: 'TRANSITION_REFUSED' });
    expect(await refusal(tale.task, () => client.abandonWait(tale.task, { ...WHY, step: 'one', id: 'ticket-2' }))).toMatchObject({ code: 'ID_CONFLICT' });
  });

  test('is refused where nothing waits, for what is unknown, and under an id that was used for a cancel', async () => {
    const tale = await Tale.of(ledger);
    expect(await refusal(tale.task, () => client.abandonWait(tale.task, { ...WHY, step: tale.step }))).toMatchObject({ code: 'TRANSITION_REFUSED', facts: { state: 'queued' } });
    expect(await refusal(tale.task, () => client.abandonWait(tale.task, { ...WHY, step: 'nosuch' }))).toMatchObject({ code: 'STEP_UNKNOWN' });
    expect(await refusal(tale.task, () => client.abandonWait(UNKNOWN, { ...WHY, step: tale.step }))).toMatchObject({ code: 'TASK_UNKNOWN' });
    expect(await refusal(tale.task, () => client.abandonWait(tale.task, { step: tale.step, by: 'oda', why: '  ' }))).toMatchObject({ code: 'REASON_REQUIRED', path: '/why' });
    await waiting(tale, 'submitted');
    await tale.cancel({ id: 'ticket-1' });
    expect(await refusal(tale.task, () => client.abandonWait(tale.task, { ...WHY, step: tale.step, id: 'ticket-1' }))).toMatchObject({ code: 'ID_CONFLICT' });
  });
});

describe('confirm', () => {
  test('that it happened: a dead submission completes, its proof is still checked, and the evidence is told', async () => {
    const tale = await open();
    expect(await tale.state()).toBe('dead');
    const confirm = () => client.confirmEffect(tale.task, seen(tale, { externalId: 'post-81', result: { url: 'https://example.org/post-81' } }));
    const answer = await confirm();
    expect(answer).toEqual({ task: tale.task, id: 'ticket-1', step: 'publish', rule: 'person.present', state: 'completed' });
    expect(await tale.row()).toMatchObject({ reason: 'operator_confirmed_effect', open_count: 0, result: { url: 'https://example.org/post-81' } });
    expect(await tale.effects()).toMatchObject([{ status: 'confirmed', external_id: 'post-81' }]);
    await repeated(tale.task, confirm, answer);
    for (const [lang, word] of [['en', 'confirmed with evidence'], ['zh-CN', '证据']] as const) {
      expect(await storyOf(tale, lang)).toContain(evidence);
      expect(await storyOf(tale, lang)).toContain(word);
    }
    await tale.accept();
    await repeated(tale.task, confirm, { ...answer, state: 'succeeded' });
  });

  test('that it did not: the step is queued with a fresh budget, and a generation that stood confirmed ends', async () => {
    const tale = await open({ attempts: 1 });
    const absent = () => client.confirmAbsent(tale.task, seen(tale));
    expect(await absent()).toMatchObject({ rule: 'person.absent', state: 'queued' });
    expect(await tale.row()).toMatchObject({ charged: 0, reason: 'operator_confirmed_absent' });
    await repeated(tale.task, absent, { state: 'queued' });
    const stood = await Tale.of(ledger, { probe: false });
    await waiting(stood, 'submitted');
    await stood.overdue();
    await client.confirmAbsent(stood.task, seen(stood));
    expect(await stood.effects()).toMatchObject([{ status: 'voided', live: false }]);
  });

  test.each(['dead', 'unconfirmed'])('that it did not happen, of a %s step with a cancel, ends cancelled and never starts anything', async (state) => {
    const tale = state === 'dead' ? await open() : await Tale.of(ledger, { keyed: false });
    if (state === 'unconfirmed') await waiting(tale, 'unconfirmed');
    await tale.cancel({ id: 'c' });
    expect(await tale.state()).toBe(state);
    expect(await client.confirmAbsent(tale.task, seen(tale))).toMatchObject({ rule: 'person.absent.cancel', state: 'cancelled' });
    expect((await tale.timeline()).map(({ to_state: to }) => to).slice(-4)).not.toContain('queued');
    expect((await client.explain(tale.task)).cancels[0]?.verdict).not.toBe('pending');
    expect(await tale.tryClaim()).not.toHaveProperty('claimed');
  });

  test('that it happened, with a cancel set, completes all the same: too late', async () => {
    const tale = await open();
    await tale.cancel({ id: 'c' });
    expect(await client.confirmEffect(tale.task, seen(tale))).toMatchObject({ state: 'completed' });
    expect((await client.explain(tale.task)).cancels).toMatchObject([{ verdict: 'too_late' }]);
  });

  test('of one of two open pictures leaves the step where it is until the other is said, too; then it goes on without them', async () => {
    const tale = await Tale.of(ledger, { effects: 'picture+post', keyed: false, probe: false });
    await tale.claim();
    await tale.intend('picture', 'a');
    await tale.intend('picture', 'b');
    await tale.settle('lost');
    const said = { effect: 'picture', item: 'a', externalId: 'pic-1' };
    expect(await client.confirmEffect(tale.task, seen(tale, said))).toMatchObject({ rule: 'person.present.open', state: 'dead' });
    expect(await refusal(tale.task, () => client.confirmEffect(tale.task, seen(tale, { ...said, id: 'again' })))).toMatchObject({ code: 'TRANSITION_REFUSED', facts: { effect_status: 'confirmed' } });
    expect(await client.confirmEffect(tale.task, seen(tale, { effect: 'picture', item: 'b', id: 'ticket-2' }))).toMatchObject({ rule: 'person.present.other', state: 'queued' });
    await tale.claim();
    expect(await tale.tryIntend('picture', 'a')).toMatchObject({ reuse: true, external_id: 'pic-1' });
  });

  test('under an id that said something else is a conflict, whatever differs', async () => {
    const tale = await open();
    await client.confirmEffect(tale.task, seen(tale, { externalId: 'post-81' }));
    const others: readonly (() => Promise<unknown>)[] = [
      () => client.confirmEffect(tale.task, seen(tale)),
      () => client.confirmEffect(tale.task, seen(tale, { externalId: 'post-82' })),
      () => client.confirmEffect(tale.task, seen(tale, { externalId: 'post-81', evidence: 'heard it' })),
      () => client.confirmEffect(tale.task, seen(tale, { externalId: 'post-81', result: 7 })),
      () => client.confirmEffect(tale.task, seen(tale, { externalId: 'post-81', item: 'b' })),
      () => client.confirmEffect(tale.task, seen(tale, { externalId: 'post-81', step: 'render' })),
      () => client.confirmAbsent(tale.task, seen(tale)),
    ];
    for (const other of others) expect(await refusal(tale.task, other)).toMatchObject({ code: 'ID_CONFLICT', facts: { id: 'ticket-1' } });
  });

  test('of what is elsewhere, unknown, running, or known under another external id is refused with its code', async () => {
    const tale = await Tale.of(ledger, [{ name: 'render', effects: 'none', probe: false }, { needs: ['render'], keyed: false, probe: false }]);
    const render = tale.about('render');
    await (await render.claim()).fail(false);
    expect(await refusal(tale.task, () => client.confirmEffect(tale.task, seen(tale, { step: 'render' })))).toMatchObject({ code: 'EFFECT_UNKNOWN', facts: { effect: 'post' } });
    expect(await refusal(tale.task, () => client.confirmEffect(tale.task, seen(tale, { step: 'nosuch' })))).toMatchObject({ code: 'STEP_UNKNOWN' });
    expect(await refusal(tale.task, () => client.confirmEffect(UNKNOWN, seen(tale)))).toMatchObject({ code: 'TASK_UNKNOWN' });
    const running = await (await (await Tale.of(ledger)).claim()).intend();
    expect(await refusal(running.task, () => client.confirmAbsent(running.task, seen(running)))).toMatchObject({ code: 'TRANSITION_REFUSED', facts: { state: 'leased' } });
    const known = await Tale.of(ledger, { probe: false });
    await waiting(known, 'submitted');
    await known.overdue();
    expect(await refusal(known.task, () => client.confirmEffect(known.task, seen(known, { externalId: 'ext-2' })))).toMatchObject({ code: 'EXTERNAL_ID_CONFLICT', facts: { known: 'ext-1', given: 'ext-2' } });
    expect(await client.confirmEffect(known.task, seen(known, { externalId: 'ext-1' }))).toMatchObject({ state: 'completed' });
  });

  test('needs its evidence, bounded, and takes no verdict away from a reviewer', async () => {
    const tale = await open();
    const bad = (more: object) => refusal(tale.task, () => client.confirmEffect(tale.task, seen(tale, more)));
    expect(await bad({ evidence: ' ' })).toMatchObject({ code: 'EVIDENCE_REQUIRED', path: '/evidence' });
    expect(await bad({ evidence: 'x'.repeat(4_001) })).toMatchObject({ code: 'INPUT_TOO_LARGE', path: '/evidence', limit: 4_000 });
    expect(await bad({ evidence: 'a\u0000b' })).toMatchObject({ code: 'INPUT_NOT_STORABLE', path: '/evidence' });
    expect(await bad({ result: 'x'.repeat(300_000) })).toMatchObject({ code: 'INPUT_TOO_LARGE', path: '/result' });
    expect(await bad({ externalId: 'x'.repeat(501) })).toMatchObject({ code: 'INPUT_TOO_LARGE', path: '/externalId' });
    expect(await bad({ item: 'x'.repeat(201) })).toMatchObject({ code: 'INPUT_TOO_LARGE', path: '/item' });
    const review = await Tale.of(ledger, { name: 'review', review: true });
    await reviewing(review, 'received');
    await client.abandonWait(review.task, { ...WHY, step: review.step });
    await client.confirmEffect(review.task, seen(review, { effect: 'request' }));
    expect(await review.state()).not.toBe('succeeded');
  });
});

describe('correct', () => {
  test('appends an entry that points at the wrong one, is told beside it, and moves nothing', async () => {
    const tale = await open();
    const entry = Number((await tale.timeline()).findLast(({ reason }) => reason === 'effect_unresolvable')?.id);
    const correction = { ...WHY, id: 'ticket-1', entry, reason: 'answer_lost' } as const;
    const correct = () => client.correct(tale.task, correction);
    const answer = await correct();
    expect(answer).toMatchObject({ corrects: entry });
    expect(await tale.state()).toBe('dead');
    await repeated(tale.task, correct, answer);
    const told = (await client.explain(tale.task)).story.find(({ id }) => id === entry);
    expect(told?.corrections).toMatchObject([{ id: answer.entry, who: WHY.by, sentence: expect.stringContaining(WHY.why) }]);
    expect(await refusal(tale.task, () => client.correct(tale.task, { ...correction, why: 'another' }))).toMatchObject({ code: 'ID_CONFLICT' });
    expect(await refusal(tale.task, () => client.correct(tale.task, { ...WHY, entry: 999_999_999 }))).toMatchObject({ code: 'ENTRY_UNKNOWN' });
    expect(await refusal(tale.task, () => client.correct(tale.task, { ...WHY, entry: 1.5 }))).toMatchObject({ code: 'ID_INVALID', path: '/entry' });
    expect(await refusal(tale.task, () => client.correct(tale.task, { ...WHY, entry, reason: 'bad_luck' as never }))).toMatchObject({ code: 'INPUT_INVALID', path: '/reason' });
    expect(await refusal(tale.task, () => client.correct(tale.task, { ...WHY, entry, reason: 'effect_unresolvable' }))).toMatchObject({ code: 'INPUT_INVALID', path: '/reason' });
    const other = await Tale.of(ledger);
    expect(await refusal(other.task, () => client.correct(other.task, { ...WHY, entry }))).toMatchObject({ code: 'ENTRY_UNKNOWN' });
  });
});

describe('un-park', () => {
  test('sends a parked wake-up again, once under its id, with its reason in the story', async () => {
    const tale = await Tale.of(ledger, { effects: 'none', probe: false });
    const take = async () => (await ledger.door.outboxTake(100, 1_000)).map(({ task }) => task);
    await take();
    await ledger.door.outboxFailed(tale.task, 'no such namespace', 0, true, 1);
    expect(await take()).not.toContain(tale.task);
    expect((await client.explain(tale.task)).next_action).toMatchObject({ code: 'unpark', sentence: expect.stringContaining('`throughline unpark`') });
    const unpark = () => client.unpark(tale.task, { ...WHY, id: 'ticket-1' });
    expect(await unpark()).toEqual({ unparked: true });
    await repeated(tale.task, unpark, { unparked: true });
    expect(await take()).toContain(tale.task);
    expect(await storyOf(tale)).toContain(`un-parked the wake-up; why: ${WHY.why}`);
    expect(await client.unpark(tale.task, WHY)).toEqual({ unparked: false });
    expect(await refusal(tale.task, () => client.unpark(UNKNOWN, WHY))).toMatchObject({ code: 'TASK_UNKNOWN' });
    expect(await refusal(tale.task, () => client.unpark(tale.task, { why: '' }))).toMatchObject({ code: 'REASON_REQUIRED' });
  });
});

describe('replay', () => {
  test('under one id asks one thing: other options are a conflict, the same in another order are not', async () => {
    const tale = await Tale.of(ledger, { effects: 'picture+post', probe: false });
    await tale.claim();
    await tale.confirmed('picture', 'a');
    await tale.confirmed('picture', 'b');
    await tale.fail(false);
    const [a, b] = [{ effect: 'picture', item: 'a' }, { effect: 'picture', item: 'b' }];
    const replay = (more: object = {}) => client.replay(tale.task, { ...WHY, id: 'ticket-1', void: [a, b], dropCheckpoints: true, ...more });
    await replay();
    await repeated(tale.task, () => replay({ void: [b, a] }), { id: 'ticket-1' });
    for (const other of [{ void: [a] }, { void: [] }, { void: undefined }, { dropCheckpoints: false }, { step: 'publish' }]) {
      expect(await refusal(tale.task, () => replay(other))).toMatchObject({ code: 'ID_CONFLICT' });
    }
  });

  test('that sets aside what was never asked, or more than is bounded, is refused', async () => {
    const tale = await Tale.of(ledger, { effects: 'picture+post', probe: false });
    await tale.claim();
    await tale.confirmed('picture', 'a');
    await tale.fail(false);
    const set = (voided: readonly { effect: string; item?: string }[]) => refusal(tale.task, () => client.replay(tale.task, { ...WHY, void: voided }));
    expect(await set([{ effect: 'picture', item: 'aa' }])).toMatchObject({ code: 'EFFECT_UNKNOWN', facts: { effect: 'picture', item: 'aa' } });
    expect(await set(Array.from({ length: 501 }, () => ({ effect: 'picture', item: uuid() })))).toMatchObject({ code: 'INPUT_TOO_LARGE', path: '/void' });
    expect(await set([{ effect: 'picture', item: 'x'.repeat(201) }])).toMatchObject({ code: 'INPUT_TOO_LARGE', path: '/void/0/item' });
    expect(await set([{ effect: 'x'.repeat(64) }])).toMatchObject({ code: 'INPUT_TOO_LARGE', path: '/void/0/effect' });
    await client.replay(tale.task, { ...WHY, void: [{ effect: 'picture', item: 'a' }] });
    expect(await storyOf(tale)).toContain('set aside: picture/a');
  });
});
