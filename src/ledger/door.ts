/**
 * The one door to the ledger: a method for each server-side function of src/ledger/sql, of the same name. Each
 * is one round trip in autocommit (or one statement in the caller's own transaction), idempotent by the ids
 * that it is given, and answers with what is, whether or not it changed anything. Throws ThroughlineError.
 */
import { LIMITS } from '../state/index.ts';
import type { View } from '../state/index.ts';
import type { Database, Queryable } from './database.ts';
import type {
  AcceptRow, ActionRow, BatchRows, CancelAnswer, CheckAnswer, CheckResultAnswer, ClaimAnswer, ConfirmAnswer, ConfirmRow, CorrectAnswer, CorrectRow, DriftRow, DueWake, Enqueued, EnqueueRow, Fenced, IntentAnswer, IntentRow,
  OutcomeAnswer, OutcomeRow, ProbeRow, ReceiptAnswer, ReceiptRow, Refused, RematchAnswer, RematchRow, RenewAnswer, ReplayAnswer, ReplayRow, SettleAnswer, SettleRow, Stored, TypeRow, UnparkAnswer,
  WithdrawalAnswer, WithdrawalRecorded, WithdrawalRow,
} from './types.ts';

interface CallOptions {
  /** The caller's own transaction. */
  readonly tx?: Queryable;
  /** How long an unreachable ledger is waited for, ms. */
  readonly patienceMs?: number;
}

const withoutUndefined = (row: object): object => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined));

export class Door {
  readonly #db: Database;

  constructor(database: Database) {
    this.#db = database;
  }

  // ---- Tasks
  typeRegister(row: TypeRow): Promise<{ registered: true }> {
    return this.#db.call('type_register', [row]);
  }

  taskEnqueue(row: EnqueueRow, options: CallOptions = {}): Promise<Enqueued> {
    return this.#db.call('task_enqueue', [withoutUndefined(row)], options);
  }

  /** Many at once; each row's answer or refusal, in their order. Throws only where the whole call failed. */
  taskEnqueueBatch(batch: BatchRows, options: CallOptions = {}): Promise<readonly (Enqueued | Refused)[]> {
    return this.#db.call('task_enqueue_batch', [{ rows: batch.rows.map(withoutUndefined), again: batch.again }], options);
  }

  /** The driver's question: does what is due without a worker, and answers with the view. */
  taskLook(task: string, runId: string | null, options: CallOptions = {}): Promise<View> {
    return this.#db.call('task_look', [task, runId], options);
  }

  // ---- Attempts
  stepClaim(task: string, step: string, claim: string, holder: string, options: CallOptions = {}): Promise<ClaimAnswer> {
    return this.#db.call('step_claim', [task, step, claim, holder], options);
  }

  leaseRenew(task: string, step: string, claim: string, leaseMs: number, gap: boolean, holder: string, options: CallOptions = {}): Promise<RenewAnswer> {
    return this.#db.call('lease_renew', [task, step, claim, leaseMs, gap, holder], options);
  }

  checkpointPut(task: string, step: string, claim: string, name: string, value: Stored, max: number, options: CallOptions = {}): Promise<{ value: Stored } | Fenced> {
    return this.#db.call('checkpoint_put', [task, step, claim, name, JSON.stringify(value), max], options);
  }

  /** `leaving`: this content is being removed from the store; store it once more, then ask again. */
  artifactPut(task: string, step: string, claim: string, artifact: { name: string; sha256: string; uri: string; media_type: string; bytes: number }, max: number, options: CallOptions = {}): Promise<{ stored: true } | { leaving: true } | Fenced> {
    return this.#db.call('artifact_put', [task, step, claim, artifact, max], options);
  }

  stepSettle(task: string, step: string, row: SettleRow, options: CallOptions = {}): Promise<SettleAnswer> {
    return this.#db.call('step_settle', [task, step, withoutUndefined(row)], options);
  }

  // ---- Effects
  effectIntend(task: string, step: string, row: IntentRow, options: CallOptions = {}): Promise<IntentAnswer> {
    return this.#db.call('effect_intend', [task, step, row], options);
  }

  effectOutcome(task: string, step: string, row: OutcomeRow, options: CallOptions = {}): Promise<OutcomeAnswer> {
    return this.#db.call('effect_outcome', [task, step, withoutUndefined(row)], options);
  }

  // ---- Receipts and reviews
  receiptPut(row: ReceiptRow): Promise<ReceiptAnswer> {
    return this.#db.call('receipt_put', [withoutUndefined(row)]);
  }

  receiptRematch(task: string, row: RematchRow): Promise<RematchAnswer> {
    return this.#db.call('receipt_rematch', [task, withoutUndefined(row)]);
  }

  reviewDecide(task: string, row: { id: string; step: string; by: string; why?: string; verdict: 'opened' | 'approved' | 'rejected'; message_id?: string; digest: string }): Promise<ReceiptAnswer> {
    return this.#db.call('review_decide', [task, withoutUndefined(row)]);
  }

  // ---- Cancel, withdraw, abandon wait
  taskCancel(task: string, row: ActionRow): Promise<CancelAnswer> {
    return this.#db.call('task_cancel', [task, withoutUndefined(row)]);
  }

