/** The check at every door: is this value JSON that the ledger can store, and small enough? */
import { ThroughlineError, type ErrorCode } from '../errors.ts';
import type { Json } from './json.ts';
import { pointerTo } from './pointer.ts';

/** Deeper values are refused: parsers and readers recurse. */
export const JSON_DEPTH_MAX = 100;

/** The codes with which a value is refused: inputs and results have their own. */
export interface StorableCodes {
  readonly notStorable: ErrorCode;
  readonly tooLarge: ErrorCode;
}

const INPUT_CODES: StorableCodes = { notStorable: 'INPUT_NOT_STORABLE', tooLarge: 'INPUT_TOO_LARGE' };
const LONE_SURROGATE = /\p{Surrogate}/u;

interface Walk {
  readonly codes: StorableCodes;
  readonly top: string;
  readonly limit: number;
  /** Bytes of UTF-8 JSON so far. Counted while walking, so that shared or endless values end early. */
  bytes: number;
  readonly above: Set<object>;
}

function refuse(walk: Walk, path: string, message: string, limit?: string): never {
  throw new ThroughlineError(walk.codes.notStorable, { message, path, ...(limit === undefined ? {} : { limit }) });
}

function count(walk: Walk, bytes: number): void {
  walk.bytes += bytes;
  if (walk.bytes > walk.limit) {
    throw new ThroughlineError(walk.codes.tooLarge, {
      message: 'The value is larger than its limit, counted as UTF-8 JSON.',
      path: walk.top,
      limit: `${walk.limit} bytes`,
    });
  }
}

function text(walk: Walk, value: string, path: string, what: string): string {
  if (value.includes('\0')) refuse(walk, path, `${what} holds a NUL character, which Postgres cannot store.`);
  if (LONE_SURROGATE.test(value)) refuse(walk, path, `${what} holds half a character (a lone surrogate).`);
  // No JSON spelling is shorter than the text: a huge one is refused before it is copied.
  if (value.length + 2 > walk.limit) count(walk, value.length + 2);
  count(walk, Buffer.byteLength(JSON.stringify(value)));
  return value;
}

/** Plain in any realm: its prototype is null or the root of a chain. Maps, dates and classes are not. */
function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value) as object | null;
  return prototype === null || (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf'));
}

function className(value: object): string {
  const name = (value as { constructor?: { name?: unknown } }).constructor?.name;
  return typeof name === 'string' && /^[\w$]{1,60}$/.test(name) ? name : 'an unusual object';
}

function list(walk: Walk, value: readonly unknown[], path: string): Json {
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') refuse(walk, path, 'An array with a toJSON method would be stored as something else.');
  const copy: Json[] = [];
  count(walk, 2 + Math.max(0, value.length - 1));
  for (let index = 0; index < value.length; index += 1) {
    const inner = pointerTo(path, index);
    if (value[index] === undefined) refuse(walk, inner, 'An array holds undefined or a hole, which JSON would turn into null.');
    copy.push(visit(walk, value[index], inner));
  }
  return copy;
}

function members(walk: Walk, value: object, path: string): Json {
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') refuse(walk, path, `A ${className(value)} (toJSON) is not plain JSON; convert it first.`);
  if (!isPlain(value)) refuse(walk, path, `A ${className(value)} is not plain JSON; convert it first.`);
  if (Object.getOwnPropertySymbols(value).length > 0) refuse(walk, path, 'A symbol as a key would be lost.');
  const entries: [string, Json][] = [];
  count(walk, 2);
  for (const key of Object.keys(value)) {
    const inner = pointerTo(path, key);
    const member = (value as Record<string, unknown>)[key];
    if (member === undefined) continue;
    text(walk, key, inner, 'A key');
    count(walk, entries.length > 0 ? 2 : 1);
    entries.push([key, visit(walk, member, inner)]);
  }
  // fromEntries defines members, so that a key `__proto__` stays a key.
  return Object.fromEntries(entries);
}

function visit(walk: Walk, value: unknown, path: string): Json {
  switch (typeof value) {
    case 'string':
      return text(walk, value, path, 'A text');
    case 'number':
      if (!Number.isFinite(value)) refuse(walk, path, `${String(value)} is not a number that JSON knows.`);
      count(walk, String(value).length);
      return value;
    case 'boolean':
      count(walk, value ? 4 : 5);
      return value;
    case 'object': {
      if (value === null) {
        count(walk, 4);
        return null;
      }
      if (walk.above.has(value)) refuse(walk, path, 'The value holds itself.');
      if (walk.above.size >= JSON_DEPTH_MAX) refuse(walk, path, 'The value is nested too deep.', `${JSON_DEPTH_MAX} levels`);
      walk.above.add(value);
      const copy = Array.isArray(value) ? list(walk, value, path) : members(walk, value, path);
      walk.above.delete(value);
      return copy;
    }
    default:
      return refuse(walk, path, `A ${typeof value} is not JSON.`);
  }
}

/**
 * A plain copy of `value` that the ledger stores without loss: members that are undefined are left out,
 * all else is as it was. `path` is the JSON pointer of the value itself, `limitBytes` counts UTF-8 JSON.
 *
 * Errors: INPUT_NOT_STORABLE with the pointer of the part that is NUL or half a character (in texts and
 * keys), not finite, undefined in an array, a function, symbol, bigint, date or other class, has toJSON,
 * holds itself, throws when read, or lies deeper than 100 levels; INPUT_TOO_LARGE with the limit. `codes`
 * names other ones.
 */
export function storable(value: unknown, path: string, limitBytes: number, codes: StorableCodes = INPUT_CODES): Json {
  const walk: Walk = { codes, top: path, limit: limitBytes, bytes: 0, above: new Set() };
  try {
    return visit(walk, value, path);
  } catch (error) {
    if (error instanceof ThroughlineError) throw error;
    // A getter or a proxy threw; what it threw may not even be readable, so it is not passed on.
    throw new ThroughlineError(codes.notStorable, { message: 'The value throws when it is read.', path });
  }
}
