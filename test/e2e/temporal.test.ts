/** What Temporal shows of a task, what a plain Temporal client may do with it, and what happens when Temporal loses it. */
import { randomUUID } from 'node:crypto';
import { WorkflowFailedError } from '@temporalio/client';
import type { WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, WorkflowIdConflictPolicy } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createClient } from '../../src/index.ts';
import type { View } from '../../src/index.ts';
import { LIMITS } from '../../src/state/index.ts';
import type { CancelResult, TaskOutcome } from '../../src/workflows/messages.ts';
import { Proxy } from '../support/e2e-proxy.ts';
import { Scenes } from '../support/e2e-scenes.ts';
import { path, Stage, stepOf, until } from '../support/e2e.ts';
import type { WorkerProcess } from '../support/e2e.ts';

let stage: Stage;
let worker: WorkerProcess;
/** Between the worker and Temporal. */
let wire: Proxy;
const scenes = new Scenes();

const run = (task: string): WorkflowHandle => stage.temporal.workflow.getHandle(`task/${task}`);
const statusOf = async (handle: WorkflowHandle): Promise<string> => (await handle.describe()).status.name;
const closed = (handle: WorkflowHandle): Promise<string> =>
  until('the run has closed', async () => {
    const status = await statusOf(handle);
    return status !== 'RUNNING' && status;
  });
/** Its first attempt is this far away. */
const later = async (ms = 3_600_000): Promise<string> => {
  const { id } = await stage.client.enqueue(stage.tasks.plain, {}, { key: randomUUID(), delay: ms });
  await started(id);
  return id;
};
const started = (task: string): Promise<unknown> =>
  until('its run has read the ledger', async () => (await stage.client.record(task)).task.driver_run_id !== null || (await run(task).query<View | null>('status').catch(() => null)));
const failure = async (handle: WorkflowHandle): Promise<Error | undefined> => {
  const error: unknown = await handle.result().then(() => undefined, (thrown: unknown) => thrown);
  if (!(error instanceof WorkflowFailedError)) throw new Error(`it did not fail: ${String(error)}`);
  return error.cause;
};

beforeAll(async () => {
  stage = await Stage.open();
  const [host = '', port] = stage.settings().temporalAddress.split(':');
  wire = await Proxy.open({ host, port: Number(port) });
  stage.onEnd(() => wire.close());
  worker = await stage.worker({ temporalAddress: `127.0.0.1:${String(wire.port)}` });
  scenes.begin();
}, 120_000);
afterAll(() => stage.end());

