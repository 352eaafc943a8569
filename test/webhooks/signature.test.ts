import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { ThroughlineError } from '../../src/errors.ts';
import { checkedSecret, createSecret, sign, verify } from '../../src/webhooks/signature.ts';

const NOW = new Date('2026-05-01T09:00:00Z');
const seconds = (n: number): Date => new Date(NOW.getTime() + n * 1_000);
const why = (work: () => unknown): unknown => {
  try {
    work();
  } catch (error) {
    if (error instanceof ThroughlineError && error.code === 'SIGNATURE_INVALID') return error.detail.facts?.['why'];
    throw error;
  }
  return 'accepted';
};

const [OLD, NEW, OTHER] = [createSecret(), createSecret(), createSecret()];
const signed = (secrets: readonly string[], at = NOW, body = '{"a":1}', id = 'm1') => ({ headers: { ...sign({ id, at, body, secrets }) }, body });

test('the specification\'s own example has its signature', () => {
  const headers = sign({
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', at: new Date(1_614_265_330_000), body: '{"test": 2432232314}', secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
  });
  expect(headers['webhook-signature']).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  expect(headers['webhook-timestamp']).toBe('1614265330');
});

test('what is signed is verified by the common library, too', () => {
  const at = new Date();
  const { headers, body } = signed([NEW], at);
  expect(new Webhook(NEW).verify(body, headers)).toEqual({ a: 1 });
});

test('any text that is signed is verified; any other byte is not', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ minLength: 1 }), (body, added) => {
      const message = signed([NEW], NOW, body);
      expect(verify({ ...message, secrets: [NEW], now: NOW }).id).toBe('m1');
      expect(why(() => verify({ ...message, body: body + added, secrets: [NEW], now: NOW }))).toBe('no_match');
    }),
    { numRuns: 50 },
  );
});

describe('rotation', () => {
  test('a message signed with both secrets is accepted by who knows either', () => {
    const message = signed([NEW, OLD]);
    for (const secret of [NEW, OLD]) expect(verify({ ...message, secrets: [secret], now: NOW })).toMatchObject({ id: 'm1', secret: 0 });
    expect(why(() => verify({ ...message, secrets: [OTHER], now: NOW }))).toBe('no_match');
  });

  test('a receiver with both secrets accepts either, and says which', () => {
    expect(verify({ ...signed([OLD]), secrets: [NEW, OLD], now: NOW }).secret).toBe(1);
    expect(verify({ ...signed([NEW]), secrets: [NEW, OLD], now: NOW }).secret).toBe(0);
  });
});

test.each([
  ['too old', -301, 'too_old'],
  ['just in time', -300, 'accepted'],
  ['ahead, within the tolerance', 300, 'accepted'],
  ['from the future', 301, 'too_new'],
])('a message that is %s', (_, shift, expected) => {
  expect(why(() => verify({ ...signed([NEW], seconds(shift)), secrets: [NEW], now: NOW }))).toBe(expected);
});

test.each<[string, Record<string, string | string[] | undefined>, string]>([
  ['no id', { 'webhook-id': undefined }, 'header_missing'],
  ['an empty signature', { 'webhook-signature': '' }, 'header_missing'],
  ['a header twice', { 'webhook-timestamp': ['1', '2'] }, 'header_missing'],
  ['a time with a tail', { 'webhook-timestamp': `${String(NOW.getTime() / 1_000)}abc` }, 'timestamp_unreadable'],
  ['a negative time', { 'webhook-timestamp': '-5' }, 'timestamp_unreadable'],
  ['another id', { 'webhook-id': 'm2' }, 'no_match'],
  ['another time', { 'webhook-timestamp': String(NOW.getTime() / 1_000 + 1) }, 'no_match'],
  ['a signature of another version', { 'webhook-signature': signed([NEW]).headers['webhook-signature'].replace('v1', 'v1a') }, 'no_match'],
])('a message with %s is refused', (_, change, expected) => {
  const { headers, body } = signed([NEW]);
  expect(why(() => verify({ headers: { ...headers, ...change }, body, secrets: [NEW], now: NOW }))).toBe(expected);
});

test('no secrets, nothing is accepted', () => {
  expect(why(() => verify({ ...signed([NEW]), secrets: [], now: NOW }))).toBe('no_match');
});

test.each([['short', `whsec_${Buffer.alloc(23).toString('base64')}`], ['long', `whsec_${Buffer.alloc(65).toString('base64')}`], ['no prefix', Buffer.alloc(32).toString('base64')], ['not base64', 'whsec_!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!'], ['no text', 7]])(
  'a secret that is %s is refused without being shown',
  (_, secret) => {
    let thrown: unknown;
    try {
      checkedSecret(secret);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ code: 'INPUT_INVALID', detail: { path: '/secret' } });
    expect((thrown as Error).message).not.toContain(String(secret));
  },
);

test('secrets are all different, and well formed', () => {
  const secrets = Array.from({ length: 100 }, createSecret);
  expect(new Set(secrets).size).toBe(100);
  for (const secret of secrets) expect(checkedSecret(secret)).toBe(secret);
});
