/** Task types of the end-to-end tests: small, quick, and able to stand still where a test wants them to. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { PlatformClient } from '../../examples/note-publishing/platform/client.ts';
import { identityOf, probe, withdraw } from '../../examples/note-publishing/publish.ts';
// Not from the index: a process that only works needs no Temporal.
import { defineTask } from '../../src/define/define-task.ts';
import { TaskError } from '../../src/define/failures.ts';
import type { HandlerContext, ProbeContext, ReadBackAnswer, ReadBackContext } from '../../src/index.ts';
import { standAt } from './e2e-hooks.ts';

/** Where the handlers find their surroundings. The client's side needs none: it never runs them. */
export interface Outside {
  readonly platform?: string;
  /** A platform that ignores keys. */
  readonly keyless?: string;
  readonly receipts?: string;
  readonly hooks?: string;
  readonly leaseMs?: number;
  readonly callTimeoutMs?: number;
  readonly retryMs?: number;
}

export const inputSchema = z.strictObject({
  /** Tells tasks apart. */
  n: z.int().default(0),
  /** Points at which the first attempt stands still. */
  stand: z.array(z.enum(['start', 'end'])).default([]),
  /** It stands there whatever its signal says. */
  deaf: z.boolean().default(false),
  /** So many attempts fail first, retryably. */
  failures: z.int().default(0),
  /** So many attempts fail for good. */
  hopeless: z.int().default(0),
});
export type E2eInput = z.output<typeof inputSchema>;

const worked = z.object({ done: z.literal('yes'), attempt: z.int() });
const posted = z.object({ id: z.string() });

