import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import { readThrown, type ThrownRecord } from '../../src/activities/thrown.ts';
import { EffectNotSent, EffectRefused, TaskError } from '../../src/define/failures.ts';
import { storable } from '../../src/define/storable.ts';
import { ThroughlineError } from '../../src/errors.ts';
import { LIMITS, classify, effectAnswer } from '../../src/state/index.ts';

const error = (message: string, more: object = {}, cause?: unknown): Error => Object.assign(new Error(message, cause === undefined ? {} : { cause }), more);
const refusedConnection = (): Error => error('connect ECONNREFUSED 127.0.0.1:80', { code: 'ECONNREFUSED', errno: -111 });
const categoryOf = (thrown: unknown): string => classify(readThrown(thrown).facts).category;

const HOSTILE = new Proxy(new Error('x'), {
  get: () => { throw new Error('get'); },
  has: () => { throw new Error('has'); },
  ownKeys: () => { throw new Error('ownKeys'); },
  getPrototypeOf: () => { throw new Error('getPrototypeOf'); },
});
const REVOKED = Proxy.revocable({}, {});
REVOKED.revoke();
class Unreadable extends Error {
  override get message(): string {
    throw new Error('no message for you');
  }
}
const CYCLE = error('first');
CYCLE.cause = error('second', {}, CYCLE);
const SELF = new AggregateError([], 'sum');
SELF.errors.push(SELF, SELF);

/** What must hold for the record of anything. */
function expectSound(record: ThrownRecord): void {
  expect(record.message.trim()).not.toBe('');
  expect(record.message.length).toBeLessThanOrEqual(LIMITS.error_text_chars_max);
  expect(record.causes.length).toBeLessThanOrEqual(LIMITS.error_causes_max);
  for (const cause of record.causes) expect(cause.message.length).toBeLessThanOrEqual(500);
  // Storable in jsonb: plain JSON without NUL and half characters, and small.
  expect(storable(record, '/error', 64 * 1024)).toEqual(record);
  // eslint-disable-next-line no-control-regex -- nothing hidden but tab and newline
  expect(JSON.stringify(record)).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
}

describe('anything thrown becomes a readable record', () => {
  test.each<[string, unknown, string | RegExp]>([
    ['undefined', undefined, 'undefined was thrown, which is no error'],
    ['null', null, 'null was thrown, which is no error'],
    ['a text', 'it broke', 'it broke'],
    ['an empty text', '', 'an empty text was thrown'],
    ['a number', 7, '7 was thrown, which is no error'],
    ['NaN', Number.NaN, 'NaN was thrown, which is no error'],
    ['a bigint', 7n, '7 was thrown, which is no error'],
    ['a symbol', Symbol('s'), 'Symbol(s) was thrown, which is no error'],
    ['a function', () => 1, 'a function was thrown'],
    ['an empty object', {}, 'an object without members was thrown'],
    ['an object', { answer: 42, token: 'hunter2', inner: {} }, 'an object was thrown: { answer: 42, token: …, inner: … }'],
    ['an object with a message', { message: 'told' }, 'told'],
    ['an object without a prototype', Object.create(null), 'an object without members was thrown'],
    ['an error', new Error('plain'), 'plain'],
    ['an empty message', new TypeError(''), 'TypeError without a message'],
    ['a message of blanks', new Error(' \n'), 'Error without a message'],
    ['a message that is no text', error('x', { message: 5 }), '5'],
    ['a message getter that throws', new Unreadable(), 'Unreadable: its message cannot be read'],
    ['a proxy that throws', HOSTILE, /cannot be read/],
    ['a revoked proxy', REVOKED.proxy, /cannot be read/],
    ['an array', ['a', 'b'], /0: "a", 1: "b"/],
    ['a promise', Promise.resolve(1), 'an object without members was thrown'],
    ['a cycle of causes', CYCLE, 'second'],
    ['an aggregate of itself', SELF, 'sum'],
    ['an empty aggregate', new AggregateError([], ''), 'AggregateError without a message'],
    ['a schema error', z.object({ a: z.object({ b: z.string() }) }).safeParse({ a: { b: 1 } }).error, /^\/a\/b: Invalid input/],
  ])('%s', (_, thrown, message) => {
    const record = readThrown(thrown);
    expectSound(record);
    if (typeof message === 'string') expect(record.message).toBe(message);
    else expect(record.message).toMatch(message);
  });

  test('whatever it is made of', () => {
    const anything = fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true, withNullPrototype: true, withSparseArray: true, withTypedArray: true });
    const members = fc.record(
      Object.fromEntries(['name', 'message', 'code', 'cause', 'errors', 'status', 'statusCode', 'category', 'retryAfter', 'retryAfterMs', 'severity', 'response', 'stack', 'issues', 'toString'].map((key) => [key, anything])),
      { requiredKeys: [] },
    );
    fc.assert(fc.property(anything, (thrown) => { expectSound(readThrown(thrown)); }));
    fc.assert(fc.property(members, fc.string({ unit: 'binary' }), (more, message) => {
      expectSound(readThrown(more));
      const thrown = new Error(message);
      // jest's source maps read a stack as it is set, and can't take any.
      for (const [key, value] of Object.entries(more).filter(([name]) => name !== 'stack')) Object.defineProperty(thrown, key, { value });
      expectSound(readThrown(thrown));
    }));
  });
});

