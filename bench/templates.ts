/** The tasks whose real timelines the loader copies: a publication with artifact, effect and receipt, one that dies, one that is cancelled. */
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { createClient, createLogger, defineTask, TaskError, TaskWorker } from '../src/index.ts';

const ok = z.object({ ok: z.boolean() });
const proof = { record: ['/ok'] } as const;
const input = z.object({ n: z.number() });

const publish = defineTask({
  type: 'bench-publish', version: 1, input,
  steps: (flow) =>
    flow
      .step('render', {
        result: ok, proof: { artifacts: { min: 1, minBytes: 1 } },
        run: async (context) => {
          await context.artifact({ name: 'note.html', mediaType: 'text/html', content: `<p>${String(context.input.n)}</p>` });
          return { ok: true };
        },
      })
      .step('check', { needs: ['render'], result: ok, proof, run: async () => Promise.resolve({ ok: true }) })
      .step('publish', {
        needs: ['check'], result: ok, proof,
        effects: { post: { submits: true, dedupe: { window: '24h' }, timeout: '5s' } }, receipt: { within: '1h' },
        run: async (context) => {
          const { result } = await context.effect('post', { request: { n: context.input.n } }, ({ key }) => Promise.resolve({ externalId: `post-${key.slice(0, 36)}`, result: { ok: true } }));
          return result;
        },
      }),
});

const failing = defineTask({
  type: 'bench-failing', version: 1, input,
  steps: (flow) =>
    flow
      .step('fetch', { attempts: 2, backoff: { initial: '50ms', factor: 2, max: '1s' }, result: ok, proof, run: async () => Promise.reject(new TaskError('unavailable', 'the source did not answer')) })
      .step('store', { needs: ['fetch'], result: ok, proof, run: async () => Promise.resolve({ ok: true }) }),
});

/** What is done without Temporal: claims and settles are called directly. */
export const bare = defineTask({ type: 'bench-bare', version: 1, input, steps: (flow) => flow.step('only', { result: ok, proof, run: async () => Promise.resolve({ ok: true }) }) });

export interface Template {
  readonly id: string;
  readonly key: string;
  /** Of 100 copies. */
  readonly share: number;
}

const DONE = /succeeded|dead|cancelled/;

/** Runs one task of each kind to its end by a real worker. */
export async function runTemplates(options: { readonly databaseUrl: string; readonly temporalAddress: string; readonly artifacts: string }): Promise<readonly Template[]> {
  const worker = await TaskWorker.create({ ...options, taskQueue: 'bench-templates', tasks: [publish, failing, bare], log: createLogger('error') });
  const running = worker.run();
  const client = createClient({ databaseUrl: options.databaseUrl, by: 'service:bench' });
  try {
    const shares: Record<string, number> = { published: 90, failed: 6, withdrawn: 4 };
    const ids = {
      published: (await client.enqueue(publish, { n: 1 }, { key: 'template-published' })).id,
      failed: (await client.enqueue(failing, { n: 1 }, { key: 'template-failed' })).id,
      withdrawn: (await client.enqueue(publish, { n: 2 }, { key: 'template-withdrawn', delay: '1h' })).id,
    };
    await client.cancel(ids.withdrawn, { id: 'cancel-1', by: 'person:ada', why: 'not needed any more' });
    for (;;) {
      const { touches, steps } = await client.record(ids.published);
      const [sent] = touches;
      if (sent !== undefined && steps.some(({ name, state }) => name === 'publish' && state === 'submitted')) {
        for (const kind of ['received', 'completed'] as const) {
          await client.deliverReceipt({ deliveryId: `template-published-${kind}`, sender: 'platform', task: ids.published, step: 'publish', threadId: sent.thread_id, inReplyTo: sent.message_id, kind, externalId: `post-${sent.key.slice(0, 36)}` });
        }
        break;
      }
      await pause(50);
    }
    const templates: Template[] = [];
    for (const [name, id] of Object.entries(ids)) {
      const { status } = await client.waitFor(id, { timeoutMs: 60_000 });
      if (!DONE.test(status)) throw new Error(`the template ${name} ended ${status}`);
      templates.push({ id, key: `template-${name}`, share: shares[name] ?? 0 });
    }
    return templates;
  } finally {
    worker.shutdown();
    await running;
    await client.close();
  }
}
