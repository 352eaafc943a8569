/** The same explanations from rows that the ledger itself has written. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { explain, explanationText, type Explanation } from '../../src/client/explain/index.ts';
import { Reader } from '../../src/ledger/index.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { Tale } from '../support/tale.ts';

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger.close());

const PUBLISH = [
  { name: 'render', effects: 'none', probe: false, proof: { kind: 'record', requires: ['/url'] } },
  { name: 'publish', needs: ['render'], effects: 'picture+post' },
] as const;

async function tell(tale: Tale): Promise<Explanation> {
  const record = await new Reader(ledger.database).taskRecord(tale.task);
  if (record === null) throw new Error('no record');
  for (const lang of ['en', 'zh-CN'] as const) expect(explanationText(explain(record, { lang }))).not.toMatch(/undefined|NaN|\[object/);
  return explain(record, { lang: 'en' });
}

async function publishing(): Promise<Tale> {
  const tale = await Tale.of(ledger, PUBLISH);
  const render = tale.about('render');
  await render.claim();
  await render.done();
  await tale.claim();
  await tale.confirmed('picture', 'p1');
  await tale.confirmed('picture', 'p2');
  return tale;
}

test('a fresh task is accepted, hand-over pending', async () => {
  const e = await tell(await Tale.of(ledger, PUBLISH));
  expect(e.driver).toMatchObject({ code: 'hand_over_pending', handed_over: false });
  expect(e.headline).toContain('Accepted, hand-over pending');
  expect(e.next_action.code).toBe('start_worker');
});

test('a lost answer, a cancel, and a look that proves absence', async () => {
  const tale = await publishing();
  await tale.intend('post');
  expect((await tell(tale)).steps[1]?.open_effects).toMatchObject([{ effect: 'post', outcome: 'sending' }]);
  await tale.settle('lost');
  await tale.cancel();
  const pending = await tell(tale);
  expect(pending.cancels[0]).toMatchObject({ verdict: 'pending', steps: [{ step: 'render', verdict: 'already_terminal' }, { step: 'publish', in_flight: [{ outcome: 'resolving' }] }] });
  await tale.pass(10_000);
  await tale.probe('absent', 'absent');
  const e = await tell(tale);
  expect(e).toMatchObject({ status: 'cancelled', ended_by: 'user', tone: 'stopped', steps_sentence: 'render: succeeded; publish: the cancel came before the retry, and nothing was published' });
  expect(e.cancels[0]?.steps[1]).toMatchObject({ verdict: 'prevented', in_flight: [{ outcome: 'absent' }], left_outside: [{ effect: 'picture', count: 2 }] });
});

test('a cancel after the submission is too late, and the success stands on its proof', async () => {
  const tale = await publishing();
  await tale.confirmed('post');
  await tale.settle('submitted');
  await tale.cancel();
  await tale.receives('completed');
  await tale.accept();
  const e = await tell(tale);
  expect(e).toMatchObject({ status: 'succeeded', success: true, tone: 'success', cancels: [{ verdict: 'too_late' }] });
  expect(e.headline).toBe('Succeeded: every step has its accepted proof; the cancel came too late.');
});

test('a review that was rejected is told as a decision, and may be asked again', async () => {
  const tale = await Tale.of(ledger, { review: true, name: 'review' });
  await tale.claim();
  await tale.settle('review', { review: {} });
  expect((await tell(tale)).next_action.code).toBe('review');
  await tale.decide('opened');
  expect((await tell(tale)).blocked_on).toMatchObject({ on: 'review_verdict' });
  await tale.decide('rejected');
  const e = await tell(tale);
  expect(e).toMatchObject({ status: 'dead', ended_by: 'user', tone: 'stopped', next_action: { code: 'decision' }, will_run_again: { on: 'replay' } });
  expect(e.headline).toBe('review: ann decided against it: read it.');
  expect(e.story.map(({ sentence }) => sentence).join('\n')).not.toMatch(/fail/);
});

test('an effect that nothing can resolve is for a person to confirm, and its replay is not offered', async () => {
  const tale = await Tale.of(ledger, { keyed: false, probe: false });
  await tale.claim();
  await tale.intend();
  await tale.settle('lost');
  const e = await tell(tale);
  expect(e).toMatchObject({ status: 'dead', next_action: { code: 'confirm' }, will_run_again: { answer: 'only_by_a_person', on: 'confirm_first' } });
  await tale.confirms(false);
  expect(await tell(tale)).toMatchObject({ status: 'queued', steps: [{ reason: { code: 'operator_confirmed_absent' } }] });
});

test('a state changed by hand is plainly visible', async () => {
  const tale = await publishing();
  await ledger.query("update throughline.step set state = 'succeeded', claim_id = null, holder = null, lease_expires_at = null where task_id = $1 and name = 'publish'", [tale.task]);
  const e = await tell(tale);
  expect(e.story.filter(({ manual }) => manual)).toHaveLength(1);
  expect(e).toMatchObject({ status: 'succeeded', success: false, tone: 'attention', ended_by: null });
});
