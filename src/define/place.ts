/** Where in a definition something is wrong: a sentence's beginning and a JSON pointer. */
import { ThroughlineError } from '../errors.ts';
import { pointerTo } from './pointer.ts';
import { quoted } from './text.ts';

export interface Place {
  readonly label: string;
  readonly path: string;
}

export const taskPlace = (type: unknown): Place => ({ label: `Task ${quoted(String(type))}`, path: '' });
export const stepPlace = (task: Place, step: unknown): Place => ({
  label: `${task.label}, step ${quoted(String(step))}`,
  path: pointerTo(pointerTo(task.path, 'steps'), String(step)),
});
export const effectPlace = (step: Place, effect: unknown): Place => ({
  label: `${step.label}, effect ${quoted(String(effect))}`,
  path: pointerTo(pointerTo(step.path, 'effects'), String(effect)),
});
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
