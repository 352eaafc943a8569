/** The door with an eye on it: everything that execution and clients decide passes here, so here it is counted. */
import { Door } from '../ledger/index.ts';
import type {
  AcceptRow, CancelAnswer, CheckResultAnswer, ClaimAnswer, Database, Enqueued, EnqueueRow, IntentAnswer, IntentRow, OutcomeAnswer, OutcomeRow, ProbeRow, ReceiptAnswer, ReceiptRow,
  RenewAnswer, ReplayAnswer, SettleAnswer, SettleRow,
} from '../ledger/index.ts';
import type { Metrics } from './metrics.ts';

interface Watched {
  readonly type: string;
  readonly step: string;
  readonly since: number;
  /** Requests without an outcome, by message id. */
  readonly requests: Map<string, { readonly effect: string; readonly since: number }>;
}

const secondsSince = (since: number): number => (performance.now() - since) / 1_000;

/** Counts answers, changes none. A repeated call (its answer was lost) is counted once where the ledger says so. */
export class ObservedDoor extends Door {
  readonly #metrics: Metrics;
  /** Claims that this process holds. */
  readonly #claims = new Map<string, Watched>();

  constructor(database: Database, metrics: Metrics) {
    super(database);
    this.#metrics = metrics;
  }

  override async taskEnqueue(row: EnqueueRow, options: Parameters<Door['taskEnqueue']>[1] = {}): Promise<Enqueued> {
    const answer = await super.taskEnqueue(row, options);
    this.#metrics.enqueued.inc({ type: this.#metrics.bounded('type', row.type), created: String(answer.created) });
    return answer;
  }

  override async taskEnqueueBatch(...args: Parameters<Door['taskEnqueueBatch']>): ReturnType<Door['taskEnqueueBatch']> {
    const answers = await super.taskEnqueueBatch(...args);
    for (const [at, answer] of answers.entries()) {
      if (!('error' in answer)) this.#metrics.enqueued.inc({ type: this.#metrics.bounded('type', args[0].rows[at]?.type ?? ''), created: String(answer.created) });
    }
    return answers;
  }

