/** The timeline as a story: one line per entry that matters, corrections beside what they correct. */
import { CATEGORIES, isCategory, reasonOf, RECEIPT_KINDS, RECEIPT_VERDICTS, STAGES } from '../../state/index.ts';
import type { ReceiptKind, Stage } from '../../state/index.ts';
import type { Stored, TimelineRow } from '../../ledger/index.ts';
import { OUTCOME_CODES } from './codes.ts';
import type { OutcomeCode } from './codes.ts';
import { kindOf } from './evidence.ts';
import { REVIEW_WORDING } from './phrases.ts';
import type { Phrases } from './phrases.ts';
import type { Reading } from './reading.ts';
import { corrects, correctionSentence } from './story-corrections.ts';
import type { StoryLine } from './types.ts';
import { clock, duration, effectName, joined, name, said } from './words.ts';

/** A story of more lines keeps its beginning and its newest part. */
export const STORY_LINES_MAX = 1_000;
const BEGINNING_LINES = 50;

type Facts = TimelineRow['facts'];

const text = (facts: Facts, key: string, chars?: number): string => said(facts[key], chars);
const has = <K extends string>(table: Readonly<Record<K, unknown>>, key: string): key is K => Object.hasOwn(table, key);
const stageOf = (facts: Facts): Stage | null => STAGES.find((stage) => stage === facts['stage']) ?? null;
const isInbox = (r: Reading, step: string | null): boolean => step !== null && r.step(step)?.row.inbox === true;
const effectOf = (facts: Facts): string => effectName(text(facts, 'effect'), text(facts, 'item'));
const labelled = (label: (value: string) => string, value: string): string | false => value !== '' && label(value);

const ASKS: ReadonlySet<string> = new Set(['cancel', 'withdraw', 'abandon_wait']);
/** A review is told by its request and its verdicts, which are entries of their own. */
const TOLD_BY_VERDICT: ReadonlySet<string> = new Set([...REVIEW_WORDING, 'proof_accepted']);

/** What the facts of an entry add to its reason. */
function details(entry: TimelineRow, r: Reading): (string | false)[] {
  const { p } = r;
  const { facts } = entry;
  const stage = stageOf(facts);
  const answer = text(facts, 'answer');
  const look = text(facts, 'look');
  const wait = facts['wait_ms'];
  const category = facts['category'];
  const voids = facts['void'];
  return [
    isCategory(category) && joined(p, [stage === null ? r.word(CATEGORIES[category]) : p.step.failure(r.word(CATEGORIES[category]), p.stages[stage]), text(facts, 'message')]),
    answer !== '' && p.named(effectOf(facts), has(p.answers, answer) ? p.answers[answer] : answer),
    has(p.looks, look) && p.looks[look],
    labelled(p.touch.external, text(facts, 'external_id', 200)),
    labelled(p.story.detail, text(facts, 'detail')),
    typeof wait === 'number' && wait > 0 && p.story.next_in(duration(p, wait)),
    // A cancel's own entry has said who and why.
    !ASKS.has(entry.event ?? '') && labelled(p.story.why, text(facts, 'why')),
    !ASKS.has(entry.event ?? '') && labelled(p.story.in_bulk, text(facts, 'bulk')),
    labelled(p.story.evidence, text(facts, 'evidence')),
    facts['checker'] === 'vanished' && p.story.checker_vanished,
    entry.event === 'replay' && p.story.fresh_budget,
    facts['drop_checkpoints'] === true && p.story.dropped_checkpoints,
    Array.isArray(voids) && voids.length > 0 && p.story.voided(p.list((voids as readonly Stored[]).map((item) => voidName(item)))),
  ];
}

const voidName = (item: Stored): string =>
  typeof item === 'object' && item !== null && !Array.isArray(item) ? effectOf(item as Facts) : said(item, 100);

function transition(entry: TimelineRow, r: Reading, inbox: boolean): string | null {
  const { p } = r;
  const { reason, from_state: from, to_state: to } = entry;
  if (reason === null || (inbox && TOLD_BY_VERDICT.has(reason))) return null;
  const label = (state: string): string => (has(p.states, state) ? p.states[state] : state);
  if (entry.event === 'manual_correction') return p.by_hand(label(from), label(to));
  // The acceptance of the task says it for all its steps.
  if (entry.event === 'enqueue') return null;
  if (entry.event === 'claim' && entry.attempt !== null) {
    const starts = p.story.starts(entry.attempt);
    return reason === 'claimed' ? starts : joined(p, [starts, r.word(reasonOf(reason))]);
  }
  return joined(p, [r.word(reasonOf(reason)), ...details(entry, r)]);
}

function parent({ facts, from_state: from, to_state: to }: TimelineRow, r: Reading): string | null {
  const { p } = r;
  const status = has(p.statuses, to) ? p.statuses[to] : to;
  if (from === 'none') {
    const runAt = text(facts, 'run_at');
    return joined(p, [
      p.story.accepted(r.offer), labelled(p.story.key, text(facts, 'key', 200)),
      runAt !== '' && p.story.not_before(clock(new Date(runAt).toISOString(), r.asOf)), labelled(p.story.repeats, text(facts, 'again_of')),
    ]);
  }
  return facts['at_rest'] === true ? p.story.rest(status) : null;
}

function outcome(facts: Facts, r: Reading): string {
  const { p } = r;
  const code = OUTCOME_CODES.find((known): known is OutcomeCode => known === facts['outcome']);
  const category = facts['error'];
  const said = code === undefined ? text(facts, 'outcome') : p.outcomes[code];
  return p.story.outcome(effectOf(facts), joined(p, [said, isCategory(category) && r.word(CATEGORIES[category]), labelled(p.touch.external, text(facts, 'external_id', 200)), facts['late'] === true && p.touch.late]));
}