  taskWithdraw(task: string, row: ActionRow): Promise<CancelAnswer> {
    return this.#db.call('task_withdraw', [task, withoutUndefined(row)]);
  }

  withdrawalClaim(task: string, step: string, claim: string, holder: string, options: CallOptions = {}): Promise<WithdrawalAnswer> {
    return this.#db.call('withdrawal_claim', [task, step, claim, holder], options);
  }

  withdrawalOutcome(task: string, step: string, row: WithdrawalRow, options: CallOptions = {}): Promise<WithdrawalRecorded> {
    return this.#db.call('withdrawal_outcome', [task, step, withoutUndefined(row)], options);
  }

  waitAbandon(task: string, row: ActionRow & { readonly step?: string }): Promise<CancelAnswer> {
    return this.#db.call('wait_abandon', [task, row]);
  }

  // ---- Checks
  checkClaim(task: string, step: string, check: string, holdMs: number, holder: string, options: CallOptions = {}): Promise<CheckAnswer> {
    return this.#db.call('check_claim', [task, step, check, holdMs, holder], options);
  }

  probeResult(task: string, step: string, row: ProbeRow, options: CallOptions = {}): Promise<CheckResultAnswer> {
    return this.#db.call('probe_result', [task, step, withoutUndefined(row)], options);
  }

  acceptResult(task: string, step: string, row: AcceptRow, options: CallOptions = {}): Promise<CheckResultAnswer> {
    return this.#db.call('accept_result', [task, step, withoutUndefined(row)], options);
  }

  // ---- Persons
  taskReplay(task: string, row: ReplayRow): Promise<ReplayAnswer> {
    return this.#db.call('task_replay', [task, withoutUndefined(row)]);
  }

  effectConfirm(task: string, row: ConfirmRow): Promise<ConfirmAnswer> {
    return this.#db.call('effect_confirm', [task, withoutUndefined(row)]);
  }

  timelineCorrect(task: string, row: CorrectRow): Promise<CorrectAnswer> {
    return this.#db.call('timeline_correct', [task, withoutUndefined(row)]);
  }

  outboxUnpark(task: string, row: { id?: string; by: string; why: string }): Promise<UnparkAnswer> {
    return this.#db.call('outbox_unpark', [task, withoutUndefined(row)]);
  }

  // ---- Loops of the worker
  outboxTake(limit: number, holdMs: number): Promise<readonly DueWake[]> {
    return this.#db.call('outbox_take', [limit, holdMs], { patienceMs: 0 });
  }

  outboxSent(rows: readonly { task: string; version: number }[]): Promise<number> {
    return this.#db.call('outbox_sent', [JSON.stringify(rows)], { patienceMs: 0 });
  }

  outboxFailed(task: string, error: string, retryMs: number, counts: boolean, attemptsMax: number): Promise<{ parked: boolean; attempts: number }> {
    return this.#db.call('outbox_failed', [task, error, retryMs, counts, attemptsMax], { patienceMs: 0 });
  }

  sweepDue(limit: number, silenceMs: number): Promise<readonly string[]> {
    return this.#db.call('sweep_due', [limit, silenceMs], { patienceMs: 0 });
  }

  taskSweep(task: string, holder: string, silenceMs: number, wakeMaxMs: number = LIMITS.driver_wake_ms_max): Promise<{ moves?: number; judged?: number; woken?: boolean; busy?: true }> {
    return this.#db.call('task_sweep', [task, holder, silenceMs, wakeMaxMs], { patienceMs: 0 });
  }

  sweepMark(): Promise<{ readonly mark: number }> {
    return this.#db.call('sweep_report', [null, '']);
  }

  sweepReport(after: number, actor: string): Promise<{ readonly moves: Readonly<Record<string, number>>; readonly wakeups_waiting: number; readonly wakeups_parked: number }> {
    return this.#db.call('sweep_report', [after, actor]);
  }

  driftTake(limit: number, quietMs: number, cycleMs: number): Promise<{ readonly tasks: readonly DriftRow[]; readonly ended: boolean }> {
    return this.#db.call('drift_take', [limit, quietMs, cycleMs], { patienceMs: 0 });
  }

  driftTurn(intervalMs: number): Promise<{ readonly turn: false } | { readonly turn: true; readonly since: string; readonly now: string }> {
    return this.#db.call('drift_turn', [intervalMs], { patienceMs: 0 });
  }

  driftLooked(to: string): Promise<{ readonly looked: boolean }> {
    return this.#db.call('drift_looked', [to], { patienceMs: 0 });
  }

  driverLost(task: string, row: { status: string; run_id: string | null; seen_at: string | null; by: string }): Promise<{ restarted: boolean; restarts?: number; failing?: boolean }> {
    return this.#db.call('driver_lost', [task, row, LIMITS.driver_restart_ms, LIMITS.driver_restart_ms_max, LIMITS.driver_restarts_max], { patienceMs: 0 });
  }

  workerSeen(id: string, offers: readonly { type: string; version: number }[], queue: string, clockMs: number, stopping: boolean): Promise<{ clock_skew_ms: number }> {
    return this.#db.call('worker_seen', [id, JSON.stringify(offers), queue, Math.round(clockMs), stopping], { patienceMs: 0 });
  }
}
