/** A task's life told through the door: each method is one call that a client, worker, platform or person makes. */
import type { ActionRow, CancelAnswer, CheckResultAnswer, ClaimAnswer, EnqueueRow, IntentAnswer, OutcomeAnswer, OutcomeRow, ReceiptAnswer, ReceiptRow, ReplayAnswer, ReplayRow, SettleAnswer, SettleHow, SettleRow, Stored, WithdrawalAnswer, WithdrawalRecorded, WithdrawalRow } from '../../src/ledger/index.ts';
import type { Plan, RestState, View } from '../../src/state/index.ts';
import { digestOf, planOf, uuid, type Shape } from './factories.ts';
import type { Ledger, Row } from './ledger.ts';

export interface StepRow extends Row {
  readonly name: string;
  readonly state: RestState;
  readonly reason: string;
  readonly seq: string;
  readonly attempt: number;
  readonly charged: number;
  readonly epoch: string;
  readonly claim_id: string | null;
  readonly open_count: number;
  readonly cancel_id: string | null;
  readonly check_no: number;
  readonly checks_used: number;
  readonly result: Stored;
  readonly error: Stored;
}

export interface Entry extends Row {
  readonly id: string;
  readonly step: string | null;
  readonly kind: string;
  readonly event: string | null;
  readonly rule: string | null;
  readonly part: number | null;
  readonly from_state: string;
  readonly to_state: string;
  readonly reason: string | null;
  readonly attempt: number | null;
  readonly epoch: string | null;
  readonly actor: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

export interface Claim {
  readonly id: string;
  readonly epoch: number;
  readonly holder: string;
}

export const FAILURE = { category: 'unavailable', stage: 'execute', name: 'Error', message: 'the other side is away' } as const;
export const HOLDER = 'test-worker/1';

export class Tale {
  readonly ledger: Ledger;
  readonly task: string;
  /** The step that the story is about. */
  readonly step: string;
  /** The last claim, request and check. */
  claimed: Claim = { id: uuid(), epoch: 0, holder: HOLDER };
  message = '';
  messages: string[] = [];

  private constructor(ledger: Ledger, task: string, step: string) {
    this.ledger = ledger;
    this.task = task;
    this.step = step;
  }

  /** Registers the plan of the shapes and enqueues a task; the story is about its last step. */
  static async of(ledger: Ledger, shapes: Shape | readonly Shape[] = {}, enqueue: Partial<EnqueueRow> = {}): Promise<Tale> {
    const plan = planOf(...(Array.isArray(shapes) ? (shapes as readonly Shape[]) : [shapes as Shape]));
    await register(ledger, plan);
    const task = uuid();
    const input = { note: 'hello' };
    await ledger.door.taskEnqueue({ type: plan.type, id: task, input, digest: digestOf(input), digests: {}, by: 'service:test', ...enqueue });
    return new Tale(ledger, task, plan.steps.at(-1)?.name ?? '');
  }

  /** A task that is there already. */
  static told(ledger: Ledger, task: string, step: string): Tale {
    return new Tale(ledger, task, step);
  }

  /** The same task, told about another step. */
  about(step: string): Tale {
    return new Tale(this.ledger, this.task, step);
  }

  // ---- What is
  async row(): Promise<StepRow> {
    const [row] = await this.ledger.query<StepRow>('select * from throughline.step where task_id = $1 and name = $2', [this.task, this.step]);
    if (row === undefined) throw new Error(`no step ${this.step}`);
    return row;
  }
  async state(): Promise<RestState> {
    return (await this.row()).state;
  }
  async taskRow(): Promise<Row> {
    return (await this.ledger.query('select * from throughline.task where id = $1', [this.task]))[0] ?? {};
  }
  /** The task's timeline in order. */
  timeline(after = '0'): Promise<Entry[]> {
    return this.ledger.query<Entry>('select * from throughline.timeline where task_id = $1 and id > $2 order by id', [this.task, after]);
  }
  effects(): Promise<Row[]> {
    return this.ledger.query('select * from throughline.effect where task_id = $1 and step = $2 order by id', [this.task, this.step]);
  }
  look(): Promise<View> {
    return this.ledger.door.taskLook(this.task, 'run');
  }

  // ---- Time
  pass(ms: number): Promise<void> {
    return this.ledger.shiftClock(ms);
  }
  /** Lets time pass until a column of the step is reached, if it is ahead. */
  async until(column: 'next_run_at' | 'lease_expires_at' | 'next_check_at' | 'check_expires_at' | 'receipt_due_at' | 'withdraw_due_at' | 'withdraw_expires_at'): Promise<void> {
    const [row] = await this.ledger.query<{ ms: string | null }>(`select ceil(extract(epoch from ${column} - throughline.now()) * 1000) as ms from throughline.step where task_id = $1 and name = $2`, [this.task, this.step]);
    const ms = Number(row?.ms ?? 0);
    if (ms >= 0) await this.pass(ms + 1);
  }

