/** What people and scripts do by the command line, on a real ledger, while Temporal is down. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import type { CancelAnswer, Enqueued, ReceiptAnswer, ReplayAnswer } from '../../src/index.ts';
import { planOf } from '../support/factories.ts';
import { waiting } from '../ledger/scenarios/scenario.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { register, Tale } from '../support/tale.ts';
import { cli, documentOf, TASKS, TEMPORAL_AWAY, type Failure, type RunOptions } from './cli.ts';

const UNKNOWN = '3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10';
const plan = planOf({ effects: 'none' });
let ledger: Ledger;
let folder: string;

beforeAll(async () => {
  ledger = await openLedger();
  await register(ledger, plan);
  folder = mkdtempSync(join(tmpdir(), 'throughline-cli-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await ledger.close();
});

const env = () => ({ DATABASE_URL: ledger.url, TEMPORAL_ADDRESS: TEMPORAL_AWAY });
const say = (args: readonly string[], more: RunOptions = {}) => cli(args, { env: env(), ...more });

async function ask<T>(args: readonly string[], more: RunOptions = {}): Promise<T> {
  const said = await say([...args, '--json'], more);
  expect([said.code, said.stderr, said.code === 0 ? '' : said.stdout]).toEqual([0, '', '']);
  return documentOf(said) as T;
}

async function refusal(args: readonly string[], more: RunOptions = {}): Promise<Failure['error'] & { readonly exit: number | null }> {
  const said = await say([...args, '--json'], more);
  return { ...(documentOf(said) as Failure).error, exit: said.code };
}

const tasks = async (): Promise<number> => (await ledger.query('select from throughline.task')).length;

describe('enqueue', () => {
  test('accepts a key once, answers again with the same task however the input comes, and names what differs', async () => {
    const input = { note: 'tides', pictures: ['a', 'b'] };
    const file = join(folder, 'input.json');
    writeFileSync(file, JSON.stringify(input, null, 2));
    const key = ['--key', 'tides/1'];
    const first = await ask<Enqueued>(['enqueue', plan.type, '--input', JSON.stringify(input), ...key]);
    const [byFile, byStdin, other] = await Promise.all([
      ask<Enqueued>(['enqueue', plan.type, '--input', `@${file}`, ...key]),
      ask<Enqueued>(['enqueue', plan.type, '--input', '-', ...key], { input: '{"pictures": ["a", "b"], "note": "tides"}\n' }),
      refusal(['enqueue', plan.type, '--input', '{"note": "ebb", "pictures": ["b", "a"]}', ...key]),
    ]);
    expect(first).toMatchObject({ state: 'queued', created: true });
    expect([byFile, byStdin]).toEqual([{ ...first, created: false }, { ...first, created: false }]);
    expect(other).toMatchObject({ code: 'DEDUPE_CONFLICT', exit: 4, facts: { id: first.id } });
    expect(other.paths).toEqual(['/input/note', '/input/pictures/0', '/input/pictures/1']);
    const [row] = await ledger.query<{ created_by: string }>('select created_by from throughline.task where id = $1', [first.id]);
    expect(row?.created_by).toBe(userInfo().username);
  });

  test('takes start, deadline, predecessor and who asks', async () => {
    const before = await ask<Enqueued>(['enqueue', plan.type, '--input', '{}']);
    await ledger.door.taskCancel(before.id, { id: 'c', by: 'a', why: 'b' });
    const deadline = new Date(Date.now() + 50 * 86_400_000).toISOString();
    const after = await ask<Enqueued>(['enqueue', plan.type, '--input', '{}', '--delay', '40d', '--deadline', deadline, '--again', before.id, '--version', '1', '--by', 'service:calendar']);
    const [row] = await ledger.query<{ days: string; deadline: Date; again_of: string; created_by: string }>(
      'select round(extract(epoch from s.next_run_at - t.created_at) / 86400) as days, t.deadline_at as deadline, t.again_of, t.created_by from throughline.task t join throughline.step s on s.task_id = t.id where t.id = $1',
      [after.id],
    );
    expect(row).toEqual({ days: '40', deadline: new Date(deadline), again_of: before.id, created_by: 'service:calendar' });
    expect(await refusal(['enqueue', plan.type, '--input', '{}', '--again', before.id])).toMatchObject({ code: 'AGAIN_TAKEN', exit: 4 });
  });

  test('refuses what cannot be, with code and place, and writes nothing', async () => {
    const before = await tasks();
    const [type, zone, far, version, big, id] = await Promise.all([
      refusal(['enqueue', 'no-such-type', '--input', '{}']),
      refusal(['enqueue', plan.type, '--input', '{}', '--run-at', '2026-05-01 09:00']),
      refusal(['enqueue', plan.type, '--input', '{}', '--delay', '5000d']),
      refusal(['enqueue', plan.type, '--input', '{}', '--version', '7']),
      refusal(['enqueue', plan.type, '--input', '-'], { input: JSON.stringify('x'.repeat(300_000)) }),
      refusal(['enqueue', plan.type, '--input', '{}', '--again', 'yesterday']),
    ]);
    expect(type).toMatchObject({ code: 'TYPE_UNKNOWN', exit: 3 });
    expect(zone).toMatchObject({ code: 'TIME_INVALID', path: '/runAt', exit: 2 });
    expect(far).toMatchObject({ code: 'TIME_INVALID', path: '/delay', exit: 2 });
    expect(version).toMatchObject({ code: 'TYPE_UNKNOWN', exit: 3 });
    expect(big).toMatchObject({ code: 'INPUT_TOO_LARGE', exit: 2 });
    expect(id).toMatchObject({ code: 'ID_INVALID', exit: 2 });
    expect(await tasks()).toBe(before);
  });

  test('with the definition checks the input by its schema and takes its key; waits no longer than it may', async () => {
    const enqueue = ['enqueue', 'greet', '--tasks', TASKS];
    const [wrong, other, first] = await Promise.all([
      refusal([...enqueue, '--input', '{"name": 7}']),
      refusal(['enqueue', 'wave', '--tasks', TASKS, '--input', '{}']),
      refusal([...enqueue, '--input', '{"name": "Ada"}', '--wait', '--timeout', '300ms']),
    ]);
    expect(wrong).toMatchObject({ code: 'INPUT_INVALID', path: '/input/name', exit: 2 });
    expect(other).toMatchObject({ code: 'INPUT_INVALID', path: '--tasks', exit: 2 });
    expect(first).toMatchObject({ code: 'WAIT_TIMEOUT', exit: 6 });
    const again = await ask<Enqueued>([...enqueue, '--input', '{"name": "Ada"}']);
    expect(again).toMatchObject({ created: false, id: first.facts?.['task'] });
  });
});

describe('withdraw', () => {
  test('answers pending at once, the same under the same id, and says how it is with it', async () => {
    const tale = await Tale.of(ledger);
    await waiting(tale, 'received');
    const withdraw = ['withdraw', tale.task, 'publish', '--why', 'wrong picture', '--id', 'ticket-2'];
    const first = await ask<CancelAnswer>([...withdraw, '--by', 'eve']);
    expect(first).toMatchObject({ id: 'ticket-2', verb: 'withdraw', verdict: 'pending', steps: [{ step: 'publish', found: 'received' }] });
    await tale.withdrawalIs('refused', { error: { category: 'rejected', stage: 'send', name: 'Refused', message: 'it has been read', code: 'already_final' } });
    const [again, said, chinese, conflict] = await Promise.all([ask<CancelAnswer>(withdraw), say(withdraw), say([...withdraw, '--lang', 'zh-CN']), refusal(['withdraw', tale.task, '--why', 'x', '--id', 'ticket-2'])]);
    expect(again).toMatchObject({ verdict: 'too_late', repeated: true });
    expect(said.stdout).toMatch(/^too_late\n[\s\S]*the other side refused to take it back/i);
    expect(chinese.stdout).toMatch(/对方拒绝撤回/);
    expect(conflict).toMatchObject({ code: 'ID_CONFLICT', exit: 4 });
  });

  test('refuses what can not be taken back, and names what is possible instead', async () => {
    const [unable, queued] = await Promise.all([Tale.of(ledger, { withdraw: 'no' }), Tale.of(ledger)]);
    await waiting(unable, 'submitted');
    const [undeclared, early, reason, step] = await Promise.all([
      refusal(['withdraw', unable.task, 'publish', '--why', 'x']), refusal(['withdraw', queued.task, '--why', 'x']), refusal(['withdraw', queued.task]), refusal(['withdraw', queued.task, 'nosuch', '--why', 'x']),
    ]);
    expect(undeclared).toMatchObject({ code: 'WITHDRAW_UNDECLARED', exit: 4, message: 'Step publish declares no way to take back what it submitted. Possible: cancel, or abandon the wait.' });
    expect(early).toMatchObject({ code: 'TRANSITION_REFUSED', exit: 4, message: 'The task is queued: nothing that it submitted waits to be taken back. Possible: cancel.' });
    expect(reason).toMatchObject({ code: 'REASON_REQUIRED', exit: 2 });
    expect(step).toMatchObject({ code: 'STEP_UNKNOWN', exit: 3 });
  });
});

describe('cancel', () => {
  test('answers its verdict at once, the same under the same id, and in words', async () => {
    const tale = await Tale.of(ledger);
    const cancel = ['cancel', tale.task, '--why', 'wrong picture', '--id', 'ticket-1'];
    const first = await ask<CancelAnswer>([...cancel, '--by', 'eve']);
    expect(first).toMatchObject({ id: 'ticket-1', by: 'eve', why: 'wrong picture', verdict: 'prevented', status: 'cancelled', steps: [{ found: 'queued', state: 'cancelled', verdict: 'prevented' }] });
    const [again, said, chinese, conflict] = await Promise.all([
      ask<CancelAnswer>(cancel), say(cancel), say([...cancel, '--lang', 'zh-CN']), refusal([...cancel, '--step', 'publish']),
    ]);
    expect(again).toMatchObject({ verdict: 'prevented', repeated: true });
    expect(said.stdout).toMatch(/^prevented\n[\s\S]*cancelled before any attempt/);
    expect(chinese.stdout).toMatch(/在任何尝试之前已取消/);
    expect(conflict).toMatchObject({ code: 'ID_CONFLICT', exit: 4 });
  });

  test('names the call that is in flight', async () => {
    const tale = await (await (await Tale.of(ledger)).claim()).intend();
    const answer = await ask<CancelAnswer>(['cancel', tale.task, '--step', 'publish', '--why', 'too late?']);
    expect(answer).toMatchObject({ verdict: 'pending', steps: [{ step: 'publish', found: 'leased', in_flight: [{ effect: 'post', message_id: tale.message }] }] });
  });

  test('needs a reason, a task and a step that exist', async () => {
    const { task } = await Tale.of(ledger);
    const [reason, unknown, step, form] = await Promise.all([
      refusal(['cancel', task]), refusal(['cancel', UNKNOWN, '--why', 'x']), refusal(['cancel', task, '--step', 'nosuch', '--why', 'x']), refusal(['cancel', 'note', '--why', 'x']),
    ]);
    expect(reason).toMatchObject({ code: 'REASON_REQUIRED', path: '/why', exit: 2 });
    expect(unknown).toMatchObject({ code: 'TASK_UNKNOWN', exit: 3 });
    expect(step).toMatchObject({ code: 'STEP_UNKNOWN', exit: 3 });
    expect(form).toMatchObject({ code: 'ID_INVALID', exit: 2 });
  });
});

describe('decide', () => {
  const review = async () => (await (await Tale.of(ledger, { name: 'review', review: true })).claim()).asks({ note: { title: 'Tides' } });

  test('opens, then approves; a second verdict is refused', async () => {
    const { task } = await review();
    const decide = ['decide', task, '--step', 'review'];
    expect(await ask<ReceiptAnswer>([...decide, '--open', '--by', 'wei'])).toMatchObject({ verdict: 'matched', state: 'received' });
    const said = await say([...decide, '--approve', '--why', 'facts checked', '--by', 'wei']);
    expect([said.code, said.stdout]).toEqual([0, 'approved: it answers our request\n  the step is succeeded\n']);
    expect(await refusal([...decide, '--reject', '--why', 'changed my mind', '--by', 'wei'])).toMatchObject({ code: 'REVIEW_NOT_OPEN', exit: 4 });
  });

  test('rejects with a reason, which it needs', async () => {
    const tale = await review();
    const reject = ['decide', tale.task, '--step', 'review', '--reject', '--by', 'wei'];
    expect(await refusal(reject)).toMatchObject({ code: 'REASON_REQUIRED', path: '/why', exit: 2 });
    expect(await ask<ReceiptAnswer>([...reject, '--why', 'outdated numbers'])).toMatchObject({ verdict: 'matched', state: 'dead' });
    expect((await tale.row()).reason).toBe('review_rejected');
  });
});

describe('replay', () => {
  test('gives a dead step a fresh budget, under its id once', async () => {
    const tale = await (await (await Tale.of(ledger)).claim()).fail(false);
    const replay = ['replay', tale.task, '--why', 'the platform is back', '--id', 'r1', '--drop-checkpoints'];
    const answer = await ask<ReplayAnswer>(replay);
    expect(answer).toMatchObject({ id: 'r1', status: 'queued', steps: [{ step: 'publish', replayed: true }] });
    const [again, other] = await Promise.all([say(replay), refusal(['replay', tale.task, '--step', 'publish', '--why', 'once more'])]);
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('publish: replayed')]);
    expect(other).toMatchObject({ code: 'REPLAY_NOT_DEAD', exit: 4 });
  });

  test('voids the effects that are named, item and all', async () => {
    const tale = await (await (await (await Tale.of(ledger, { effects: 'picture+post' })).claim()).confirmed('picture', 'img/a.png')).fail(false);
    await ask<ReplayAnswer>(['replay', tale.task, '--step', 'publish', '--why', 'deleted by hand', '--void', 'picture/img/a.png']);
    expect((await tale.effects()).map(({ name, item, live, status }) => ({ name, item, live, status }))).toContainEqual({ name: 'picture', item: 'img/a.png', live: false, status: 'voided' });
  });

  test('says why not', async () => {
    const [queued, cancelled] = await Promise.all([Tale.of(ledger), Tale.of(ledger)]);
    await (await cancelled.claim()).fail(false);
    await cancelled.cancel();
    const [notDead, cancelSet, why, unknown] = await Promise.all([
      refusal(['replay', queued.task, '--why', 'x']), refusal(['replay', cancelled.task, '--why', 'x']), refusal(['replay', cancelled.task]), refusal(['replay', UNKNOWN, '--why', 'x']),
    ]);
    expect(notDead).toMatchObject({ code: 'REPLAY_NOT_DEAD', exit: 4 });
    expect(cancelSet).toMatchObject({ code: 'REPLAY_CANCEL_SET', exit: 4 });
    expect(why).toMatchObject({ code: 'REASON_REQUIRED', exit: 2 });
    expect(unknown).toMatchObject({ code: 'TASK_UNKNOWN', exit: 3 });
  });
});