  override async stepClaim(...args: Parameters<Door['stepClaim']>): Promise<ClaimAnswer> {
    const answer = await super.stepClaim(...args);
    const [, step, claim] = args;
    if (!('claimed' in answer) || this.#claims.has(claim)) return answer;
    const type = this.#metrics.bounded('type', answer.type);
    const after = answer.after ?? 'unknown';
    this.#claims.set(claim, { type, step, since: performance.now(), requests: new Map() });
    this.#metrics.claims.inc({ type, step, after });
    if (after.startsWith('lease_expired')) this.#metrics.rescues.inc({ type, step });
    if (answer.waited_ms !== undefined) this.#metrics.claimWait.observe({ type }, Math.max(0, answer.waited_ms) / 1_000);
    return answer;
  }

  override async leaseRenew(...args: Parameters<Door['leaseRenew']>): Promise<RenewAnswer> {
    const answer = await super.leaseRenew(...args);
    if ('refused' in answer) this.#lost(args[2], 'renew');
    return answer;
  }

  override async checkpointPut(...args: Parameters<Door['checkpointPut']>): ReturnType<Door['checkpointPut']> {
    const answer = await super.checkpointPut(...args);
    if ('refused' in answer) this.#lost(args[2], 'checkpoint');
    return answer;
  }

  override async artifactPut(...args: Parameters<Door['artifactPut']>): ReturnType<Door['artifactPut']> {
    const answer = await super.artifactPut(...args);
    if ('refused' in answer) this.#lost(args[2], 'artifact');
    return answer;
  }

  override async effectIntend(task: string, step: string, row: IntentRow, options?: Parameters<Door['effectIntend']>[3]): Promise<IntentAnswer> {
    const answer = await super.effectIntend(task, step, row, options);
    if ('permitted' in answer) this.#claims.get(row.claim)?.requests.set(row.message_id, { effect: row.name, since: performance.now() });
    else if ('refused' in answer && answer.refused === 'fenced') this.#lost(row.claim, 'intent');
    else if ('refused' in answer) this.#metrics.intentsRefused.inc({ why: answer.refused });
    return answer;
  }

  override async effectOutcome(task: string, step: string, row: OutcomeRow, options?: Parameters<Door['effectOutcome']>[3]): Promise<OutcomeAnswer> {
    const answer = await super.effectOutcome(task, step, row, options);
    const claim = this.#claims.get(row.claim);
    const request = claim?.requests.get(row.message_id);
    if (claim !== undefined && request !== undefined) {
      claim.requests.delete(row.message_id);
      this.#metrics.effects.inc({ type: claim.type, effect: request.effect, outcome: row.outcome });
      this.#metrics.effectTime.observe({ type: claim.type, effect: request.effect }, secondsSince(request.since));
    }
    if (answer.late === true) this.#lost(row.claim, 'outcome');
    return answer;
  }

  override async stepSettle(task: string, step: string, row: SettleRow, options?: Parameters<Door['stepSettle']>[3]): Promise<SettleAnswer> {
    const answer = await super.stepSettle(task, step, row, options);
    if ('refused' in answer && answer.refused === 'fenced') {
      this.#lost(row.claim, 'settle');
      return answer;
    }
    const claim = this.#end(row.claim, row.how);
    if (claim !== undefined && row.error !== undefined) {
      this.#metrics.failures.inc({ type: claim.type, step, category: row.error.category, retryable: String(row.retryable ?? false) });
    }
    return answer;
  }

  override async probeResult(task: string, step: string, row: ProbeRow, options?: Parameters<Door['probeResult']>[3]): Promise<CheckResultAnswer> {
    const answer = await super.probeResult(task, step, row, options);
    this.#metrics.checks.inc({ kind: 'probe', result: 'refused' in answer ? 'not_current' : row.answer });
    return answer;
  }

  override async acceptResult(task: string, step: string, row: AcceptRow, options?: Parameters<Door['acceptResult']>[3]): Promise<CheckResultAnswer> {
    const answer = await super.acceptResult(task, step, row, options);
    const verdict = row.found === null ? 'unknown' : row.found && row.ours !== false && row.minimum !== false ? 'accepted' : 'rejected';
    this.#metrics.checks.inc({ kind: 'accept', result: 'refused' in answer ? 'not_current' : verdict });
    return answer;
  }

  override async receiptPut(row: ReceiptRow): Promise<ReceiptAnswer> {
    return this.#judged(row.kind, await super.receiptPut(row));
  }

  override async reviewDecide(...args: Parameters<Door['reviewDecide']>): Promise<ReceiptAnswer> {
    return this.#judged('review', await super.reviewDecide(...args));
  }

  override async taskCancel(...args: Parameters<Door['taskCancel']>): Promise<CancelAnswer> {
    return this.#answered('cancel', await super.taskCancel(...args));
  }

  override async taskWithdraw(...args: Parameters<Door['taskWithdraw']>): Promise<CancelAnswer> {
    return this.#answered('withdraw', await super.taskWithdraw(...args));
  }

  override async waitAbandon(...args: Parameters<Door['waitAbandon']>): Promise<CancelAnswer> {
    return this.#answered('abandon_wait', await super.waitAbandon(...args));
  }

  override async taskReplay(...args: Parameters<Door['taskReplay']>): Promise<ReplayAnswer> {
    const answer = await super.taskReplay(...args);
    if (answer.repeated !== true) for (const { replayed } of answer.steps) this.#metrics.actions.inc({ action: 'replay', verdict: replayed ? 'replayed' : 'refused' });
    return answer;
  }

  override async outboxSent(...args: Parameters<Door['outboxSent']>): Promise<number> {
    const deleted = await super.outboxSent(...args);
    this.#metrics.outbox.inc({ result: 'sent' }, args[0].length);
    return deleted;
  }

  override async outboxFailed(...args: Parameters<Door['outboxFailed']>): ReturnType<Door['outboxFailed']> {
    const answer = await super.outboxFailed(...args);
    this.#metrics.outbox.inc({ result: answer.parked ? 'parked' : 'failed' });
    return answer;
  }

  #judged(kind: string, answer: ReceiptAnswer): ReceiptAnswer {
    if (answer.repeated !== true) this.#metrics.receipts.inc({ kind, verdict: answer.verdict ?? 'unjudged' });
    return answer;
  }

  #answered(action: string, answer: CancelAnswer): CancelAnswer {
    if (answer.repeated !== true) this.#metrics.actions.inc({ action, verdict: answer.verdict });
    return answer;
  }

  /** Once for each claim, wherever it is told first. */
  #lost(claim: string, call: string): void {
    if (this.#end(claim, 'fenced') !== undefined) this.#metrics.leaseLosses.inc({ call });
  }

  /** What still has no outcome then has no answer. */
  #end(claim: string, how: string): Watched | undefined {
    const watched = this.#claims.get(claim);
    if (watched === undefined) return undefined;
    this.#claims.delete(claim);
    const { type, step, since, requests } = watched;
    this.#metrics.attempts.inc({ type, step, how });
    this.#metrics.attemptTime.observe({ type, step }, secondsSince(since));
    for (const { effect } of requests.values()) this.#metrics.effects.inc({ type, effect, outcome: 'lost' });
    return watched;
  }
}
