/**
 * Records the histories that test/workflows/replay.test.ts replays: `node --import tsx scripts/record-histories.ts`.
 * Run it when the workflow has learned something new; never to make a replay pass that has failed: such a change
 * would break the tasks that are under way.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { z } from 'zod';
import { createClient, createLogger, Database, defineTask, migrate, TaskError, TaskWorker } from '../src/index.ts';
import { startStack } from '../src/dev/index.ts';

const result = z.object({ id: z.string() });
const proof = { record: ['/id'] } as const;
const backoff = { initial: 100, factor: 1 } as const;

/** What a run does is told by its input; attempts are counted here. */
const attempts = new Map<string, number>();
let releaseHeld: () => void = () => undefined;

const recorded = defineTask({
  type: 'recorded',
  version: 1,
  input: z.object({ does: z.enum(['straight', 'retry', 'dead', 'held', 'lost', 'receipts']) }),
  steps: (flow) =>
    flow
      .step('make', {
        attempts: 3, backoff, lease: '2s', result, proof,
        run: async ({ input, taskId, signal }) => {
          const made = (attempts.get(taskId) ?? 0) + 1;
          attempts.set(taskId, made);
          if (input.does === 'retry' && made === 1) throw new TaskError('unavailable', 'not yet');
          if (input.does === 'dead') throw new TaskError('invalid_input', 'no good');
          if (input.does === 'held') {
            await new Promise<void>((resolve) => {
              signal.addEventListener('abort', () => { resolve(); }, { once: true });
              releaseHeld = resolve;
            });
          }
          return { id: taskId };
        },
      })
      .review('review', { needs: ['make'], run: ({ input }) => Promise.resolve(input.does === 'straight' ? { approve: 'by itself' } : { ask: 'person' }) })
      .step('post', {
        needs: ['make', 'review'], attempts: 3, backoff: { initial: 500, factor: 1 }, lease: '2s', result, proof,
        effects: { post: { submits: true, dedupe: { window: '1h' }, timeout: '1s' } },
        receipt: { within: '10m' },
        run: async (context) => {
          const answer = await context.effect('post', { request: context.input.does }, ({ messageId }) => {
            const sent = (attempts.get(`${context.taskId}/post`) ?? 0) + 1;
            attempts.set(`${context.taskId}/post`, sent);
            if (context.input.does === 'lost' && sent === 1) return Promise.reject(new DOMException('no answer', 'TimeoutError'));
            return Promise.resolve({ externalId: `post-${messageId}`, result: { id: `post-${messageId}` } });
          });
          return answer.result;
        },
      }),
});

const dataDir = await mkdtemp(join(tmpdir(), 'throughline-histories-'));
const stack = await startStack({ dataDir, cacheDir: '.throughline/temporal', temporalStorage: 'memory', temporary: true, log: (line) => { process.stderr.write(`${line}\n`); } });
const database = new Database({ url: stack.databaseUrl });
await migrate(database);
const worker = await TaskWorker.create({ databaseUrl: stack.databaseUrl, temporalAddress: stack.temporalAddress, tasks: [recorded], artifacts: join(dataDir, 'artifacts'), log: createLogger('warn') });
const running = worker.run();
const client = createClient({ databaseUrl: stack.databaseUrl });
const connection = await Connection.connect({ address: stack.temporalAddress });
const temporal = new Client({ connection });

