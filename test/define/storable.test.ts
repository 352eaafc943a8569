import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { JSON_DEPTH_MAX, storable } from '../../src/define/storable.ts';
import { refusalOf } from './support.ts';

const MIB = 1024 * 1024;
const keep = (value: unknown, limit = MIB): unknown => storable(value, '/input', limit);
const refusal = (value: unknown, limit = MIB): { code: string; path: string | undefined; message: string } => {
  const { code, detail, message } = refusalOf(() => keep(value, limit));
  return { code, path: detail.path, message };
};

class Point {
  x = 1;
}
const holdingItself: Record<string, unknown> = { a: {} };
holdingItself['a'] = { b: holdingItself };
const throwing = new Proxy({}, { ownKeys: () => { throw new Error('no'); } });
const revoked = Proxy.revocable({}, {});
revoked.revoke();

describe('what the ledger cannot store is refused with the path named', () => {
  test.each([
    ['a NUL in a text', { a: [{ b: 'x\0y' }] }, '/input/a/0/b'],
    ['a NUL in a key', { a: { 'x\0y': 1 } }, /^\/input\/a\/x␀y…[0-9a-f]{8}$/],
    ['half a character', { a: '\ud83d' }, '/input/a'],
    ['the other half', ['\ude00'], '/input/0'],
    ['half a character in a key', { '\ud83d': 1 }, /^\/input\/\uFFFD…[0-9a-f]{8}$/],
    ['NaN', { a: Number.NaN }, '/input/a'],
    ['Infinity', { a: -Infinity }, '/input/a'],
    ['undefined in an array', { a: [1, undefined] }, '/input/a/1'],
    ['a hole in an array', { a: [1, , 2] }, '/input/a/1'], // eslint-disable-line no-sparse-arrays -- the case
    ['undefined itself', undefined, '/input'],
    ['a function', { a: () => 1 }, '/input/a'],
    ['a symbol', { a: Symbol('x') }, '/input/a'],
    ['a symbol as a key', { a: { [Symbol('x')]: 1 } }, '/input/a'],
    ['a bigint', { a: 1n }, '/input/a'],
    ['a date', { a: new Date(0) }, '/input/a'],
    ['an invalid date', { a: new Date(Number.NaN) }, '/input/a'],
    ['bytes', { a: Buffer.from('x') }, '/input/a'],
    ['a map', { a: new Map() }, '/input/a'],
    ['a class', { a: new Point() }, '/input/a'],
    ['an error', { a: new Error('x') }, '/input/a'],
    ['a boxed text', { a: Object('x') as unknown }, '/input/a'],
    ['toJSON', { a: { toJSON: () => 'else' } }, '/input/a'],
    ['toJSON on an array', { a: Object.assign([1], { toJSON: () => 'else' }) }, '/input/a'],
    ['itself', holdingItself, '/input/a/b'],
    ['a getter that throws', { a: { get b(): string { throw new Error('no'); } } }, '/input'],
    ['a proxy that throws', throwing, '/input'],
    ['a revoked proxy', revoked.proxy, '/input'],
    ['a key with a slash', { 'a/b~c': Number.NaN }, '/input/a~1b~0c'],
  ])('%s', (_, value, path) => {
    const { code, path: found } = refusal(value);
    expect(code).toBe('INPUT_NOT_STORABLE');
    expect(found).toEqual(typeof path === 'string' ? path : expect.stringMatching(path));
  });

  test('values nested too deep, and endless ones, end early', () => {
    const nest = (levels: number): unknown => Array.from({ length: levels }).reduce<unknown>((inner) => [inner], 0);
    expect(() => keep(nest(JSON_DEPTH_MAX))).not.toThrow();
    expect(refusal(nest(JSON_DEPTH_MAX + 1)).message).toContain(`${JSON_DEPTH_MAX} levels`);
    expect(refusal(nest(100_000)).code).toBe('INPUT_NOT_STORABLE');
    const endless: unknown = new Proxy({}, { get: (_, key) => (typeof key === 'string' && key !== 'toJSON' ? endless : undefined), ownKeys: () => ['a'], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }) });
    expect(refusal(endless).code).toBe('INPUT_NOT_STORABLE');
    let doubling: unknown = 'x';
    for (let level = 0; level < 60; level += 1) doubling = [doubling, doubling];
    expect(refusal(doubling).code).toBe('INPUT_TOO_LARGE');
  });
});

describe('the limit is counted in bytes of UTF-8 JSON', () => {
  test.each([['text', 'ä€😀"\n'], ['object', { a: 1, 'ß"': [true, null, -0.5, {}, []] }], ['number', 1e21], ['empty', {}]])('%s: exactly its size passes, one byte less does not', (_, value) => {
    const bytes = Buffer.byteLength(JSON.stringify(value));
    expect(keep(value, bytes)).toEqual(value);
    expect(refusalOf(() => keep(value, bytes - 1))).toMatchObject({ code: 'INPUT_TOO_LARGE', detail: { path: '/input', limit: `${bytes - 1} bytes` } });
  });

  test('other doors have other codes', () => {
    const codes = { notStorable: 'RESULT_INVALID', tooLarge: 'RESULT_TOO_LARGE' } as const;
    expect(refusalOf(() => storable('\0', '/result', 10, codes)).code).toBe('RESULT_INVALID');
    expect(refusalOf(() => storable('12345678901', '/result', 10, codes)).code).toBe('RESULT_TOO_LARGE');
  });
});

describe('what passes is what JSON would store', () => {
  test('six visible characters backslash-u-0000 survive untouched', () => {
    expect(keep({ 'a\\u0000': 'b\\u0000' })).toEqual({ 'a\\u0000': 'b\\u0000' });
  });

  test('members that are undefined are left out, a key __proto__ stays a key', () => {
    expect(JSON.stringify(keep({ a: undefined, b: 1 }))).toBe('{"b":1}');
    const tricky: unknown = JSON.parse('{"__proto__":{"polluted":true},"constructor":1}');
    expect(JSON.stringify(keep(tricky))).toBe('{"__proto__":{"polluted":true},"constructor":1}');
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  test('the same object twice is no cycle, and an object without a prototype is plain', () => {
    const shared = { x: 1 };
    expect(keep([shared, shared, Object.assign(Object.create(null) as object, { y: 2 })])).toEqual([{ x: 1 }, { x: 1 }, { y: 2 }]);
  });

  test('any JSON value comes back equal, as a copy; any other value either fits JSON or is refused with a code', () => {
    fc.assert(fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
      const stored = attemptKeep(value);
      if (stored !== null) expect(JSON.parse(JSON.stringify(stored.value))).toEqual(JSON.parse(JSON.stringify(value)));
    }));
    fc.assert(fc.property(fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true, withObjectString: true, withSparseArray: true, withTypedArray: true }), (value) => {
      const stored = attemptKeep(value);
      if (stored !== null) expect(JSON.stringify(stored.value)).toBe(JSON.stringify(value));
    }));
  });
});

/** The stored copy, or null if the value was refused with a code; anything else thrown fails the test. */
function attemptKeep(value: unknown): { value: unknown } | null {
  let kept: { value: unknown } | null = null;
  try {
    kept = { value: keep(value) };
  } catch {
    expect(refusal(value).code).toBe('INPUT_NOT_STORABLE');
  }
  return kept;
}
