/** How each row of the machine is reached on a real database: a map from `label < from` to a scenario. */
import type { Shape } from '../../support/factories.ts';
import type { Ledger } from '../../support/ledger.ts';
import { Tale } from '../../support/tale.ts';

export interface Scenario {
  /** Brings the step into the state that the row starts from. */
  readonly begin: (ledger: Ledger) => Promise<Tale>;
  /** The one call that makes the row's event happen. */
  readonly act: (tale: Tale) => Promise<unknown>;
  /** Why the door alone cannot bring the step here; the state was then prepared past it. */
  readonly prepared?: string;
}

/** The database itself excludes the facts of this row in this state: the statement that it refuses, and why. */
export interface Excluded {
  readonly excluded: string;
  readonly begin: (ledger: Ledger) => Promise<Tale>;
  readonly attempt: (tale: Tale) => Promise<unknown>;
}

export type Reach = Scenario | Excluded;

export class Scenarios {
  readonly all = new Map<string, Reach>();

  add(label: string, from: string | readonly string[], shape: Shape | readonly Shape[], arrange: (tale: Tale, from: string) => Promise<unknown>, act: Scenario['act'], prepared?: string): void {
    for (const state of typeof from === 'string' ? [from] : from) {
      this.set(label, state, {
        begin: async (ledger) => {
          const tale = await Tale.of(ledger, shape);
          await arrange(tale, state);
          return tale;
        },
        act,
        ...(prepared === undefined ? {} : { prepared }),
      });
    }
  }

  set(label: string, from: string, reach: Reach): void {
    const key = `${label} < ${from}`;
    if (this.all.has(key)) throw new Error(`two scenarios for ${key}`);
    this.all.set(key, reach);
  }
}

// ---- Ways into a state --------------------------------------------------------------------------

/** To `queued` with a live generation of the submission whose request was not sent. */
export const unsent = async (tale: Tale): Promise<void> => {
  await tale.claim();
  await tale.intend();
  await tale.outcome('not_sent');
  await tale.fail();
};

/** To submitted, received or in_progress; to unconfirmed with the submission open. */
export async function waiting(tale: Tale, state: string): Promise<void> {
  await tale.claim();
  if (state === 'unconfirmed') {
    await tale.intend();
    await tale.settle('lost');
    return;
  }
  await tale.confirmed();
  await tale.settle('submitted');
  if (state === 'received') await tale.receives('received');
  if (state === 'in_progress') await tale.receives('progress');
}

export const REVIEWER = { sender: 'reviewer:ann' } as const;

/** The same for a review: opened in our own inbox; to unconfirmed with its request open. */
export async function reviewing(tale: Tale, state: string): Promise<void> {
  await tale.claim();
  if (state === 'unconfirmed') {
    await tale.intend('request');
    await tale.settle('lost');
    return;
  }
  await tale.asks();
  if (state === 'received') await tale.receives('received', REVIEWER);
  if (state === 'in_progress') await tale.receives('progress', REVIEWER);
}

/** To unconfirmed with two pictures open. */
export async function twoOpen(tale: Tale): Promise<void> {
  for (const item of ['a', 'b']) {
    await tale.claim();
    await tale.intend('picture', item);
    await tale.settle('lost');
  }
}

/** To unconfirmed with a picture open, while the submission's first request was not sent. */
export async function pictureOpenAfterUnsent(tale: Tale): Promise<void> {
  await unsent(tale);
  await tale.claim();
  await tale.intend('picture');
  await tale.settle('lost');
}

/** What only a row written past the door can be: a stored verdict that moved nothing. */
export async function storeVerdict(tale: Tale): Promise<void> {
  await tale.ledger.query(
    `insert into throughline.receipt (delivery_id, sender, content_digest, task_ref, task_id, step, kind, received_at, verdict, verdict_at, effect_id, applied_at)
     select gen_random_uuid()::text, 'reviewer:ann', 'x', task_id::text, task_id, step, 'completed', throughline.now(), 'matched', throughline.now(), id, throughline.now()
     from throughline.effect where task_id = $1 and step = $2 and live and submits`,
    [tale.task, tale.step],
  );
}

export const setCancel = (tale: Tale): Promise<unknown> =>
  tale.ledger.query("update throughline.step set cancel_id = 'prepared' where task_id = $1 and name = $2", [tale.task, tale.step]);

export const setState = (tale: Tale, state: string): Promise<unknown> =>
  tale.ledger.query('update throughline.step set state = $3 where task_id = $1 and name = $2', [tale.task, tale.step, state]);

/** The rule itself, past the door's own judgement. */
export const move = (tale: Tale, event: string, facts: object = {}): Promise<unknown> =>
  tale.ledger.query("select throughline._move($1, $2, $3, throughline.now(), 'test', $4)", [tale.task, tale.step, event, JSON.stringify(facts)]);

export const THREE = ['submitted', 'received', 'in_progress'] as const;
export const FOUR = [...THREE, 'unconfirmed'] as const;
