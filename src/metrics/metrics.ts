/** What one process measures, and what the ledger says of itself, for Prometheus. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { LedgerGauges } from '../ledger/index.ts';
import { LedgerCollector } from './ledger-gauges.ts';

/** No label has more values than this: whatever comes later is counted under one name together. */
export const LABEL_VALUES_MAX = 100;
export const OTHER = '_other';
/** Attempts take milliseconds to hours; waits for a claim are the same kind of number. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600];

/** Something that can be asked for the ledger's numbers; `Reader` can. */
export interface GaugeSource {
  gauges(windowMs: number): Promise<LedgerGauges>;
}

/**
 * The registry of a process. Counters are what this process did (sum them over processes); gauges named
 * `throughline_ledger_*` are read from the ledger at each scrape and are the same in each process (take the maximum).
 */
export class Metrics {
  readonly registry = new Registry();
  #ledger: LedgerCollector | undefined;
  readonly #names = new Map<string, Set<string>>();

  readonly claims: Counter<'type' | 'step' | 'after'>;
  readonly rescues: Counter<'type' | 'step'>;
  readonly attempts: Counter<'type' | 'step' | 'how'>;
  readonly failures: Counter<'type' | 'step' | 'category' | 'retryable'>;
  readonly claimWait: Histogram<'type'>;
  readonly attemptTime: Histogram<'type' | 'step'>;
  readonly leaseLosses: Counter<'call'>;
  readonly effects: Counter<'type' | 'effect' | 'outcome'>;
  readonly effectTime: Histogram<'type' | 'effect'>;
  readonly intentsRefused: Counter<'why'>;
  readonly checks: Counter<'kind' | 'result'>;
  readonly receipts: Counter<'kind' | 'verdict'>;
  readonly enqueued: Counter<'type' | 'created'>;
  readonly actions: Counter<'action' | 'verdict'>;
  readonly refusals: Counter<'code'>;
  readonly outbox: Counter<'result'>;
  readonly sweeps: Counter<'result'>;
  readonly drift: Counter<'result'>;
  readonly loopPasses: Counter<'loop' | 'result'>;
  readonly loopSeen: Gauge<'loop'>;

  constructor() {
    const registers = [this.registry];
    const counter = <L extends string>(name: string, help: string, labelNames: L[]): Counter<L> => new Counter({ name: `throughline_${name}`, help, labelNames, registers });
    const histogram = <L extends string>(name: string, help: string, labelNames: L[]): Histogram<L> => new Histogram({ name: `throughline_${name}`, help, labelNames, registers, buckets: SECONDS });
    this.claims = counter('claims_total', 'Claims that this process was granted; `after` is the reason for which the step was due.', ['type', 'step', 'after']);
    this.rescues = counter('rescues_total', 'Claims of steps whose earlier lease ran out.', ['type', 'step']);
    this.attempts = counter('attempts_total', 'Attempts that ended; `how`: done, submitted, review, boundary, failed, lost, release, fenced.', ['type', 'step', 'how']);
    this.failures = counter('attempt_failures_total', 'Failed attempts by category.', ['type', 'step', 'category', 'retryable']);
    this.claimWait = histogram('claim_wait_seconds', 'From when a step was due to its claim, by the ledger\'s clock.', ['type']);
    this.attemptTime = histogram('attempt_seconds', 'From claim to the end of the attempt.', ['type', 'step']);
    this.leaseLosses = counter('lease_losses_total', 'Claims that were somebody else\'s or nobody\'s when this process came back to them; `call` is where it was told.', ['call']);
    this.effects = counter('effects_total', 'Requests to the outside by outcome: confirmed, refused, not_sent, lost (no answer).', ['type', 'effect', 'outcome']);
    this.effectTime = histogram('effect_seconds', 'From the permission to the recorded outcome of a request.', ['type', 'effect']);
    this.intentsRefused = counter('intents_refused_total', 'Requests that were not permitted.', ['why']);
    this.checks = counter('checks_total', 'Looks at the outside and at proofs; `result` is what was found.', ['kind', 'result']);
    this.receipts = counter('receipts_total', 'Receipts and reviewers\' verdicts that this process took in, by judgement.', ['kind', 'verdict']);
    this.enqueued = counter('enqueued_total', 'Tasks that this process enqueued; created is false for a known key.', ['type', 'created']);
    this.actions = counter('actions_total', 'Cancels, withdrawals, abandoned waits and replays that this process took in, by answer.', ['action', 'verdict']);
    this.refusals = counter('api_refusals_total', 'Requests that this process refused: no or a bad token or signature, a role or type that is not the caller\'s, too many.', ['code']);
    this.outbox = counter('outbox_sends_total', 'Wake-ups by this process: sent, failed, parked.', ['result']);
    this.drift = counter('drift_results_total', 'Drivers that Temporal had lost, as this process found them: cancelled (a run was terminated), restarted, failing.', ['result']);
    this.sweeps = counter('sweeper_results_total', 'What this process\'s sweeper did: moved, judged, woken, busy, failed.', ['result']);
    this.loopPasses = counter('loop_passes_total', 'Passes of this process\'s loops: ok or failed.', ['loop', 'result']);
    this.loopSeen = new Gauge({ name: 'throughline_loop_last_success_timestamp_seconds', help: 'When a loop of this process last passed without failing.', labelNames: ['loop'], registers });
    collectDefaultMetrics({ register: this.registry });
  }

  /** From now on each scrape reads the ledger's gauges there. */
  readLedger(source: GaugeSource): void {
    this.#ledger ??= new LedgerCollector(this.registry, (value) => this.bounded('type', value));
    this.#ledger.source = source;
  }

  /** The exposition text. A ledger that is away costs its gauges, never the scrape: `throughline_ledger_up` is 0. */
  async text(): Promise<string> {
    await this.#ledger?.refresh();
    return await this.registry.metrics();
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  /** The value as a label, or `_other` once there are too many of its kind. */
  bounded(kind: string, value: string): string {
    let known = this.#names.get(kind);
    if (known === undefined) this.#names.set(kind, (known = new Set()));
    if (known.has(value)) return value;
    if (known.size >= LABEL_VALUES_MAX) return OTHER;
    known.add(value);
    return value;
  }
}
