/** Records by hand: a task's life as rows, without a ledger. The test of the ledger itself proves that it writes such rows. */
import { atRest, rollUp, type ReasonCode, type RestState, type StepEvent } from '../../src/state/index.ts';
import type { AcceptanceRow, CancelRecord, ReceiptRecord, Stored, StepRow, TaskRecord, TimelineRow, TouchRow } from '../../src/ledger/index.ts';

export const TASK = '0195d2a0-0000-7000-8000-000000000001';
const START = Date.parse('2026-03-14T03:00:00.000Z');
const SECOND = 1_000;
const WORKER = 'host-1/4711/boot-9';

const iso = (ms: number): string => new Date(ms).toISOString();

type Writable<T> = { -readonly [K in keyof T]: T[K] };
export type Step = Writable<StepRow>;

interface Move {
  readonly event?: StepEvent | 'manual_correction';
  /** The attempt's own end, written through `failed`. */
  readonly via?: ReasonCode;
  readonly facts?: TimelineRow['facts'];
  readonly actor?: string;
  readonly row?: Partial<StepRow>;
}

export class Life {
  now = START;
  readonly steps: Step[];
  readonly timeline: TimelineRow[] = [];
  readonly touches: Writable<TouchRow>[] = [];
  readonly receipts: ReceiptRecord[] = [];
  readonly cancels: CancelRecord[] = [];
  readonly acceptances: AcceptanceRow[] = [];
  artifacts: TaskRecord['artifacts'] = [];
  task: Partial<TaskRecord['task']> = { driver_seen_at: iso(START), driver_run_id: 'run-1' };
  outbox: TaskRecord['outbox'] = null;
  offers = 1;
  workers = 2;
  #ids = 0;
  #messages = 0;

  /** Steps in order, each needing the one before. */
  constructor(steps: readonly (Partial<StepRow> & { readonly name: string })[] = [RENDER, PUBLISH]) {
    this.#log({ kind: 'parent', from_state: 'none', to_state: 'queued', reason: 'new_task', actor: 'service:notes', facts: { type: 'publish-note', version: 2, key: 'note-17' } });
    this.steps = steps.map((step, ordinal) => {
      const needs = ordinal === 0 ? [] : [steps[ordinal - 1]?.name ?? ''];
      const state: RestState = ordinal === 0 ? 'queued' : 'waiting';
      const seq = this.#log({ kind: 'transition', step: step.name, event: 'enqueue', rule: 'enqueue.free', from_state: 'none', to_state: state, reason: 'new_task', actor: 'service:notes', attempt: 0, epoch: 0 });
      return { ...BLANK, ordinal, needs, state, seq, since: iso(this.now), next_run_at: iso(this.now), ...step };
    });
  }