describe("Temporal's own page", () => {
  scenes.test('says Completed of a task that succeeded, with what it was, where it stood and why', async () => {
    const task = await stage.start(stage.tasks.plain, { failures: 1 });
    await stage.rested(task);
    expect(await closed(run(task))).toBe('COMPLETED');
    const view = await stage.client.get(task);
    expect(await run(task).result()).toEqual({ task, status: 'succeeded', reason: 'proof_accepted', seq: view.seq } satisfies TaskOutcome);
    const { typedSearchAttributes, raw } = await run(task).describe();
    expect(Object.fromEntries(typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]))).toMatchObject({ ThroughlineType: 'plain', ThroughlineState: 'succeeded', ThroughlineReason: 'proof_accepted' });
    expect(JSON.stringify(Buffer.from(raw.executionConfig?.userMetadata?.summary?.data ?? []).toString())).toContain('plain v1');
    const { currentDetails } = await run(task).query<{ currentDetails: string }>('__temporal_workflow_metadata');
    expect(currentDetails).toMatch(new RegExp(`\\*\\*succeeded\\*\\* as of .* \\(ledger entry ${String(view.seq)}\\)[^]*\\| work \\| succeeded \\| proof_accepted \\| 2 \\|`, 'u'));
    expect(await run(task).query<View>('status')).toMatchObject({ task, status: 'succeeded', seq: view.seq, steps: [{ name: 'work', state: 'succeeded', attempt: 2 }] });
    const history = await run(task).fetchHistory();
    const summaries = (history.events ?? []).map(({ userMetadata }) => Buffer.from(userMetadata?.summary?.data ?? []).toString()).join();
    expect(summaries).toContain('work: attempt 1');
    expect(summaries).toContain('until work is due');
  });

  scenes.test('says the priority and the fairness key of a task, and its activities have them too', async () => {
    const { id } = await stage.client.enqueue(stage.tasks.plain, {}, { key: randomUUID(), priority: 2, fairnessKey: 'tenant-a', fairnessWeight: 4 });
    await stage.rested(id);
    await closed(run(id));
    const { priority } = await run(id).describe();
    expect(priority).toEqual({ priorityKey: 2, fairnessKey: 'tenant-a', fairnessWeight: 4 });
    const scheduled = ((await run(id).fetchHistory()).events ?? []).flatMap(({ activityTaskScheduledEventAttributes: a }) => (a ? [a.priority ?? null] : []));
    expect(scheduled.length).toBeGreaterThan(0);
    // Nothing of its own, or the same: an empty field is inherited.
    for (const own of scheduled) expect([0, 2, undefined]).toContain(own?.priorityKey ?? undefined);
  });

  scenes.test('an input from SQL is read by the type\'s schema: defaults are filled in; one that does not fit ends dead after one attempt', async () => {
    // Without a version it would be the newest, which another scene registers and no worker offers for long.
    const enqueued = async (input: object): Promise<string> => (await stage.ledger.query<{ id: string }>("select (throughline.enqueue('plain', $1, version => 1)).id", [JSON.stringify(input)]))[0]?.id ?? '';
    const [good, bad] = await Promise.all([enqueued({ failures: 1 }), enqueued({ n: 'many' })]);
    expect((await stage.rested(good)).task.status).toBe('succeeded');
    const record = await stage.rested(bad);
    expect(stepOf(record, 'work')).toMatchObject({ state: 'dead', reason: 'not_retryable', attempt: 1, charged: 1, error: { category: 'invalid_input', code: 'INPUT_INVALID' } });
    expect(record.touches).toEqual([]);
  });

  scenes.test('says Failed of a task that is dead, with the reason as the type', async () => {
    const task = await stage.start(stage.tasks.plain, { hopeless: 1 });
    await stage.rested(task);
    const cause = await failure(run(task));
    expect(cause).toBeInstanceOf(ApplicationFailure);
    expect(cause).toMatchObject({ type: 'not_retryable', nonRetryable: true, details: [expect.objectContaining({ task, status: 'dead' })] });
    expect(await statusOf(run(task))).toBe('FAILED');
  });

  scenes.test('says Canceled of a task that was cancelled, whoever cancelled it', async () => {
    const [byClient, bySignal, byTemporal] = await Promise.all([later(), later(), later()]);
    expect((await stage.client.cancel(byClient, { by: 'li', why: 'not needed' })).verdict).toBe('prevented');
    await run(bySignal).signal('cancel', { id: 'c-1', by: 'mei', why: 'not needed either' });
    await run(byTemporal).cancel();
    const by: string[] = [];
    for (const task of [byClient, bySignal, byTemporal]) {
      const record = await stage.rested(task);
      expect([record.task.status, record.task.reason]).toEqual(['cancelled', 'cancelled_before_execution']);
      by.push(...record.cancels.map((cancel) => cancel.by));
      expect(await failure(run(task))).toBeInstanceOf(CancelledFailure);
      expect(await statusOf(run(task))).toBe('CANCELLED');
    }
    expect(by).toEqual(['li', 'mei', 'temporal']);
  });
});

