/** The note-publishing example from end to end: every part a process of its own, every answer compared with the platform's own log. */
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { ChildProcess } from 'node:child_process';
import { startWorker } from '../../examples/note-publishing/demo/surroundings.ts';
import type { NewFault } from '../../examples/note-publishing/platform/faults.ts';
import { PlatformClient } from '../../examples/note-publishing/platform/client.ts';
import { createPublishNote } from '../../examples/note-publishing/task.ts';
import { path, Stage, stepOf } from '../support/e2e.ts';
import { Scenes } from '../support/e2e-scenes.ts';
import type { TaskRecord } from '../../src/index.ts';

const notes = fileURLToPath(new URL('../../examples/note-publishing/notes', import.meta.url));
const TIMES = { callTimeoutMs: 1_500, visibleWithinMs: 300, receiptWithinMs: 60_000, retryMs: 400, lookMs: 200 };

/** Far enough apart to arrive in order on a busy machine. */
const RECEIPTS = ['--received-after-ms', '100', '--progress-after-ms', '700', '--completed-after-ms', '1500'];

let stage: Stage;
let keyless: Stage;
let example: ChildProcess;
let publishNote: ReturnType<typeof createPublishNote>;
let publishKeyless: ReturnType<typeof createPublishNote>;
const scenes = new Scenes();

beforeAll(async () => {
  [stage, keyless] = await Promise.all([Stage.open({ platformFlags: RECEIPTS }), Stage.open({ platformFlags: ['--no-keys'] })]);
  const options = (on: Stage, keysMs?: null) => ({ ...TIMES, notes, callbackUrl: on.outside.receipts ?? '', ...(keysMs === null ? { keysMs } : {}) });
  publishNote = createPublishNote({ ...options(stage), platform: new PlatformClient({ address: stage.platform.address }) });
  publishKeyless = createPublishNote({ ...options(keyless, null), platform: new PlatformClient({ address: keyless.platform.address }) });
  const { databaseUrl, temporalAddress, temporalNamespace, taskQueue } = stage.settings();
  [example] = await Promise.all([
    startWorker({
      THROUGHLINE_DATABASE_URL: databaseUrl, TEMPORAL_ADDRESS: temporalAddress, TEMPORAL_NAMESPACE: temporalNamespace, THROUGHLINE_TASK_QUEUE: taskQueue,
      THROUGHLINE_ARTIFACT_DIR: join(stage.folder, 'artifacts'), PLATFORM_ADDRESS: stage.platform.address, RECEIPTS_URL: stage.outside.receipts ?? '', NOTES_DIR: notes,
      CALL_TIMEOUT_MS: String(TIMES.callTimeoutMs), VISIBLE_WITHIN_MS: String(TIMES.visibleWithinMs), RECEIPT_WITHIN_MS: String(TIMES.receiptWithinMs),
      RETRY_MS: String(TIMES.retryMs), LOOK_MS: String(TIMES.lookMs),
    }),
    keyless.worker({ offers: [], publishNote: { ...options(keyless, null), platform: keyless.platform.address } }),
  ]);
  scenes.begin();
}, 120_000);
afterAll(async () => {
  example.kill('SIGKILL');
  if (example.exitCode === null && example.signalCode === null) await once(example, 'exit');
  await Promise.all([stage.end(), keyless.end()]);
});

/** Accepts a note, with the faults that its calls will meet. */
async function publish(note: string, faults: readonly NewFault[] = []): Promise<string> {
  return stage.start(publishNote, { note }, async (id) => {
    for (const fault of faults) await stage.platform.admin.addFault({ ...fault, task: id });
  });
}

/** How it ended; its books must agree. */
async function ended(task: string, on = stage): Promise<TaskRecord> {
  const record = await on.rested(task);
  expect(await on.disagreements(task)).toEqual([]);
  return record;
}

const receiptsOf = (record: TaskRecord): string[] =>
  // One that comes before the worker has settled is `early`, and applied then.
  record.receipts.filter(({ step }) => step === 'publish').map(({ kind, verdict }) => `${kind} ${verdict === 'early' ? 'matched' : String(verdict)}`).sort();

