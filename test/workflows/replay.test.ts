import { beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, Runtime, Worker } from '@temporalio/worker';
import type { WorkflowBundleWithSourceMap } from '@temporalio/worker';

const folder = fileURLToPath(new URL('../histories', import.meta.url));
const histories = readdirSync(folder).filter((name) => name.endsWith('.json'));
const quiet = { log: () => undefined, trace: () => undefined, debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

interface Event {
  readonly eventType: string;
  readonly [key: string]: unknown;
}

let bundle: WorkflowBundleWithSourceMap;
beforeAll(async () => {
  Runtime.install({ logger: quiet });
  bundle = await bundleWorkflowCode({ workflowsPath: fileURLToPath(new URL('../../src/workflows/index.ts', import.meta.url)), logger: quiet });
}, 120_000);

describe('recorded histories', () => {
  test('are there: every way of ending, and every kind of message', () => {
    const events = histories.flatMap((name) => (JSON.parse(readFileSync(`${folder}/${name}`, 'utf8')) as { events: Event[] }).events.map(({ eventType }) => eventType.replace('EVENT_TYPE_', '')));
    for (const wanted of ['WORKFLOW_EXECUTION_COMPLETED', 'WORKFLOW_EXECUTION_FAILED', 'WORKFLOW_EXECUTION_CANCELED', 'WORKFLOW_EXECUTION_SIGNALED', 'WORKFLOW_EXECUTION_UPDATE_COMPLETED', 'TIMER_STARTED', 'WORKFLOW_EXECUTION_CANCEL_REQUESTED']) {
      expect(events).toContain(wanted);
    }
  });

  test.each(histories)('%s replays with the workflow as it is now', async (name) => {
    const history: unknown = JSON.parse(readFileSync(`${folder}/${name}`, 'utf8'));
    await Worker.runReplayHistory({ workflowBundle: bundle }, history, `task/${name}`);
  }, 60_000);

  test('a history whose activity was another one is refused: the replay can fail', async () => {
    const text = readFileSync(`${folder}/straight.json`, 'utf8').replaceAll('"name": "attempt"', '"name": "something-else"');
    await expect(Worker.runReplayHistory({ workflowBundle: bundle }, JSON.parse(text) as unknown, 'task/straight')).rejects.toThrow(/[Nn]ondeterminism/);
  }, 60_000);
});

describe('the workflow bundle', () => {
  test('holds no Node built-in and no SQL', () => {
    expect(bundle.code).not.toMatch(/require\(["']node:/);
    expect(bundle.code).not.toMatch(/node_modules\/pg\//);
  });

  test.each(['fs', 'node:fs'])('cannot be made of code that imports %s', async (module) => {
    const own = mkdtempSync(join(tmpdir(), 'throughline-bundle-'));
    try {
      symlinkSync(fileURLToPath(new URL('../../node_modules', import.meta.url)), join(own, 'node_modules'));
      writeFileSync(join(own, 'index.ts'), `import { readFileSync } from '${module}';\nexport async function task() { return readFileSync('x', 'utf8'); }\n`);
      await expect(bundleWorkflowCode({ workflowsPath: join(own, 'index.ts'), logger: quiet })).rejects.toThrow(/disallowed modules|Webpack finished with errors/);
    } finally {
      rmSync(own, { recursive: true, force: true });
    }
  }, 60_000);
});
