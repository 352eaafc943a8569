/** Explanations of lives made by hand, as people read them: kept in golden files. `GOLDEN=write` writes them again. */
import { describe, expect, test } from '@jest/globals';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { explain, explanationText, type Explanation, type ExplainLanguage, type TemporalSight } from '../../src/client/explain/index.ts';
import { Life } from './explain-life.ts';
import { LIVES } from './explain-lives.ts';

const GOLDEN = fileURLToPath(new URL('explain-golden/', import.meta.url));
const tell = (name: string, lang: ExplainLanguage = 'en', temporal?: TemporalSight): Explanation => {
  const life = LIVES[name];
  if (life === undefined) throw new Error(`no life ${name}`);
  return explain(life().record(), { lang, ...(temporal === undefined ? {} : { temporal }) });
};

describe('golden', () => {
  test.each(Object.keys(LIVES))('%s reads as it did', (name) => {
    const text = (['en', 'zh-CN'] as const).map((lang) => explanationText(tell(name, lang))).join('\n----\n\n');
    const file = `${GOLDEN}${name}.txt`;
    if (process.env['GOLDEN'] === 'write') {
      mkdirSync(GOLDEN, { recursive: true });
      writeFileSync(file, text);
    }
    expect(text).toBe(readFileSync(file, 'utf8'));
  });

  test('every golden file belongs to a life', () => {
    expect(readdirSync(GOLDEN).sort()).toEqual(Object.keys(LIVES).map((name) => `${name}.txt`).sort());
  });
});

describe('where is it now', () => {
  test('an unsent start is accepted, hand-over pending, and not running', () => {
    const e = tell('hand-over-pending');
    expect(e.headline).toBe('Accepted, hand-over pending.');
    expect(e.driver).toMatchObject({ code: 'hand_over_pending', handed_over: false, sentence: 'accepted, hand-over pending' });
    expect(e.will_run_again.answer).toBe('yes');
  });

  test('a parked wake-up says so and names its way out', () => {
    const e = tell('wake-up-parked');
    expect(e.will_run_again).toMatchObject({ answer: 'only_by_a_person', on: 'unpark' });
    expect(e.next_action.code).toBe('unpark');
    expect(e.headline).toContain('parked');
  });

  test('a parked wake-up of a workflow that runs all the same blocks nothing', () => {
    expect(tell('wake-up-parked', 'en', { status: 'RUNNING', run_id: 'r' }).will_run_again.answer).toBe('yes');
  });

  test('a task that no worker offers is not called due', () => {
    const e = tell('no-worker-offers-it');
    expect(e.steps_sentence).toContain('no worker offers publish-note v2');
    expect(e.will_run_again).toMatchObject({ answer: 'depends', on: 'worker' });
    expect(e.next_action).toMatchObject({ code: 'start_worker', sentence: 'start a worker that offers publish-note v2' });
  });

  test('a step whose lease ran out is not called running', () => {
    const e = tell('lease-ran-out');
    expect(e.headline).not.toContain('running on');
    expect(e.blocked_on).toMatchObject({ step: 'publish', on: 'rescue' });
  });

  test('a step that waits on a dead one names it, through the steps between', () => {
    const life = new Life([{ name: 'a' }, { name: 'b' }, { name: 'c' }]).claim('a').fail('a', 'dead', 'not_retryable');
    const e = explain(life.record(), { lang: 'en' });
    expect(e.steps_sentence).toContain('c: waits on dead step a');
    expect(e.steps[2]?.will_run_again).toMatchObject({ answer: 'only_by_a_person', on: 'dead_upstream' });
    expect(e).toMatchObject({ at_rest: true, held_by: 'a', ended_by: 'protection', next_action: { code: 'replay', step: 'a' } });
  });
});

describe('will it run again', () => {
  test('a planned retry is answered with its moment and the row of the machine', () => {
    expect(tell('retry-planned').will_run_again).toMatchObject({ answer: 'yes', on: 'attempt_due', when: '2026-03-14T03:00:15.000Z', rule: 'claim', step: 'publish' });
  });

  test('a deadline before the retry means no', () => {
    const record = LIVES['retry-planned']?.().record();
    if (record === undefined) throw new Error('no record');
    const e = explain({ ...record, task: { ...record.task, deadline_at: '2026-03-14T03:00:10.000Z' } }, { lang: 'en' });
    expect(e.will_run_again).toMatchObject({ answer: 'no', on: 'deadline' });
  });

  test('a dead step with something open asks for a confirmation, not for a replay', () => {
    const e = tell('dead-effect-open');
    expect(e.will_run_again).toMatchObject({ answer: 'only_by_a_person', on: 'confirm_first' });
    expect(e.next_action).toMatchObject({ code: 'confirm', sentence: 'look outside; then say with evidence whether it happened (post): `throughline confirm-effect` or `throughline confirm-absent`' });
  });

  test('a dead step with a cancel is never offered a replay', () => {
    const e = tell('dead-with-a-cancel');
    expect(e.will_run_again).toMatchObject({ answer: 'no', on: 'cancel_set' });
    expect([e.next_action, ...e.also].map(({ code }) => code)).not.toContain('replay');
    expect(e.ended_by).toBe('protection');
  });

  test('a task that has its successor points there', () => {
    const record = { ...LIVES['cancelled-before-execution']?.().record() };
    const e = explain({ ...record, task: { ...record.task, again_as: 'other' } } as Parameters<typeof explain>[0], { lang: 'en' });
    expect(e.next_action).toMatchObject({ code: 'see_successor', sentence: 'nothing to do here; task other repeats it' });
  });
});

