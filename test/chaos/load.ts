/** The users of a chaos run: they start tasks, cancel some, and replay what died, through whichever API answers. */
import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { NewFault } from '../../examples/note-publishing/platform/faults.ts';
import type { PlatformProcess } from '../../examples/note-publishing/platform/process.ts';
import type { ThroughlineHttpClient } from '../../src/http/index.ts';
import { ThroughlineError, type CancelAnswer } from '../../src/index.ts';
import type { Dice } from './dice.ts';
import type { Surroundings } from './surroundings.ts';

export const KINDS = ['plain', 'quick', 'post', 'direct', 'post-without-keys', 'direct-without-keys', 'publish-note'] as const;
export type Kind = (typeof KINDS)[number];
/** How often each is drawn. */
const OFTEN: readonly [Kind, ...Kind[]] = ['plain', 'plain', 'quick', 'quick', 'post', 'post', 'direct', 'direct', 'post-without-keys', 'direct-without-keys'];
const NOTE_SHARE = 0.02;
const NOTES = ['release-2-4', 'scallion-noodles', 'tides'] as const;
const PLATFORM_FAULTS: readonly [NewFault['kind'], ...NewFault['kind'][]] = ['slow', 'slow_answer', 'too_many_requests', 'unavailable', 'lost_request', 'lost_answer', 'timeout_after', 'timeout_before', 'duplicate_receipt', 'late_receipt', 'foreign_receipt', 'no_receipt'];
/** An answer that says that nothing was decided: ask again, with the same id. */
const AGAIN: ReadonlySet<string> = new Set(['API_UNAVAILABLE', 'LEDGER_UNAVAILABLE', 'TEMPORAL_UNAVAILABLE', 'LEDGER_BUSY']);
const PATIENCE_MS = 120_000;

/** A task that a user was told is accepted, and what else the user was told. */
export interface Accepted {
  readonly id: string;
  readonly kind: Kind;
  readonly cancels: CancelAnswer[];
}

export class Load {
  readonly accepted = new Map<string, Accepted>();
  /** What users were told that should not have been said. */
  readonly refused: string[] = [];
  platformFaults = 0;
  replays = 0;
  /** Times that a user had to ask again. */
  asksAgain = 0;
  readonly #all: Surroundings;
  readonly #dice: Dice;
  readonly #under = new Set<Promise<void>>();

  constructor(all: Surroundings, dice: Dice) {
    this.#all = all;
    this.#dice = dice;
  }

  platformOf(kind: Kind): PlatformProcess {
    return kind.endsWith('without-keys') ? this.#all.keyless : this.#all.platform;
  }

  /** So many tasks, spread evenly over the time. */
  async run(tasks: number, ms: number): Promise<void> {
    const began = performance.now();
    for (let n = 0; n < tasks; n += 1) {
      await wait(Math.max(0, began + (n * ms) / tasks - performance.now()));
      // More would only wait in the users' own queue.
      while (this.#under.size > 150) await Promise.race(this.#under);
      const one = this.#one(n).catch((error: unknown) => { this.refused.push(String(error)); });
      this.#under.add(one);
      void one.then(() => this.#under.delete(one));
    }
    await Promise.all(this.#under);
  }

  async #one(n: number): Promise<void> {
    // All of it is drawn at once: the order of answers changes nothing.
    const dice = this.#dice;
    const kind = dice.roll() < NOTE_SHARE ? 'publish-note' : dice.pick(OFTEN);
    const fault = dice.roll() < 0.2 ? { kind: dice.pick(PLATFORM_FAULTS), nth: 1 + dice.below(2), ms: 400 } : null;
    const failures = dice.roll() < 0.15 ? 1 : 0;
    const cancelAfterMs = dice.roll() < 0.25 ? dice.below(dice.roll() < 0.3 ? 50 : 6_000) : null;
    const twice = dice.roll() < 0.3;
    const note = dice.pick(NOTES);
    const id = uuidOf(`${String(n)}/${String(dice.roll())}`);
    if (fault !== null) await this.#told(() => this.platformOf(kind).admin.addFault({ ...fault, task: id }).then(() => { this.platformFaults += 1; }));
    const input = kind === 'publish-note' ? { note } : { n, failures };
    const enqueue = (): Promise<unknown> => this.#ask((door) => door.enqueue<unknown>(kind, input, { id, key: id, version: 1 }));
    await Promise.all(twice ? [enqueue(), enqueue()] : [enqueue()]);
    const accepted: Accepted = { id, kind, cancels: [] };
    this.accepted.set(id, accepted);
    if (cancelAfterMs === null) return;
    await wait(cancelAfterMs);
    accepted.cancels.push(await this.#ask((door, cancel) => door.cancel(id, { id: cancel, by: 'li', why: 'no longer wanted' })));
  }

  /** An operator who replays what is dead, as long as the rest goes on. */
  async replayDead(): Promise<number> {
    const { rows } = await this.#ask((door) => door.list({ status: 'dead', limit: 100 }));
    const dead = rows.filter(({ id }) => (this.accepted.get(id)?.cancels.length ?? 1) === 0);
    for (const { id } of dead) {
      await this.#ask((door, replay) => door.replay(id, { id: replay, by: 'operator:oda', why: 'the storm' })).then(
        () => { this.replays += 1; },
        // Refused where something is still open outside.
        () => undefined,
      );
    }
    return dead.length;
  }

  /** A reviewer who approves what asks for a person. */
  async approve(): Promise<void> {
    const { rows } = await this.#ask((door) => door.list({ type: 'publish-note', status: 'awaiting_receipt', limit: 100 }));
    for (const { id } of rows) {
      const steps = await this.#ask((door) => door.steps(id));
      if (!steps.some(({ name, state }) => name === 'review' && state === 'submitted')) continue;
      // Refused where a cancel came first.
      await this.#ask((door, decision) => door.decide(id, { id: decision, step: 'review', verdict: 'approved', by: 'mei', why: 'looks good' })).catch(() => undefined);
    }
  }

  /** Asks one API after the other until one of them answers; the action's id stays the same. */
  async #ask<T>(what: (door: ThroughlineHttpClient, id: string) => Promise<T>): Promise<T> {
    const id = randomUUID();
    const deadline = performance.now() + PATIENCE_MS;
    for (let tries = 0; ; tries += 1) {
      try {
        return await what(this.#all.door(tries), id);
      } catch (error) {
        if (!(error instanceof ThroughlineError) || !AGAIN.has(error.code) || performance.now() > deadline) throw error;
        this.asksAgain += 1;
        await wait(100 + Math.min(2_000, 100 * tries));
      }
    }
  }

  /** A platform that is being restarted hears it later. */
  async #told(what: () => Promise<void>): Promise<void> {
    for (let tries = 0; ; tries += 1) {
      try {
        await what();
        return;
      } catch (error) {
        if (tries > 100) throw error;
        await wait(200);
      }
    }
  }
}

function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
