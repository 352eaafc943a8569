/** Text and time inside sentences: bounded, literal, relative to the record's own moment. */
import { clip } from '../../define/text.ts';
import type { Stored } from '../../ledger/index.ts';
import type { Phrases } from './phrases.ts';

export const MESSAGE_CHARS_MAX = 500;
const NAME_CHARS_MAX = 200;
/** Of what a check read, as JSON: more than that says how much there is instead. */
const READ_CHARS_MAX = 4_000;

/** User content as it is, cut where it is longer. */
export function bounded(text: string, chars = MESSAGE_CHARS_MAX): string {
  const { text: head, cut } = clip(text, chars);
  return cut > 0 ? `${head}… (+${String(cut)})` : head;
}

export const name = (text: string): string => bounded(text, NAME_CHARS_MAX);

/** A value of a timeline entry's facts as text; '' where there is none. */
export function said(value: Stored | undefined, chars = MESSAGE_CHARS_MAX): string {
  if (value === undefined || value === null) return '';
  return bounded(typeof value === 'string' ? value : JSON.stringify(value), chars);
}

/** What a check read, kept as data where it is small. */
export function readable(value: Stored): Stored {
  const text = JSON.stringify(value);
  return text.length <= READ_CHARS_MAX ? value : bounded(text, READ_CHARS_MAX);
}

export const effectName = (effect: string, item: string): string => name(item === '' ? effect : `${effect}/${item}`);

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** "12 s", "5 min", "3 h": one unit, small enough to plan with. */
export function duration(p: Phrases, ms: number): string {
  const { units } = p.time;
  const of = (unit: string, size: number): string => `${String(Math.round(ms / size))}${unit}`;
  if (ms < SECOND_MS) return of(units.ms, 1);
  if (ms < 2 * MINUTE_MS) return of(units.s, SECOND_MS);
  if (ms < 2 * HOUR_MS) return of(units.min, MINUTE_MS);
  return ms < 2 * DAY_MS ? of(units.h, HOUR_MS) : of(units.d, DAY_MS);
}

/** "22:48:12 UTC", with the date where it is another day than the record's. */
export function clock(iso: string, asOf: string): string {
  const time = `${iso.slice(11, 19)} UTC`;
  return iso.slice(0, 10) === asOf.slice(0, 10) ? time : `${iso.slice(0, 10)} ${time}`;
}

/** "in 12 s (22:48:12 UTC)" or "40 s ago (…)". */
export function moment(p: Phrases, iso: string, asOf: string): string {
  const ms = Date.parse(iso) - Date.parse(asOf);
  if (ms === 0) return p.time.now;
  return ms > 0 ? p.time.future(duration(p, ms), clock(iso, asOf)) : p.time.past(duration(p, -ms), clock(iso, asOf));
}

/** Clauses without the empty ones, as one. */
export const joined = (p: Phrases, clauses: readonly (string | null | false)[]): string => p.join(clauses.filter((clause): clause is string => typeof clause === 'string' && clause !== ''));
