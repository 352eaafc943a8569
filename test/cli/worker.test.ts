/** A worker as a process of its own, on real Temporal and a real ledger: it runs tasks, and it stops well. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient, type ThroughlineClient } from '../../src/index.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { stackAddresses } from '../support/stack.ts';
import { cli, documentOf, mainFile, start, startCli, TASKS, TEMPORAL_AWAY, type Failure, type Running } from './cli.ts';
import { greet } from './fixtures/tasks.ts';

let ledger: Ledger;
let client: ThroughlineClient;
let folder: string;

beforeAll(async () => {
  ledger = await openLedger();
  client = createClient({ databaseUrl: ledger.url, by: 'test' });
  folder = mkdtempSync(join(tmpdir(), 'throughline-cli-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await client.close();
  await ledger.close();
});

/** A queue of its own, so that no other worker of this run takes part. */
function env(queue: string): Record<string, string> {
  const { temporalAddress, temporalNamespace } = stackAddresses();
  return {
    DATABASE_URL: ledger.url, TEMPORAL_ADDRESS: temporalAddress, TEMPORAL_NAMESPACE: temporalNamespace,
    THROUGHLINE_TASK_QUEUE: `cli-${queue}-${ledger.url.slice(-12)}`, THROUGHLINE_ARTIFACT_DIR: join(folder, 'artifacts'),
  };
}

async function until(check: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 30_000;
  while (!(await check())) {
    if (performance.now() > end) throw new Error('not within 30 s');
    await delay(50);
  }
}

/** Enqueues a slow task and waits until an attempt of it runs. */
async function running(input: Record<string, unknown> = {}): Promise<string> {
  const { id } = await client.enqueue<unknown>('slow', { deaf: false, ...input });
  await until(async () => (await client.get(id)).steps[0]?.state === 'leased');
  return id;
}

async function expectReleased(id: string): Promise<void> {
  const [step] = await client.steps(id);
  expect(step).toMatchObject({ state: 'queued', reason: 'worker_shutdown', attempt: 1, charged: 0, holder: null });
}

const ready = async (worker: Running): Promise<void> => {
  expect(await worker.line()).toMatch(/^Ready: slow v1, greet v1 on queue cli-/);
};

