/** Temporal comes back with an empty store, while tasks wait, run, are submitted and are about to be proven. */
import { randomUUID } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startStack } from '../../src/dev/stack.ts';
import { createClient } from '../../src/index.ts';
import type { ThroughlineClient } from '../../src/index.ts';
import { LIMITS } from '../../src/state/index.ts';
import { Proxy } from '../support/e2e-proxy.ts';
import { path, Stage, stepOf, until } from '../support/e2e.ts';
import type { WorkerProcess } from '../support/e2e.ts';

let stage: Stage;
let wire: Proxy;
let worker: WorkerProcess;
/** Asks the Temporal that the worker has. */
let client: ThroughlineClient;

beforeAll(async () => {
  stage = await Stage.open({ outside: { leaseMs: 120_000 } });
  const [host = '', port] = stage.settings().temporalAddress.split(':');
  wire = await Proxy.open({ host, port: Number(port) });
  stage.onEnd(() => wire.close());
  const temporalAddress = `127.0.0.1:${String(wire.port)}`;
  client = createClient({ databaseUrl: stage.ledger.url, temporal: { address: temporalAddress, namespace: stage.settings().temporalNamespace }, by: 'e2e' });
  stage.onEnd(() => client.close());
  worker = await stage.worker({ temporalAddress });
}, 120_000);
afterAll(() => stage.end());

/** What the worker talks to is a fresh server that knows nothing. */
async function loseStore(): Promise<void> {
  const empty = await startStack({
    dataDir: await mkdtemp(join(tmpdir(), 'throughline-empty-')), databaseUrl: stage.ledger.url, temporalStorage: 'memory', temporary: true, env: { PATH: process.env['PATH'], TEMPORAL_NAMESPACE: stage.settings().temporalNamespace }, log: () => undefined,
  });
  stage.onEnd(() => empty.stop());
  const [host = '', port] = empty.temporalAddress.split(':');
  wire.turnTo({ host, port: Number(port) });
}
const sightOf = async (task: string): Promise<string> => (await client.explain(task)).driver.temporal.code;

test('all open tasks go on from the ledger within the bound: nothing is repeated, and what had ended stays ended', async () => {
  const { tasks, hooks, platform } = stage;
  const ended = await stage.start(tasks.plain, {});
  expect((await stage.rested(ended)).task.status).toBe('succeeded');
  const { id: later } = await client.enqueue(tasks.plain, {}, { key: randomUUID(), delay: '10m' });
  const standing = await stage.start(tasks.plain, { stand: ['start'] });
  await hooks.reached(standing, 'start');
  const silentPlatform = (task: string): Promise<unknown> => platform.admin.addFault({ kind: 'no_receipt', task });
  const [unanswered, answered] = await Promise.all([stage.start(tasks.post, {}, silentPlatform), stage.start(tasks.post, {}, silentPlatform)]);
  for (const task of [unanswered, answered]) await stage.state(task, 'submitted');
  const review = await stage.start(tasks.reviewed, {});
  await stage.state(review, 'submitted', 'review');
  await until('each has a run', async () => (await Promise.all([later, standing, unanswered, answered, review].map(sightOf))).every((code) => code === 'fits'));

  await loseStore();
  await until('it is told', async () => (await Promise.all([later, standing, unanswered, answered, review].map(sightOf))).every((code) => code === 'gone'));
  expect(await sightOf(ended)).toBe('forgotten');
  // The attempt that stood in its handler needs only the ledger to be recorded; a word from outside starts another driver at once.
  hooks.release(standing, 'start');
  const [post] = (await client.record(answered)).touches.filter(({ submits }) => submits);
  const receipt = { sender: 'platform', task: answered, step: 'post', threadId: post?.thread_id ?? '', inReplyTo: post?.message_id ?? '' };
  expect(await client.deliverReceipt({ ...receipt, deliveryId: 'r-1', kind: 'completed' })).toMatchObject({ verdict: 'matched' });
  expect((await stage.rested(answered)).task.status).toBe('succeeded');
  await client.decide(review, { step: 'review', verdict: 'approved', by: 'li', why: 'fine' });
  expect((await stage.rested(review)).task.status).toBe('succeeded');
  await until('the attempt is recorded', async () => stepOf(await client.record(standing)).state !== 'leased');

  // The bound, in the ledger's time: one walk over all open tasks.
  await stage.ledger.shiftClock(LIMITS.drift_cycle_ms + LIMITS.driver_silence_ms + 1_000);
  await until('those that only wait have a driver again', async () => (await sightOf(later)) === 'fits');
  for (const task of [standing, unanswered]) {
    const record = await stage.rested(task);
    expect([path(record, stepOf(record).name), record.task.status]).toEqual([expect.arrayContaining(['succeeded (proof_accepted)']), 'succeeded']);
  }
  await stage.ledger.shiftClock(10 * 60_000);
  expect((await stage.rested(later)).task.status).toBe('succeeded');

  for (const task of [ended, standing, later]) expect(stepOf(await client.record(task))).toMatchObject({ attempt: 1, charged: 1 });
  expect(path(await client.record(unanswered), 'post').slice(-3)).toEqual(['unconfirmed (receipt_overdue)', 'completed (probe_completed)', 'succeeded (proof_accepted)']);
  for (const task of [unanswered, answered]) {
    expect(await platform.admin.counts(task)).toMatchObject({ pictures: 1, posts: 1, acted: 2, deduped: 0 });
    expect(await stage.disagreements(task)).toEqual([]);
  }
  expect(worker.log()).not.toContain('"level":60');
}, 150_000);