  // ---- Attempts
  async tryClaim(holder = HOLDER): Promise<ClaimAnswer> {
    const id = uuid();
    const answer = await this.ledger.door.stepClaim(this.task, this.step, id, holder);
    if ('claimed' in answer) this.claimed = { id, epoch: answer.epoch, holder };
    return answer;
  }
  /** Claims when due. */
  async claim(holder = HOLDER): Promise<this> {
    await this.until('next_run_at');
    const answer = await this.tryClaim(holder);
    if (!('claimed' in answer)) throw new Error(`claim refused: ${JSON.stringify(answer)}`);
    return this;
  }
  trySettle(how: SettleHow, more: Partial<SettleRow> = {}): Promise<SettleAnswer> {
    const { id, epoch, holder } = this.claimed;
    return this.ledger.door.stepSettle(this.task, this.step, { claim: id, epoch, holder, how, ...more });
  }
  async settle(how: SettleHow, more: Partial<SettleRow> = {}): Promise<this> {
    const answer = await this.trySettle(how, more);
    if (!('settled' in answer)) throw new Error(`settle refused: ${JSON.stringify(answer)}`);
    return this;
  }
  done(result: Stored = { url: 'https://example.org/1' }): Promise<this> {
    return this.settle('done', { result });
  }
  fail(retryable = true, more: Partial<SettleRow> = {}): Promise<this> {
    return this.settle('failed', { retryable, error: FAILURE, ...more });
  }
  /** The worker is gone and the lease runs out. */
  async expire(): Promise<this> {
    await this.until('lease_expires_at');
    await this.look();
    return this;
  }

  // ---- Effects
  async tryIntend(name = 'post', item = '', digest = 'd1'): Promise<IntentAnswer> {
    const message = uuid();
    const answer = await this.ledger.door.effectIntend(this.task, this.step, { claim: this.claimed.id, message_id: message, name, item, digest });
    if ('permitted' in answer) {
      this.message = message;
      this.messages.push(message);
    }
    return answer;
  }
  async intend(name = 'post', item = '', digest = 'd1'): Promise<this> {
    const answer = await this.tryIntend(name, item, digest);
    if (!('permitted' in answer)) throw new Error(`intent refused: ${JSON.stringify(answer)}`);
    return this;
  }
  tryOutcome(outcome: OutcomeRow['outcome'], more: Partial<OutcomeRow> = {}): Promise<OutcomeAnswer> {
    return this.ledger.door.effectOutcome(this.task, this.step, {
      claim: this.claimed.id, holder: this.claimed.holder, message_id: this.message, outcome,
      ...(outcome === 'confirmed' ? { external_id: 'ext-1', result: { url: 'https://example.org/1' } } : {}), ...more,
    });
  }
  async outcome(outcome: OutcomeRow['outcome'], more: Partial<OutcomeRow> = {}): Promise<this> {
    await this.tryOutcome(outcome, more);
    return this;
  }
  async confirmed(name = 'post', item = ''): Promise<this> {
    await this.intend(name, item);
    return this.outcome('confirmed');
  }

  // ---- Receipts
  receipt(kind: ReceiptRow['kind'], more: Partial<ReceiptRow> = {}): Promise<ReceiptAnswer> {
    const row = { delivery_id: uuid(), sender: 'platform', task: this.task, step: this.step, thread_id: `${this.task}/${this.step}`, in_reply_to: this.message, kind, ...more };
    return this.ledger.door.receiptPut({ ...row, digest: digestOf(row) });
  }
  async receives(kind: ReceiptRow['kind'], more: Partial<ReceiptRow> = {}): Promise<this> {
    const { verdict } = await this.receipt(kind, more);
    if (verdict === null || !['matched', 'early', 'late_after_timeout'].includes(verdict)) throw new Error(`receipt is ${String(verdict)}`);
    return this;
  }
  decide(verdict: 'opened' | 'approved' | 'rejected', by = 'ann', more: { id?: string } = {}): Promise<ReceiptAnswer> {
    const row = { id: uuid(), step: this.step, by, why: 'read it', verdict, ...more };
    return this.ledger.door.reviewDecide(this.task, { ...row, digest: digestOf(row) });
  }
  /** A review's handler asks its question in our own inbox. */
  async asks(review: SettleRow['review'] = {}): Promise<this> {
    await this.settle('review', { review });
    const [request] = await this.ledger.query<{ message_id: string }>('select message_id from throughline.request where task_id = $1 and step = $2 order by intent_at desc limit 1', [this.task, this.step]);
    this.message = request?.message_id ?? '';
    return this;
  }
  async overdue(): Promise<this> {
    await this.until('receipt_due_at');
    await this.look();
    return this;
  }

