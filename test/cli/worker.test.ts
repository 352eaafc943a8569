/** A worker as a process of its own, on real Temporal and a real ledger: it runs tasks, and it stops well. */
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient, type ThroughlineClient } from '../../src/index.ts';
import { compiled } from '../support/compiled.ts';
import { Scenes } from '../support/e2e-scenes.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { stackAddresses } from '../support/stack.ts';
import { cli, documentOf, mainFile, start, startCli, TASKS, TEMPORAL_AWAY, type Failure, type Running } from './cli.ts';
import { greet } from './fixtures/tasks.ts';

let folder: string;
const scenes = new Scenes();
const ends: (() => Promise<unknown>)[] = [];
/** As a build has them: no compiler at start. */
const BUILT_TASKS = compiled(TASKS.slice(resolve('.').length + 1));

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'throughline-cli-'));
  scenes.begin();
});
afterAll(async () => {
  for (const end of ends.reverse()) await end();
  rmSync(folder, { recursive: true, force: true });
});

/** A ledger and a queue of its own, so that no other worker of this run takes part. */
class Place {
  readonly ledger: Ledger;
  readonly client: ThroughlineClient;
  readonly env: Readonly<Record<string, string>>;

  private constructor(ledger: Ledger) {
    this.ledger = ledger;
    this.client = createClient({ databaseUrl: ledger.url, by: 'test' });
    ends.push(() => ledger.close(), () => this.client.close());
    const { temporalAddress, temporalNamespace } = stackAddresses();
    this.env = {
      DATABASE_URL: ledger.url, TEMPORAL_ADDRESS: temporalAddress, TEMPORAL_NAMESPACE: temporalNamespace,
      THROUGHLINE_TASK_QUEUE: `cli-${ledger.url.slice(-12)}`, THROUGHLINE_ARTIFACT_DIR: join(folder, 'artifacts'),
    };
  }

  static async open(): Promise<Place> {
    return new Place(await openLedger());
  }

  /** Enqueues a slow task and waits until an attempt of it runs. */
  async running(input: Record<string, unknown> = {}): Promise<string> {
    const { id } = await this.client.enqueue<unknown>('slow', { deaf: false, ...input });
    await this.leased(id);
    return id;
  }

  async leased(id: string): Promise<void> {
    await until(async () => (await this.client.get(id)).steps[0]?.state === 'leased');
  }

  async expectReleased(id: string): Promise<void> {
    const [step] = await this.client.steps(id);
    expect(step).toMatchObject({ state: 'queued', reason: 'worker_shutdown', attempt: 1, charged: 0, holder: null });
  }
}

async function until(check: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 90_000;
  while (!(await check())) {
    if (performance.now() > end) throw new Error('not within 90 s');
    await delay(50);
  }
}

const ready = async (worker: Running): Promise<void> => {
  expect(await worker.line()).toMatch(/^Ready: slow v1, greet v1 on queue cli-/);
};