/** Waits for a state of a step. */
async function reaches(task: string, step: string, ...states: readonly string[]): Promise<void> {
  for (const giveUp = Date.now() + 60_000; Date.now() < giveUp; ) {
    if (states.includes((await client.get(task)).steps.find(({ name }) => name === step)?.state ?? '')) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${step} did not reach ${states.join(' or ')}`);
}

async function approve(task: string): Promise<void> {
  await reaches(task, 'review', 'submitted');
  await client.decide(task, { step: 'review', verdict: 'opened', by: 'mei' });
  await client.decide(task, { step: 'review', verdict: 'approved', by: 'mei', why: 'fine' });
}

async function receive(task: string, ...kinds: readonly ('received' | 'progress' | 'completed')[]): Promise<void> {
  await reaches(task, 'post', 'submitted', 'received', 'in_progress');
  const touch = (await client.record(task)).touches.filter(({ effect }) => effect === 'post').at(-1);
  for (const kind of kinds) {
    await client.deliverReceipt({ deliveryId: `${task}/${kind}`, sender: 'platform', task, step: 'post', kind, threadId: touch?.thread_id ?? '', inReplyTo: touch?.message_id ?? '', externalId: touch?.external_id ?? null });
  }
}

const RUNS: Readonly<Record<string, () => Promise<string>>> = {
  straight: async () => {
    const { id } = await client.enqueue(recorded, { does: 'straight' });
    await receive(id, 'completed');
    return id;
  },
  retry: async () => {
    const { id } = await client.enqueue(recorded, { does: 'retry' });
    await approve(id);
    await receive(id, 'completed');
    return id;
  },
  dead: async () => (await client.enqueue(recorded, { does: 'dead' })).id,
  'cancel-while-leased': async () => {
    const { id } = await client.enqueue(recorded, { does: 'held' });
    await reaches(id, 'make', 'leased');
    await temporal.workflow.getHandle(`task/${id}`).executeUpdate('cancel', { args: [{ id: 'one', by: 'li', why: 'not wanted' }] });
    return id;
  },
  'cancel-by-signal': async () => {
    const { id } = await client.enqueue(recorded, { does: 'retry' }, { delay: '1h' });
    for (const giveUp = Date.now() + 30_000; Date.now() < giveUp; ) {
      if (await temporal.workflow.getHandle(`task/${id}`).signal('cancel', { id: 'one', by: 'li', why: 'not wanted' }).then(() => true, () => false)) break;
    }
    return id;
  },
  'temporal-cancellation': async () => {
    const { id } = await client.enqueue(recorded, { does: 'held' });
    await reaches(id, 'make', 'leased');
    await temporal.workflow.getHandle(`task/${id}`).cancel();
    return id;
  },
  'lost-answer': async () => {
    const { id } = await client.enqueue(recorded, { does: 'lost' });
    await approve(id);
    await receive(id, 'received', 'progress', 'completed');
    return id;
  },
  receipts: async () => {
    const { id } = await client.enqueue(recorded, { does: 'receipts' });
    await approve(id);
    await receive(id, 'received', 'received', 'progress', 'completed');
    return id;
  },
  replayed: async () => {
    const { id } = await client.enqueue(recorded, { does: 'dead' });
    await client.waitFor(id, { timeoutMs: 60_000 });
    await client.replay(id, { by: 'li', why: 'again' });
    return id;
  },
};

try {
  for (const [name, begin] of Object.entries(RUNS)) {
    const id = await begin();
    const rest = await client.waitFor(id, { timeoutMs: 60_000 });
    releaseHeld();
    const handle = temporal.workflow.getHandle(`task/${id}`);
    for (const giveUp = Date.now() + 30_000; (await handle.describe()).status.name === 'RUNNING' && Date.now() < giveUp; ) await new Promise((resolve) => setTimeout(resolve, 50));
    const { status } = await handle.describe();
    const history = await handle.fetchHistory();
    // Stack traces name this machine's folders, and no replay reads them.
    const text = historyToJSON(history).replace(/"stackTrace": "(?:[^"\\]|\\.)*"/g, '"stackTrace": ""').replace(/("identity": ")[^"]*"/g, '$1recorder"').replace(/("name": ")[^"/]+\/[0-9a-f]{8}-/g, '$1recorder-');
    await writeFile(new URL(`../test/histories/${name}.json`, import.meta.url), `${text}\n`);
    process.stdout.write(`${name}: ${rest.status}, ${status.name}, ${String(history.events?.length ?? 0)} events\n`);
  }
} finally {
  worker.shutdown();
  await running;
  await client.close();
  await database.end();
  await connection.close();
  await stack.stop();
  await rm(dataDir, { recursive: true, force: true });
}
