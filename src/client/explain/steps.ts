/** One step: where it is, why, and what comes next. */
import { CATEGORIES, isSuccess, isTerminal, reasonOf, STATE_MEANINGS } from '../../state/index.ts';
import type { ReasonCode } from '../../state/index.ts';
import type { StepRow } from '../../ledger/index.ts';
import type { Tone } from './codes.ts';
import { OWN_WORDING, REVIEW_WORDING } from './phrases.ts';
import type { OwnWording, ReviewWording } from './phrases.ts';
import { effectsOf, needsPerson, STATE_TONES } from './reading.ts';
import type { Reading, StepReading } from './reading.ts';
import { correctionOf } from './story-corrections.ts';
import { notTakenBack, openTouches } from './touches.ts';
import type { FailureSaid, ReasonSaid, StepExplanation } from './types.ts';
import { actionOf, DECISIONS, runAgainOf, waitOf } from './waits.ts';
import { bounded, joined, said } from './words.ts';

/** Of a cause's own words inside a sentence. */
const SENTENCE_CHARS_MAX = 200;

const isOwn = (code: ReasonCode): code is OwnWording => (OWN_WORDING as readonly ReasonCode[]).includes(code);

const isReview = (code: ReasonCode): code is ReviewWording => (REVIEW_WORDING as readonly ReasonCode[]).includes(code);

/** A reason's meaning; where the other side is a reviewer, in the words of a review. */
export const meant = (r: Reading, code: ReasonCode, inbox: boolean): string => (inbox && isReview(code) ? r.p.review[code] : r.word(reasonOf(code)));

/** A reason inside a step's sentence. */
export const worded = (r: Reading, code: ReasonCode): string => (isOwn(code) ? r.p.own[code] : r.word(reasonOf(code)));

export function reasonSaid(r: Reading, code: ReasonCode, entry: number, inbox: boolean): ReasonSaid {
  return { code, meaning: meant(r, code, inbox), corrected: correctionOf(r, entry, code) };
}

export function failureOf(error: StepRow['error'], r: Reading): FailureSaid | null {
  if (error === null) return null;
  const category = CATEGORIES[error.category];
  const message = bounded(error.message);
  const short = bounded(error.message, SENTENCE_CHARS_MAX);
  const meaning = r.word(category);
  const stage = r.p.stages[error.stage];
  const sentence = r.p.step.failure(meaning, stage);
  return {
    category: error.category, category_meaning: meaning, retryable: category.retryable, stage: error.stage, stage_meaning: stage, message,
    code: error.code === undefined ? null : bounded(error.code, 100), http_status: error.http_status ?? null,
    sentence: short === '' ? sentence : r.p.named(sentence, short),
  };
}

type Decision = StepExplanation['decision'];

/** The verdict of a review that counts: the newest one that was matched. */
function decisionOf(s: StepReading, r: Reading): Decision {
  if (!s.row.inbox) return null;
  const verdict = r.record.receipts.findLast((receipt) => receipt.step === s.row.name && receipt.applied_at !== null && (receipt.kind === 'completed' || receipt.kind === 'failed'));
  if (verdict === undefined) return null;
  return {
    verdict: verdict.kind === 'completed' ? 'approved' : 'rejected',
    by: said(verdict.body['by'], 200) || bounded(verdict.sender, 200),
    why: said(verdict.body['why']),
    at: verdict.received_at,
  };
}

/** Reasons by which a step is queued again after an attempt that failed. */
const AFTER_A_FAILURE: ReadonlySet<ReasonCode> = new Set<ReasonCode>(['retry_scheduled', 'lease_expired']);
const FRESH: ReadonlySet<ReasonCode> = new Set<ReasonCode>(['new_task', 'upstream_succeeded']);

interface Clauses {
  readonly wait: string;
  readonly failure: FailureSaid | null;
  readonly decision: Decision;
  readonly tooLate: boolean;
}

type Clause = (s: StepReading, r: Reading, c: Clauses) => readonly (string | null | false)[];

const waiting: Clause = (_s, _r, { wait }) => [wait];
const cancelWaits = (s: StepReading, r: Reading): string | false => s.facts.cancel && r.p.step.cancel_waits;

const atTheOtherSide: Clause = (s, r, { wait }) => {
  const withdrawing = s.row.withdraw_due_at !== null;
  const back = s.touches.findLast(({ kind }) => kind === 'withdrawal');
  const cancel = back === undefined ? r.p.step.cancel_after_submission : notTakenBack(r, back);
  return [!s.row.inbox && r.p.states[s.row.state], wait, s.facts.cancel && !withdrawing && cancel];
};