describe('did the cancel take effect', () => {
  test('it came before the retry, nothing was published, and two pictures are left outside', () => {
    const e = tell('cancelled-proven-absent');
    expect(e.headline).toContain('the cancel came before the retry, and nothing was published');
    expect(e.cancels[0]).toMatchObject({ verdict: 'prevented', pending: false });
    expect(e.cancels[0]?.steps[0]).toMatchObject({ in_flight: [{ effect: 'post', outcome: 'absent' }], left_outside: [{ effect: 'picture', count: 2, items: ['p1', 'p2'] }] });
    expect(e.cancels[0]?.sentence).toContain('left outside: 2 × picture, without post');
  });

  test('it came too late, and the task succeeded', () => {
    const e = tell('cancel-too-late');
    expect(e).toMatchObject({ status: 'succeeded', success: true, tone: 'success', ended_by: 'success' });
    expect(e.headline).toContain('the cancel came too late');
    expect(e.cancels[0]).toMatchObject({ verdict: 'too_late', verdict_meaning: 'the cancel came too late' });
    expect(tell('cancel-too-late', 'zh-CN').headline).toContain('取消太晚');
  });

  test('before the retry it reads as it is', () => {
    expect(tell('cancelled-before-the-retry').steps_sentence).toBe('render: succeeded; publish: cancelled before the retry');
  });

  test('an open verdict names its next check and its deadline, and is a finding past it', () => {
    const life = LIVES['stop-asked']?.();
    const open = explain(life?.record() ?? new Life().record(), { lang: 'en' }).cancels[0]?.steps[0];
    expect(open).toMatchObject({ verdict: 'pending', overdue: false, deadline_at: expect.any(String), next_check_at: expect.any(String) });
    const late = explain(life?.pass(3_600).record() ?? new Life().record(), { lang: 'en' }).cancels[0]?.steps[0];
    expect(late).toMatchObject({ overdue: true });
    expect(late?.sentence).toContain('the verdict is overdue');
  });
});

describe('which attempt touched the outside', () => {
  test('an intent without an outcome is being sent while its attempt runs, and never looks done', () => {
    const e = tell('stop-asked');
    expect(e.touches.flatMap(({ requests }) => requests).at(-1)).toMatchObject({ attempt: 1, effect: 'post', outcome: 'sending', sentence: 'post (the submission): sending, no answer yet' });
    expect(e.steps[1]?.open_effects).toHaveLength(1);
    expect(tell('unconfirmed-looks').steps[1]?.open_effects[0]?.outcome).toBe('resolving');
    expect(tell('dead-effect-open').steps[1]?.open_effects[0]?.outcome).toBe('unanswered');
  });

  test('a late answer is marked', () => {
    expect(tell('late-outcome').touches.at(-1)?.requests.at(-1)).toMatchObject({ late: true, external_id: 'post-17', outcome: 'confirmed' });
  });
});

describe('is the success real', () => {
  test('green stands on accepted proofs alone', () => {
    expect(tell('succeeded')).toMatchObject({ success: true, tone: 'success', proof: [{ code: 'accepted' }, { code: 'accepted' }] });
    const byHand = tell('succeeded-by-hand');
    expect(byHand).toMatchObject({ status: 'succeeded', success: false, tone: 'attention', next_action: { code: 'verify', step: 'publish' } });
    expect(byHand.headline).toBe('It says succeeded, but no accepted proof is recorded for publish.');
  });
});

