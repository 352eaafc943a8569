/** What an action would do now: it is done, read, and undone. The door's own answer, in `explain`'s own words. */
import { createHash } from 'node:crypto';
import type { Explanation } from '../../client/explain/index.ts';
import type { ThroughlineClient } from '../../client/client.ts';
import { ThroughlineError } from '../../errors.ts';
import type { PageLanguage } from '../messages/index.ts';
import type { ActionSpec, Asked, Variant } from './spec.ts';

/** What stands for a text that nobody has written yet. */
const UNSAID = '…';

export interface Foreseen {
  readonly variant: Variant;
  /** The door's refusal; null: it would be done. */
  readonly refused: ThroughlineError | null;
  /** What would be there; null where it is refused. */
  readonly would: Change | null;
  /** The same for the same outcome: what was shown is what is done. */
  readonly mark: string;
}

/** What an action changed, or would. */
export interface Change {
  readonly after: Explanation;
  /** Steps whose state or reason is another one. */
  readonly steps: readonly { readonly name: string; readonly from: Explanation['steps'][number]; readonly to: Explanation['steps'][number] }[];
  /** Entries that the timeline got. */
  readonly entries: Explanation['story'];
  /** The cancel that was asked, where one was. */
  readonly cancel: Explanation['cancels'][number] | null;
}

export function changeOf(before: Explanation, after: Explanation, id: string): Change {
  const known = new Map(before.steps.map((step) => [step.name, step]));
  const last = before.story.at(-1)?.id ?? 0;
  return {
    after,
    steps: after.steps.flatMap((to) => {
      const from = known.get(to.name);
      return from === undefined || (from.state === to.state && from.reason.code === to.reason.code && from.attempts.left === to.attempts.left) ? [] : [{ name: to.name, from, to }];
    }),
    entries: after.story.filter((line) => line.id > last),
    cancel: after.cancels.find((one) => one.id === id) ?? null,
  };
}

/** Throws what says nothing about the action: TASK_UNKNOWN, LEDGER_UNAVAILABLE. */
export async function foresee(client: ThroughlineClient, spec: ActionSpec, task: string, asked: Asked, variant: Variant, lang: PageLanguage): Promise<Foreseen> {
  const said = { ...asked, why: asked.why.trim() === '' ? UNSAID : asked.why, evidence: asked.evidence.trim() === '' ? UNSAID : asked.evidence };
  try {
    const would = await client.rehearse(async (rehearsing) => {
      const { explanation: before } = await rehearsing.inspect(task, { lang });
      await spec.act(rehearsing, task, said, variant);
      const { explanation: after } = await rehearsing.inspect(task, { lang });
      return changeOf(before, after, asked.id);
    });
    return { variant, refused: null, would, mark: markOf([would.steps.map(({ name, to }) => [name, to.state, to.reason.code]), would.after.status, would.cancel?.verdict ?? null]) };
  } catch (error) {
    if (!(error instanceof ThroughlineError) || error.status >= 500 || error.code === 'TASK_UNKNOWN' || error.code === 'TASK_PRUNED' || error.code === 'ID_INVALID') throw error;
    return { variant, refused: error, would: null, mark: markOf(error.code) };
  }
}

/** Each of the action's variants, one after the other: they would wait for each other's rows. */
export async function rehearse(client: ThroughlineClient, spec: ActionSpec, task: string, asked: Asked, lang: PageLanguage): Promise<readonly Foreseen[]> {
  const foreseen: Foreseen[] = [];
  for (const variant of spec.variants) foreseen.push(await foresee(client, spec, task, asked, variant, lang));
  return foreseen;
}

const markOf = (outcome: unknown): string => createHash('sha256').update(JSON.stringify(outcome)).digest('base64url').slice(0, 16);