const CLAUSES: Readonly<Record<StepReading['row']['state'], Clause>> = {
  waiting,
  queued: (s, r, { wait, failure }) => {
    if (FRESH.has(s.why)) return [wait];
    if (AFTER_A_FAILURE.has(s.why) && failure !== null) return [wait, r.p.step.attempt_failed(s.row.attempt, failure.sentence)];
    return [wait, worded(r, s.why)];
  },
  leased: waiting,
  cancel_requested: waiting,
  submitted: atTheOtherSide,
  received: atTheOtherSide,
  in_progress: atTheOtherSide,
  unconfirmed: (s, r, { wait }) => [r.p.step.maybe_outside, wait, cancelWaits(s, r)],
  completed: (_s, r, { wait, tooLate }) => [r.p.step.done_unproven, wait, tooLate && r.p.step.cancel_too_late],
  succeeded: (s, r, { tooLate }) => [r.p.states[s.row.state], tooLate && r.p.step.cancel_too_late, !s.backed && r.p.step.unbacked],
  cancelled: (s, r) => [worded(r, s.why)],
  dead: (s, r, c) => [r.p.step.needs_person(deadClause(s, r, c))],
};

function deadClause(s: StepReading, r: Reading, { failure }: Clauses): string {
  const { p } = r;
  const reason = worded(r, s.why);
  const counted = s.why === 'attempts_exhausted' ? p.aside(reason, p.step.used(s.row.charged, s.row.attempts_max)) : reason;
  const open = s.open.length > 0 && p.named(effectsOf(r, s.open), p.outcomes.unanswered);
  return joined(p, [counted, open, failure === null ? null : p.step.last_failure(failure.sentence), s.facts.cancel && p.step.cancel_recorded]);
}

/** What the sentence of a step says, without its name; a decision is worded as one. */
export function clauseOf(s: StepReading, r: Reading): { readonly text: string; readonly short: string; readonly decided: boolean } {
  const decision = decisionOf(s, r);
  const decided = isDecided(s);
  if (decided) {
    const text = decision === null ? r.p.step.rejected_unnamed : r.p.step.rejected(decision.by, decision.why);
    return { text, short: text, decided };
  }
  const tooLate = r.record.cancels.some(({ steps }) => steps.some(({ step, verdict }) => step === s.row.name && verdict === 'too_late'));
  const clauses = { wait: waitOf(s, r).sentence, failure: failureOf(s.row.error, r), decision, tooLate };
  return {
    text: joined(r.p, CLAUSES[s.row.state](s, r, clauses)),
    short: needsPerson(s.row.state) ? deadClause(s, r, clauses) : joined(r.p, CLAUSES[s.row.state](s, r, clauses)),
    decided,
  };
}

export function endedBy(s: StepReading): StepExplanation['ended_by'] {
  if (!isTerminal(s.row.state)) return null;
  const by = reasonOf(s.why).ended_by ?? null;
  return (by === 'success') === isSuccess(s.row.state) ? by : null;
}

/** A person decided it: nothing broke. */
export const isDecided = (s: StepReading): boolean => needsPerson(s.row.state) && DECISIONS.has(s.why);

function toneOf(s: StepReading): Tone {
  if (isSuccess(s.row.state) && !s.backed) return 'attention';
  return isDecided(s) ? 'stopped' : STATE_TONES[s.row.state];
}

export function stepOf(s: StepReading, r: Reading): StepExplanation {
  const { row } = s;
  const { p } = r;
  const { text, decided } = clauseOf(s, r);
  return {
    name: row.name,
    kind: row.kind,
    state: row.state,
    state_label: p.states[row.state],
    meaning: r.word(STATE_MEANINGS[row.state]),
    tone: toneOf(s),
    since: row.since,
    reason: reasonSaid(r, row.reason, row.seq, row.inbox),
    ended_by: endedBy(s),
    sentence: p.named(row.name, text),
    attempts: { made: row.attempt, charged: row.charged, max: row.attempts_max, left: s.left, sentence: p.step.attempts(row.attempt, row.charged, row.attempts_max) },
    next: waitOf(s, r),
    will_run_again: runAgainOf(s, r),
    next_action: actionOf(s, r),
    holder: row.holder,
    lease_expires_at: row.lease_expires_at,
    last_failure: decided ? null : failureOf(row.error, r),
    decision: decisionOf(s, r),
    needs: row.needs.map((need) => {
      const state = r.step(need)?.row.state ?? row.state;
      return { step: need, state, state_label: p.states[state], met: isSuccess(state) };
    }),
    open_effects: openTouches(s, r),
    cancel_id: row.cancel_id,
  };
}
