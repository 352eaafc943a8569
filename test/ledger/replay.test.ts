import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { snapshot } from '../support/snapshot.ts';
import { Tale } from '../support/tale.ts';
import { waiting } from './scenarios/scenario.ts';

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger.close());

const FREE = { effects: 'none', probe: false, attempts: 2 } as const;
const used = async (): Promise<Tale> => {
  const tale = await Tale.of(ledger, FREE);
  await (await tale.claim()).fail();
  return (await tale.claim()).fail();
};

test('n attempts are exactly n executions, and a replay gives n more with the old ones visible', async () => {
  const tale = await used();
  expect(await tale.row()).toMatchObject({ state: 'dead', reason: 'attempts_exhausted', attempt: 2, charged: 2 });
  await tale.replays();
  expect(await tale.row()).toMatchObject({ state: 'queued', reason: 'replayed', attempt: 2, charged: 0 });
  await (await tale.claim()).fail();
  await (await tale.claim()).fail();
  expect(await tale.row()).toMatchObject({ state: 'dead', attempt: 4, charged: 2 });
  expect((await tale.timeline()).filter(({ rule }) => rule === 'replay')).toMatchObject([{ actor: 'operator:oda', facts: { why: 'fixed the cause', attempts_before: 2 } }]);
});

test('shutdowns use up no attempts, crashes do', async () => {
  const tale = await Tale.of(ledger, FREE);
  for (let i = 0; i < 5; i += 1) await (await tale.claim()).settle('release');
  expect(await tale.row()).toMatchObject({ state: 'queued', attempt: 5, charged: 0 });
  await (await tale.claim()).expire();
  expect(await tale.row()).toMatchObject({ state: 'queued', charged: 1 });
  await (await tale.claim()).expire();
  expect(await tale.row()).toMatchObject({ state: 'dead', reason: 'attempts_exhausted', error: { category: 'worker_lost' } });
});

test('an uncharged continuation that is shut down is still not charged, and no other attempt becomes one', async () => {
  const tale = await Tale.of(ledger, { effects: 'picture+post', attempts: 2 });
  await (await (await tale.claim()).intend('picture')).settle('lost');
  await tale.probe('present');
  await (await tale.claim()).settle('release');
  expect(await tale.row()).toMatchObject({ charged: 1, resume: true });
  await (await tale.claim()).fail();
  expect(await tale.row()).toMatchObject({ charged: 1, resume: false });
  await tale.claim();
  expect(await tale.row()).toMatchObject({ charged: 2 });
});

test('a receipt that moves a step past its continuation takes the continuation with it', async () => {
  const tale = await Tale.of(ledger, { effects: 'picture+post', attempts: 3 });
  await (await (await tale.claim()).intend()).outcome('not_sent');
  await tale.fail();
  await (await (await tale.claim()).intend('picture')).settle('lost');
  await tale.probe('present');
  expect(await tale.row()).toMatchObject({ state: 'queued', resume: true });
  await tale.receives('received', { in_reply_to: tale.messages[0] ?? '' });
  await tale.receives('failed', { in_reply_to: tale.messages[0] ?? '', retryable: true });
  expect(await tale.row()).toMatchObject({ state: 'queued', resume: false, charged: 2 });
});

test('two operators at once: one replays, the other gets a coded refusal', async () => {
  for (let round = 0; round < 10; round += 1) {
    const tale = await used();
    const results = await Promise.allSettled([tale.replay(), tale.replay()]);
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    for (const result of results) if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'REPLAY_NOT_DEAD' });
    expect((await tale.timeline()).filter(({ rule }) => rule === 'replay')).toHaveLength(1);
  }
});

test('the same replay twice is one', async () => {
  const tale = await used();
  await tale.replay({ id: 'r1' });
  const before = await snapshot(ledger, tale.task);
  expect(await tale.replay({ id: 'r1' })).toMatchObject({ repeated: true, steps: [{ replayed: true }] });
  expect(await snapshot(ledger, tale.task)).toEqual(before);
});