describe('a note', () => {
  scenes.test('is rendered, reviewed, published, read back and only then succeeded', async () => {
    const task = await publish('tides');
    const record = await ended(task);
    expect(record.steps.map(({ name, state, reason }) => [name, state, reason])).toEqual([
      ['render', 'succeeded', 'proof_accepted'], ['review', 'succeeded', 'proof_accepted'], ['publish', 'succeeded', 'proof_accepted'],
    ]);
    expect(record.acceptances.find(({ step }) => step === 'publish')).toMatchObject({ found: true, ours: true, minimum: true });
    expect(receiptsOf(record)).toEqual(['completed matched', 'progress matched', 'received matched']);
    expect(await stage.platform.admin.counts(task)).toMatchObject({ pictures: 3, posts: 1, published: 1, acted: 4 });
    const explanation = await stage.client.explain(task);
    expect(explanation).toMatchObject({ success: true, tone: 'success', will_run_again: { answer: 'no' } });
  });

  scenes.test('that asks for a person goes on when the person approves, who is recorded', async () => {
    const task = await publish('release-2-4');
    await stage.state(task, 'submitted', 'review');
    expect(await stage.client.explain(task)).toMatchObject({ status: 'awaiting_receipt', next_action: { code: 'review' } });
    expect((await stage.client.decide(task, { step: 'review', verdict: 'opened', by: 'mei' })).verdict).toBe('matched');
    await stage.state(task, 'received', 'review');
    await stage.client.decide(task, { step: 'review', verdict: 'approved', by: 'mei', why: 'numbers checked' });
    const record = await ended(task);
    expect(record.task.status).toBe('succeeded');
    expect(stepOf(record, 'review').result).toEqual({ verdict: 'approved', by: 'mei', why: 'numbers checked' });
  });

  scenes.test('that a person rejects ends dead, worded as a decision, and nothing was sent', async () => {
    const task = await publish('release-2-4');
    await stage.state(task, 'submitted', 'review');
    await stage.client.decide(task, { step: 'review', verdict: 'rejected', by: 'mei', why: 'the numbers are old' });
    const record = await ended(task);
    expect(record.task).toMatchObject({ status: 'dead', reason: 'review_rejected', held_by: 'review' });
    expect(stepOf(record, 'publish').state).toBe('waiting');
    expect(await stage.platform.admin.counts(task)).toMatchObject({ requests: 0 });
    const { steps, next_action: next, ended_by: endedBy } = await stage.client.explain(task);
    const review = steps.find(({ name }) => name === 'review');
    expect(review?.sentence).toContain('mei decided against it: the numbers are old');
    expect(review?.decision).toMatchObject({ verdict: 'rejected', by: 'mei' });
    expect([next.code, endedBy]).toEqual(['decision', 'user']);
    await expect(stage.client.decide(task, { step: 'review', verdict: 'approved', by: 'mei', why: 'after all' })).rejects.toMatchObject({ code: 'REVIEW_NOT_OPEN' });
  });
});

