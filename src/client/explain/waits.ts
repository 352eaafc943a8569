/** What a step waits for, whether it will run again, and what a reader may do: by its state, from rows alone. */
import { isSuccess, next } from '../../state/index.ts';
import type { Facts, ReasonCode, RestState, StepEvent } from '../../state/index.ts';
import type { ActionCode, RunAnswer, RunCode, WaitCode } from './codes.ts';
import type { StepWords } from './phrases.ts';
import { effectsOf, overdue, reached } from './reading.ts';
import type { Reading, StepReading } from './reading.ts';
import type { NextAction, RunAgain, Waiting } from './types.ts';
import { joined, moment, name, said } from './words.ts';

type ByState<T> = Readonly<Record<RestState, (s: StepReading, r: Reading) => T>>;
interface Due<Code> {
  readonly on: Code;
  readonly at: string | null;
}

const due = <Code>(on: Code, at: string | null = null): Due<Code> => ({ on, at });

/** The later of the due moment and now is what counts: a passed one is due. */
const ahead = (iso: string | null, asOf: string): string | null => (reached(iso, asOf) ? null : iso);

const held = ({ row, leaseOver }: StepReading, on: WaitCode): Due<WaitCode> => due(leaseOver ? 'rescue' : on, row.lease_expires_at);
const outside = ({ row }: StepReading, review: WaitCode): Due<WaitCode> => due(row.inbox ? review : 'receipt', row.receipt_due_at);
/** It is being taken back: a withdrawal is to be sent, or its answer is out. */
const takenBack = ({ row }: StepReading): Due<WaitCode> | null => {
  if (row.withdraw_expires_at !== null) return due('withdrawal', row.withdraw_expires_at);
  return row.withdraw_due_at === null ? null : due('withdrawal_due', row.withdraw_due_at);
};
const canLook = ({ row }: StepReading): boolean => row.has_probe && row.checks_used < row.checks_max && row.next_check_at !== null;
const canResend = ({ row, facts }: StepReading, asOf: string): boolean => facts.resendable && !reached(row.resend_until, row.next_run_at > asOf ? row.next_run_at : asOf);

/** Ends that are a person's decision: nothing broke. */
export const DECISIONS: ReadonlySet<ReasonCode> = new Set<ReasonCode>(['review_rejected']);

const WAITS: ByState<Due<WaitCode>> = {
  waiting: ({ dead }) => due(dead === null ? 'upstream' : 'dead_upstream'),
  queued: ({ row }, r) => {
    if (r.parked) return due('unpark');
    if (r.handOver) return due('hand_over', ahead(row.next_run_at, r.asOf));
    if (r.noWorker) return due('worker', ahead(row.next_run_at, r.asOf));
    if (!reached(row.next_run_at, r.asOf)) return due('due_time', row.next_run_at);
    return due(overdue(row.next_run_at, r.asOf) ? 'overdue' : 'claim', row.next_run_at);
  },
  leased: (s) => held(s, 'attempt'),
  cancel_requested: (s) => held(s, 'boundary'),
  submitted: (s) => takenBack(s) ?? outside(s, 'review'),
  received: (s) => takenBack(s) ?? outside(s, 'review_verdict'),
  in_progress: (s) => takenBack(s) ?? outside(s, 'review_verdict'),
  unconfirmed: (s, r) => {
    const back = takenBack(s);
    if (back !== null) return back;
    if (canResend(s, r.asOf)) return due('same_key', s.row.next_run_at);
    return canLook(s) ? due('look', s.row.next_check_at) : due('evidence');
  },
  completed: ({ row }) => due('proof_check', row.next_check_at),
  succeeded: () => due('nothing'),
  cancelled: () => due('nothing'),
  dead: ({ why }) => due(DECISIONS.has(why) ? 'decided' : 'person'),
};

/** The one of a passed moment; for all others a passed moment is "now". */
const SPEAKS_OF_THE_PAST: ReadonlySet<WaitCode> = new Set(['overdue', 'rescue']);
/** What only a driver and a worker bring about. */
const NEEDS_WORKER: ReadonlySet<WaitCode> = new Set(['same_key', 'look', 'proof_check', 'rescue', 'withdrawal_due']);