test('is refused while the step is alive', async () => {
  const tale = await (await Tale.of(ledger, FREE)).claim();
  await expect(tale.replay()).rejects.toMatchObject({ code: 'REPLAY_NOT_DEAD' });
});

test('is refused with something open, and then changes nothing, voided or not', async () => {
  const tale = await Tale.of(ledger, { effects: 'picture+post' });
  for (const item of ['a', 'b']) await (await (await tale.claim()).intend('picture', item)).settle('lost');
  await tale.abandons();
  const before = await snapshot(ledger, tale.task);
  await expect(tale.replay()).rejects.toMatchObject({ code: 'REPLAY_EFFECT_OPEN' });
  await expect(tale.replay({ void: [{ effect: 'picture', item: 'a' }] })).rejects.toMatchObject({ code: 'REPLAY_EFFECT_OPEN' });
  expect(await snapshot(ledger, tale.task)).toEqual(before);
});

test('of a whole task answers for each dead step and does nothing by halves', async () => {
  const tale = await Tale.of(ledger, [{ ...FREE, name: 'good' }, { name: 'publish', effects: 'picture+post' }]);
  await (await tale.about('good').claim()).fail(false);
  for (const item of ['a', 'b']) await (await (await tale.claim()).intend('picture', item)).settle('lost');
  await tale.abandons();
  const before = await tale.effects();
  const answer = await ledger.door.taskReplay(tale.task, { id: 'all', by: 'operator:oda', why: 'outage is over', void: [{ effect: 'picture', item: 'a' }] });
  expect(answer.steps).toEqual([{ step: 'good', replayed: true, rule: 'replay' }, { step: 'publish', replayed: false, refused: 'REPLAY_EFFECT_OPEN' }]);
  expect(await tale.effects()).toEqual(before);
  expect(await tale.state()).toBe('dead');
});

test('drops checkpoints only when asked to', async () => {
  const tale = await (await Tale.of(ledger, { ...FREE, attempts: 1 })).claim();
  await ledger.door.checkpointPut(tale.task, tale.step, tale.claimed.id, 'half', { n: 1 }, 10);
  await tale.fail();
  await tale.replays();
  expect(await tale.tryClaim()).toMatchObject({ checkpoints: { half: { n: 1 } } });
  await tale.fail();
  await tale.replays({ drop_checkpoints: true });
  expect(await tale.tryClaim()).toMatchObject({ checkpoints: {} });
});

test('of a confirmed submission waits on and submits nothing again', async () => {
  const tale = await Tale.of(ledger, { probe: false });
  await waiting(tale, 'submitted');
  await tale.overdue();
  await tale.replays();
  expect(await tale.row()).toMatchObject({ state: 'submitted', reason: 'replayed' });
  await tale.receives('completed');
  expect(await tale.state()).toBe('completed');
});

test('a person who confirms an absence gives a fresh budget, and a person who voids a confirmed effect ends its generation', async () => {
  const tale = await Tale.of(ledger, { attempts: 1, probe: false });
  await waiting(tale, 'submitted');
  await tale.overdue();
  await tale.confirms(false);
  expect(await tale.row()).toMatchObject({ state: 'queued', charged: 0 });
  await tale.claim();
  expect(await tale.tryIntend()).toMatchObject({ generation: 2 });
});

test('a wrong reason is corrected by an entry that points at it, once', async () => {
  const tale = await used();
  const wrong = (await tale.timeline()).at(-1)?.id ?? '';
  const row = { entry: wrong, by: 'operator:oda', why: 'it was the network', reason: 'answer_lost' } as const;
  const first = await ledger.door.timelineCorrect(tale.task, row);
  expect(await ledger.door.timelineCorrect(tale.task, row)).toMatchObject({ entry: first.entry });
  expect((await tale.timeline()).filter(({ kind }) => kind === 'correction')).toMatchObject([{ facts: { corrects: Number(wrong), is: 'answer_lost' } }]);
  await expect(ledger.door.timelineCorrect(tale.task, { ...row, entry: '999999999' })).rejects.toMatchObject({ code: 'ENTRY_UNKNOWN' });
});
