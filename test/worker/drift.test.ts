/** Drivers that Temporal lost, on real Temporal and a real ledger; no worker is needed to lose one. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { createClient, type ThroughlineClient } from '../../src/index.ts';
import { LIMITS } from '../../src/state/index.ts';
import { Dispatcher } from '../../src/worker/dispatcher.ts';
import { Drift } from '../../src/worker/drift.ts';
import { quietLogger } from '../../src/worker/log.ts';
import { greet } from '../cli/fixtures/tasks.ts';
import { until } from '../support/e2e.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { stackAddresses } from '../support/stack.ts';

const log = quietLogger();
const { temporalAddress, temporalNamespace: namespace } = stackAddresses();
let ledger: Ledger;
let client: ThroughlineClient;
let connection: Connection;
let temporal: Client;
let drift: Drift;
let dispatcher: Dispatcher;
let taskQueue: string;
beforeAll(async () => {
  connection = await Connection.connect({ address: temporalAddress });
  temporal = new Client({ connection, namespace });
});
afterAll(() => connection.close());
beforeEach(async () => {
  ledger = await openLedger();
  taskQueue = `drift-${randomUUID()}`;
  client = createClient({ databaseUrl: ledger.url, temporal: { address: temporalAddress, namespace }, by: 'test' });
  drift = new Drift({ door: ledger.door, client: temporal, taskQueue, holder: 'test', log });
  dispatcher = new Dispatcher({ door: ledger.door, client: temporal, taskQueue, searchAttributes: false, log, cancelIfTerminated: (task) => drift.cancelIfTerminated(task) });
  return async () => {
    await client.close();
    await ledger.close();
  };
});

const run = (task: string) => temporal.workflow.getHandle(`task/${task}`);
const status = (task: string): Promise<string> => run(task).describe().then(({ status: { name } }) => name, () => 'NOT_FOUND');
async function driven(): Promise<string> {
  const { id } = await client.enqueue(greet, { name: 'Li' }, { key: randomUUID(), delay: '30d' });
  await dispatcher.runOnce();
  expect(await status(id)).toBe('RUNNING');
  return id;
}
/** As a person does it in Temporal, or as the loss of its store does. */
async function lose(task: string): Promise<void> {
  await temporal.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId: `task/${task}` } });
  await until('the run is gone', async () => (await status(task)) === 'NOT_FOUND');
}
const wakes = (): Promise<readonly unknown[]> => ledger.query('select task_id from throughline.outbox');
const nextWalk = (): Promise<void> => ledger.shiftClock(LIMITS.drift_cycle_ms + 1_000);

test('a driver that was deleted while its task waits is noticed within one walk and started again from the ledger', async () => {
  const task = await driven();
  // Its first turn waits for a worker.
  expect((await client.explain(task)).driver).toMatchObject({ temporal: { code: 'no_poller' } });
  await lose(task);
  expect((await client.explain(task)).driver).toMatchObject({ temporal: { code: 'gone' }, agrees_with_temporal: 'no' });
  // Drivers that may just have been heard of are not asked for.
  expect(await drift.runOnce()).toMatchObject({ described: 0 });
  await nextWalk();
  expect(await drift.runOnce()).toEqual({ described: 1, cancelled: 0, restarted: 1, failing: 0 });
  expect(await drift.runOnce()).toMatchObject({ described: 0 });
  await dispatcher.runOnce();
  expect(await status(task)).toBe('RUNNING');
  const { story, driver, status: state } = await client.explain(task);
  expect([state, driver.code]).toEqual(['queued', 'no_workers']);
  expect(JSON.stringify(story)).toContain('its driver was lost (Temporal: NOT_FOUND); start 1 again from the ledger');
  await nextWalk();
  expect(await drift.runOnce()).toEqual({ described: 1, cancelled: 0, restarted: 0, failing: 0 });
  expect(await wakes()).toEqual([]);
});

