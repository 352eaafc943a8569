import type { EffectName } from '../index.ts';
import { usageError } from './failure.ts';

/** `effect` or `effect/item`; the item may hold further slashes. */
export function readEffect(text: string, path: string): EffectName {
  const [, effect, item] = /^([^/]+)(?:\/(.+))?$/su.exec(text) ?? [];
  if (effect === undefined) throw usageError('An effect is written as EFFECT or EFFECT/ITEM.', path);
  return item === undefined ? { effect } : { effect, item };
}
