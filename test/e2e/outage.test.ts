/** Postgres away for longer than many leases, while work is in flight: it costs time, and nothing else. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Proxy } from '../support/e2e-proxy.ts';
import { path, Stage, stepOf, until, within } from '../support/e2e.ts';
import type { WorkerProcess } from '../support/e2e.ts';

const LEASE_MS = 2_000;
const AWAY_MS = 21_000;

let stage: Stage;
let wire: Proxy;
let workers: readonly WorkerProcess[];

beforeAll(async () => {
  stage = await Stage.open({ outside: { leaseMs: LEASE_MS } });
  const { proxy, url } = await Proxy.ofPostgres(stage.ledger.url);
  wire = proxy;
  stage.onEnd(() => proxy.close());
  workers = await Promise.all([stage.worker({ databaseUrl: url }), stage.worker({ databaseUrl: url })]);
}, 120_000);
afterAll(() => stage.end());

/** Away for a time that no fact can shorten. */
async function away(ms: number, meanwhile: () => Promise<void>): Promise<void> {
  const since = performance.now();
  wire.cut();
  await meanwhile();
  await until('it was away for long enough', () => performance.now() - since > ms);
  wire.restore();
}

/** Work in every state that an outage can meet. */
async function begin() {
  const { tasks, hooks, platform, client } = stage;
  const start = async (): Promise<string> => {
    const task = await stage.start(tasks.plain, { stand: ['start'] });
    await within('it stands in its handler', hooks.reached(task, 'start'));
    return task;
  };
  const [endsDuring, endsAfter] = await Promise.all([start(), start()]);
  const { id: dueDuring } = await client.enqueue(tasks.plain, {}, { key: randomUUID(), delay: 3_000 });
  const call = async (ms: number): Promise<string> => {
    const task = await stage.start(tasks.post, {}, (id) => platform.admin.addFault({ kind: 'slow_answer', route: 'publish_post', task: id, ms }));
    await until('the platform has taken the post', async () => (await platform.admin.log({ task })).some(({ route, did }) => route === 'publish_post' && did === 'acted'));
    return task;
  };
  const calling = await Promise.all([call(1_200), call(1_200)]);
  return { endsDuring, endsAfter, dueDuring, calling };
}

async function costsNothing(task: string): Promise<void> {
  const record = await stage.rested(task);
  expect(record.task.status).toBe('succeeded');
  expect(stepOf(record)).toMatchObject({ attempt: 1, charged: 1, epoch: 1 });
  expect(record.timeline.filter(({ kind }) => kind === 'late')).toEqual([]);
  expect(path(record, stepOf(record).name).filter((at) => /lease_expired|answer_lost|failed/.test(at))).toEqual([]);
  expect(await stage.disagreements(task)).toEqual([]);
}

test('an outage of ten leases fences nobody, charges nothing, repeats no effect; what was done is recorded when it is over', async () => {
  const { endsDuring, endsAfter, dueDuring, calling } = await begin();
  await away(AWAY_MS, async () => {
    stage.hooks.release(endsDuring, 'start');
    // The platform's receipts come in by another way than the workers'.
    await until('the receipts are stored', async () => (await Promise.all(calling.map((task) => stage.client.record(task)))).every(({ receipts }) => receipts.length === 3));
  });
  stage.hooks.release(endsAfter, 'start');
  for (const task of [endsDuring, endsAfter, dueDuring, ...calling]) await costsNothing(task);
  for (const task of calling) expect(await stage.platform.admin.counts(task)).toMatchObject({ pictures: 1, posts: 1, acted: 2, deduped: 0 });
}, 150_000);

test('a short one, from which all come back at once, does not either', async () => {
  for (let round = 1; round <= 2; round += 1) {
    const { endsDuring, endsAfter, dueDuring, calling } = await begin();
    await away(LEASE_MS * 2, async () => {
      stage.hooks.release(endsDuring, 'start');
    });
    stage.hooks.release(endsAfter, 'start');
    for (const task of [endsDuring, endsAfter, dueDuring, ...calling]) await costsNothing(task);
  }
}, 150_000);

test('no worker has ended', async () => {
  for (const worker of workers) {
    worker.signal('SIGTERM');
    expect(await worker.ended).toEqual({ code: 0, signal: null });
  }
});
