/** Nobody chooses how long we work: long, deep and many inputs are refused by a code, and no reader's time grows faster than what it reads. */
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { bearerOf } from '../../src/api/caller.ts';
import { languageOf } from '../../src/api/language.ts';
import { checkedDelay, checkedTime } from '../../src/client/checks.ts';
import { canonicalJson, inputDigests, storable, JSON_DEPTH_MAX } from '../../src/define/canonical.ts';
import { quoted, visible } from '../../src/define/text.ts';
import { readIdCursor, readPlaceCursor } from '../../src/ledger/cursor.ts';
import { LIMITS } from '../../src/state/index.ts';
import { isAddressRange } from '../../src/webhooks/address.ts';
import { retryAfterMs } from '../../src/webhooks/post.ts';
import { verify } from '../../src/webhooks/signature.ts';
import { checkedUrl } from '../../src/webhooks/url.ts';
import { openApi } from '../support/api.ts';
import type { ApiUnderTest } from '../support/api.ts';
import { digestOf, planOf } from '../support/factories.ts';

/** The shortest of several: what else the machine does is no part of it. ms. */
function shortest(work: () => unknown, times = 7): number {
  let best = Infinity;
  for (let n = 0; n < times; n += 1) {
    const from = performance.now();
    try {
      work();
    } catch {
      // Refused, which is an answer.
    }
    best = Math.min(best, performance.now() - from);
  }
  return best;
}

/** What makes a search go back and forth: one sign many times, almost what is wanted, and endings that never fit. */
const TEXTS: readonly ((chars: number) => string)[] = ['a', ' ', '1', '-', '.', ',', 'a1', '{"', '\\', '%41', 'é', '\0', '\ud800', 'q=1;', 'abc 12:', '2026-01-01T00:00:00', 'https://', '1.', 'v1,', '::'].map((unit) => (chars) => `${unit.repeat(Math.ceil(chars / unit.length)).slice(0, chars)}!`);
const READERS: readonly [string, (text: string) => unknown][] = [
  ['Accept-Language', languageOf],
  ['Authorization', (text) => bearerOf({ headers: { authorization: `Bearer ${text}` } } as never)],
  ['Retry-After of an endpoint', (text) => retryAfterMs(text, new Date())],
  ['webhook-id, -timestamp, -signature', (text) => verify({ headers: { 'webhook-id': text, 'webhook-timestamp': text, 'webhook-signature': text }, body: '{}', secrets: [], now: new Date() })],
  ['a cursor', (text) => readPlaceCursor(text)],
  ["a cursor's inside", (text) => readPlaceCursor(Buffer.from(text).toString('base64url'))],
  ['a cursor that is an id', (text) => readIdCursor(Buffer.from(text).toString('base64url'))],
  ['a time', (text) => checkedTime(text, '/t')],
  ['a delay', (text) => checkedDelay(text as never, '/d')],
  ["a webhook's address", (text) => checkedUrl(`https://example.org/${text}`, false)],
  ['an allowed range', isAddressRange],
  ['a text for people', visible],
  ['a name in a sentence', quoted],
  ['a text of an input', (text) => inputDigests(storable({ [text]: text }, '/input', LIMITS.input_bytes_max))],
];

test.each(READERS)('%s: eight times the text takes no more than some eight times as long', (_, read) => {
  for (const textOf of TEXTS) {
    const [short, long] = [textOf(8_000), textOf(64_000)];
    shortest(() => read(short), 2);
    // What a quadratic search takes is 64 times; what is too short to be measured counts as a twentieth of a ms.
    const ratio = shortest(() => read(long)) / Math.max(shortest(() => read(short)), 0.05);
    if (ratio > 32) throw new Error(`${JSON.stringify(short.slice(0, 20))}: ${ratio.toFixed(0)} times as long`);
  }
});

test.each<[string, (size: number) => unknown]>([
  ['many members', (size) => Object.fromEntries(Array.from({ length: size }, (__, n) => [`m${String(n)}`, n]))],
  ['many items', (size) => Array.from({ length: size }, (__, n) => n)],
  ['many lists in lists', (size) => Array.from({ length: size / 10 }, () => [[[[[[1]]]]]])],
])('digests of an input with %s take time as its size does', (_, of) => {
  const timed = (size: number): number => {
    const value = storable(of(size), '/input', LIMITS.input_bytes_max);
    return shortest(() => [canonicalJson(value), inputDigests(value)]);
  };
  timed(2_000);
  expect(timed(16_000) / Math.max(timed(2_000), 0.05)).toBeLessThan(32);
});

