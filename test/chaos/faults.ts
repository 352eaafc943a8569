/** What is broken, and how: each fault of the processes and the ways between them, from its beginning to its end. */
import { execFile } from 'node:child_process';
import { rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { FAILPOINTS } from '../../src/failpoint.ts';
import type { Dice } from './dice.ts';
import { LEASE_MS, type Seat, type Surroundings, type WorkerOptions } from './surroundings.ts';

/** A worker that was killed, or stood still, or a server or way that was away. Times by this machine's clock, ms. */
export interface Struck {
  readonly fault: FaultName;
  readonly from: number;
  readonly to: number;
  /** The worker that died or stood still. */
  readonly holder?: string;
}

/** Faults that one worker has at a time, and those of what all share. */
export const OF_WORKERS = ['worker_killed', 'worker_killed_at_point', 'worker_frozen', 'worker_deployed', 'worker_clock_wrong', 'worker_heap_small'] as const;
export const OF_SURROUNDINGS = [
  'api_killed', 'api_frozen', 'postgres_crashed', 'postgres_restarted', 'postgres_connections_cut', 'postgres_away', 'answer_lost_after_commit', 'temporal_connections_cut', 'temporal_away', 'temporal_killed', 'temporal_store_lost',
  'platform_killed', 'artifact_disk_full',
] as const;
export type FaultName = (typeof OF_WORKERS)[number] | (typeof OF_SURROUNDINGS)[number];

/** Calls whose answer is lost after the ledger did what they say. */
const CALLS = ['step_claim', 'effect_intend', 'effect_outcome', 'step_settle', 'check_claim', 'probe_result', 'accept_result', 'outbox_take', 'outbox_sent', 'lease_renew', 'task_look', 'task_enqueue', 'task_cancel'] as const;
const run = promisify(execFile);

export class Faults {
  readonly struck: Struck[] = [];
  /** Deaths by failpoint, by its name. */
  readonly points: Record<string, number> = {};
  readonly #all: Surroundings;
  readonly #dice: Dice;
  readonly #log: (line: string) => void;
  /** The next of each kind, so that every one comes up. */
  #turn = { worker: 0, around: 0 };

  constructor(all: Surroundings, dice: Dice, log: (line: string) => void) {
    this.#all = all;
    this.#dice = dice;
    this.#log = log;
  }

  /** One fault of a worker, to its end; both seats have theirs in turn. */
  async worker(seat: Seat): Promise<void> {
    await this.#strike(this.#next(OF_WORKERS, 'worker'), seat);
  }

  /** One of the others. */
  async around(): Promise<void> {
    const seat = this.#all.seats[this.#dice.below(this.#all.seats.length)];
    if (seat !== undefined) await this.#strike(this.#next(OF_SURROUNDINGS, 'around'), seat);
  }

  /** Half of the time the next in turn, else any: all come up, in no order that repeats. */
  #next<T extends FaultName>(from: readonly [T, ...T[]], lane: 'worker' | 'around'): T {
    const at = this.#dice.roll() < 0.5 ? this.#turn[lane]++ % from.length : this.#dice.below(from.length);
    return from[at] ?? from[0];
  }

  async #strike(fault: FaultName, seat: Seat): Promise<void> {
    const { holder } = seat.worker;
    const from = Date.now();
    const about = await this[fault](seat);
    const to = Date.now();
    this.struck.push({ fault, from, to, ...(fault.startsWith('worker_') ? { holder } : {}) });
    this.#log(`${fault} (${String(to - from)} ms)${about === undefined ? '' : `: ${about}`}`);
  }

  async #replace(seat: Seat, options: WorkerOptions = {}): Promise<void> {
    // While a server is away, it does not start.
    for (let tries = 0; tries < 60; tries += 1) {
      try {
        seat.worker = await this.#all.startWorker(seat, options);
        return;
      } catch (error) {
        if (tries === 59) throw error;
        await wait(500);
      }
    }
  }

  async #kill(seat: Seat): Promise<void> {
    seat.worker.signal('SIGKILL');
    await seat.worker.ended;
  }

  async worker_killed(seat: Seat): Promise<void> {
    await this.#kill(seat);
    await wait(this.#dice.below(2_000));
    await this.#replace(seat);
  }

  /** Its successor is one that dies at a named point, if it comes by; then the next one stays. */
  async worker_killed_at_point(seat: Seat): Promise<string> {
    await this.#kill(seat);
    const point = FAILPOINTS[this.#dice.below(FAILPOINTS.length)] ?? '';
    await this.#replace(seat, { failpoint: `${point}:${String(1 + this.#dice.below(6))}` }).catch(() => undefined);
    const died = await Promise.race([seat.worker.ended, wait(6_000).then(() => null)]);
    if (died?.signal === 'SIGKILL') this.points[point] = (this.points[point] ?? 0) + 1;
    await this.#kill(seat);
    await this.#replace(seat);
    return died === null ? `${point} was not passed` : point;
  }

  /** For less than a lease, or for more. */
  async worker_frozen(seat: Seat): Promise<void> {
    seat.worker.signal('SIGSTOP');
    await wait(300 + this.#dice.below(LEASE_MS * 2));
    seat.worker.signal('SIGCONT');
  }

  /** A new one is started before the old one is asked to stop. */
  async worker_deployed(seat: Seat): Promise<string> {
    const old = seat.worker;
    await this.#replace(seat);
    old.signal('SIGTERM');
    const ended = await Promise.race([old.ended, wait(30_000).then(() => null)]);
    if (ended === null) {
      old.signal('SIGKILL');
      return 'did not stop within 30 s';
    }
    return `ended with ${String(ended.code ?? ended.signal)}`;
  }

  async worker_clock_wrong(seat: Seat): Promise<void> {
    await this.#kill(seat);
    await this.#replace(seat, { clockMs: Math.round((this.#dice.roll() - 0.5) * 2 * 3_600_000) });
    await wait(1_000 + this.#dice.below(2_000));
  }

  /** Too little memory for its work: it slows down, and may die of it. */
  async worker_heap_small(seat: Seat): Promise<string> {
    await this.#kill(seat);
    const heapMb = 34 + this.#dice.below(30);
    const tight = await this.#all.startWorker(seat, { heapMb }).catch(() => null);
    const died = tight === null ? 'at its start' : await Promise.race([tight.ended.then(({ code, signal }) => String(signal ?? code)), wait(4_000).then(() => null)]);
    tight?.signal('SIGKILL');
    await tight?.ended;
    await this.#replace(seat);
    return `${String(heapMb)} MB, ${died === null ? 'it lived' : `it died (${died})`}`;
  }

  async api_killed(): Promise<void> {
    await this.#all.restartApi(this.#dice.below(2));
  }

  async api_frozen(): Promise<void> {
    const api = this.#all.apis[this.#dice.below(2)];
    api?.child.kill('SIGSTOP');
    await wait(500 + this.#dice.below(2_500));
    api?.child.kill('SIGCONT');
  }

  async postgres_crashed(): Promise<void> {
    await this.#all.restartPostgres('SIGQUIT');
  }

  async postgres_restarted(): Promise<void> {
    await this.#all.restartPostgres('SIGINT');
  }

  async postgres_connections_cut(seat: Seat): Promise<void> {
    const way = this.#dice.roll() < 0.3 ? this.#all.apiPostgres : seat.postgres;
    way.cut();
    way.restore();
  }

  async postgres_away(seat: Seat): Promise<void> {
    seat.postgres.cut();
    await wait(500 + this.#dice.below(LEASE_MS * 2));
    seat.postgres.restore();
  }

  /** The ledger has done what was asked; whoever asked never hears of it. */
  async answer_lost_after_commit(seat: Seat): Promise<string> {
    const call = this.#dice.pick(CALLS);
    const way = call.startsWith('task_') && call !== 'task_look' ? this.#all.apiPostgres : seat.postgres;
    const held = way.hold({ call, when: 'after' });
    const reached = await Promise.race([held.reached.then(() => true), wait(4_000).then(() => false)]);
    if (reached) {
      // Its answer is held by the proxy, and is lost with the connection.
      way.cut();
      way.restore();
    }
    held.release();
    return reached ? call : `${call} was not made`;
  }

  async temporal_connections_cut({ temporal }: Seat): Promise<void> {
    temporal.cut();
    temporal.restore();
  }

  async temporal_away({ temporal }: Seat): Promise<void> {
    temporal.cut();
    await wait(500 + this.#dice.below(5_000));
    temporal.restore();
  }

  async temporal_killed(): Promise<void> {
    await this.#all.restartTemporal(true);
  }

  async temporal_store_lost(): Promise<void> {
    await this.#all.restartTemporal(false);
  }

  async platform_killed(): Promise<void> {
    await this.#all.restartPlatform(this.#dice.roll() < 0.5 ? 'platform' : 'keyless');
  }

  /** The artifacts lie on a file system of their own, where that can be made; it is filled to its last byte. */
  async artifact_disk_full(): Promise<string> {
    const { artifacts } = this.#all;
    const own = await run('mountpoint', ['-q', artifacts]).then(() => true, () => false);
    if (!own) return 'no file system of its own';
    const { bavail, bsize } = await statfs(artifacts);
    const file = join(artifacts, 'filler');
    // Too much is written, so that the last byte is taken, too.
    await writeFile(file, Buffer.alloc(bavail * bsize + 1)).catch(() => undefined);
    await wait(1_000 + this.#dice.below(3_000));
    await rm(file, { force: true });
    return 'full';
  }
}