export function wordsOf(s: StepReading, r: Reading, at: string | null = null, past = false): StepWords {
  const { row } = s;
  const when = at === null || (!past && reached(at, r.asOf)) ? null : moment(r.p, at, r.asOf);
  return {
    step: name(row.name), made: row.attempt, charged: row.charged, left: s.left, max: row.attempts_max, when, holder: name(row.holder ?? '-'), needs: r.p.list(s.unmet), dead: s.dead ?? '',
    offer: r.offer, open: effectsOf(r, s.open), error: said(r.record.outbox?.last_error ?? null, 200), successor: r.record.task.again_as ?? '',
  };
}

export function waitOf(s: StepReading, r: Reading): Waiting {
  const { on, at } = WAITS[s.row.state](s, r);
  const words = wordsOf(s, r, at, SPEAKS_OF_THE_PAST.has(on));
  const stuck = NEEDS_WORKER.has(on) && (r.parked ? r.p.waits.unpark(words) : r.noWorker && noWorkerClause(r));
  return { on, at, sentence: joined(r.p, [r.p.waits[on](words), stuck]) };
}

export const noWorkerClause = (r: Reading): string => r.p.drivers[r.record.workers === 0 ? 'no_workers' : 'no_worker']({ offer: r.offer, step: '', ago: '', tries: 0, restarts: 0, error: '' });

// ---- Will it run again? ---------------------------------------------------------------------------
interface Run extends Due<RunCode> {
  readonly answer: RunAnswer;
  readonly rule: string | null;
}

const run = (answer: RunAnswer, on: RunCode, rule: string | null = null, at: string | null = null): Run => ({ answer, on, rule, at });

/** The label of the machine's row for an event that may come; null: it refuses. */
function ruleFor(s: StepReading, event: StepEvent, more: Partial<Facts> = {}): string | null {
  const verdict = next(s.row.state, event, { ...s.facts, ...more });
  return 'rule' in verdict ? verdict.rule.label : null;
}

const attemptsUsed = (): Run => run('no', 'attempts_used');
const cancelSet = (): Run => run('no', 'cancel_set');

function runOutside(s: StepReading): Run {
  if (s.facts.cancel) return cancelSet();
  if (s.row.inbox) return run('no', 'review', ruleFor(s, 'receipt_completed'));
  return s.left === 0 ? attemptsUsed() : run('depends', 'receipt', ruleFor(s, 'receipt_failed', { open: false, retryable: true }));
}

const REPLAYS: Readonly<Record<string, RunCode>> = { replay: 'replay', 'replay.submitted': 'replay_wait', 'replay.completed': 'replay_proof' };

