import type { AnyTaskDefinition } from '../define/definition.ts';
import type { Stored } from '../ledger/index.ts';

/**
 * The input as handlers get it: one that came through a door which does not know the schema (SQL, by name) is read by
 * it here. Throws INPUT_INVALID, which no repetition changes.
 */
export const readInput = (definition: AnyTaskDefinition, from: { readonly input: Stored; readonly raw: boolean }): Stored =>
  from.raw ? (definition.parseInput(from.input) as Stored) : from.input;
