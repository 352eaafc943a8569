/** What touched the outside, by attempt: each request with what became of it. */
import { isHeld } from '../../state/index.ts';
import type { TouchRow } from '../../ledger/index.ts';
import type { OutcomeCode } from './codes.ts';
import { needsPerson } from './reading.ts';
import type { Reading, StepReading } from './reading.ts';
import type { Touch, TouchesOfAttempt } from './types.ts';
import { effectName, joined, name } from './words.ts';

/** No answer yet: not sent, on its way while its own attempt runs, otherwise being resolved, or for a person. */
export function outcomeOf(row: TouchRow, s: StepReading | undefined): OutcomeCode {
  if (row.outcome !== null) return row.outcome;
  if (s === undefined) return 'resolving';
  if (!row.sent) return 'to_be_sent';
  const { state, attempt, withdraw_expires_at: answerBy } = s.row;
  if (row.kind === 'withdrawal' ? answerBy !== null : isHeld(state) && attempt === row.attempt) return 'sending';
  return needsPerson(state) ? 'unanswered' : 'resolving';
}

/** Why it was not taken back: the other side's word, or that it could not be asked. */
export const notTakenBack = ({ p }: Reading, withdrawal: TouchRow | undefined): string => (withdrawal?.outcome === 'not_sent' ? p.cancel.not_asked_back : p.cancel.not_taken_back);

/** "confirmed; external id 17", without the effect's name. */
export function becameOf(row: TouchRow, s: StepReading | undefined, r: Reading): string {
  const { p } = r;
  const inbox = s?.row.inbox === true;
  return joined(p, [
    inbox && row.outcome === 'confirmed' ? p.touch.inbox : p.outcomes[outcomeOf(row, s)],
    !inbox && row.outcome === 'confirmed' && row.external_id !== null && p.touch.external(name(row.external_id)),
    row.late && p.touch.late,
    !row.live && row.outcome === 'confirmed' && p.touch.ended,
  ]);
}

function touchOf(row: TouchRow, s: StepReading | undefined, r: Reading): Touch {
  const { p } = r;
  const label = row.kind === 'withdrawal' ? p.touch.withdrawal : effectName(row.effect, row.item);
  return {
    step: row.step, attempt: row.attempt, effect: row.effect, item: row.item, generation: row.generation, kind: row.kind, key: row.key, message_id: row.message_id, thread_id: row.thread_id,
    submits: row.submits, live: row.live, at: row.intent_at, outcome: outcomeOf(row, s), outcome_at: row.outcome_at, late: row.late, external_id: row.external_id,
    sentence: p.named(row.submits && s?.row.inbox !== true ? p.aside(label, p.touch.submits) : label, becameOf(row, s, r)),
  };
}

export const openTouches = (s: StepReading, r: Reading): Touch[] => s.open.map((row) => touchOf(row, s, r));

export function touchesOf(r: Reading): TouchesOfAttempt[] {
  const groups = new Map<string, { step: string; attempt: number; requests: Touch[] }>();
  for (const row of r.record.touches) {
    const key = `${String(row.attempt)}/${row.step}`;
    const group = groups.get(key) ?? { step: row.step, attempt: row.attempt, requests: [] };
    group.requests.push(touchOf(row, r.step(row.step), r));
    groups.set(key, group);
  }
  return [...groups.values()];
}