describe('a plain Temporal client', () => {
  scenes.test('cancels by update and is told what was found, and the verdict or that it is pending', async () => {
    const queued = await later();
    const prevented = await run(queued).executeUpdate<CancelResult, [object]>('cancel', { args: [{ id: 'u-1', by: 'li', why: 'no' }] });
    expect(prevented).toEqual({ id: 'u-1', verdict: 'prevented', steps: [{ step: 'work', found: 'queued', state: 'cancelled', verdict: 'prevented', reason: 'cancelled_before_execution' }] });

    const running = await stage.start(stage.tasks.plain, { stand: ['start'] });
    await stage.hooks.reached(running, 'start');
    const pending = await run(running).executeUpdate<CancelResult, [object]>('cancel', { args: [{ id: 'u-2', by: 'li', why: 'no' }] });
    expect(pending).toMatchObject({ verdict: 'pending', steps: [{ found: 'leased', state: 'cancel_requested' }] });
    const record = await stage.rested(running);
    expect(record.cancels[0]?.steps[0]).toMatchObject({ found: 'leased', verdict: 'stopped_at_boundary' });
    expect(await closed(run(running))).toBe('CANCELLED');
  });

  scenes.test('whose cancel is refused learns the code, and the task goes on', async () => {
    const task = await later();
    await expect(run(task).executeUpdate('cancel', { args: [{ id: 'u-3', by: 'li', why: 'no', step: 'nowhere' }] })).rejects.toMatchObject({ cause: { cause: { type: 'STEP_UNKNOWN' } } });
    await run(task).signal('cancel', { id: 'c-2', by: 'li', why: 'no', step: 'nowhere' });
    await run(task).executeUpdate('cancel', { args: [{ id: 'u-4', by: 'li', why: 'no' }] });
    expect(await closed(run(task))).toBe('CANCELLED');
  });

  scenes.test('starts the workflow of an enqueued task, under any id', async () => {
    const task = await stage.start(stage.tasks.plain, { failures: 1 });
    const start = (workflowId: string) =>
      stage.temporal.workflow.start('task', { workflowId, taskQueue: stage.taskQueue, workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING, args: [{ task }] });
    const [usual, own] = await Promise.all([start(`task/${task}`), start(`mine/${task}`)]);
    expect(await own.result()).toMatchObject({ task, status: 'succeeded' });
    expect(await usual.result()).toMatchObject({ task, status: 'succeeded' });
    expect(stepOf(await stage.client.record(task))).toMatchObject({ attempt: 2, charged: 2 });
  });

  scenes.test('starts it with type, key and input; the same key is the same task', async () => {
    const key = randomUUID();
    const start = (n: number) => stage.temporal.workflow.start('task', { workflowId: `mine/${key}/${String(n)}`, taskQueue: stage.taskQueue, args: [{ type: 'plain', key, input: { n: 7 } }] });
    const first = await (await start(1)).result() as TaskOutcome;
    const second = await (await start(2)).result() as TaskOutcome;
    expect(second).toEqual(first);
    expect((await stage.client.record(first.task)).task).toMatchObject({ key, type: 'plain', input: { n: 7 }, created_by: 'temporal', status: 'succeeded' });
    const wrong = await stage.temporal.workflow.start('task', { workflowId: `mine/${randomUUID()}`, taskQueue: stage.taskQueue, args: [{ type: 'nothing', key, input: {} }] });
    expect(await failure(wrong)).toMatchObject({ cause: { type: 'TYPE_UNKNOWN' } });
  });

  scenes.test('that makes the workflow code fail sees it at once: nothing hangs', async () => {
    const broken = await stage.temporal.workflow.start('task', { workflowId: `mine/${randomUUID()}`, taskQueue: stage.taskQueue, args: [{ task: randomUUID(), view: {} }] });
    expect(await failure(broken)).toMatchObject({ type: 'TypeError' });
    const without = await stage.temporal.workflow.start('task', { workflowId: `mine/${randomUUID()}`, taskQueue: stage.taskQueue, args: [] });
    expect(await failure(without)).toMatchObject({ type: 'TypeError' });
  });
});

