/**
 * Everything around the ledger is broken for some minutes, at a fixed seed, while users start tasks, cancel some and
 * replay what died. Then nothing is broken any more, everything comes to rest, and the books are compared. The seed
 * decides what is done and when; how far each process has come by then depends on the machine.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { diceOf } from './dice.ts';
import { Faults, OF_SURROUNDINGS, OF_WORKERS, type FaultName } from './faults.ts';
import { Load } from './load.ts';
import { rescues, type Rescues } from './rescue.ts';
import { Surroundings } from './surroundings.ts';
import { verdictOf, type Verdict } from './verdict.ts';

export interface ChaosOptions {
  readonly seed: number;
  readonly minutes: number;
  readonly tasks: number;
  /** Workers that are killed afterwards, with nothing else broken, to see how long a rescue takes. */
  readonly kills: number;
  readonly log?: (line: string) => void;
}

export interface ChaosReport extends Verdict {
  readonly seed: number;
  readonly tasks: number;
  readonly faults: { readonly total: number; readonly by_name: Readonly<Record<FaultName, number>>; readonly points: Readonly<Record<string, number>>; readonly of_platforms: number };
  readonly users: { readonly asked_again: number; readonly cancels: number; readonly replays: number; readonly refused: readonly string[] };
  readonly rescues: Rescues;
  readonly came_to_rest_ms: number;
  readonly took_ms: number;
}

/** Everything must have come to rest so long after the last fault. */
const REST_WITHIN_MS = 300_000;

export async function chaos({ seed, minutes, tasks, kills, log = () => undefined }: ChaosOptions): Promise<ChaosReport> {
  const began = performance.now();
  const all = await Surroundings.open();
  try {
    const faults = new Faults(all, diceOf(seed, 'faults'), log);
    const load = new Load(all, diceOf(seed, 'load'));
    const ms = minutes * 60_000;
    const end = performance.now() + ms;
    const storm = new AbortController();
    const pauses = diceOf(seed, 'pauses');
    // Both workers at once, and what all share; within each lane one after the other.
    const lanes = [
      ...all.seats.map((seat) => () => faults.worker(seat)),
      () => faults.around(),
    ].map(async (strike) => {
      while (performance.now() < end) {
        await wait(200 + pauses.below(1_500));
        await strike();
      }
    });
    const people = (async () => {
      while (!storm.signal.aborted) {
        await wait(3_000);
        await Promise.all([load.replayDead(), load.approve()]).catch((error: unknown) => { log(`a person was refused: ${String(error)}`); });
      }
    })();
    await Promise.all([load.run(tasks, ms), ...lanes]);
    storm.abort();
    await people;
    const calm = performance.now();
    log('the storm is over');
    await rest(all, load, log);
    const came_to_rest_ms = Math.round(performance.now() - calm);
    const rescued = await rescues(all, kills);
    const verdict = await verdictOf(all, load, faults.struck);
    const by_name = Object.fromEntries([...OF_WORKERS, ...OF_SURROUNDINGS].map((name) => [name, faults.struck.filter(({ fault }) => fault === name).length])) as Record<FaultName, number>;
    return {
      seed, tasks: load.accepted.size,
      faults: { total: faults.struck.length + load.platformFaults, by_name, points: faults.points, of_platforms: load.platformFaults },
      users: { asked_again: load.asksAgain, cancels: [...load.accepted.values()].reduce((sum, { cancels }) => sum + cancels.length, 0), replays: load.replays, refused: load.refused },
      ...verdict, rescues: rescued, came_to_rest_ms, took_ms: Math.round(performance.now() - began),
    };
  } finally {
    await all.close();
  }
}

/** Until nothing is open and nothing more can be replayed. */
async function rest(all: Surroundings, load: Load, log: (line: string) => void): Promise<void> {
  const deadline = performance.now() + REST_WITHIN_MS;
  let said = 0;
  while (performance.now() < deadline) {
    const [row] = await all.ledger.query<{ n: number }>('select count(*)::int as n from throughline.task where not at_rest');
    const open = row?.n ?? 0;
    await load.approve();
    if (open === 0) {
      const before = load.replays;
      await load.replayDead();
      if (load.replays === before) return;
    }
    if (performance.now() - said > 10_000) {
      said = performance.now();
      log(`${String(open)} tasks are open`);
    }
    await wait(500);
  }
}

/** What must not be, in words; empty: all promises were kept. */
export function broken(report: ChaosReport): string[] {
  const { lost, false_successes: successes, broken_cancels: cancels, duplicates, disagreements, audit, users } = report;
  return [
    ...lost.map((one) => `lost: ${one}`), ...successes.map((one) => `false success: ${one}`), ...cancels.map((one) => `cancel: ${one}`),
    ...duplicates.with_keys.map((one) => `twice, with keys: ${one}`), ...duplicates.without_keys.map((one) => `twice, without keys: ${one}`),
    ...disagreements.map((one) => `books: ${one}`), ...Object.entries(audit).map(([code, rows]) => `audit: ${code} ${JSON.stringify(rows)}`), ...users.refused.map((one) => `refused: ${one}`),
  ];
}