describe('a worker', () => {
  scenes.test('runs what is enqueued by command and releases unfinished work at SIGTERM: exit code 0, nothing charged', async () => {
    const place = await Place.open();
    const { env } = place;
    const worker = startCli(['worker', '--tasks', TASKS, '--json'], { env });
    expect(JSON.parse(await worker.line())).toMatchObject({ tasks: [{ type: 'slow', version: 1 }, { type: 'greet', version: 1 }], temporal: { address: stackAddresses().temporalAddress } });
    const wait = ['enqueue', 'greet', '--wait', '--timeout', '90s', '--json', '--input'];
    const [good, bad] = await Promise.all([cli([...wait, '{"name": "Ada"}'], { env }), cli([...wait, '{"name": "Bob", "fail": "no such person"}'], { env })]);
    expect(documentOf(good)).toMatchObject({ created: true, view: { status: 'succeeded', at_rest: true } });
    // Not retryable, since the definition's own copy of this package said so.
    expect([bad.code, documentOf(bad)]).toMatchObject([0, { view: { status: 'dead', held_by: 'say', reason: 'not_retryable' } }]);
    const id = await place.running();
    worker.child.kill('SIGTERM');
    expect(await worker.ended).toEqual([0, null]);
    await place.expectReleased(id);
    for (const line of worker.stderr().trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('msg');
    const explained = await cli(['explain', id], { env });
    expect(explained.stdout).toContain('the worker shut down and gave the claim back');
  });

  scenes.test('gives a handler that does not listen the grace it was told, then its work back; a second signal ends it at once', async () => {
    const place = await Place.open();
    const { env } = place;
    const first = startCli(['worker', '--tasks', BUILT_TASKS, '--grace', '300ms'], { env });
    await ready(first);
    const id = await place.running({ deaf: true });
    first.child.kill('SIGINT');
    expect(await first.ended).toEqual([0, null]);
    await place.expectReleased(id);

    const second = startCli(['worker', '--tasks', BUILT_TASKS, '--grace', '60s'], { env });
    await ready(second);
    await place.leased(id);
    second.child.kill('SIGTERM');
    await until(async () => second.stderr().includes('stopping'));
    // The same wish passed on by npm or a service manager comes at once; a person's second one does not.
    await delay(600);
    second.child.kill('SIGTERM');
    expect(await second.ended).toEqual([143, null]);
    await place.client.cancel(id, { why: 'the test is over' });
  });

  describe('under `npm run`', () => {
    /** The script as a user writes it; npm runs it by `sh -c`. */
    async function npm(script: string, { env }: Place): Promise<Running & { readonly pid: number }> {
      const cwd = mkdtempSync(join(folder, 'service-'));
      writeFileSync(join(cwd, 'package.json'), JSON.stringify({ name: 'a-service', private: true, scripts: { worker: `${script} worker --json --tasks ${BUILT_TASKS}` } }));
      const running = start('npm', ['run', '--silent', 'worker'], { cwd, env });
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

    for (const [what, signal, to] of [
      ['Ctrl-C, which the terminal sends to all and npm once more', 'SIGINT', 'group'],
      ['SIGTERM to npm alone, as containers do', 'SIGTERM', 'npm'],
    ] as const) {
      scenes.test(`a script with \`exec\` ends with 0 and gives its work back: ${what}`, async () => {
        const place = await Place.open();
        const worker = await npm(to === 'npm' ? fromSource : `exec node ${mainFile()}`, place);
        const id = await place.running();
        process.kill(to === 'npm' ? (worker.child.pid ?? 0) : -(worker.child.pid ?? 0), signal);
        expect(await worker.ended).toEqual([0, null]);
        await place.expectReleased(id);
        await place.client.cancel(id, { why: 'the test is over' });
      });
    }

    scenes.test('a script without `exec`, whose shell ends without passing the signal on, gives its work back all the same', async () => {
      const place = await Place.open();
      const worker = await npm(`node ${mainFile()}`, place);
      const id = await place.running();
      worker.child.kill('SIGTERM');
      await worker.ended;
      await until(async () => !isAlive(worker.pid));
      await place.expectReleased(id);
      await place.client.cancel(id, { why: 'the test is over' });
    });
  });

  scenes.test('that is asked to stop while it starts ends with 0, too', async () => {
    const { ledger, env } = await Place.open();
    const worker = startCli(['worker', '--tasks', BUILT_TASKS], { env });
    await until(async () => (await ledger.query('select from throughline.worker')).length > 0);
    worker.child.kill('SIGTERM');
    expect(await worker.ended).toEqual([0, null]);
  });

  scenes.test('says what is missing: Temporal away, a plan that changed, a definition that is refused, a module that throws', async () => {
    const { client, env } = await Place.open();
    await client.register(greet);
    const changed = join(folder, 'changed.mjs');
    writeFileSync(changed, "export const greet = { type: 'greet', version: 1, plan: { type: 'greet', version: 1, steps: [] }, planDigest: 'f'.repeat(64), steps: new Map(), parseInput: (value) => value };\n");
    const wrong = join(folder, 'wrong.ts');
    writeFileSync(wrong, `import { defineTask } from ${JSON.stringify(resolve('src/index.ts'))};\nexport default defineTask({ type: 'A b', version: 1 } as never);\n`);
    const broken = join(folder, 'broken.mjs');
    writeFileSync(broken, "throw new Error('no \\u001b[31mconfiguration');\n");
    const worker = (tasks: string, more = {}) => cli(['worker', '--json', '--tasks', tasks], { env: { ...env, ...more } });
    const [away, plan, definition, module, text] = await Promise.all([
      worker(BUILT_TASKS, { TEMPORAL_ADDRESS: TEMPORAL_AWAY }), worker(changed), worker(wrong), worker(broken), cli(['worker', '--tasks', broken], { env }),
    ]);
    const said = [away, plan, definition, module].map((one) => [one.code, (documentOf(one) as Failure).error.code]);
    expect(said).toEqual([[5, 'TEMPORAL_UNAVAILABLE'], [2, 'PLAN_CHANGED'], [2, 'DEFINITION_INVALID'], [2, 'INPUT_INVALID']]);
    expect(text.stderr).toContain('no ␛[31mconfiguration');
  });
});