describe('a driver', () => {
  scenes.test('that was terminated is a cancel by temporal; a new run closes as canceled', async () => {
    const task = await later();
    const first = (await run(task).describe()).runId;
    await run(task).terminate('by the test');
    expect((await stage.client.explain(task)).driver).toMatchObject({ agrees_with_temporal: 'no' });
    const record = await stage.rested(task);
    expect([stepOf(record).state, record.cancels.map(({ by }) => by)]).toEqual(['cancelled', ['temporal']]);
    await until('another run', async () => (await run(task).describe()).runId !== first);
    expect(await closed(run(task))).toBe('CANCELLED');
  });

  scenes.test('that was terminated while an attempt stood in its handler is replaced, and the attempt ends at its boundary', async () => {
    const task = await stage.start(stage.tasks.plain, { stand: ['start'] });
    await stage.hooks.reached(task, 'start');
    await run(task).terminate();
    const record = await stage.rested(task);
    expect([stepOf(record).state, record.cancels.map(({ by }) => by)]).toEqual(['cancelled', ['temporal']]);
  });

  scenes.test('that was deleted or reset is replaced or goes on, and the task ends as if nothing had happened', async () => {
    const [deleted, reset] = await Promise.all([later(4_000), later(4_000)]);
    await stage.temporal.workflowService.deleteWorkflowExecution({ namespace: stage.settings().temporalNamespace, workflowExecution: { workflowId: `task/${deleted}` } });
    const { events } = await run(reset).fetchHistory();
    const turn = events?.find(({ workflowTaskCompletedEventAttributes }) => workflowTaskCompletedEventAttributes)?.eventId ?? null;
    await stage.temporal.workflowService.resetWorkflowExecution({ namespace: stage.settings().temporalNamespace, workflowExecution: { workflowId: `task/${reset}` }, reason: 'by the test', requestId: randomUUID(), workflowTaskFinishEventId: turn });
    for (const task of [deleted, reset]) {
      const record = await stage.rested(task);
      expect(stepOf(record)).toMatchObject({ state: 'succeeded', attempt: 1, charged: 1 });
      expect(record.cancels).toEqual([]);
      expect(await closed(run(task))).toBe('COMPLETED');
    }
  });

  scenes.test('leaves a version that no worker offers queued, uncharged and explained; it goes on when one appears', async () => {
    const { id } = await stage.client.enqueue(stage.tasks.plainNext, {}, { key: randomUUID() });
    await started(id);
    // The one worker there is has been asked, and has passed.
    await until('it was offered', async () => JSON.stringify(await run(id).fetchHistory()).includes('activityTaskCompletedEventAttributes'));
    const view = await stage.client.get(id);
    expect(view).toMatchObject({ status: 'queued', steps: [{ state: 'queued', attempt: 0, epoch: 0 }] });
    const { driver, steps } = await stage.client.explain(id);
    expect(driver).toMatchObject({ code: 'no_worker', offers: 0, workers: 1 });
    expect(steps[0]?.next).toMatchObject({ on: 'worker' });
    expect(steps[0]?.next.sentence).toContain('no worker offers plain v2');
    const other = await stage.worker({ offers: ['plainNext'] });
    const record = await stage.rested(id);
    expect(stepOf(record)).toMatchObject({ state: 'succeeded', attempt: 1, charged: 1 });
    // Two workers share the queue, each with types of its own: whichever runs a workflow, its work finds the right one.
    const [mine, theirs] = await Promise.all([stage.tasks.plain, stage.tasks.plainNext].map((type) => Promise.all(Array.from({ length: 10 }, () => stage.start(type, {})))));
    for (const task of [...(mine ?? []), ...(theirs ?? [])]) expect((await stage.rested(task)).task.status).toBe('succeeded');
    other.signal('SIGTERM');
    expect(await other.ended).toMatchObject({ code: 0 });
  });

  scenes.test('runs quick steps without a queue, tries them again, and repeats none of them for a burst of wake-ups', async () => {
    const task = await stage.start(stage.tasks.quick, { failures: 1 }, async (id) => {
      void until('its run has begun', async () => (await statusOf(run(id)).catch(() => 'none')) !== 'none').then(() => Promise.all(Array.from({ length: 20 }, () => run(id).signal('drive').catch(() => undefined))));
    });
    const record = await stage.rested(task);
    expect(record.task.status).toBe('succeeded');
    expect(record.steps.map(({ name, attempt, charged }) => [name, attempt, charged])).toEqual([['first', 1, 1], ['work', 2, 2]]);
    const attempts = ((await run(task).fetchHistory()).events ?? []).flatMap(({ activityTaskScheduledEventAttributes: a }) => (a?.activityType?.name === 'attempt' ? [a] : []));
    expect(attempts).toEqual([]);
    const stood = await stage.start(stage.tasks.quick, { stand: ['start'], deaf: true });
    expect(stepOf(await stage.rested(stood))).toMatchObject({ state: 'succeeded', attempt: 2, charged: 2 });
    expect((await stage.client.history(stood)).map(({ facts }) => (facts as { category?: string }).category)).toContain('timeout');
  });

  scenes.test('loses none of 30 replays written while its run is closing', async () => {
    const task = await stage.start(stage.tasks.plain, { hopeless: 30 });
    for (let round = 1; round <= 30; round += 1) {
      expect(await stage.client.waitFor(task, { timeoutMs: 60_000 })).toMatchObject({ status: 'dead' });
      // A burst of wake-ups at the closing run, beside the replay's own.
      const wakes = Array.from({ length: 5 }, () => run(task).signal('drive').catch(() => undefined));
      await stage.client.replay(task, { by: 'li', why: `round ${String(round)}` });
      await Promise.all(wakes);
    }
    const record = await stage.rested(task);
    expect(stepOf(record)).toMatchObject({ state: 'succeeded', attempt: 31 });
  });

  scenes.test('that waits long starts a new run before its history grows without bound, and keeps waiting', async () => {
    const task = await later();
    const first = (await run(task).describe()).runId;
    // Half of them say what the run has read already, as a dispatcher's repeated wake-ups do.
    for (let sent = 0; sent < LIMITS.signals_per_run_max; sent += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, n) => run(task).signal('drive', ...(n % 2 === 0 ? [{ seq: 0 }] : []))));
    }
    await until('a new run has begun', async () => (await run(task).describe()).runId !== first);
    expect((await run(task).describe()).historyLength).toBeLessThan(200);
    expect((await stage.temporal.workflow.getHandle(`task/${task}`, first).describe()).historyLength).toBeLessThan(3 * LIMITS.signals_per_run_max);
    await run(task).executeUpdate('cancel', { args: [{ id: 'u-5', by: 'li', why: 'long enough' }] });
    expect(await closed(run(task))).toBe('CANCELLED');
  });
});

