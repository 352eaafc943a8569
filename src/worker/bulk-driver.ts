import type { Logger } from 'pino';
import type { Bulks, BulkTurn } from '../ledger/index.ts';
import type { Metrics } from '../metrics/index.ts';
import { LIMITS } from '../state/index.ts';

/** Drives bulk replays and cancels that were applied: any number of drivers may run, the ledger keeps pace and items. */
export class BulkDriver {
  readonly #bulks: Bulks;
  readonly #log: Logger;
  readonly #metrics: Metrics | undefined;

  constructor(options: { readonly bulks: Bulks; readonly log: Logger; readonly metrics?: Metrics }) {
    this.#bulks = options.bulks;
    this.#log = options.log;
    this.#metrics = options.metrics;
  }

  /** One bounded turn of the bulk that has been due longest. Throws if the ledger can't be reached. */
  async runOnce(): Promise<BulkTurn> {
    const turn = await this.#bulks.bulkAdvance(null, LIMITS.bulk_batch_rows, { patienceMs: 0 });
    const { bulk, taken } = turn;
    if (bulk === null) return turn;
    for (const verdict of ['done', 'refused'] as const) {
      const items = turn[verdict] ?? 0;
      if (items > 0) this.#metrics?.actions.inc({ action: `bulk_${bulk.kind}`, verdict }, items);
    }
    if (bulk.status === 'done') this.#log.info({ bulk: bulk.id, kind: bulk.kind, counts: bulk.counts }, 'a bulk is done');
    else this.#log.debug({ bulk: bulk.id, kind: bulk.kind, taken, counts: bulk.counts }, 'a turn of a bulk');
    return turn;
  }
}
