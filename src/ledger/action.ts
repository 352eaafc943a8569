import { ThroughlineError } from '../errors.ts';
import { LIMITS } from '../state/index.ts';
import type { ActionRow } from './types.ts';

const ID_CHARS_MAX = 200;

/** A bounded text that the ledger can store. Throws REASON_REQUIRED if it is empty, otherwise the code for what is wrong. */
export function boundedText(value: unknown, path: string, charsMax: number): string {
  if (typeof value !== 'string' || value.trim() === '') throw new ThroughlineError('REASON_REQUIRED', { path });
  if (value.length > charsMax) throw new ThroughlineError('INPUT_TOO_LARGE', { path, limit: charsMax });
  // NUL and lone surrogates are no text for Postgres.
  if (value.includes('\u0000') || !value.isWellFormed()) throw new ThroughlineError('INPUT_NOT_STORABLE', { path });
  return value;
}

/** Who acts and why, checked: `by` at most 200, `why` at most 2,000 characters, neither empty. */
export function checkedAction<T extends ActionRow>(row: T): T {
  boundedText(row.id, '/id', ID_CHARS_MAX);
  boundedText(row.by, '/by', LIMITS.actor_chars_max);
  boundedText(row.why, '/why', LIMITS.why_chars_max);
  if (row.step !== undefined) boundedText(row.step, '/step', LIMITS.name_chars_max);
  return row;
}