describe('texts are bounded, and how much is missing is said', () => {
  test('five megabytes', () => {
    const record = readThrown(new Error('a'.repeat(5_000_000)));
    expectSound(record);
    expect(record.message).toHaveLength(LIMITS.error_text_chars_max);
    expect(record.cut).toBe(5_000_000 - LIMITS.error_text_chars_max);
    expect(readThrown(new Error('short')).cut).toBe(0);
  });

  test('of causes, too', () => {
    const record = readThrown(error('a'.repeat(10_000), { code: 'ECONNRESET' }, 'b'.repeat(600)));
    expectSound(record);
    expect(record.cut).toBe(10_000 - LIMITS.error_text_chars_max + 100);
  });

  test('never in the middle of a character', () => {
    const record = readThrown(new Error(`a${'😀'.repeat(10_000)}`));
    expectSound(record);
    expect(record.message).not.toContain('\uFFFD');
    expect(record.cut).toBe(20_001 - record.message.length);
  });

  test('also where showing hidden characters makes them longer', () => {
    const record = readThrown(new Error('\u202e'.repeat(10_000)));
    expectSound(record);
    expect(record.message.slice(0, 8)).toBe('⟨U+202E⟩');
    expect(record.cut).toBeGreaterThan(9_000);
  });

  test('a chain of ten thousand causes ends', () => {
    let thrown = new Error('root');
    for (let depth = 0; depth < 10_000; depth += 1) thrown = error(`wrapper ${depth}`, {}, thrown);
    const record = readThrown(thrown);
    expectSound(record);
    expect(record.causes_omitted).toBeGreaterThan(0);
    const sum = new AggregateError(Array.from({ length: 100_000 }, (_, index) => error(`e${index}`)), 'sum');
    expectSound(readThrown(sum));
  });
});

describe('nothing hidden survives', () => {
  test('control characters are shown, half a character is replaced, visible escapes stay', () => {
    expect(readThrown(new Error('a\0b\x1b[31m\r\u0085\u202e\ud83d \\u0000\n\tend')).message).toBe('a␀b␛[31m␍⟨U+0085⟩⟨U+202E⟩\uFFFD \\u0000\n\tend');
  });

  test('in names and codes, too', () => {
    const record = readThrown(error('x', { name: 'N\0', code: `C\x07${'c'.repeat(500)}` }));
    expect(record.name).toBe('N␀');
    expect(record.code).toHaveLength(LIMITS.name_chars_max);
    expectSound(record);
  });
});

