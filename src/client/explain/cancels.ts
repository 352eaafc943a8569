/** Cancels: each with its verdict, what was in flight, and what stays outside. */
import { STATE_MEANINGS } from '../../state/index.ts';
import type { CancelVerdict } from '../../state/index.ts';
import type { CancelRecord, TouchRow } from '../../ledger/index.ts';
import { needsPerson, STATE_TONES } from './reading.ts';
import type { Reading, StepReading } from './reading.ts';
import { clauseOf, isDecided, worded } from './steps.ts';
import { becameOf, notTakenBack, outcomeOf } from './touches.ts';
import type { CancelExplanation, CancelOfStep, InFlight, LeftOutside } from './types.ts';
import { waitOf } from './waits.ts';
import { effectName, joined, moment, name } from './words.ts';

type CancelStep = CancelRecord['steps'][number];

/** The worst of its steps' verdicts is the cancel's; the same order as the ledger's answer. */
const ORDER: readonly CancelVerdict[] = ['pending', 'needs_person', 'too_late', 'withdrawn', 'stopped_at_boundary', 'prevented', 'already_terminal'];

const isConfirmed = (row: TouchRow): boolean => row.live && row.kind === 'effect' && row.outcome === 'confirmed';

/** Effects that stand outside although the submission itself does not: pictures without a post. */
function leftOutside(s: StepReading | undefined): { left: LeftOutside[]; submission: string } {
  if (s === undefined || !(STATE_TONES[s.row.state] === 'stopped' || needsPerson(s.row.state)) || s.facts.confirmed) return { left: [], submission: '' };
  const byEffect = new Map<string, Map<string, TouchRow>>();
  for (const row of s.touches) {
    if (row.submits || !isConfirmed(row)) continue;
    const items = byEffect.get(row.effect) ?? new Map<string, TouchRow>();
    byEffect.set(row.effect, items.set(`${String(row.generation)}/${row.item}`, row));
  }
  const left = [...byEffect].map(([effect, items]) => {
    const rows = [...items.values()];
    return { effect, count: rows.length, items: rows.map(({ item }) => item), external_ids: rows.flatMap(({ external_id: id }) => (id === null ? [] : [id])) };
  });
  return { left, submission: s.touches.find(({ submits }) => submits)?.effect ?? '' };
}

function inFlightOf(step: CancelStep, s: StepReading | undefined, r: Reading): InFlight[] {
  return step.in_flight.map(({ effect, item, message_id, attempt }) => {
    const row = s?.touches.find((touch) => touch.message_id === message_id);
    const became = row === undefined ? r.p.outcomes.resolving : becameOf(row, s, r);
    return { effect, item, attempt, message_id, outcome: row === undefined ? 'resolving' : outcomeOf(row, s), sentence: r.p.cancel.in_flight(effectName(effect, item), attempt, became) };
  });
}

/** When an open verdict is looked at next: as the ledger answers it. */
const nextCheck = ({ row }: StepReading): string | null => row.lease_expires_at ?? row.withdraw_expires_at ?? row.withdraw_due_at ?? row.next_check_at ?? row.receipt_due_at;

function verdictClause(cancel: CancelRecord, step: CancelStep, s: StepReading | undefined, r: Reading): string {
  const { p } = r;
  const now = s === undefined ? '' : clauseOf(s, r).short;
  switch (step.verdict) {
    case 'pending':
      return p.cancel.pending(s === undefined ? '' : waitOf(s, r).sentence);
    case 'already_terminal':
      return p.cancel.nothing_to_cancel(p.states[step.found]);
    case 'needs_person':
      if (cancel.verb === 'abandon_wait') return p.cancel.waiting_stopped;
      return s !== undefined && isDecided(s) ? joined(p, [p.cancel.decided, now]) : p.cancel.needs_person(now);
    case 'too_late':
      return step.reason === 'withdrawal_refused' ? notTakenBack(r, lastWithdrawal(s)) : p.verdicts.too_late;
    case 'withdrawn':
    case 'prevented':
    case 'stopped_at_boundary':
      return step.reason === null ? p.verdicts[step.verdict] : p.cancel.took_effect(worded(r, step.reason));
  }
}

function stepOfCancel(cancel: CancelRecord, step: CancelStep, r: Reading): CancelOfStep {
  const { p, asOf } = r;
  const s = r.step(step.step);
  const open = step.verdict === 'pending';
  const { left, submission } = leftOutside(s);
  const leftSentence = left.length === 0 ? null : p.cancel.left_outside(p.list(left.map(({ effect, count }) => p.cancel.left_item(name(effect), count))), submission === '' ? p.touch.submits : name(submission));
  const overdue = open && step.deadline_at !== null && Date.parse(step.deadline_at) <= Date.parse(asOf);
  const deadline = open && step.deadline_at !== null && (overdue ? p.cancel.deadline_over : p.cancel.deadline)(moment(p, step.deadline_at, asOf));
  return {
    step: step.step, found: step.found, found_meaning: r.word(STATE_MEANINGS[step.found]), state: s?.row.state ?? step.found,
    verdict: step.verdict, reason: step.reason, verdict_at: step.verdict_at, follows: step.follows,
    sentence: p.named(step.step, joined(p, [verdictClause(cancel, step, s, r), deadline, step.follows !== null && p.cancel.follows(name(step.follows))])),
    in_flight: inFlightOf(step, s, r),
    left_outside: left,
    left_outside_sentence: leftSentence,
    next_check_at: open && s !== undefined ? nextCheck(s) : null,
    deadline_at: open ? step.deadline_at : null,
    overdue,
  };
}

const isDecidedStep = (r: Reading, step: string): boolean => {
  const s = r.step(step);
  return s !== undefined && isDecided(s);
};

const lastWithdrawal = (s: StepReading | undefined): TouchRow | undefined => s?.touches.findLast(({ kind }) => kind === 'withdrawal');

function meaningOf(r: Reading, verdict: CancelVerdict, deciding: readonly CancelOfStep[]): string {
  if (deciding.every(({ step }) => isDecidedStep(r, step))) return r.p.cancel.decided;
  const [first] = deciding;
  if (first !== undefined && deciding.every(({ reason }) => reason === 'withdrawal_refused')) return notTakenBack(r, lastWithdrawal(r.step(first.step)));
  return r.p.verdicts[verdict];
}

export function cancelsOf(r: Reading): CancelExplanation[] {
  return r.record.cancels.map((cancel) => {
    const steps = r.steps.flatMap(({ row }) => cancel.steps.filter(({ step }) => step === row.name)).map((step) => stepOfCancel(cancel, step, r));
    const verdict = ORDER.find((wanted) => steps.some((step) => step.verdict === wanted)) ?? 'already_terminal';
    const deciding = steps.filter((step) => step.verdict === verdict);
    return {
      id: cancel.id, verb: cancel.verb, step: cancel.step, by: cancel.by, why: cancel.why, at: cancel.at,
      verdict, pending: verdict === 'pending',
      verdict_meaning: meaningOf(r, verdict, deciding),
      sentence: joined(r.p, deciding.map(({ sentence, left_outside_sentence: left }) => joined(r.p, [sentence, left]))),
      steps,
    };
  });
}