describe('the story', () => {
  test('shows a change by hand as one, and a correction beside what it corrects', () => {
    const e = tell('changed-by-hand');
    expect(e.story.filter(({ manual }) => manual)).toMatchObject([{ who: 'database:oda' }]);
    expect(e.story.filter(({ corrections }) => corrections.length > 0)).toMatchObject([{ reason: 'not_retryable', corrections: [{ who: 'operator:oda' }] }]);
  });

  test('tells a rejection as a decision', () => {
    const e = tell('review-rejected');
    expect(e).toMatchObject({ status: 'dead', ended_by: 'user', tone: 'stopped', next_action: { code: 'decision' } });
    expect(e.steps[1]).toMatchObject({ last_failure: null, decision: { verdict: 'rejected', by: 'ann' } });
    expect(`${e.headline} ${e.steps[1]?.sentence ?? ''} ${e.story.map(({ sentence }) => sentence).join(' ')}`).not.toMatch(/fail|error/i);
  });

  test('of a very long life keeps its beginning and its newest part', () => {
    const life = new Life().claim('render');
    for (let n = 0; n < 1_500; n += 1) life.log({ kind: 'note', step: 'render', actor: 'x', facts: { what: `n${String(n)}` } });
    const e = explain(life.record(), { lang: 'en' });
    expect(e.story).toHaveLength(1_000);
    expect(e.story_left_out).toBe(502);
    expect(e.story[0]?.sentence).toContain('accepted as');
    expect(e.story.at(-1)?.sentence).toBe('note: n1499');
  });
});

describe('Temporal', () => {
  test.each([
    ['running', 'RUNNING', 'yes'],
    ['running', 'NOT_FOUND', 'no'],
    ['running', 'TERMINATED', 'no'],
    ['running', 'PAUSED', 'no'],
    ['running', 'UNKNOWN', 'unknown'],
    ['hand-over-pending', 'NOT_FOUND', 'yes'],
    ['succeeded', 'COMPLETED', 'yes'],
    ['succeeded', 'FAILED', 'no'],
    ['cancelled-before-execution', 'CANCELED', 'yes'],
    ['cancelled-before-execution', 'CANCELLED', 'yes'],
    ['dead-not-retryable', 'FAILED', 'yes'],
    ['dead-not-retryable', 'NOT_FOUND', 'unknown'],
    ['succeeded', 'RUNNING', 'yes'],
  ] as const)('%s beside %s: %s', (name, status, agrees) => {
    expect(tell(name, 'en', { status, run_id: 'r' }).driver.agrees_with_temporal).toBe(agrees);
  });

  test('that was not asked, or can not be reached, changes nothing else', () => {
    expect(tell('running').driver.agrees_with_temporal).toBe('not_asked');
    const away = tell('running', 'en', { error: '14 UNAVAILABLE' });
    expect(away.driver.agrees_with_temporal).toBe('unknown');
    expect({ ...away, driver: null }).toEqual({ ...tell('running'), driver: null });
  });

  test('that lost a workflow is named in what to do', () => {
    expect(tell('running', 'en', { status: 'NOT_FOUND', run_id: null }).next_action.code).toBe('check_driver');
  });
});

describe('as text', () => {
  test('keeps to its width, in both languages', () => {
    const wide = /[\u2e80-\u9fff\uff00-\uff60]/gu;
    for (const name of Object.keys(LIVES)) {
      for (const lang of ['en', 'zh-CN'] as const) {
        for (const line of explanationText(tell(name, lang), { width: 80 }).split('\n')) expect(line.length + (line.match(wide) ?? []).length).toBeLessThanOrEqual(80);
      }
    }
  });

  test('shows what a user wrote, and obeys none of it', () => {
    const life = new Life().claim('render').fail('render', 'dead', 'not_retryable', { category: 'invalid_input', stage: 'execute', name: 'Error', message: 'a\u001b[2Jb\nc\u202ed\u0000' });
    const e = explain(life.record(), { lang: 'en' });
    expect(e.steps[0]?.last_failure?.message).toBe('a\u001b[2Jb\nc\u202ed\u0000');
    const text = explanationText(e);
    expect(text).toContain('a␛[2Jb␊c⟨U+202E⟩d␀');
    // eslint-disable-next-line no-control-regex -- finding control characters is what this is for
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
  });

  test('bounds what a user wrote', () => {
    const life = new Life().claim('render').fail('render', 'dead', 'not_retryable', { category: 'invalid_input', stage: 'execute', name: 'Error', message: 'x'.repeat(5_000_000) });
    const e = explain(life.record(), { lang: 'en' });
    expect(JSON.stringify(e).length).toBeLessThan(50_000);
  });

  test('colours green only what succeeded', () => {
    for (const name of Object.keys(LIVES)) {
      const e = tell(name);
      const green: string[] = [];
      explanationText(e, { colour: (tone, text) => (tone === 'success' ? (green.push(text), text) : text) });
      for (const text of green) expect(text).toMatch(/succeeded|the cancel came too late/i);
    }
  });
});
