/** Numbers that are the same for the same seed and name. */
import { createHash } from 'node:crypto';

export interface Dice {
  /** From 0 to below 1. */
  roll(): number;
  /** A whole number from 0 to below this. */
  below(n: number): number;
  pick<T>(from: readonly [T, ...T[]]): T;
}

export function diceOf(seed: number, name: string): Dice {
  let n = 0;
  const roll = (): number => {
    n += 1;
    return createHash('sha256').update(`${String(seed)}/${name}/${String(n)}`).digest().readUInt32BE() / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(roll() * limit);
  return { roll, below, pick: (from) => from[below(from.length)] ?? from[0] };
}