  #log(entry: Partial<TimelineRow> & Pick<TimelineRow, 'kind' | 'actor'>): number {
    this.#ids += 1;
    this.timeline.push({ id: this.#ids, step: null, at: iso(this.now), event: null, rule: null, from_state: '-', to_state: '-', reason: null, attempt: null, epoch: null, facts: {}, ...entry });
    return this.#ids;
  }

  row(name: string): Step {
    const row = this.steps.find((step) => step.name === name);
    if (row === undefined) throw new Error(`no step ${name}`);
    return row;
  }

  /** `seconds` from now, as the ledger writes it. */
  at(seconds = 0): string {
    return iso(this.now + seconds * SECOND);
  }
  pass(seconds: number): this {
    this.now += seconds * SECOND;
    return this;
  }
  log(entry: Partial<TimelineRow> & Pick<TimelineRow, 'kind' | 'actor'>): this {
    this.#log(entry);
    return this;
  }

  /** A transition: written to the timeline, and to the step's row. */
  enter(name: string, to: RestState, reason: ReasonCode, { event = 'claim', via, facts = {}, actor = `worker:${WORKER}`, row: more = {} }: Move = {}): this {
    const row = this.row(name);
    const common = { kind: 'transition', step: name, event, rule: 'by-hand', actor, attempt: row.attempt, epoch: row.epoch } as const;
    if (via !== undefined) this.#log({ ...common, from_state: row.state, to_state: 'failed', reason: via, facts });
    const seq = this.#log({ ...common, from_state: via === undefined ? row.state : 'failed', to_state: to, reason, facts: via === undefined ? facts : {} });
    const entering = row.state !== to;
    Object.assign(row, { state: to, seq, reason, ...(entering ? { since: iso(this.now), holder: null, lease_expires_at: null, next_check_at: null, receipt_due_at: null } : {}), ...more });
    return this;
  }
  claim(name: string): this {
    const row = this.row(name);
    row.attempt += 1;
    row.charged += 1;
    row.epoch += 1;
    return this.enter(name, 'leased', 'claimed', { row: { holder: WORKER, lease_expires_at: this.at(15) } });
  }
  fail(name: string, to: 'queued' | 'dead', reason: ReasonCode, error: StepRow['error'] = TIMEOUT): this {
    const facts: TimelineRow['facts'] = error === null ? {} : { category: error.category, stage: error.stage, message: error.message };
    return this.enter(name, to, reason, { event: 'settle_failed', via: 'attempt_failed', facts, row: { error, next_run_at: this.at(to === 'queued' ? 12 : 0) } });
  }
  /** The step has done what the next one needs. */
  succeed(name: string): this {
    const row = this.row(name);
    if (row.attempt === 0) this.claim(name).pass(1);
    this.enter(name, 'completed', 'attempt_completed', { event: 'settle_done' });
    return this.accepted(name);
  }
  accepted(name: string): this {
    const row = this.row(name);
    row.check_no += 1;
    this.check(name, true);
    this.enter(name, 'succeeded', 'proof_accepted', { event: 'accepted', facts: { check_no: row.check_no, found: true, ours: true, minimum: true } });
    for (const next of this.steps) {
      if (next.needs.includes(name) && next.state === 'waiting') this.enter(next.name, 'queued', 'upstream_succeeded', { event: 'upstream_succeeded', actor: 'driver' });
    }
    return this;
  }
  check(name: string, found: boolean | null, ours: boolean | null = found, minimum: boolean | null = ours): this {
    this.acceptances.push({ step: name, check_no: this.row(name).check_no, at: iso(this.now), found, ours, minimum, detail: { evidence: { read: 'https://notes.example/17', sha256: '9f86d081' } } });
    return this;
  }

  send(name: string, effect: string, item = '', more: Partial<TouchRow> = {}): string {
    const row = this.row(name);
    this.#messages += 1;
    const message = `0195d2a0-1111-7000-8000-${String(this.#messages).padStart(12, '0')}`;
    const submits = effect === 'post' || effect === 'request';
    this.touches.push({
      step: name, effect, item, generation: 1, kind: effect === 'withdraw' ? 'withdrawal' : 'effect', sent: true, key: `${TASK}/${name}/${effect}/${item}/1`, thread_id: `${TASK}/${name}`, message_id: message, submits, live: true,
      attempt: row.attempt, epoch: row.epoch, intent_at: iso(this.now), outcome: null, outcome_at: null, late: false, external_id: null, done: false, dedupe_window_ms: 3_600_000, ...more,
    });
    row.open_count += 1;
    return this.#said('intent', message, { key: 'k', submits, inbox: row.inbox });
  }
  answer(message: string, outcome: NonNullable<TouchRow['outcome']>, more: Partial<TouchRow> = {}): this {
    const touch = this.touches.find(({ message_id: id }) => id === message);
    if (touch === undefined) throw new Error('no such message');
    Object.assign(touch, { outcome, outcome_at: iso(this.now), ...more });
    const row = this.row(touch.step);
    row.open_count -= 1;
    this.#said('outcome', message, { outcome, late: touch.late, external_id: touch.external_id, inbox: row.inbox });
    return this;
  }
  #said(kind: 'intent' | 'outcome', message: string, facts: Record<string, Stored>): string {
    const touch = this.touches.find(({ message_id: id }) => id === message);
    if (touch !== undefined) {
      this.#log({ kind, step: touch.step, actor: `worker:${WORKER}`, attempt: touch.attempt, epoch: touch.epoch, facts: { effect: touch.effect, item: touch.item, generation: 1, message_id: message, ...facts } });
    }
    return message;
  }
  /** Two pictures are up, and the body's call is under way. */
  sendAll(name = 'publish'): string {
    for (const item of ['p1', 'p2']) this.answer(this.send(name, 'picture', item), 'confirmed', { external_id: `pic-${item}` });
    return this.send(name, 'post');
  }