describe('a lost answer', () => {
  scenes.test('is asked for again under the same key: the platform answers it once', async () => {
    // Receipts would tell at once: they come late, so that the attempt has to find out by itself.
    const task = await publish('tides', [{ kind: 'lost_answer', route: 'publish_post' }, { kind: 'late_receipt', ms: 4_000 }, { kind: 'lost_answer', route: 'upload_picture', nth: 2 }]);
    const record = await ended(task);
    expect(record.task.status).toBe('succeeded');
    expect(path(record, 'publish').filter((at) => at.includes('resend_same_key'))).toHaveLength(2);
    expect(stepOf(record, 'publish')).toMatchObject({ attempt: 3, charged: 3 });
    expect(await stage.platform.admin.counts(task)).toMatchObject({ pictures: 3, posts: 1, deduped: 2 });
  });

  scenes.test('of a platform without keys is looked for, by the task reference: one set of pictures, one post', async () => {
    const task = await keyless.start(publishKeyless, { note: 'tides' }, async (id) => {
      const { admin } = keyless.platform;
      await admin.addFault({ kind: 'lost_answer', route: 'publish_post', task: id });
      await admin.addFault({ kind: 'late_receipt', task: id, ms: 30_000 });
      await admin.addFault({ kind: 'lost_answer', route: 'upload_picture', task: id, nth: 2 });
    });
    const record = await ended(task, keyless);
    expect(record.task.status).toBe('succeeded');
    const states = path(record, 'publish');
    expect(states).toContain('queued (resume_after_probe)');
    expect(states).toContain('completed (probe_completed)');
    expect(states.some((at) => at.includes('resend_same_key'))).toBe(false);
    // What the probe found costs no attempt.
    expect(stepOf(record, 'publish')).toMatchObject({ attempt: 2, charged: 1 });
    expect(await keyless.platform.admin.counts(task)).toMatchObject({ pictures: 3, posts: 1 });
  });
});

describe('a refusal', () => {
  scenes.test('of the authorization ends dead at once; a named operator replays it with a reason, and it succeeds', async () => {
    const task = await publish('scallion-noodles', [{ kind: 'authorization_revoked', route: 'publish_post' }]);
    const dead = await ended(task);
    expect(stepOf(dead, 'publish')).toMatchObject({ state: 'dead', reason: 'not_retryable', attempt: 1, error: { category: 'authorization_revoked', http_status: 401 } });
    expect(await stage.client.explain(task)).toMatchObject({ will_run_again: { answer: 'only_by_a_person' }, next_action: { code: 'replay', step: 'publish' } });
    const answer = await stage.client.replay(task, { by: 'li', why: 'the token was renewed' });
    expect(answer.steps).toEqual([expect.objectContaining({ step: 'publish', replayed: true })]);
    const record = await ended(task);
    expect(record.task.status).toBe('succeeded');
    expect(record.timeline.find(({ event }) => event === 'replay')).toMatchObject({ actor: 'li', facts: { why: 'the token was renewed' } });
    // The pictures of the first attempt were not sent again.
    expect(stepOf(record, 'publish')).toMatchObject({ attempt: 2 });
    expect(await stage.platform.admin.counts(task)).toMatchObject({ posts: 1, refused: 1, deduped: 0 });
  });

  scenes.test('with 429 is repeated, and not before Retry-After', async () => {
    const task = await publish('scallion-noodles', [{ kind: 'too_many_requests', route: 'publish_post', retryAfterS: 3 }]);
    const record = await ended(task);
    expect(record.task.status).toBe('succeeded');
    expect(stepOf(record, 'publish')).toMatchObject({ attempt: 2, charged: 2 });
    const times = (await stage.platform.admin.log({ task })).filter(({ route }) => route === 'publish_post').map(({ arrivedAt }) => Date.parse(arrivedAt));
    expect(times).toHaveLength(2);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(3_000);
    expect(record.timeline.find(({ reason }) => reason === 'attempt_failed')?.facts).toMatchObject({ category: 'congested' });
  });
});

scenes.test('receipts of others, and mere sentences, move nothing; the right one completes', async () => {
  const other = await publish('tides', [{ kind: 'no_receipt' }]);
  await stage.state(other, 'submitted', 'publish');
  const task = await publish('scallion-noodles', [{ kind: 'foreign_receipt', receipts: ['completed'], asTask: other }, { kind: 'text_only_receipt', instead: false }]);
  const record = await ended(task);
  expect(record.task.status).toBe('succeeded');
  expect(receiptsOf(record)).toEqual(['completed matched', 'progress matched', 'received matched', 'text text_only']);
  // The foreign one was stored where it said that it belonged, and refused there.
  const waiting = await stage.client.record(other);
  expect(receiptsOf(waiting)).toEqual(['completed wrong_message']);
  expect(stepOf(waiting).state).toBe('submitted');
});
