/**
 * Many tasks at once on two workers: cancels at random moments, small faults at random calls. The seed is printed with
 * what fails. MANY_TIMES=5 makes five times as many.
 */
import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { NewFault } from '../../examples/note-publishing/platform/faults.ts';
import { brokenPromises, disagreements } from '../support/e2e-books.ts';
import { Scenes } from '../support/e2e-scenes.ts';
import { Stage, until } from '../support/e2e.ts';

const SEED = process.env['MANY_SEED'] ?? 'throughline';
const TIMES = Number(process.env['MANY_TIMES'] ?? 1);
const TYPES = ['plain', 'post', 'direct'] as const;

let stage: Stage;
/** Both at once: the cancels meet the faults of others, too. */
const scenes = new Scenes(170_000 * TIMES);
beforeAll(async () => {
  stage = await Stage.open({ outside: { leaseMs: 3_000, retryMs: 200, callTimeoutMs: 1_500 } });
  await Promise.all([stage.worker(), stage.worker()]);
  scenes.begin();
}, 120_000);
afterAll(() => stage.end());

/** The same numbers for the same seed: from 0 to below 1. */
function dice(name: string): () => number {
  let n = 0;
  return () => {
    n += 1;
    return createHash('sha256').update(`${SEED}/${name}/${String(n)}`).digest().readUInt32BE() / 2 ** 32;
  };
}

const pick = <T>(from: readonly [T, ...T[]], roll: number): T => from[Math.floor(roll * from.length)] ?? from[0];

scenes.test('of tasks cancelled at random moments, answer and end agree, and no intent follows an answered cancel', async () => {
  const roll = dice('cancel');
  const cancels = Array.from({ length: 80 * TIMES }, (_, n) => ({ n, type: pick(TYPES, roll()), startMs: roll() * 4_000 * TIMES, cancelMs: roll() < 0.2 ? 0 : roll() * 2_500, twice: roll() < 0.2, slow: roll() < 0.15, failures: roll() < 0.3 ? 1 : 0 }));
  const found = new Map<string, number>();
  const wrong = await Promise.all(
    cancels.map(async ({ n, type, startMs, cancelMs, twice, slow, failures }) => {
      await wait(startMs);
      // Every tenth is cancelled long before it may run, another tenth after its end, however fast or slow the machine is.
      const early = n % 10 === 5;
      // Another tenth stands in its handler.
      const stands = n % 10 === 3;
      const task = stands ? await stage.start(stage.tasks.plain, { n, stand: ['start'] }) : early ? (await stage.client.enqueue(stage.tasks[type], { n }, { delay: '1h', key: randomUUID() })).id : await stage.start(stage.tasks[type], { n, failures }, slow ? (id) => stage.platform.admin.addFault({ kind: 'slow_answer', task: id, ms: 700 }) : undefined);
      if (n % 10 === 0) await stage.rested(task);
      else if (stands) await stage.hooks.reached(task, 'start');
      else await wait(cancelMs);
      const answer = await stage.client.cancel(task, { by: 'li', why: `number ${String(n)}` });
      if (twice) expect((await stage.client.cancel(task, { id: answer.id, by: 'li', why: `number ${String(n)}` })).id).toBe(answer.id);
      for (const step of answer.steps) found.set(step.found, (found.get(step.found) ?? 0) + 1);
      const record = await stage.rested(task);
      return [...brokenPromises(answer, record), ...disagreements(record, await stage.platform.admin.log({ task }))];
    }),
  );
  expect({ seed: SEED, wrong: wrong.flat() }).toEqual({ seed: SEED, wrong: [] });
  // The moments were many: some came before, some in the middle, some too late.
  for (const state of ['queued', 'leased', 'succeeded']) expect([...found.keys()]).toContain(state);
});

const FAULTS: readonly [NewFault['kind'], ...NewFault['kind'][]] = ['slow', 'slow_answer', 'too_many_requests', 'unavailable', 'lost_request', 'lost_answer', 'timeout_after', 'timeout_before', 'duplicate_receipt', 'late_receipt', 'foreign_receipt', 'contradicting_receipt'];

scenes.test('tasks with random small faults all come to rest, and the books agree', async () => {
  const roll = dice('faults');
  const ids: string[] = [];
  const contradicted = new Set<string>();
  const starts = Array.from({ length: 90 * TIMES }, (_, n) => {
    const type = pick(TYPES, roll());
    const fault: NewFault | null = roll() < 0.4 ? { kind: pick(FAULTS, roll()), nth: 1 + Math.floor(roll() * 2), ms: 300 } : null;
    const failures = roll() < 0.3 ? Math.floor(roll() * 3) : 0;
    return () => stage.start(stage.tasks[type], { n, failures }, fault === null ? undefined : (task) => {
      if (fault.kind === 'contradicting_receipt') contradicted.add(task);
      return stage.platform.admin.addFault({ ...fault, task });
    });
  });
  while (starts.length > 0) ids.push(...(await Promise.all(starts.splice(0, 15).map((start) => start()))));
  const records = await Promise.all(ids.map((task) => stage.rested(task, 140_000 * TIMES)));
  const wrong = await Promise.all(records.map(async (record) => disagreements(record, await stage.platform.admin.log({ task: record.task.id }))));
  expect({ seed: SEED, wrong: wrong.flat() }).toEqual({ seed: SEED, wrong: [] });
  // Three attempts may be too few for two failures and a fault; nothing else may end dead, but where the
  // platform says both that it failed and that it is done: whichever word arrives first is believed, the other is kept.
  const dead = records.filter(({ task }) => !contradicted.has(task.id)).flatMap(({ steps }) => steps).filter(({ state }) => state !== 'succeeded');
  expect(dead.map(({ state, reason }) => `${state} (${reason})`).filter((end) => end !== 'dead (attempts_exhausted)')).toEqual([]);
  expect(dead.length).toBeLessThan(ids.length / 10);
});

test('no task is left behind: nothing open, nothing held, nothing to send, no run without an end', async () => {
  const left = async (): Promise<unknown[]> => stage.ledger.query('select task_id from throughline.outbox');
  await until('the outbox is empty', async () => (await left()).length === 0);
  expect(await stage.ledger.query("select task_id, state from throughline.step where open_count > 0 or claim_id is not null or state not in ('succeeded', 'cancelled', 'dead')")).toEqual([]);
  expect(await stage.ledger.query('select id from throughline.task where not at_rest')).toEqual([]);
  // The list of runs may be behind; a run itself is asked.
  const open = async (): Promise<readonly string[]> => {
    const found: string[] = [];
    for await (const { workflowId, runId } of stage.temporal.workflow.list({ query: `TaskQueue = '${stage.taskQueue}' and ExecutionStatus = 'Running'` })) {
      const run = stage.temporal.workflow.getHandle(workflowId, runId);
      if ((await run.describe()).status.name !== 'RUNNING') continue;
      const { events } = await run.fetchHistory();
      found.push(`${workflowId}: ${(events ?? []).slice(-6).map(({ eventType }) => String(eventType)).join(', ')}`);
    }
    return found;
  };
  let last: readonly string[] = [];
  await until('every run has closed', async () => {
    last = await open();
    return last.length === 0;
  }).catch((error: unknown) => { throw new Error(`${String(error)}\n${last.join('\n')}`); });
}, 120_000);
