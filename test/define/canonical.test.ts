import { describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { DIGEST_PATHS_MAX, canonicalJson, differingPaths, digest, inputDigests } from '../../src/define/canonical.ts';
import type { Json } from '../../src/define/json.ts';
import { refusalOf } from './support.ts';

const differing = (a: Json, b: Json): readonly string[] => differingPaths(inputDigests(a), inputDigests(b));

/** The same value with the members of each object in reverse order. */
const shuffled = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(shuffled)
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(Object.entries(value).reverse().map(([key, inner]) => [key, shuffled(inner)]))
      : value;

describe('canonical JSON', () => {
  test('keys are sorted by UTF-16 units, arrays keep their order, undefined members are left out', () => {
    expect(canonicalJson({ b: [2, 1], a: { d: null, c: true }, 'ä': 'x', Z: -0, gone: undefined })).toBe('{"Z":0,"a":{"c":true,"d":null},"b":[2,1],"ä":"x"}');
  });

  test('the order of keys does not matter, the order of arrays does', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => {
      expect(canonicalJson(shuffled(value) as Json)).toBe(canonicalJson(value));
      expect(JSON.parse(canonicalJson(value as Json))).toEqual(JSON.parse(JSON.stringify(value)));
    }));
    expect(canonicalJson([1, 2])).not.toBe(canonicalJson([2, 1]));
  });

  test('what is no JSON is refused with a code', () => {
    for (const value of [undefined, () => 1, Symbol('x')]) expect(refusalOf(() => canonicalJson([value] as unknown as Json)).code).toBe('INPUT_NOT_STORABLE');
    const round: unknown[] = [];
    round.push(round);
    expect(refusalOf(() => canonicalJson(round as Json)).code).toBe('INPUT_NOT_STORABLE');
  });
});

describe('digests', () => {
  test('bytes as they are, JSON by its canonical text', () => {
    expect(digest(Buffer.from('abc'))).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    expect(digest(new Uint8Array())).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    expect(digest({ b: 1, a: 'ä' })).toBe(createHash('sha256').update('{"a":"ä","b":1}').digest('hex'));
    expect(digest('abc')).toBe(createHash('sha256').update('"abc"').digest('hex'));
  });
});

describe('the paths in which two inputs differ', () => {
  test.each<[string, Json, Json, readonly string[]]>([
    ['nothing', { a: 1, b: { c: [1] } }, { b: { c: [1] }, a: 1 }, []],
    ['a value', { a: 1, b: 2 }, { a: 1, b: 3 }, ['/input/b']],
    ['a nested value', { a: { b: { c: 1, d: 1 } } }, { a: { b: { c: 2, d: 1 } } }, ['/input/a/b/c']],
    ['a member that one has', { a: { b: 1 } }, { a: { b: 1, c: 2 } }, ['/input/a/c']],
    ['the order of an array', { a: [1, 2, 3] }, { a: [1, 3, 2] }, ['/input/a/1', '/input/a/2']],
    ['a longer array', { a: [1] }, { a: [1, 2] }, ['/input/a/1']],
    ['another kind', { a: 1, b: 0 }, { a: { x: 1 }, b: 0 }, ['/input/a']],
    ['empty against full', { a: {} }, { a: { x: 1 } }, ['/input/a']],
    ['list against object', { a: ['x'] }, { a: { 0: 'x' } }, ['/input/a']],
    ['the whole', 1, 2, ['/input']],
    ['null against absent', { a: null, b: 1 }, { b: 1 }, ['/input/a']],
    ['odd keys', { 'a/b': 1, 'c~d': 1 }, { 'a/b': 2, 'c~d': 2 }, ['/input/a~1b', '/input/c~0d']],
  ])('%s', (_, a, b, paths) => {
    expect(differing(a, b)).toEqual(paths);
    expect(differing(b, a)).toEqual(paths);
  });

  test('at most 200 paths are kept; deeper ones are folded into their parent', () => {
    const wide = (n: number, value: number): Json => ({ narrow: 1, wide: Array.from({ length: n }, (_, index) => (index === 7 ? value : index)) });
    expect(Object.keys(inputDigests(wide(100_000, 0)))).toEqual(['/input', '/input/narrow', '/input/wide']);
    expect(differing(wide(100_000, 0), wide(100_000, 1))).toEqual(['/input/wide']);
    expect(differing(wide(100_000, 0), wide(150, 0))).toEqual(['/input/wide']);
    expect(differing(wide(150, 0), wide(150, 1))).toEqual(['/input/wide/7']);
    const rows = (value: number): Json => Array.from({ length: 150 }, (_, row) => ({ a: row, b: row === 149 ? value : 0 }));
    expect(Object.keys(inputDigests(rows(0))).length).toBeLessThanOrEqual(DIGEST_PATHS_MAX);
    expect(differing(rows(0), rows(1))).toEqual(['/input/149']);
  });

  test('long and hidden keys stay apart and short', () => {
    const long = 'k'.repeat(10_000);
    const paths = differing({ [`${long}a`]: 1, [`${long}b`]: 1, 'x\0': 1 }, { [`${long}a`]: 2, [`${long}b`]: 2, 'x\0': 2 });
    expect(paths).toHaveLength(3);
    for (const path of paths) expect(path.length).toBeLessThan(100);
    expect(paths.join('')).not.toContain('\0');
  });

  test('is empty exactly for equal inputs, and each path lies within the limit', () => {
    fc.assert(fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      const same = canonicalJson(a) === canonicalJson(b);
      expect(differing(a as Json, b as Json).length === 0).toBe(same);
      expect(differing(a as Json, shuffled(a) as Json)).toEqual([]);
      expect(Object.keys(inputDigests(a as Json)).length).toBeLessThanOrEqual(DIGEST_PATHS_MAX);
    }));
  });
});
