/** The ledger's own numbers as gauges: one bounded read for each scrape. */
import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import type { LedgerGauges } from '../ledger/index.ts';
import type { GaugeSource } from './metrics.ts';

/** What ended, and receipts, are counted this far back. */
export const WINDOW_MS = 3_600_000;
/** Several scrapers share one read of this age. */
const FRESH_MS = 1_000;

const LABELLED: ReadonlySet<string> = new Set(['tasks', 'ended', 'queued', 'oldest', 'dead', 'receipts', 'outbox', 'leases']);

type Gauges = ReturnType<typeof createGauges>;

function createGauges(registry: Registry) {
  const gauge = <L extends string>(name: string, help: string, labelNames: L[]): Gauge<L> => new Gauge({ name: `throughline_ledger_${name}`, help, labelNames, registers: [registry] });
  return {
    up: gauge('up', '1 if the ledger answered this scrape, else 0 and the other gauges are missing.', []),
    tasks: gauge('tasks', 'Tasks that are open or dead, by type and status.', ['type', 'status']),
    ended: gauge('tasks_ended_last_hour', 'Tasks that came to rest within the last hour, by type and status.', ['type', 'status']),
    queued: gauge('queued_steps', 'Steps that are due and that nobody holds.', ['type']),
    oldest: gauge('oldest_queued_seconds', 'How long the oldest due step has waited.', ['type']),
    unconfirmed: gauge('unconfirmed_steps', 'Steps of which it is not known whether they acted outside.', []),
    unconfirmedAge: gauge('oldest_unconfirmed_seconds', 'How long the oldest of them has been so.', []),
    dead: gauge('dead_steps', 'Steps that need a person, by reason.', ['reason']),
    deadAge: gauge('oldest_dead_seconds', 'How long the oldest of them has been so.', []),
    receipts: gauge('receipts_last_hour', 'Receipts of the last hour by verdict; unjudged: stored, not judged yet.', ['verdict']),
    outbox: gauge('outbox_rows', 'Wake-ups that wait to be sent (waiting) or for a person (parked).', ['state']),
    outboxLag: gauge('outbox_lag_seconds', 'How long the oldest due wake-up has waited to be sent.', []),
    cancels: gauge('overdue_cancels', 'Cancels without a verdict past their deadline.', []),
    overdue: gauge('overdue_receipts', 'Steps whose receipt or review is overdue and that nobody has moved on yet.', []),
    leases: gauge('leases', 'Leases: held, and of those expired but not rescued yet.', ['state']),
    workers: gauge('workers', 'Worker processes that showed themselves lately and are not stopping.', []),
    skew: gauge('worker_clock_skew_seconds', 'The largest difference of a worker\'s clock from the ledger\'s.', []),
    truncated: gauge('truncated', '1 if there was more than the bounded read looks at: counts are the least that there are.', []),
  };
}

export class LedgerCollector {
  source: GaugeSource | null = null;
  readonly #gauges: Gauges;
  readonly #type: (type: string) => string;
  #at = -Infinity;
  #reading: Promise<void> | undefined;

  constructor(registry: Registry, type: (type: string) => string) {
    this.#gauges = createGauges(registry);
    this.#type = type;
  }

  async refresh(): Promise<void> {
    if (this.source === null || performance.now() - this.#at < FRESH_MS) return;
    this.#reading ??= this.#read(this.source).finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
  }

  async #read(source: GaugeSource): Promise<void> {
    const read = await source.gauges(WINDOW_MS).catch(() => null);
    // A value that is not read any more must not be taken for the present one.
    for (const gauge of Object.values(this.#gauges)) gauge.reset();
    if (read === null) {
      // Those without labels have a value as soon as they exist.
      const { up: _, ...plain } = Object.fromEntries(Object.entries(this.#gauges).filter(([name]) => !LABELLED.has(name)));
      for (const gauge of Object.values(plain)) gauge.remove();
      this.#gauges.up.set(0);
      return;
    }
    this.#set(read);
    this.#at = performance.now();
  }

  #set(read: LedgerGauges): void {
    const g = this.#gauges;
    const seconds = (ms: number): number => ms / 1_000;
    g.up.set(1);
    for (const { type, status, tasks } of read.tasks) g.tasks.inc({ type: this.#type(type), status }, tasks);
    for (const { type, status, tasks } of read.ended) g.ended.inc({ type: this.#type(type), status }, tasks);
    const oldest = new Map<string, number>();
    for (const { type, steps, oldest_ms: age } of read.queued) {
      const label = this.#type(type);
      g.queued.inc({ type: label }, steps);
      oldest.set(label, Math.max(oldest.get(label) ?? 0, seconds(age)));
    }
    for (const [type, age] of oldest) g.oldest.set({ type }, age);
    const unconfirmed = read.troubled.filter(({ state }) => state === 'unconfirmed');
    const dead = read.troubled.filter(({ state }) => state === 'dead');
    const oldestOf = (rows: LedgerGauges['troubled']): number => seconds(Math.max(0, ...rows.map((row) => row.oldest_ms)));
    g.unconfirmed.set(unconfirmed.reduce((sum, { steps }) => sum + steps, 0));
    g.unconfirmedAge.set(oldestOf(unconfirmed));
    for (const { reason, steps } of dead) g.dead.inc({ reason }, steps);
    g.deadAge.set(oldestOf(dead));
    for (const { verdict, receipts } of read.receipts) g.receipts.set({ verdict }, receipts);
    g.outbox.set({ state: 'waiting' }, read.outbox.waiting);
    g.outbox.set({ state: 'parked' }, read.outbox.parked);
    g.outboxLag.set(seconds(read.outbox.lag_ms));
    g.cancels.set(read.cancels_overdue);
    g.overdue.set(read.receipts_overdue);
    g.leases.set({ state: 'held' }, read.leases.held);
    g.leases.set({ state: 'expired' }, read.leases.expired);
    g.workers.set(read.workers.seen);
    g.skew.set(seconds(read.workers.clock_skew_ms));
    g.truncated.set(read.truncated ? 1 : 0);
  }
}