describe('a worker', () => {
  test('runs what is enqueued by command and releases unfinished work at SIGTERM: exit code 0, nothing charged', async () => {
    const worker = await startCli(['worker', '--tasks', TASKS, '--json'], { env: env('main') });
    expect(JSON.parse(await worker.line())).toMatchObject({ tasks: [{ type: 'slow', version: 1 }, { type: 'greet', version: 1 }], temporal: { address: stackAddresses().temporalAddress } });
    const wait = ['enqueue', 'greet', '--wait', '--timeout', '30s', '--json', '--input'];
    const [good, bad] = await Promise.all([cli([...wait, '{"name": "Ada"}'], { env: env('main') }), cli([...wait, '{"name": "Bob", "fail": "no such person"}'], { env: env('main') })]);
    expect(documentOf(good)).toMatchObject({ created: true, view: { status: 'succeeded', at_rest: true } });
    // Not retryable, since the definition's own copy of this package said so.
    expect([bad.code, documentOf(bad)]).toMatchObject([0, { view: { status: 'dead', held_by: 'say', reason: 'not_retryable' } }]);
    const id = await running();
    worker.child.kill('SIGTERM');
    expect(await worker.ended).toEqual([0, null]);
    await expectReleased(id);
    for (const line of worker.stderr().trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('msg');
    const explained = await cli(['explain', id], { env: env('main') });
    expect(explained.stdout).toContain('the worker shut down and gave the claim back');
  });

  test('gives a handler that does not listen the grace it was told, then its work back; a second signal ends it at once', async () => {
    const first = await startCli(['worker', '--tasks', TASKS, '--grace', '300ms'], { env: env('deaf') });
    await ready(first);
    const id = await running({ deaf: true });
    first.child.kill('SIGINT');
    expect(await first.ended).toEqual([0, null]);
    await expectReleased(id);

    const second = await startCli(['worker', '--tasks', TASKS, '--grace', '60s'], { env: env('deaf') });
    await ready(second);
    await until(async () => (await client.get(id)).steps[0]?.state === 'leased');
    second.child.kill('SIGTERM');
    await until(async () => second.stderr().includes('stopping'));
    // The same wish passed on by npm or a service manager comes at once; a person's second one does not.
    await delay(600);
    second.child.kill('SIGTERM');
    expect(await second.ended).toEqual([143, null]);
    await client.cancel(id, { why: 'the test is over' });
  });

  describe('under `npm run`', () => {
    /** The script as a user writes it; npm runs it by `sh -c`. */
    async function npm(script: string): Promise<Running & { readonly pid: number }> {
      writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'a-service', private: true, scripts: { worker: `${script} worker --json --tasks ${TASKS}` } }));
      const running = start('npm', ['run', '--silent', 'worker'], { cwd: folder, env: env('npm') });
      const { holder } = JSON.parse(await running.line()) as { holder: string };
      return { ...running, pid: Number(/:(\d+)\//.exec(holder)?.[1]) };
    }
    const fromSource = `exec node --import ${resolve('node_modules/tsx/dist/loader.mjs')} ${resolve('src/cli/main.ts')}`;
    const isAlive = (pid: number): boolean => {
      try {
        return process.kill(pid, 0);
      } catch {
        return false;
      }
    };

    test.each<[string, NodeJS.Signals, 'group' | 'npm']>([
      ['Ctrl-C, which the terminal sends to all and npm once more', 'SIGINT', 'group'],
      ['SIGTERM to npm alone, as containers do', 'SIGTERM', 'npm'],
    ])('a script with `exec` ends with 0 and gives its work back: %s', async (_, signal, to) => {
      const worker = await npm(to === 'npm' ? fromSource : `exec node ${await mainFile()}`);
      const id = await running();
      process.kill(to === 'npm' ? (worker.child.pid ?? 0) : -(worker.child.pid ?? 0), signal);
      expect(await worker.ended).toEqual([0, null]);
      await expectReleased(id);
      await client.cancel(id, { why: 'the test is over' });
    });

    test('a script without `exec`, whose shell ends without passing the signal on, gives its work back all the same', async () => {
      const worker = await npm(`node ${await mainFile()}`);
      const id = await running();
      worker.child.kill('SIGTERM');
      await worker.ended;
      await until(async () => !isAlive(worker.pid));
      await expectReleased(id);
      await client.cancel(id, { why: 'the test is over' });
    });
  });

  test('that is asked to stop while it starts ends with 0, too', async () => {
    const worker = await startCli(['worker', '--tasks', TASKS], { env: env('early') });
    await until(async () => (await ledger.query('select from throughline.worker where task_queue = $1', [env('early')['THROUGHLINE_TASK_QUEUE']])).length > 0);
    worker.child.kill('SIGTERM');
    expect(await worker.ended).toEqual([0, null]);
  });

  test('says what is missing: Temporal away, a plan that changed, a definition that is refused, a module that throws', async () => {
    await client.register(greet);
    const changed = join(folder, 'changed.mjs');
    writeFileSync(changed, "export const greet = { type: 'greet', version: 1, plan: { type: 'greet', version: 1, steps: [] }, planDigest: 'f'.repeat(64), steps: new Map(), parseInput: (value) => value };\n");
    const wrong = join(folder, 'wrong.ts');
    writeFileSync(wrong, `import { defineTask } from ${JSON.stringify(resolve('src/index.ts'))};\nexport default defineTask({ type: 'A b', version: 1 } as never);\n`);
    const broken = join(folder, 'broken.mjs');
    writeFileSync(broken, "throw new Error('no \\u001b[31mconfiguration');\n");
    const worker = (tasks: string, more = {}) => cli(['worker', '--json', '--tasks', tasks], { env: { ...env('missing'), ...more } });
    const [away, plan, definition, module, text] = await Promise.all([
      worker(TASKS, { TEMPORAL_ADDRESS: TEMPORAL_AWAY }), worker(changed), worker(wrong), worker(broken), cli(['worker', '--tasks', broken], { env: env('missing') }),
    ]);
    const said = [away, plan, definition, module].map((one) => [one.code, (documentOf(one) as Failure).error.code]);
    expect(said).toEqual([[5, 'TEMPORAL_UNAVAILABLE'], [2, 'PLAN_CHANGED'], [2, 'DEFINITION_INVALID'], [2, 'INPUT_INVALID']]);
    expect(text.stderr).toContain('no ␛[31mconfiguration');
  });
});