function intent(facts: Facts, p: Phrases, actor: string): string {
  if (facts['inbox'] === true) return p.story.asks_inbox;
  return facts['withdraw_no'] !== undefined || (text(facts, 'effect') === 'withdraw' && !actor.startsWith('worker:')) ? p.story.asks_withdrawal : p.story.sends(effectOf(facts));
}

function receipt({ facts, actor, step }: TimelineRow, r: Reading): string {
  const { p } = r;
  const kind = RECEIPT_KINDS.find((known): known is ReceiptKind => known === facts['receipt_kind']);
  const verdict = text(facts, 'verdict');
  const meaning = has(RECEIPT_VERDICTS, verdict) ? r.word(RECEIPT_VERDICTS[verdict]) : verdict;
  const sender = name(actor.replace(/^platform:/, ''));
  const inbox = isInbox(r, step);
  const body = r.record.receipts.find(({ id }) => id === facts['receipt'])?.body ?? {};
  return p.named(
    p.receipt.said(kind === undefined ? text(facts, 'receipt_kind') : kindOf(r, step, kind), sender),
    joined(p, [meaning, !inbox && labelled(p.touch.external, text(facts, 'external_id', 200)), labelled(p.story.why, text(body, 'why'))]),
  );
}

function cancel(facts: Facts, p: Phrases): string {
  const verb = text(facts, 'verb');
  return joined(p, [p.story.cancel(has(p.verbs, verb) ? p.verbs[verb] : verb), labelled(p.story.why, text(facts, 'why')), labelled(p.story.in_bulk, text(facts, 'bulk'))]);
}

function late(facts: Facts, p: Phrases): string {
  const what = text(facts, 'what');
  const epochs = facts['claim_epoch'] !== undefined && p.story.epochs(text(facts, 'claim_epoch'), text(facts, 'current_epoch'));
  return joined(p, [has(p.story.late, what) ? p.story.late[what] : what, epochs]);
}

function rematched(facts: Facts, r: Reading): string {
  const { p } = r;
  const was = text(facts, 'was');
  const sent = text(facts, 'sent_in_reply_to', 200);
  return joined(p, [
    p.story.rematched(text(facts, 'delivery_id', 200)), has(RECEIPT_VERDICTS, was) && p.story.until_then(r.word(RECEIPT_VERDICTS[was])), sent !== '' && sent !== text(facts, 'message_id') && p.story.as_sent(sent),
    labelled(p.story.why, text(facts, 'why')),
  ]);
}

function note(facts: Facts, r: Reading): string {
  const { p } = r;
  const what = text(facts, 'what');
  if (what === 'driver_lost' || what === 'driver_failing') return p.story[what](text(facts, 'status'), text(facts, 'restarts'));
  if (what === 'rematched') return rematched(facts, r);
  const wait = facts['wait_ms'];
  if (what === 'withdrawal_again') return joined(p, [p.story.asks_withdrawal_again, typeof wait === 'number' && wait > 0 && p.story.next_in(duration(p, wait))]);
  return joined(p, [what === 'unparked' ? p.story.unparked : p.story.note(what), labelled(p.story.why, text(facts, 'why'))]);
}

/** What one entry says; null: nothing that another entry doesn't say. */
function tell(entry: TimelineRow, r: Reading): string | null {
  const { p } = r;
  switch (entry.kind) {
    case 'transition':
      return transition(entry, r, isInbox(r, entry.step));
    case 'parent':
      return parent(entry, r);
    case 'intent':
      return intent(entry.facts, p, entry.actor);
    case 'outcome':
      return entry.facts['inbox'] === true ? null : outcome(entry.facts, r);
    case 'receipt':
      return receipt(entry, r);
    case 'cancel':
      return cancel(entry.facts, p);
    case 'check':
      return joined(p, [p.story.check(Number(entry.facts['check_no'] ?? 0)), ...details(entry, r)]);
    case 'correction':
      return joined(p, [p.story.correction(text(entry.facts, 'corrects')), correctionSentence(r, entry)]);
    case 'late':
      return late(entry.facts, p);
    case 'note':
      return note(entry.facts, r);
  }
}

export function storyOf(r: Reading): { readonly lines: StoryLine[]; readonly leftOut: number } {
  const corrections = new Map<number, TimelineRow[]>();
  const known = new Set(r.record.timeline.map(({ id }) => id));
  for (const entry of r.record.timeline) {
    const target = corrects(entry);
    if (target !== null && known.has(target)) corrections.set(target, [...(corrections.get(target) ?? []), entry]);
  }
  const lines: StoryLine[] = [];
  for (const entry of r.record.timeline) {
    const target = corrects(entry);
    if (target !== null && known.has(target)) continue;
    const mine = corrections.get(entry.id) ?? [];
    // An entry that says nothing new is told all the same once somebody has corrected it.
    const sentence = tell(entry, r) ?? (mine.length > 0 && entry.reason !== null ? r.word(reasonOf(entry.reason)) : null);
    if (sentence === null) continue;
    lines.push({
      id: entry.id, at: entry.at, step: entry.step, kind: entry.kind, reason: entry.reason, who: name(entry.actor), attempt: entry.attempt === 0 ? null : entry.attempt,
      stage: stageOf(entry.facts), manual: entry.event === 'manual_correction', sentence,
      corrections: mine.map((row) => ({ id: row.id, at: row.at, who: name(row.actor), sentence: correctionSentence(r, row) })),
    });
  }
  const leftOut = Math.max(0, lines.length - STORY_LINES_MAX);
  if (leftOut > 0) lines.splice(BEGINNING_LINES, leftOut);
  return { lines, leftOut };
}

