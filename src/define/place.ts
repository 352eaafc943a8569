/** Where in a definition something is wrong: a sentence's beginning and a JSON pointer. */
import { ThroughlineError } from '../errors.ts';
import { pointerTo } from './pointer.ts';
import { quoted } from './text.ts';

export interface Place {
  readonly label: string;
  readonly path: string;
}

const inside = (place: Place, what: string, list: string, name: unknown): Place => ({
  label: `${place.label}, ${what} ${shown(name)}`,
  path: pointerTo(pointerTo(place.path, list), typeof name === 'string' ? name : shown(name)),
});

export const taskPlace = (type: unknown): Place => ({ label: `Task ${shown(type)}`, path: '' });
export const stepPlace = (task: Place, step: unknown): Place => inside(task, 'step', 'steps', step);
export const effectPlace = (step: Place, effect: unknown): Place => inside(step, 'effect', 'effects', effect);
/** The same subject, but the pointer names one of its options: `at(step, 'receipt', 'within')`. */
export const at = (place: Place, ...keys: readonly string[]): Place => ({ label: place.label, path: keys.reduce(pointerTo, place.path) });

/** Refuses the definition: DEFINITION_INVALID with a sentence that names the place, and the limit if there is one. */
export function refuse(place: Place, sentence: string, limit?: string | number): never {
  throw new ThroughlineError('DEFINITION_INVALID', {
    message: `${place.label}: ${sentence}.`,
    path: place.path,
    ...(limit === undefined ? {} : { limit }),
  });
}

/** A value inside such a sentence; never throws, never long. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'number' || typeof value === 'boolean' || value === null || value === undefined) return String(value);
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`;
}

/** An options object with nothing but known options: a slip such as `reciept` would silently promise less. */
export function checkOptions(place: Place, what: string, value: unknown, known: readonly string[]): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) refuse(place, `${what} is ${shown(value)}, but must be an object`);
  for (const key of Object.keys(value)) {
    if (!known.includes(key)) refuse(at(place, key), `${what} has no option ${shown(key)}`, known.join(', '));
  }
}