test('with Temporal away everything but execution goes on; execution resumes when it is back', async () => {
  const before = await stage.start(stage.tasks.plain, { stand: ['start'] });
  await stage.hooks.reached(before, 'start');
  const waiting = await stage.start(stage.tasks.post, {}, async (task) => {
    await stage.platform.admin.addFault({ kind: 'no_receipt', task });
  });
  await stage.state(waiting, 'submitted');
  wire.cut();
  const client = createClient({ databaseUrl: stage.ledger.url, temporal: { address: '127.0.0.1:1' }, by: 'e2e' });
  try {
    const { id: made, created } = await client.enqueue(stage.tasks.plain, {}, { key: randomUUID() });
    const { id: unwanted } = await client.enqueue(stage.tasks.plain, {}, { key: randomUUID() });
    expect([created, (await client.get(made)).status]).toEqual([true, 'queued']);
    expect((await client.cancel(unwanted, { why: 'not needed' })).verdict).toBe('prevented');
    expect((await client.waitFor(unwanted, { timeoutMs: 5_000 })).status).toBe('cancelled');
    const [post] = (await client.record(waiting)).touches.filter(({ submits }) => submits);
    const receipt = await client.deliverReceipt({ deliveryId: 'r-1', sender: 'platform', task: waiting, step: 'post', threadId: post?.thread_id ?? '', inReplyTo: post?.message_id ?? '', kind: 'completed' });
    expect(receipt).toMatchObject({ verdict: 'matched', state: 'completed' });
    expect((await client.list({ limit: 2 })).rows.map(({ id }) => id)).toEqual([unwanted, made]);
    const { driver, headline } = await client.explain(made);
    expect(driver).toMatchObject({ code: 'hand_over_pending', handed_over: false, agrees_with_temporal: 'unknown' });
    expect(headline).toContain('hand-over pending');
    // A worker in the middle of an attempt goes on, too: only the ledger can take its claim away.
    stage.hooks.release(before, 'start');
    expect((await client.waitFor(before, { timeoutMs: 60_000 })).status).toBe('succeeded');
    expect(path(await client.record(before), 'work')).toEqual(['queued (new_task)', 'leased (claimed)', 'completed (attempt_completed)', 'succeeded (proof_accepted)']);

    wire.restore();
    for (const task of [made, waiting]) expect((await client.waitFor(task, { timeoutMs: 90_000 })).status).toBe('succeeded');
    expect(await closed(run(before))).toBe('COMPLETED');
    expect(await stage.disagreements(waiting)).toEqual([]);
    expect(worker.log()).not.toContain('"level":60');
  } finally {
    await client.close();
  }
}, 150_000);
