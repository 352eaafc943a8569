/** What an explanation says of an open run that cannot go on, on real Temporal: this file answers as a worker would. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { temporal as proto } from '@temporalio/proto';
import { createClient, type ThroughlineClient } from '../../src/index.ts';
import { Dispatcher } from '../../src/worker/dispatcher.ts';
import { quietLogger } from '../../src/worker/log.ts';
import { greet } from '../cli/fixtures/tasks.ts';
import { until } from '../support/e2e.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { stackAddresses } from '../support/stack.ts';

const { temporalAddress, temporalNamespace: namespace } = stackAddresses();
const identity = 'a worker';
let ledger: Ledger;
let client: ThroughlineClient;
let connection: Connection;
/** Of one test: no other one's turns are taken by mistake. */
let taskQueue: string;
let dispatcher: Dispatcher;
beforeAll(async () => {
  connection = await Connection.connect({ address: temporalAddress });
  ledger = await openLedger();
  client = createClient({ databaseUrl: ledger.url, temporal: { address: temporalAddress, namespace }, by: 'test' });
});
beforeEach(() => {
  taskQueue = `sight-${randomUUID()}`;
  dispatcher = new Dispatcher({ door: ledger.door, client: new Client({ connection, namespace }), taskQueue, searchAttributes: false, log: quietLogger() });
});
afterAll(async () => {
  await client.close();
  await ledger.close();
  await connection.close();
});

async function driven(): Promise<string> {
  const { id } = await client.enqueue(greet, { name: 'Li' }, { key: randomUUID(), delay: '30d' });
  await dispatcher.runOnce();
  return id;
}
/** One turn of the workflow's code, as a worker gets it. */
const turn = () => connection.withDeadline(Date.now() + 30_000, () => connection.workflowService.pollWorkflowTaskQueue({ namespace, identity, taskQueue: { name: taskQueue } }));
const driverOf = async (task: string) => (await client.explain(task)).driver;

test('a workflow that fails at every turn is said to be wedged', async () => {
  const task = await driven();
  for (let failures = 1; failures <= 2; failures += 1) {
    const { taskToken, attempt } = await turn();
    expect(attempt).toBe(failures);
    expect((await driverOf(task)).temporal.code).not.toBe('wedged');
    await connection.workflowService.respondWorkflowTaskFailed({
      namespace, identity, taskToken, failure: { message: 'a line of code that nobody expected' }, cause: proto.api.enums.v1.WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE,
    });
  }
  const { temporal, agrees_with_temporal: agrees } = await until('the third turn is due', async () => {
    const driver = await driverOf(task);
    return driver.temporal.code === 'wedged' && driver;
  });
  expect(temporal.sentence).toBe("its workflow fails at every turn in Temporal, which tries it again: see the workflow task's failure there");
  expect(agrees).toBe('no');
});

test('an activity that an operator has paused is said, until it is unpaused', async () => {
  const task = await driven();
  const { taskToken } = await turn();
  await connection.workflowService.respondWorkflowTaskCompleted({
    namespace, identity, taskToken,
    commands: [{
      commandType: proto.api.enums.v1.CommandType.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK,
      scheduleActivityTaskCommandAttributes: { activityId: '1', activityType: { name: 'attempt' }, taskQueue: { name: `${taskQueue}-activities` }, startToCloseTimeout: { seconds: 60 as never } },
    }],
  });
  const target = { namespace, identity, execution: { workflowId: `task/${task}` }, id: '1' };
  expect((await driverOf(task)).temporal.code).toBe('fits');
  await connection.workflowService.pauseActivity({ ...target, reason: 'the platform is being moved' });
  const { temporal, agrees_with_temporal: agrees } = await driverOf(task);
  expect(temporal).toMatchObject({ code: 'activity_paused', sentence: 'an activity of it is paused in Temporal; somebody has to unpause it there' });
  expect(agrees).toBe('no');
  await connection.workflowService.unpauseActivity(target);
  expect((await driverOf(task)).temporal.code).toBe('fits');
});