  // ---- Checks
  async tryCheck(answer: 'present' | 'completed' | 'absent' | 'unknown'): Promise<CheckResultAnswer> {
    await this.until('next_check_at');
    const check = uuid();
    const claim = await this.ledger.door.checkClaim(this.task, this.step, check, 10_000, HOLDER);
    if (!('check' in claim)) throw new Error(`check refused: ${JSON.stringify(claim)}`);
    return this.ledger.door.probeResult(this.task, this.step, {
      check, check_no: claim.check_no, effect_id: claim.subject?.id ?? uuid(), answer, holder: HOLDER,
      ...(answer === 'present' || answer === 'completed' ? { external_id: 'ext-1', result: { url: 'https://example.org/1' } } : {}),
    });
  }
  async probe(...answers: readonly ('present' | 'completed' | 'absent' | 'unknown')[]): Promise<this> {
    for (const answer of answers) {
      const result = await this.tryCheck(answer);
      if (!('recorded' in result)) throw new Error(`probe refused: ${JSON.stringify(result)}`);
    }
    return this;
  }
  async accept(found: boolean | null = true, ours: boolean | null = found, minimum: boolean | null = ours): Promise<this> {
    await this.until('next_check_at');
    const check = uuid();
    const claim = await this.ledger.door.checkClaim(this.task, this.step, check, 10_000, HOLDER);
    if (!('check' in claim)) throw new Error(`check refused: ${JSON.stringify(claim)}`);
    const result = await this.ledger.door.acceptResult(this.task, this.step, { check, check_no: claim.check_no, found, ours, minimum, holder: HOLDER });
    if (!('recorded' in result)) throw new Error(`acceptance refused: ${JSON.stringify(result)}`);
    return this;
  }

  // ---- People
  cancel(more: Partial<ActionRow> = {}): Promise<CancelAnswer> {
    return this.ledger.door.taskCancel(this.task, { id: uuid(), by: 'user:eve', why: 'changed my mind', ...more });
  }
  async cancels(): Promise<this> {
    await this.cancel();
    return this;
  }
  withdraw(more: Partial<ActionRow> = {}): Promise<CancelAnswer> {
    return this.ledger.door.taskWithdraw(this.task, { id: uuid(), by: 'user:eve', why: 'a mistake', step: this.step, ...more });
  }
  async withdraws(): Promise<this> {
    await this.withdraw();
    return this;
  }
  /** The last withdrawal's request that was sent. */
  withdrawal = '';
  async tryTakeBack(holder = HOLDER): Promise<WithdrawalAnswer> {
    await this.until('withdraw_due_at');
    const answer = await this.ledger.door.withdrawalClaim(this.task, this.step, uuid(), holder);
    if ('claimed' in answer) this.withdrawal = answer.message_id;
    return answer;
  }
  /** A worker takes the withdrawal, and has permission to send it. */
  async takesBack(): Promise<this> {
    const answer = await this.tryTakeBack();
    if (!('claimed' in answer)) throw new Error(`withdrawal refused: ${JSON.stringify(answer)}`);
    return this;
  }
  answers(outcome: WithdrawalRow['outcome'], more: Partial<WithdrawalRow> = {}): Promise<WithdrawalRecorded> {
    return this.ledger.door.withdrawalOutcome(this.task, this.step, { message_id: this.withdrawal, holder: HOLDER, outcome, ...more });
  }
  /** The withdrawal is sent, and has this outcome. */
  async withdrawalIs(outcome: WithdrawalRow['outcome'], more: Partial<WithdrawalRow> = {}): Promise<this> {
    await this.takesBack();
    await this.answers(outcome, more);
    return this;
  }
  async abandons(): Promise<this> {
    await this.ledger.door.waitAbandon(this.task, { id: uuid(), by: 'user:eve', why: 'no time', step: this.step });
    return this;
  }
  replay(more: Partial<ReplayRow> = {}): Promise<ReplayAnswer> {
    return this.ledger.door.taskReplay(this.task, { id: uuid(), by: 'operator:oda', why: 'fixed the cause', step: this.step, ...more });
  }
  async replays(more: Partial<ReplayRow> = {}): Promise<this> {
    await this.replay(more);
    return this;
  }
  async confirms(present: boolean, effect = 'post', item = ''): Promise<this> {
    await this.ledger.door.effectConfirm(this.task, {
      id: uuid(), step: this.step, effect, item, present, evidence: 'looked at the page', by: 'operator:oda', why: 'asked by phone', ...(present ? { external_id: 'ext-1' } : {}),
    });
    return this;
  }
}

export const register = (ledger: Ledger, plan: Plan): Promise<unknown> =>
  ledger.door.typeRegister({ type: plan.type, version: plan.version, plan, plan_digest: digestOf(plan), input_bytes_max: 262_144, by: 'test' });
