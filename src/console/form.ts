/** What every form of the console has in common: how it is read, who acts by it, and what of an error is an answer to it. */
import type { z } from 'zod';
import { BEHALF_CHARS_MAX } from '../api/caller.ts';
import type { Caller } from '../api/caller.ts';
import { ThroughlineError } from '../errors.ts';

/** Throws INPUT_INVALID with the field's name. */
export function fieldsOf<S extends z.ZodType>(schema: S, given: unknown): z.output<S> {
  const parsed = schema.safeParse(given ?? {});
  if (parsed.success) return parsed.data;
  throw new ThroughlineError('INPUT_INVALID', { path: `/${String(parsed.error.issues[0]?.path[0] ?? '').slice(0, 60)}` });
}

/** Who acts, as it is recorded: the token, and for whom where that was written. Throws INPUT_TOO_LARGE. */
export function byOf(caller: Caller, who: string): string {
  const name = who.trim();
  if (name.length > BEHALF_CHARS_MAX) throw new ThroughlineError('INPUT_TOO_LARGE', { path: '/who', limit: BEHALF_CHARS_MAX });
  return caller.by(name === '' ? undefined : name);
}

/** The refusal that answers a form; anything else is thrown on. */
export function refusalOf(error: unknown): ThroughlineError {
  if (!(error instanceof ThroughlineError) || error.status >= 500) throw error;
  return error;
}