describe('through the API', () => {
  const plan = planOf({ effects: 'none' });
  let api: ApiUnderTest;
  let task: string;
  beforeAll(async () => {
    api = await openApi({ requestsPerMinute: 1_000_000, refusalsPerMinute: 1_000_000 });
    await api.ledger.door.typeRegister({ type: plan.type, version: 1, plan, plan_digest: digestOf(plan), input_bytes_max: LIMITS.input_bytes_max, by: 'test' });
    task = (await api.client.enqueue(plan.type, { n: 1 })).id;
  });
  afterAll(async () => {
    await api.close();
  });
  const stored = async (): Promise<unknown> => (await api.ledger.query('select (select count(*) from throughline.task)::int as tasks, (select count(*) from throughline.dedupe)::int as keys, (select count(*) from throughline.receipt)::int as receipts'))[0];
  const enqueue = (input: string) => api.call('caller', 'POST', '/v1/tasks', { body: `{"type": ${JSON.stringify(plan.type)}, "input": ${input}}` });
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

  test('an input may be as deep as the limit, and no deeper: neither a level more nor half a million', async () => {
    expect((await enqueue(nested(JSON_DEPTH_MAX))).status).toBe(201);
    const before = await stored();
    for (const depth of [JSON_DEPTH_MAX + 1, 10_000, 500_000]) {
      const { status, body } = await enqueue(nested(depth));
      expect([depth, status, body.code]).toEqual([depth, 422, 'INPUT_NOT_STORABLE']);
    }
    expect((await enqueue(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`)).body.code).toBe('INPUT_NOT_STORABLE');
    expect((await enqueue('['.repeat(500_000))).body.code).toBe('BODY_INVALID');
    expect(await stored()).toEqual(before);
  });

  test('lists, members, texts and bodies beyond their limits are refused, and nothing is stored', async () => {
    const before = await stored();
    const cases: readonly [string, () => ReturnType<ApiUnderTest['call']>, number, string][] = [
      ['a list of 150,000', () => enqueue(`[${'1,'.repeat(150_000)}1]`), 413, 'INPUT_TOO_LARGE'],
      ['60,000 members', () => enqueue(JSON.stringify(Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`k${String(n)}`, n])))), 413, 'INPUT_TOO_LARGE'],
      ['a body beyond a MiB', () => enqueue(JSON.stringify('x'.repeat(LIMITS.api_body_bytes_max))), 413, 'INPUT_TOO_LARGE'],
      ['a batch of one too many', () => api.call('caller', 'POST', '/v1/tasks/batch', { body: { type: plan.type, items: Array.from({ length: LIMITS.batch_max + 1 }, () => ({ input: 1 })) } }), 413, 'INPUT_TOO_LARGE'],
      ['a key', () => api.call('caller', 'POST', '/v1/tasks', { body: { type: plan.type, input: 1, key: 'k'.repeat(LIMITS.key_chars_max + 1) } }), 413, 'INPUT_TOO_LARGE'],
      ['a reason', () => api.call('operator', 'POST', `/v1/tasks/${task}/cancel`, { body: { why: 'w'.repeat(LIMITS.why_chars_max + 1) } }), 413, 'INPUT_TOO_LARGE'],
      ['an id', () => api.call('operator', 'POST', `/v1/tasks/${task}/cancel`, { body: { why: 'w', id: 'i'.repeat(201) } }), 413, 'INPUT_TOO_LARGE'],
      ['a page', () => api.call('reader', 'GET', '/v1/tasks?limit=1000000'), 400, 'FILTER_INVALID'],
      ['a part of a path', () => api.call('reader', 'GET', `/v1/tasks/${'a'.repeat(5_000)}`), 404, 'ROUTE_UNKNOWN'],
    ];
    const found: unknown[] = [];
    for (const [what, call] of cases) {
      const { status, body } = await call();
      found.push([what, status, body.code]);
    }
    expect(found).toEqual(cases.map(([what, , status, code]) => [what, status, code]));
    expect(await stored()).toEqual(before);
  });

  test('the longest filter or header that gets in is answered about as soon as a short one', async () => {
    const timed = async (call: () => Promise<unknown>): Promise<number> => {
      let best = Infinity;
      for (let n = 0; n < 4; n += 1) {
        const from = performance.now();
        await call();
        best = Math.min(best, performance.now() - from);
      }
      return best;
    };
    const texts = ['a', '1', '%20', '%25', '_', "'", '%C3%9F', '-'];
    for (const name of ['key', 'text', 'type', 'cursor', 'createdFrom']) {
      const ask = (chars: number) => Promise.all(texts.map((unit) => api.call('reader', 'GET', `/v1/tasks?${name}=${unit.repeat(Math.floor(chars / unit.length))}`)));
      const ratio = (await timed(() => ask(12_000))) / Math.max(await timed(() => ask(12)), 1);
      if (ratio > 20) throw new Error(`${name}: ${ratio.toFixed(0)} times as long`);
    }
    for (const name of ['accept-language', 'authorization', 'last-event-id', 'idempotency-key', 'cookie', 'traceparent', 'if-none-match']) {
      const ask = (chars: number) => Promise.all(['a', ' ;', ',q=1', '='].map((unit) => api.call('reader', 'GET', `/v1/tasks/${task}/explain`, { headers: { [name]: `x${unit.repeat(Math.floor(chars / unit.length))}x` } })));
      const ratio = (await timed(() => ask(12_000))) / Math.max(await timed(() => ask(12)), 1);
      if (ratio > 20) throw new Error(`${name}: ${ratio.toFixed(0)} times as long`);
    }
  });

  test('a head without an end is cut off, and a request that is never finished has a time limit', async () => {
    const answer = await new Promise<string>((resolve, reject) => {
      const { port, hostname } = new URL(api.url);
      const socket = connect(Number(port), hostname, () => { socket.write(`GET /healthz HTTP/1.1\r\nhost: x\r\nx: ${'a'.repeat(20_000)}`); });
      socket.setTimeout(10_000, () => { socket.destroy(); reject(new Error('it is waited for')); });
      socket.once('data', (chunk: Buffer) => { socket.destroy(); resolve(chunk.toString('utf8')); });
      socket.once('error', reject);
    });
    expect(answer).toMatch(/^HTTP\/1.1 431 /);
    const { requestTimeout, headersTimeout } = api.api.app.server;
    expect([requestTimeout, headersTimeout > 0 && headersTimeout <= 60_000]).toEqual([60_000, true]);
  });
});
