/** The task as a whole: its headline, whether it will run again, and what to do, from its steps. */
import { isSuccess, isTerminal, PARENT_RULES } from '../../state/index.ts';
import type { ParentStatus } from '../../state/index.ts';
import type { TaskRecord } from '../../ledger/index.ts';
import { cancelsOf } from './cancels.ts';
import type { RunAnswer, Tone, WaitCode } from './codes.ts';
import { driverOf } from './driver.ts';
import { proofOf, receiptsOf } from './evidence.ts';
import { needsPerson, read } from './reading.ts';
import type { Reading, StepReading } from './reading.ts';
import { clauseOf, endedBy, isDecided, reasonSaid, stepOf } from './steps.ts';
import { storyOf } from './story.ts';
import { touchesOf } from './touches.ts';
import type { BlockedOn, DriverExplanation, ExplainOptions, Explanation, NextAction, RunAgain, StepExplanation } from './types.ts';
import { actionOf, runAgainOf, waitOf, wordsOf } from './waits.ts';
import { joined } from './words.ts';

const TONES: Readonly<Record<ParentStatus, Tone>> = {
  dead: 'attention', unconfirmed: 'attention', cancelling: 'progress', running: 'progress', awaiting_receipt: 'progress', queued: 'progress', succeeded: 'success', cancelled: 'stopped',
};

/** The step that holds the task; of a task that succeeded, the last one. */
function holding(r: Reading): StepReading {
  const held = r.record.task.held_by;
  const step = (held === null ? undefined : r.step(held)) ?? r.steps.at(-1);
  if (step === undefined) throw new Error('Broken promise: a task has a step');
  return step;
}

/** Driver's troubles that a step's own sentence may not tell. */
const TROUBLES: ReadonlySet<DriverExplanation['code']> = new Set(['parked', 'no_worker', 'no_workers', 'overdue', 'failing']);
const SAID_BY_STEP: ReadonlySet<WaitCode> = new Set(['unpark', 'worker', 'overdue']);

/** Green only where a proof stands behind it; a decision against it is no alarm. */
function toneOf(r: Reading, success: boolean): Tone {
  const { status } = r.record.task;
  if (isSuccess(status)) return success ? 'success' : 'attention';
  const people = r.steps.filter(({ row }) => needsPerson(row.state));
  return people.length > 0 && people.every(isDecided) ? 'stopped' : TONES[status];
}

function headline(r: Reading, driver: DriverExplanation): string {
  const { p } = r;
  const { task } = r.record;
  const s = holding(r);
  const { short, decided } = clauseOf(s, r);
  const tooLate = r.record.cancels.some(({ steps }) => steps.some(({ verdict }) => verdict === 'too_late'));
  const { name: step } = s.row;
  switch (TONES[task.status]) {
    case 'success': {
      const unbacked = r.steps.filter((one) => !one.backed).map(({ row }) => row.name);
      const claim = unbacked.length === 0 ? p.headline.succeeded : p.headline.succeeded_unbacked(p.list(unbacked));
      return p.sentence(joined(p, [claim, tooLate && p.step.cancel_too_late]), false);
    }
    case 'stopped':
      return p.sentence(p.named(step, short), true);
    case 'attention':
    case 'progress': {
      const said = needsPerson(s.row.state) ? (decided ? p.named(step, short) : p.headline.dead(step, short)) : null;
      if (said === null && driver.code === 'hand_over_pending') return p.sentence(driver.sentence, false);
      const others = said === null ? [] : r.steps.filter(({ row, dead }) => !isTerminal(row.state) && dead === null).map(({ row }) => row.name);
      const { on } = waitOf(s, r);
      // A parked wake-up says it best itself; what the step says already is not said twice.
      const clause = on === 'unpark' ? driver.sentence : short;
      const trouble = TROUBLES.has(driver.code) && (driver.code === 'failing' || !SAID_BY_STEP.has(on)) && !short.includes(driver.sentence) && driver.sentence;
      return p.sentence(joined(p, [said ?? p.named(step, clause), others.length > 0 && p.headline.others(p.list(others)), trouble]), true);
    }
  }
}

const STRENGTH: readonly RunAnswer[] = ['yes', 'depends', 'only_by_a_person', 'no'];