describe('the real cause stands in front', () => {
  test('not the generic sentence of its wrapper', () => {
    const record = readThrown(new TypeError('fetch failed', { cause: refusedConnection() }));
    expect(record).toMatchObject({
      name: 'Error',
      message: 'connect ECONNREFUSED 127.0.0.1:80',
      code: 'ECONNREFUSED',
      causes: [{ name: 'TypeError', message: 'fetch failed', code: null }],
      facts: { nodeCode: 'ECONNREFUSED', classes: ['Error'] },
    });
  });

  test('however deep, and with what it sums up', () => {
    const sum = Object.assign(new AggregateError([refusedConnection(), error('connect ECONNREFUSED ::1:80', { code: 'ECONNREFUSED' })], ''), { code: 'ECONNREFUSED' });
    const record = readThrown(error('Publishing failed', {}, new TypeError('fetch failed', { cause: sum })));
    expect(record.message).toBe('connect ECONNREFUSED 127.0.0.1:80');
    expect(record.causes.map(({ message }) => message)).toEqual(['Publishing failed', 'fetch failed', 'AggregateError without a message', 'connect ECONNREFUSED ::1:80']);
  });

  test('the deepest that says what kind of failure it is, before deeper ones that only talk', () => {
    const record = readThrown(error('wrapped', {}, error('Too many requests', { status: 429 }, new Error('socket closed'))));
    expect(record).toMatchObject({ message: 'Too many requests', facts: { httpStatus: 429 } });
    expect(record.causes.map(({ message }) => message)).toEqual(['wrapped', 'socket closed']);
  });

  test('the deepest that says anything, if none has a code', () => {
    expect(readThrown(error('Rendering failed', {}, error('', {}, new RangeError('Invalid width')))).message).toBe('Invalid width');
    expect(readThrown(error('Rendering failed', {}, new Error(''))).message).toBe('Rendering failed');
    expect(readThrown(error('Rendering failed', {}, { hint: 1 })).message).toBe('Rendering failed');
    expect(readThrown(error('', {}, 'the disk is full'))).toMatchObject({ name: 'string', message: 'the disk is full' });
  });

  test("an author's own words stand before everything", () => {
    const record = readThrown(new TypeError('outer', { cause: new TaskError('invalid_input', 'The note has no title', { code: 'NO_TITLE', cause: refusedConnection() }) }));
    expect(record).toMatchObject({ name: 'TaskError', message: 'The note has no title', code: 'NO_TITLE', facts: { category: 'invalid_input', nodeCode: 'ECONNREFUSED' } });
    expect(categoryOf(new TaskError('invalid_input', 'x', { cause: error('y', { status: 503 }) }))).toBe('invalid_input');
  });

  test("a library's own word named category is not taken for an author's", () => {
    expect(readThrown(error('x', { category: 'timeout' })).facts.category).toBeUndefined();
  });

  test('of several errors summed up, the one that claims least about the outside speaks', () => {
    const reset = error('reset', { code: 'ECONNRESET' });
    for (const errors of [[refusedConnection(), reset], [reset, refusedConnection()], [refusedConnection(), new Error('who knows')]]) {
      expect(effectAnswer(readThrown(new AggregateError(errors)).facts)).toBe('lost');
    }
    expect(effectAnswer(readThrown(new AggregateError([refusedConnection(), refusedConnection()])).facts)).toBe('not_sent');
  });
});

