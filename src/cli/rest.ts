import type { Enqueued } from '../index.ts';
import type { Context } from './context.ts';
import { durationMs } from './duration.ts';
import { statusLines } from './status.ts';

/** Waits until the task is at rest and says how it is. Throws WAIT_TIMEOUT, TASK_UNKNOWN. */
export async function sayRest(context: Context, task: string, timeout: string | undefined, enqueued?: Enqueued): Promise<void> {
  const client = await context.client();
  await client.waitFor(task, timeout === undefined ? {} : { timeoutMs: durationMs(timeout, '--timeout') });
  if (context.json) {
    const view = await client.get(task);
    await context.answer(enqueued === undefined ? view : { ...enqueued, view }, () => []);
    return;
  }
  await context.answer(null, async () => statusLines(await client.explain(task, { lang: context.lang }), context));
}