test('of many workers one asks Temporal at a time, and a walk over all open tasks takes each once', async () => {
  const tasks = await Promise.all(Array.from({ length: 12 }, async () => (await client.enqueue(greet, { name: 'Li' }, { key: randomUUID(), delay: '30d' })).id));
  await dispatcher.runOnce();
  await nextWalk();
  const all = await Promise.all(Array.from({ length: 4 }, () => drift.runOnce()));
  expect(all.map(({ described }) => described).sort((a, b) => a - b)).toEqual([0, 0, 0, tasks.length]);
  await ledger.shiftClock(2 * LIMITS.drift_cycle_ms);
  const seen: string[] = [];
  for (let ended = false; !ended; ) {
    const page = await ledger.door.driftTake(5, LIMITS.drift_cycle_ms, LIMITS.drift_cycle_ms);
    seen.push(...page.tasks.map(({ task }) => task));
    ({ ended } = page);
  }
  expect([...seen].sort()).toEqual([...tasks].sort());
  expect(await ledger.door.driftTake(5, LIMITS.drift_cycle_ms, LIMITS.drift_cycle_ms)).toEqual({ tasks: [], ended: true });
});

test('a terminated run is a cancel by temporal, once, with who and why', async () => {
  const task = await driven();
  const { runId } = await run(task).describe();
  await run(task).terminate('the campaign is over');
  await until('the list shows it', async () => {
    await ledger.shiftClock(LIMITS.drift_interval_ms + 1);
    return (await drift.runOnce()).cancelled === 1;
  });
  const { task: row, cancels } = await client.record(task);
  expect(row).toMatchObject({ status: 'cancelled', at_rest: true });
  expect(cancels).toMatchObject([{ id: `terminate/${runId}`, by: 'temporal', steps: [{ verdict: 'prevented' }, { verdict: 'prevented' }] }]);
  expect(cancels[0]?.why).toMatch(/^terminated in Temporal: .*: the campaign is over$/);
  await ledger.shiftClock(LIMITS.drift_interval_ms + 1);
  expect(await new Drift({ door: ledger.door, client: temporal, taskQueue, holder: 'another', log }).runOnce()).toMatchObject({ restarted: 0 });
  expect((await client.record(task)).cancels).toHaveLength(1);
});

test('a termination that no list has shown yet is honoured before a silent task gets another run', async () => {
  const task = await driven();
  await run(task).terminate();
  await ledger.query('select throughline._wake($1, throughline.now(), true)', [task]);
  await dispatcher.runOnce();
  expect((await client.record(task)).task.status).toBe('cancelled');
});

test('runs of other programs in the namespace, and other ids, are let be', async () => {
  const foreign = randomUUID();
  for (const workflowId of [`task/${foreign}`, `mine/${foreign}`, 'task/no-id']) {
    const handle = await temporal.workflow.start('task', { workflowId, taskQueue, args: [{}], workflowIdReusePolicy: 'ALLOW_DUPLICATE' });
    await handle.terminate();
  }
  await until('the list shows them', async () => (await temporal.workflow.count(`TaskQueue = '${taskQueue}' and ExecutionStatus = 'Terminated'`)).count === 3);
  expect(await drift.runOnce()).toEqual({ described: 0, cancelled: 0, restarted: 0, failing: 0 });
});

test('a driver that is lost again and again is started ever later, and then said to be failing, once a day', async () => {
  const task = await driven();
  const starts: number[] = [];
  for (let walk = 0; starts.length < LIMITS.driver_restarts_max && walk < 30; walk += 1) {
    await lose(task).catch(() => undefined);
    await nextWalk();
    const { restarted, failing } = await drift.runOnce();
    if (restarted === 1) starts.push(walk);
    expect(failing).toBe(starts.length === LIMITS.driver_restarts_max && restarted === 1 ? 1 : 0);
    await dispatcher.runOnce();
  }
  expect(starts).toHaveLength(LIMITS.driver_restarts_max);
  expect((starts.at(-1) ?? 0) - (starts.at(-2) ?? 0)).toBeGreaterThan(1);
  const { driver, headline, story } = await client.explain(task);
  expect(driver.code).toBe('failing');
  expect(headline).toContain(`its driver was lost ${String(LIMITS.driver_restarts_max)} times without progress`);
  expect(story.filter(({ sentence }) => sentence.includes('its driver fails'))).toHaveLength(1);
  // What moves the task is progress: the count begins anew.
  await client.cancel(task, { why: 'enough' });
  expect((await client.record(task)).task.driver_restarts).toBe(0);
}, 120_000);