/** The strongest answer of its steps, the holding one first among equals: a task runs again if one of its steps does. */
function runAgain(r: Reading): RunAgain {
  const held = holding(r);
  const answers = [held, ...r.steps.filter((s) => s !== held)].map((s) => runAgainOf(s, r));
  const strongest = STRENGTH.map((answer) => answers.find((one) => one.answer === answer)).find((one) => one !== undefined) ?? runAgainOf(held, r);
  const soonest = answers.filter(({ answer, when }) => answer === 'yes' && strongest.answer === 'yes' && when !== null).sort((a, b) => String(a.when).localeCompare(String(b.when)))[0];
  const chosen = soonest ?? strongest;
  return r.steps.length === 1 ? chosen : { ...chosen, sentence: r.p.named(chosen.step, chosen.sentence) };
}

function actions(r: Reading, driver: DriverExplanation): { readonly first: NextAction; readonly also: readonly NextAction[] } {
  const held = holding(r);
  const { at_rest: atRest } = r.record.task;
  const of = (code: NextAction['code'], s: StepReading | null): NextAction => ({ code, step: s?.row.name ?? null, sentence: r.p.actions[code](wordsOf(s ?? held, r)) });
  const troubles: NextAction[] = [];
  if (driver.parked && (atRest || r.parked)) troubles.push(of('unpark', null));
  if ((driver.code === 'no_worker' || driver.code === 'no_workers') || (driver.code === 'hand_over_pending' && r.noWorker)) troubles.push(of('start_worker', null));
  if (!atRest && (driver.temporal.code === 'gone' || driver.temporal.code === 'closed_early')) troubles.push(of('check_driver', null));
  const steps = [held, ...r.steps.filter((s) => s !== held)].map((s) => actionOf(s, r));
  const urgent = steps.filter(({ code }) => code !== 'none' && code !== 'wait' && code !== 'see_upstream' && code !== 'start_worker' && code !== 'unpark');
  const candidates = atRest ? [...urgent, ...troubles] : [...troubles.filter(({ code }) => code === 'unpark'), ...urgent, ...troubles.filter(({ code }) => code !== 'unpark')];
  const distinct = candidates.filter((action, index) => candidates.findIndex(({ sentence }) => sentence === action.sentence) === index);
  const [first, ...also] = isSuccess(r.record.task.status) ? [actionOf(r.steps.find(({ backed }) => !backed) ?? held, r), ...troubles] : distinct.length > 0 ? distinct : [of(atRest ? 'none' : 'wait', held)];
  return { first: first ?? of('none', held), also };
}

function blockedOn(r: Reading, steps: readonly StepExplanation[]): BlockedOn | null {
  const { row, dead } = holding(r);
  const said = steps.find(({ name }) => name === row.name);
  if (said === undefined || (isTerminal(row.state) && !needsPerson(row.state))) return null;
  return { step: row.name, state: row.state, dead_step: needsPerson(row.state) ? row.name : dead, ...said.next };
}

/** Explains a task from the ledger's rows alone: pure, the same for every door. */
export function explain(record: TaskRecord, options: ExplainOptions): Explanation {
  const r = read(record, options);
  const { task } = record;
  const held = holding(r);
  const steps = r.steps.map((s) => stepOf(s, r));
  const driver = driverOf(r);
  const { first, also } = actions(r, driver);
  const { lines, leftOut } = storyOf(r);
  const success = isSuccess(task.status) && r.steps.every(({ backed }) => backed);
  const rule = PARENT_RULES.find(({ status }) => status === task.status);
  return {
    lang: r.lang,
    task: {
      id: task.id, type: task.type, version: task.version, key: task.key, created_at: task.created_at, created_by: task.created_by, deadline_at: task.deadline_at,
      ended_at: task.ended_at, again_of: task.again_of, again_as: task.again_as,
    },
    headline: headline(r, driver),
    status: task.status,
    status_label: r.p.statuses[task.status],
    status_meaning: rule === undefined ? '' : r.word(rule),
    reason: reasonSaid(r, task.reason, held.row.reason === task.reason ? held.row.seq : 0, held.row.inbox && held.row.reason === task.reason),
    since: task.since,
    at_rest: task.at_rest,
    success,
    tone: toneOf(r, success),
    ended_by: task.at_rest ? endedBy(held) : null,
    held_by: task.held_by,
    blocked_on: blockedOn(r, steps),
    will_run_again: runAgain(r),
    next_action: first,
    also,
    steps,
    steps_sentence: r.p.join(steps.map(({ sentence }) => sentence)),
    cancels: cancelsOf(r),
    touches: touchesOf(r),
    receipts: receiptsOf(r),
    proof: r.steps.map((s) => proofOf(s, r)),
    story: lines,
    story_left_out: leftOut,
    driver,
    as_of: record.as_of,
    seq: task.seq,
  };
}
