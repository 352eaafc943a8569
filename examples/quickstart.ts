import { z } from 'zod';
import { createClient, defineTask, explanationText, TaskWorker } from '../src/index.ts';

const greet = defineTask({
  type: 'greet',
  version: 1,
  input: z.object({ name: z.string() }),
  steps: (flow) =>
    flow
      .step('compose', {
        result: z.object({ text: z.string() }),
        proof: { record: ['/text'] },
        run: async ({ input }) => Promise.resolve({ text: `Hello, ${input.name}!` }),
      })
      .step('send', {
        needs: ['compose'],
        result: z.object({ id: z.string() }),
        effects: { mail: { submits: true, dedupe: { window: '24h' }, timeout: '5s' } },
        proof: { record: ['/id'] },
        run: async (context) => {
          const { text } = context.results.compose;
          const { result } = await context.effect('mail', { request: { text } }, ({ key }) => sendMail(key, text));
          return result;
        },
      }),
});

const databaseUrl = process.env['THROUGHLINE_DATABASE_URL'] ?? '';
const temporalAddress = process.env['TEMPORAL_ADDRESS'] ?? 'localhost:7233';
const worker = await TaskWorker.create({ databaseUrl, temporalAddress, tasks: [greet], artifacts: '.throughline/artifacts' });
const running = worker.run();
const client = createClient({ databaseUrl });
const { id } = await client.enqueue(greet, { name: process.argv[2] ?? 'Ada' });
await client.waitFor(id);
process.stdout.write(`${explanationText(await client.explain(id))}\n`);
worker.shutdown();
await running;
await client.close();

/** Stands for a mail service that answers a repeated key with its first answer. */
function sendMail(key: string, text: string): Promise<{ externalId: string; result: { id: string } }> {
  process.stdout.write(`sending under ${key}: ${text}\n`);
  return Promise.resolve({ externalId: `mail-${key}`, result: { id: `mail-${key}` } });
}
