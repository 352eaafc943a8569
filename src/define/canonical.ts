/** JSON in one spelling, and digests of it: what makes two inputs "the same". */
import { createHash } from 'node:crypto';
import { ThroughlineError } from '../errors.ts';
import { JSON_DEPTH_MAX } from './storable.ts';
import type { Json } from './json.ts';
import { pointerTo } from './pointer.ts';

export { storable, JSON_DEPTH_MAX } from './storable.ts';

/** Paths for which `inputDigests` keeps a digest; what lies deeper is folded into its parent. */
export const DIGEST_PATHS_MAX = 200;
/** 64 bits: enough to tell two values of one path apart, which is all that it is for. */
const DIGEST_PREFIX_CHARS = 16;

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);
type JsonObject = Readonly<Record<string, Json | undefined>>;
const isObject = (value: Json): value is JsonObject => typeof value === 'object' && value !== null && !isList(value);

const keysOf = (value: JsonObject): string[] =>
  // By UTF-16 units, as RFC 8785 does: independent of locale and of the order of insertion.
  Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .sort();

function write(value: Json, depth: number): string {
  if (depth > JSON_DEPTH_MAX) {
    throw new ThroughlineError('INPUT_NOT_STORABLE', { message: 'The value is nested too deep.', limit: `${JSON_DEPTH_MAX} levels` });
  }
  if (isList(value)) return `[${value.map((item) => write(item, depth + 1)).join(',')}]`;
  if (isObject(value)) {
    return `{${keysOf(value)
      .map((key) => `${JSON.stringify(key)}:${write(value[key] as Json, depth + 1)}`)
      .join(',')}}`;
  }
  const scalar = JSON.stringify(value) as string | undefined;
  if (scalar === undefined) throw new ThroughlineError('INPUT_NOT_STORABLE', { message: `A ${typeof value} is not JSON.` });
  return scalar;
}

/**
 * The one spelling of a JSON value: keys sorted by UTF-16 units, arrays in their order, no spaces,
 * undefined members left out. Errors: INPUT_NOT_STORABLE if it is no JSON or deeper than 100 levels.
 */
export const canonicalJson = (value: Json): string => write(value, 0);

/** SHA-256 in lower case hex (64 characters): of the bytes as they are, or of the canonical JSON in UTF-8. */
export function digest(value: Json | Uint8Array): string {
  const bytes = value instanceof Uint8Array || ArrayBuffer.isView(value) ? (value as Uint8Array) : canonicalJson(value);
  return createHash('sha256').update(bytes).digest('hex');
}

const childrenOf = (value: Json): readonly (readonly [string, Json])[] => {
  if (isList(value)) return value.map((item, index) => [String(index), item] as const);
  if (isObject(value)) return keysOf(value).map((key) => [key, value[key] as Json] as const);
  return [];
};

/**
 * A digest (16 hex characters) for each path of an input, level by level: objects and arrays as well as
 * what they hold, so that two records can be compared wherever both have a path. A container whose
 * members would exceed 200 paths together stays folded into its own digest.
 *
 * Keys are JSON pointers from `/input` on. Kept with the dedupe key, so that a conflict can name the
 * paths which differ after the input itself is gone.
 */
export function inputDigests(input: Json): Readonly<Record<string, string>> {
  const digests = new Map<string, string>();
  const put = (pointer: string, value: Json): void => void digests.set(pointer, digest(value).slice(0, DIGEST_PREFIX_CHARS));
  put('/input', input);
  const level: { pointer: string; value: Json }[] = [{ pointer: '/input', value: input }];
  for (let entry = level.shift(); entry !== undefined; entry = level.shift()) {
    const children = childrenOf(entry.value);
    if (digests.size + children.length > DIGEST_PATHS_MAX) continue;
    for (const [key, value] of children) {
      const pointer = pointerTo(entry.pointer, key);
      put(pointer, value);
      level.push({ pointer, value });
    }
  }
  return Object.fromEntries(digests);
}

const parentOf = (pointer: string): string => pointer.slice(0, pointer.lastIndexOf('/'));

/**
 * The deepest paths in which two inputs differ, sorted; empty if they are the same. `a` and `b` come from
 * `inputDigests`. A member that only one of them has is named itself where the other shows its siblings,
 * and otherwise by its container.
 */
export function differingPaths(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): readonly string[] {
  const unfolded = (record: Readonly<Record<string, string>>): ReadonlySet<string> => new Set(Object.keys(record).map(parentOf));
  const [inA, inB] = [unfolded(a), unfolded(b)];
  const differing = new Set<string>();
  for (const pointer of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const parent = parentOf(pointer);
    const comparable = pointer in a && pointer in b ? a[pointer] !== b[pointer] : inA.has(parent) && inB.has(parent);
    if (comparable) differing.add(pointer);
  }
  const covered = new Set([...differing].map(parentOf));
  return [...differing].filter((pointer) => !covered.has(pointer)).sort();
}
