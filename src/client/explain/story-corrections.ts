/** Corrections: appended entries that say that another entry's reason was wrong. */
import { REASON_CODES, reasonOf } from '../../state/index.ts';
import type { ReasonCode } from '../../state/index.ts';
import type { TimelineRow } from '../../ledger/index.ts';
import type { Reading } from './reading.ts';
import type { ReasonSaid } from './types.ts';
import { name, said } from './words.ts';

const isReason = (value: unknown): value is ReasonCode => typeof value === 'string' && (REASON_CODES as readonly string[]).includes(value);

const meaning = (r: Reading, value: unknown): string => (isReason(value) ? r.word(reasonOf(value)) : said(value as string | null | undefined));

export const corrects = (entry: TimelineRow): number | null => {
  const target = entry.facts['corrects'];
  return entry.kind === 'correction' && typeof target === 'number' ? target : null;
};

export function correctionSentence(r: Reading, entry: TimelineRow): string {
  const is = meaning(r, entry.facts['is']);
  return r.p.correction(meaning(r, entry.facts['was']), is === '' ? null : is, said(entry.facts['why']));
}

/** The newest correction of an entry, if its reason is the one in question. */
export function correctionOf(r: Reading, entry: number, code: ReasonCode): ReasonSaid['corrected'] {
  const correction = r.record.timeline.findLast((row) => corrects(row) === entry);
  if (correction === undefined || (isReason(correction.facts['was']) && correction.facts['was'] !== code)) return null;
  const is = said(correction.facts['is'], 100);
  return { to: is === '' ? null : is, by: name(correction.actor), why: said(correction.facts['why']), sentence: correctionSentence(r, correction) };
}