export function createE2eTasks(outside: Outside = {}) {
  const { leaseMs = 5_000, callTimeoutMs = 1_500, retryMs = 300 } = outside;
  const keyedPlatform = new PlatformClient({ address: outside.platform ?? 'http://127.0.0.1:1' });
  const keylessPlatform = new PlatformClient({ address: outside.keyless ?? 'http://127.0.0.1:1' });
  const retries = { lease: leaseMs, attempts: 3, backoff: { initial: retryMs, factor: 1, jitter: 0 } } as const;
  const withKeys = { dedupe: { window: '1h' }, timeout: callTimeoutMs } as const;
  const withoutKeys = { timeout: callTimeoutMs, visible_within: '1s' } as const;
  const looks = { attempts: 40, backoff: { initial: 300, max: '1s' } } as const;

  const stand = async (context: HandlerContext<E2eInput, unknown>, point: 'start' | 'end'): Promise<void> => {
    const { input, attempt, taskId: task, signal } = context;
    if (attempt !== 1 || !input.stand.includes(point)) return;
    await standAt(outside.hooks ?? '', { task, point, attempt }, input.deaf ? undefined : signal);
  };
  const mayFail = ({ input, attempt }: HandlerContext<E2eInput, unknown>): void => {
    if (attempt <= input.hopeless) throw new TaskError('invalid_input', 'this can never work', { code: 'hopeless' });
    if (attempt <= input.failures) throw new TaskError('unavailable', `attempt ${String(attempt)} was meant to fail`);
  };
  const readBackFrom = (platform: PlatformClient) => async ({ taskId, step, result, externalId, signal }: ReadBackContext<unknown, unknown, { id: string }>): Promise<ReadBackAnswer<{ id: string }>> => {
    const id = result?.id ?? externalId;
    const post = id === null ? (await platform.findPosts({ task: taskId, step }, { signal })).at(-1) : await platform.readPost(id, { signal });
    if (post === undefined || post === null) return { exists: { ok: false }, ours: { ok: null }, minimum: { ok: null } };
    const out = { ok: post.status === 'published' ? true : null };
    return { exists: out, ours: { ok: post.reference.taskId === taskId }, minimum: out, result: { id: post.id } };
  };

  /** One step without effects. */
  const plain = (version: number) =>
    defineTask({
      type: 'plain', version, input: inputSchema,
      steps: (flow) =>
        flow.step('work', {
          ...retries, result: worked, proof: { record: ['/done'] },
          run: async (context) => {
            await stand(context, 'start');
            await context.checkpoint('stood', () => context.attempt);
            mayFail(context);
            return { done: 'yes' as const, attempt: context.attempt };
          },
        }),
    });

  /** One picture and a post: `receipt` waits for the platform's word, otherwise its answer is enough. */
  const publishing = (type: string, receipt: boolean, platform: PlatformClient = keyedPlatform) => {
    const dedupes = platform === keyedPlatform ? withKeys : withoutKeys;
    return defineTask({
      type, version: 1, input: inputSchema,
      steps: (flow) =>
        flow.step('post', {
          ...retries, result: posted, effects: { picture: dedupes, body: { ...dedupes, submits: true } }, ...(receipt ? { receipt: { within: '60s' } } : {}),
          probe: async (context: ProbeContext<unknown, unknown>) => {
            const found = await probe(platform, context as Parameters<typeof probe>[1]);
            return 'externalId' in found ? { ...found, result: { id: found.externalId } } : found;
          },
          checks: looks, proof: { readBack: readBackFrom(platform) },
          withdraw: { ...dedupes, run: (context) => withdraw(platform, context) },
          run: async (context) => {
            await stand(context, 'start');
            mayFail(context);
            const bytes = new TextEncoder().encode(`picture of ${context.taskId}`);
            const picture = { bytes, contentType: 'image/png', sha256: createHash('sha256').update(bytes).digest('hex') };
            const uploaded = await context.effect('picture', { item: 'one', request: picture.sha256 }, async (call) => {
              const made = await platform.uploadPicture(picture, identityOf(call), call);
              return { externalId: made.id, result: { id: made.id } };
            });
            const post = { title: 'A post', author: 'a test', language: 'en', html: `<p>${context.taskId}</p>`, pictures: [uploaded.externalId] };
            const { result } = await context.effect('body', { request: post }, async (call) => {
              const made = await platform.publishPost({ ...post, ...(receipt ? { callbackUrl: outside.receipts ?? '' } : {}) }, identityOf(call), call);
              return { externalId: made.id, result: { id: made.id } };
            });
            await stand(context, 'end');
            return result;
          },
        }),
    });
  };

  /** A review by a person, and something to do after it. */
  const reviewed = defineTask({
    type: 'reviewed', version: 1, input: inputSchema,
    steps: (flow) =>
      flow
        .review('review', { ...retries, run: async () => ({ ask: 'person', note: 'please look' }) })
        .step('work', {
          ...retries, needs: ['review'], result: worked, proof: { record: ['/done'] },
          run: async (context) => {
            mayFail(context);
            return { done: 'yes' as const, attempt: context.attempt };
          },
        }),
  });

  /** Two steps of a second at most, which run beside the driver. */
  const quick = defineTask({
    type: 'quick', version: 1, input: inputSchema,
    steps: (flow) =>
      flow
        .step('first', { ...retries, timeout: '1s', result: worked, proof: { record: ['/done'] }, run: ({ attempt }) => Promise.resolve({ done: 'yes' as const, attempt }) })
        .step('work', {
          ...retries, timeout: '1s', needs: ['first'], result: worked, proof: { record: ['/done'] },
          run: async (context) => {
            await stand(context, 'start');
            mayFail(context);
            return { done: 'yes' as const, attempt: context.attempt };
          },
        }),
  });

  return { quick, plain: plain(1), plainNext: plain(2), post: publishing('post', true), direct: publishing('direct', false), postWithoutKeys: publishing('post-without-keys', true, keylessPlatform), directWithoutKeys: publishing('direct-without-keys', false, keylessPlatform), reviewed };
}

export type E2eTasks = ReturnType<typeof createE2eTasks>;
