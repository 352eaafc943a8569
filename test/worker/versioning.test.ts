/** Worker Deployments of Temporal: a task that is on its way while the current build changes goes on, and ends. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Connection } from '@temporalio/client';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { createClient, defineTask, TaskWorker } from '../../src/index.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { stackAddresses } from '../support/stack.ts';

let ledger: Ledger;
let folder: string;
beforeAll(async () => {
  ledger = await openLedger();
  folder = mkdtempSync(join(tmpdir(), 'throughline-versions-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await ledger.close();
});

const result = z.object({ build: z.string() });
/** Says which build ran each step; the first stands still until it is let go. */
const taskOf = (build: string, gate: Promise<unknown>) =>
  defineTask({
    type: 'two-builds', version: 1, input: z.strictObject({}),
    steps: (flow) =>
      flow
        .step('first', { result, proof: { record: ['/build'] }, run: async () => {
          await gate;
          return { build };
        } })
        .step('second', { needs: ['first'], result, proof: { record: ['/build'] }, run: async () => ({ build }) }),
  });

const whichOf = (build: string) =>
  defineTask({ type: 'which-build', version: 1, input: z.strictObject({}), steps: (flow) => flow.step('say', { result, proof: { record: ['/build'] }, run: async () => Promise.resolve({ build }) }) });

test('a task that began under one build finishes under the next one', async () => {
  const { temporalAddress, temporalNamespace: namespace } = stackAddresses();
  const suffix = ledger.url.slice(-12);
  const deploymentName = `deployment-${suffix}`;
  let open: () => void = () => undefined;
  const gate = new Promise<string>((resolve) => {
    open = () => {
      resolve('open');
    };
  });
  const create = (build: string): Promise<TaskWorker> =>
    TaskWorker.create({
      databaseUrl: ledger.url, temporalAddress, temporalNamespace: namespace, taskQueue: `versions-${suffix}`, tasks: [taskOf(build, gate), whichOf(build)], artifacts: folder, deployment: { name: deploymentName, buildId: build },
    });
  const connection = await Connection.connect({ address: temporalAddress });
  /** The server knows a build once its workers have asked for work. */
  const makeCurrent = async (buildId: string): Promise<void> => {
    const end = performance.now() + 45_000;
    for (;;) {
      try {
        await connection.workflowService.setWorkerDeploymentCurrentVersion({ namespace, deploymentName, buildId, identity: 'test' });
        return;
      } catch (error) {
        if (performance.now() > end) throw error;
        await delay(200);
      }
    }
  };
  const [one, two] = await Promise.all([create('one'), create('two')]);
  const running = [one.run(), two.run()];
  const client = createClient({ databaseUrl: ledger.url, by: 'test' });
  try {
    await makeCurrent('one');
    const { id } = await client.enqueue(taskOf('none', gate), {});
    const end = performance.now() + 50_000;
    while ((await client.get(id)).steps[0]?.state !== 'leased') {
      if (performance.now() > end) throw new Error('nobody took it');
      await delay(50);
    }
    await makeCurrent('two');
    // The queues learn it a little later.
    for (let build: unknown; build !== 'two'; ) {
      if (performance.now() > end) throw new Error('the second build never became the current one');
      const asked = await client.enqueue(whichOf('none'), {}, { key: randomUUID() });
      await client.waitFor(asked.id, { timeoutMs: 45_000 });
      [build] = (await client.steps(asked.id)).map((step) => (step.result as { build: string }).build);
    }
    open();
    expect(await client.waitFor(id, { timeoutMs: 45_000 })).toMatchObject({ status: 'succeeded' });
    expect((await client.steps(id)).map((step) => step.result)).toEqual([{ build: 'one' }, { build: 'two' }]);
  } finally {
    open();
    one.shutdown();
    two.shutdown();
    await Promise.all(running);
    await client.close();
    await connection.close();
  }
}, 150_000);