  receipt(name: string, kind: ReceiptRecord['kind'], verdict: ReceiptRecord['verdict'], more: Partial<ReceiptRecord> = {}): this {
    const id = `0195d2a0-2222-7000-8000-${String(this.receipts.length + 1).padStart(12, '0')}`;
    const row: ReceiptRecord = {
      id, delivery_id: `d-${String(this.receipts.length + 1)}`, sender: 'notes.example', step: name, kind, thread_id: `${TASK}/${name}`, in_reply_to: this.touches.at(-1)?.message_id ?? null,
      as_sent: null, external_id: 'post-17', code: null, received_at: iso(this.now), deliveries: 1, verdict, verdict_facts: {}, applied_at: verdict === 'matched' ? iso(this.now) : null, body: {}, ...more,
    };
    this.receipts.push(row);
    if (verdict !== null) this.#log({ kind: 'receipt', step: name, actor: `platform:${row.sender}`, facts: { receipt: id, receipt_kind: kind, verdict, external_id: row.external_id } });
    return this;
  }

  cancel(name: string, verdict: CancelRecord['steps'][number]['verdict'], reason: ReasonCode | null, more: Partial<CancelRecord> & { readonly found?: RestState } = {}): this {
    const { found, ...rest } = more;
    const row = this.row(name);
    const pending = verdict === 'pending';
    const cancel: CancelRecord = {
      id: `cancel-${String(this.cancels.length + 1)}`, verb: 'cancel', step: name, by: 'user:mei', why: 'wrong picture', at: iso(this.now),
      steps: [{
        step: name, follows: null, found: found ?? row.state, verdict, reason, verdict_at: pending ? null : iso(this.now), deadline_at: pending ? this.at(600) : null,
        in_flight: this.touches.filter(({ step, outcome }) => step === name && outcome === null).map(({ effect, item, message_id, attempt }) => ({ effect, item, message_id, attempt })),
      }],
      ...rest,
    };
    this.cancels.push(cancel);
    this.#log({ kind: 'cancel', step: name, actor: cancel.by, facts: { cancel: cancel.id, verb: cancel.verb, why: cancel.why } });
    return this;
  }
  /** The open verdicts of a step are answered. */
  answered(name: string, verdict: CancelRecord['steps'][number]['verdict'], reason: ReasonCode): this {
    for (const [index, cancel] of this.cancels.entries()) {
      const steps = cancel.steps.map((step) => (step.step === name ? { ...step, verdict, reason, verdict_at: iso(this.now), deadline_at: null } : step));
      this.cancels[index] = { ...cancel, steps };
    }
    return this;
  }

  record(): TaskRecord {
    const states = this.steps.map(({ state }) => state);
    const status = rollUp(states);
    const rest = atRest(states);
    const held = this.steps.find(({ state }) => rollUp([state]) === status) ?? this.steps[0];
    const seq = this.#ids;
    if (rest) this.#log({ kind: 'parent', actor: 'driver', from_state: 'running', to_state: status, reason: held?.reason ?? null, facts: { at_rest: true } });
    return {
      as_of: iso(this.now),
      task: {
        id: TASK, type: 'publish-note', version: 2, key: 'note-17', input: {}, status, at_rest: rest, reason: held?.reason ?? 'new_task', held_by: status === 'succeeded' ? null : (held?.name ?? null), seq,
        since: held?.since ?? iso(START), deadline_at: null, created_at: iso(START), created_by: 'service:notes', ended_at: rest ? iso(this.now) : null, again_of: null, again_as: null, priority: null, fairness_key: null, fairness_weight: null,
        driver_seen_at: null, driver_run_id: null, driver_restarts: 0, ...this.task,
      },
      steps: this.steps, timeline: this.timeline, touches: this.touches, receipts: this.receipts, cancels: this.cancels, artifacts: this.artifacts, acceptances: this.acceptances,
      outbox: this.outbox, offers: this.offers, workers: this.workers,
    };
  }
}

export const TIMEOUT: StepRow['error'] = { category: 'timeout', stage: 'receive', name: 'TimeoutError', message: 'no answer within 10 s' };

const BLANK: Omit<StepRow, 'name' | 'ordinal' | 'needs' | 'state' | 'seq' | 'since' | 'next_run_at'> = {
  kind: 'run', reason: 'new_task', reentrant: true, attempts_max: 3, has_receipt: false, inbox: false, has_probe: false, has_withdraw: false, withdraw_due_at: null, withdraw_expires_at: null, checks_max: 3, attempt: 0, charged: 0, resume: false, epoch: 0,
  holder: null, lease_expires_at: null, open_count: 0, cancel_id: null, check_no: 0, checks_used: 0, next_check_at: null, receipt_due_at: null, proof_since: false, resend_until: null, result: null, error: null,
};

export const RENDER = { name: 'render' } as const;
export const REVIEW = { name: 'review', kind: 'review', inbox: true, has_receipt: true } as const;
export const PUBLISH = { name: 'publish', has_receipt: true, has_probe: true } as const;
