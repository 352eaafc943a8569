/** How long a step waits for its next claim when its worker is killed, with nothing else broken. */
import { randomUUID } from 'node:crypto';
import { until } from '../support/waiting.ts';
import { LEASE_MS, type Seat, type Surroundings } from './surroundings.ts';

export interface Rescues {
  /** Claims that were lost with their worker. */
  readonly n: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly max_ms: number;
  /** What is promised at the 99th percentile: the lease and two seconds. */
  readonly bound_ms: number;
}

const AT_ONCE = 8;

/** Steps stand in their handlers on both workers; one of the workers is killed; what it held is claimed again. */
async function once(all: Surroundings, seat: Seat): Promise<number[]> {
  const ids = Array.from({ length: AT_ONCE }, () => randomUUID());
  await Promise.all(ids.map((id) => all.client.enqueue<unknown>('plain', { stand: ['start'] }, { id, key: id, version: 1 })));
  await Promise.all(ids.map((id) => all.hooks.reached(id, 'start')));
  const held = await all.ledger.query<{ task_id: string }>("select task_id from throughline.step where task_id = any($1) and state = 'leased' and holder = $2", [ids, seat.worker.holder]);
  const killed = Date.now();
  seat.worker.signal('SIGKILL');
  await seat.worker.ended;
  const took = await Promise.all(held.map(({ task_id: task }) => until('it is claimed again', async () => {
    const [row] = await all.ledger.query<{ at: Date | null }>("select min(at) as at from throughline.timeline where task_id = $1 and kind = 'transition' and event = 'claim' and epoch > 1", [task]);
    return row?.at !== null && row?.at !== undefined && row.at.getTime() - killed;
  })));
  for (const id of ids) all.hooks.release(id, 'start');
  seat.worker = await all.startWorker(seat);
  await Promise.all(ids.map((id) => all.client.waitFor(id, { timeoutMs: 60_000 })));
  return took;
}

export async function rescues(all: Surroundings, kills: number): Promise<Rescues> {
  const took: number[] = [];
  for (let n = 0; n < kills; n += 1) {
    const seat = all.seats[n % all.seats.length];
    if (seat !== undefined) took.push(...(await once(all, seat)));
  }
  took.sort((a, b) => a - b);
  const at = (share: number): number => took[Math.min(took.length - 1, Math.floor(share * took.length))] ?? 0;
  return { n: took.length, p50_ms: at(0.5), p99_ms: at(0.99), max_ms: took.at(-1) ?? 0, bound_ms: LEASE_MS + 2_000 };
}