describe('the facts for the classifier', () => {
  test.each<[string, object, string]>([
    ['an HTTP status', { status: 503 }, 'unavailable'],
    ['another spelling', { statusCode: 404 }, 'resource_gone'],
    ['inside a response', { response: { status: 401 } }, 'authorization_revoked'],
    ['a status that is none', { status: 200 }, 'programming_error'],
    ['a status as text', { status: '503' }, 'programming_error'],
    ['a Node code', { code: 'ETIMEDOUT' }, 'timeout'],
    ["undici's code", { code: 'UND_ERR_SOCKET' }, 'connection'],
    ['a SQLSTATE', { code: '40001', severity: 'ERROR' }, 'deadlock'],
    ['a unique violation', { code: '23505', severity: 'ERROR' }, 'invalid_input'],
    ['five characters without severity', { code: '40001' }, 'programming_error'],
    ['EPIPE, which has five characters', { code: 'EPIPE' }, 'connection'],
    ['a class', { name: 'TimeoutError' }, 'timeout'],
    ['an unknown code', { code: 'E_WHATEVER' }, 'programming_error'],
  ])('%s', (_, more, category) => {
    expect(categoryOf(error('x', more))).toBe(category);
  });

  test('classes are listed from the most specific one', () => {
    class Base extends Error {}
    class Special extends Base {
      override name = 'Renamed';
    }
    expect(readThrown(new Special('x')).facts.classes).toEqual(['Renamed', 'Special', 'Base', 'Error']);
    expect(readThrown(new EffectRefused('x')).facts.classes[0]).toBe('EffectRefused');
    expect(readThrown(new EffectNotSent('x')).facts.classes[0]).toBe('EffectNotSent');
  });

  const now = Date.parse('2026-10-21T07:28:00Z');
  test.each<[unknown, number | undefined]>([
    [{ retryAfterMs: 1_500 }, 1_500],
    [{ retryAfterMs: 0 }, 0],
    [{ retryAfterMs: -1 }, undefined],
    [{ retryAfterMs: Number.POSITIVE_INFINITY }, undefined],
    [{ retryAfterMs: '5' }, undefined],
    [{ retryAfter: 2 }, 2_000],
    [{ retryAfter: '120' }, 120_000],
    [{ retryAfter: 'Wed, 21 Oct 2026 07:28:30 GMT' }, 30_000],
    [{ retryAfter: 'Wed, 21 Oct 2026 07:00:00 GMT' }, 0],
    [{ retryAfter: new Date(now + 5_000) }, 5_000],
    [{ retryAfter: 'soon' }, undefined],
    [{ retryAfter: '' }, undefined],
    [{ retryAfter: '9'.repeat(200) }, undefined],
    [{ retryAfter: 1e12 }, LIMITS.retry_after_ms_max],
    [{ response: { status: 429, headers: new Headers({ 'retry-after': '3' }) } }, 3_000],
    [{ response: { status: 429, headers: { 'retry-after': '4' } } }, 4_000],
  ])('Retry-After of %j', (more, ms) => {
    expect(readThrown(error('x', { status: 429, ...(more as object) }), now).facts.retryAfterMs).toBe(ms);
  });

  test("a wait that only the wrapper knows counts for its cause", () => {
    expect(readThrown(error('limited', { retryAfterMs: 700 }, error('x', { status: 429 }))).facts).toMatchObject({ httpStatus: 429, retryAfterMs: 700 });
  });

  test('our own errors mean what they say, not what our API would answer', () => {
    expect(categoryOf(new ThroughlineError('EFFECT_UNDECLARED'))).toBe('programming_error');
    expect(categoryOf(new ThroughlineError('INVARIANT_BROKEN'))).toBe('programming_error');
    expect(categoryOf(new ThroughlineError('RESULT_TOO_LARGE'))).toBe('result_too_large');
    expect(categoryOf(new ThroughlineError('ARTIFACT_UNKNOWN'))).toBe('resource_gone');
    expect(readThrown(new ThroughlineError('RESULT_TOO_LARGE')).code).toBe('RESULT_TOO_LARGE');
    // The ledger's lost connection says nothing about the other side.
    const lost = readThrown(new ThroughlineError('LEDGER_UNAVAILABLE', { cause: refusedConnection() }));
    expect(effectAnswer(lost.facts)).toBe('lost');
    expect(classify(lost.facts).category).toBe('unavailable');
  });

  test('our own errors that pass something on leave the word to their cause', () => {
    expect(categoryOf(new ThroughlineError('EFFECT_REFUSED', { cause: error('Too many', { status: 429 }) }))).toBe('congested');
    expect(categoryOf(new ThroughlineError('EFFECT_REFUSED', { cause: new EffectRefused('No') }))).toBe('rejected');
    expect(categoryOf(new ThroughlineError('EFFECT_REFUSED'))).toBe('rejected');
    expect(categoryOf(new ThroughlineError('EFFECT_NOT_SENT'))).toBe('connection');
    expect(readThrown(new ThroughlineError('EFFECT_REFUSED', { cause: error('Too many', { status: 429 }) })).message).toBe('Too many');
  });
});
