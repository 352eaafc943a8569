/** A worker's own end: whenever the wish comes, it is heard. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TaskWorker } from '../../src/index.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { stackAddresses } from '../support/stack.ts';
import { greet } from '../cli/fixtures/tasks.ts';

let ledger: Ledger;
let folder: string;
beforeAll(async () => {
  ledger = await openLedger();
  folder = mkdtempSync(join(tmpdir(), 'throughline-worker-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await ledger.close();
});

test('a stop that is asked before the run ends the run at once, and the ledger knows that the worker left', async () => {
  const { temporalAddress, temporalNamespace } = stackAddresses();
  const worker = await TaskWorker.create({ databaseUrl: ledger.url, temporalAddress, temporalNamespace, taskQueue: `early-${ledger.url.slice(-12)}`, tasks: [greet], artifacts: folder });
  worker.shutdown();
  await worker.run();
  expect(await ledger.query('select stopping from throughline.worker where id = $1', [worker.holder])).toEqual([{ stopping: true }]);
});