const RUNS: ByState<Run> = {
  waiting: (s, r) => {
    if (reached(r.record.task.deadline_at, r.asOf)) return run('no', 'deadline', 'deadline', r.record.task.deadline_at);
    if (s.dead !== null) return run('only_by_a_person', 'dead_upstream');
    // What it waits for may itself wait for a person.
    const needed = s.unmet.flatMap((need) => r.step(need) ?? []).map((one) => RUNS[one.row.state](one, r));
    const person = needed.find(({ answer }) => answer === 'only_by_a_person');
    return person === undefined ? run('depends', 'upstream', 'upstream.succeeded') : run('only_by_a_person', person.on === 'unpark' ? 'unpark' : 'upstream', 'upstream.succeeded');
  },
  queued: (s, r) => {
    const { deadline_at: deadline } = r.record.task;
    const at = s.row.next_run_at;
    const rule = ruleFor(s, 'claim');
    if (deadline !== null && (reached(deadline, at) || reached(deadline, r.asOf))) return run('no', 'deadline', 'deadline', deadline);
    if (rule === null) return attemptsUsed();
    if (r.parked) return run('only_by_a_person', 'unpark', rule);
    if (r.noWorker) return run('depends', 'worker', rule, ahead(at, r.asOf));
    return run('yes', s.row.resume ? 'resume_due' : 'attempt_due', rule, at);
  },
  leased: (s) => {
    if (s.leaseOver) return run('depends', 'rescue', ruleFor(s, 'expire'), s.row.lease_expires_at);
    return s.left > 0 ? run('depends', 'running', ruleFor(s, 'settle_failed')) : run('depends', 'last_attempt', ruleFor(s, 'release'));
  },
  cancel_requested: cancelSet,
  submitted: runOutside,
  received: runOutside,
  in_progress: runOutside,
  unconfirmed: (s, r) => {
    if (s.facts.cancel) return cancelSet();
    if (canResend(s, r.asOf)) {
      if (r.parked) return run('only_by_a_person', 'unpark', 'claim.resend');
      return r.noWorker ? run('depends', 'worker', 'claim.resend') : run('yes', 'same_key', ruleFor(s, 'claim'), s.row.next_run_at);
    }
    if (!canLook(s)) return run('only_by_a_person', 'unresolved', 'no_way_left');
    return s.left === 0 ? attemptsUsed() : run('depends', 'look', ruleFor(s, 'absent', { open: false, confirmed: false }), s.row.next_check_at);
  },
  completed: () => run('no', 'proof'),
  succeeded: () => run('no', 'succeeded'),
  cancelled: () => run('no', 'cancelled'),
  dead: (s) => {
    if (s.facts.cancel) return cancelSet();
    const rule = ruleFor(s, 'replay');
    return run('only_by_a_person', (rule === null ? undefined : REPLAYS[rule]) ?? 'confirm_first', rule);
  },
};

export function runAgainOf(s: StepReading, r: Reading): RunAgain {
  const { answer, on, rule, at } = RUNS[s.row.state](s, r);
  return { answer, on, when: at, rule, step: s.row.name, sentence: r.p.runs[on](wordsOf(s, r, at, on === 'deadline' || on === 'rescue')) };
}

// ---- What may a reader do? ------------------------------------------------------------------------
const ACTIONS: Readonly<Record<WaitCode, ActionCode>> = {
  nothing: 'none', upstream: 'wait', dead_upstream: 'see_upstream', unpark: 'unpark', hand_over: 'wait', worker: 'start_worker', due_time: 'wait', claim: 'wait', overdue: 'wait',
  attempt: 'wait', rescue: 'wait', boundary: 'wait', receipt: 'wait', review: 'review', review_verdict: 'review', withdrawal_due: 'wait', withdrawal: 'wait', same_key: 'wait', look: 'wait', evidence: 'confirm',
  proof_check: 'wait', decided: 'decision', person: 'replay',
};
const FROM_RUN: Partial<Readonly<Record<RunCode, ActionCode>>> = { replay: 'replay', replay_wait: 'replay_wait', replay_proof: 'replay_proof', confirm_first: 'confirm' };

function deadAction(s: StepReading): ActionCode {
  if (s.facts.open) return 'confirm';
  if (s.facts.proof_since) return 'confirm_arrived';
  if (s.facts.cancel) return s.facts.submits ? 'confirm' : 'new_task';
  if (DECISIONS.has(s.why)) return 'decision';
  return FROM_RUN[REPLAYS[ruleFor(s, 'replay') ?? ''] ?? 'confirm_first'] ?? 'confirm';
}

function actionCode(s: StepReading, r: Reading, on: WaitCode): ActionCode {
  const successor = r.record.task.again_as !== null;
  switch (on) {
    case 'decided':
    case 'person':
      return successor ? 'see_successor' : deadAction(s);
    case 'nothing':
      if (isSuccess(s.row.state)) return s.backed ? 'none' : 'verify';
      return successor ? 'see_successor' : 'new_task';
    default:
      if (NEEDS_WORKER.has(on) || on === 'hand_over') {
        if (r.parked) return 'unpark';
        if (r.noWorker) return 'start_worker';
      }
      return ACTIONS[on];
  }
}

export function actionOf(s: StepReading, r: Reading): NextAction {
  const code = actionCode(s, r, WAITS[s.row.state](s, r).on);
  return { code, step: s.row.name, sentence: r.p.actions[code](wordsOf(s, r)) };
}
