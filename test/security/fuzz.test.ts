/** Whatever is sent to the API: it answers with a code of the catalogue, stores nothing that it should not, and shows nobody more than they may see. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ERRORS } from '../../src/errors.ts';
import { sign } from '../../src/webhooks/signature.ts';
import { openApi } from '../support/api.ts';
import type { Answer, ApiUnderTest } from '../support/api.ts';
import { digestOf, planOf } from '../support/factories.ts';
import { fc, settings } from '../support/property.ts';
import { Tale } from '../support/tale.ts';

const RUNS = 120;
const mine = planOf({ effects: 'none' });
const other = planOf({ effects: 'none', attempts: 7 });
let api: ApiUnderTest;
let tale: Tale;
let scoped: string;
let secret: string;

beforeAll(async () => {
  api = await openApi({ requestsPerMinute: 1_000_000, refusalsPerMinute: 1_000_000 });
  for (const plan of [mine, other]) await api.ledger.door.typeRegister({ type: plan.type, version: 1, plan, plan_digest: digestOf(plan), input_bytes_max: 262_144, by: 'test' });
  for (let n = 0; n < 4; n += 1) for (const { type } of [mine, other]) await api.client.enqueue(type, { n }, { key: `order/${String(n)}` });
  tale = await Tale.of(api.ledger, {});
  await (await (await tale.claim()).confirmed()).settle('submitted');
  scoped = await api.token('reader', [mine.type]);
  ({ secret } = await api.client.access.addSenderKey({ sender: 'platform' }));
});
afterAll(async () => {
  await api.close();
});

/** Refused or answered, never surprised. */
function isCoded({ status, body, text }: Answer, sent: string): void {
  if (status < 400) return;
  const entry = ERRORS[body.code as keyof typeof ERRORS] as { status: number } | undefined;
  if (status >= 500 || entry?.status !== status) throw new Error(`${String(status)} ${text.slice(0, 400)}\n  for ${sent.slice(0, 400)}`);
}

/** Text as an attacker would choose it: odd characters, signs of every language in between, other people's ids, numbers at the edges. */
const evil = fc.oneof(
  fc.string({ maxLength: 60 }), fc.string({ unit: 'binary', maxLength: 60 }), fc.uuid(),
  fc.constantFrom('', ' ', '\0', '\ud800', '-', '%', '_', '\\', "'", "';--", '$1', '../..', '{}', 'null', 'NaN', '-1', '1e400', '9'.repeat(40), '2026-02-30T00:00:00Z', '0000-00-00T00:00:00Z', '+275760-09-13T00:00:00Z', 'infinity', '-infinity', 'now', 'order/1', '\u202e', 'ß'.repeat(200)),
);
/** Raw bytes in an address, also those that are no UTF-8. */
const escaped = fc.uint8Array({ maxLength: 40 }).map((bytes) => [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''));
const inAddress = fc.oneof(evil.map((text) => encodeURIComponent(text.toWellFormed())), escaped);

describe('filters', () => {
  const paths = ['/v1/tasks', '/v1/receipts', '/v1/replays', '/v1/cancels', '/v1/audit', '/console/tasks'];
  const names = ['status', 'type', 'reason', 'atRest', 'createdFrom', 'createdTo', 'key', 'text', 'limit', 'cursor', 'task', 'unmatched', 'since', 'rows', 'from', 'to', '__proto__', 'constructor', 'x'];
  test('any filter of any list is answered or refused by a code', async () => {
    await fc.assert(fc.asyncProperty(fc.constantFrom(...paths), fc.array(fc.tuple(fc.constantFrom(...names), inAddress), { minLength: 1, maxLength: 4 }), async (path, filters) => {
      const address = `${path}?${filters.map(([name, value]) => `${name}=${value}`).join('&')}`;
      isCoded(await api.call('admin', 'GET', address), address);
    }), settings(RUNS * 2));
  });

  test('any part of a path is answered or refused by a code', async () => {
    await fc.assert(fc.asyncProperty(fc.constantFrom('/v1/tasks/X', '/v1/tasks/X/explain', '/v1/tasks/X/history', '/v1/replays/X', '/v1/cancels/X/items', '/v1/artifacts/X', '/v1/types/X', '/console/tasks/X'), inAddress, async (path, value) => {
      const address = path.replace('X', value);
      isCoded(await api.call('admin', 'GET', address), address);
    }), settings(RUNS));
  });

  test('a token for one type sees no row of another, whatever it filters by and whichever page it asks for', async () => {
    const cursors = [(await api.call('admin', 'GET', '/v1/tasks?limit=3')).body['cursor'], (await api.call('admin', 'GET', `/v1/tasks?limit=1&type=${other.type}`)).body['cursor']].map(String);
    await fc.assert(fc.asyncProperty(fc.option(fc.constantFrom(...cursors), { nil: undefined }), fc.array(fc.tuple(fc.constantFrom('key', 'text', 'limit', 'atRest'), fc.oneof(inAddress, fc.constantFrom('order%2F1', 'order', '5', 'true', 'false'))), { maxLength: 2 }), async (cursor, filters) => {
      const address = `/v1/tasks?${[...filters, ...(cursor === undefined ? [] : [['cursor', cursor]])].map(([name, value]) => `${String(name)}=${String(value)}`).join('&')}`;
      const answer = await api.call(null, 'GET', address, { headers: { authorization: `Bearer ${scoped}` } });
      isCoded(answer, address);
      for (const row of (answer.body['rows'] ?? []) as { type: string }[]) expect(row.type).toBe(mine.type);
    }), settings(RUNS / 2));
    expect((await api.call(null, 'GET', `/v1/tasks?type=${other.type}`, { headers: { authorization: `Bearer ${scoped}` } })).status).toBe(403);
  });
});

describe('cursors', () => {
  const isRefusedOrAPage = async (path: string, cursor: string): Promise<void> => {
    const answer = await api.call('admin', 'GET', `${path}?limit=2&cursor=${encodeURIComponent(cursor)}`);
    isCoded(answer, cursor);
    if (answer.status >= 400) expect([answer.status, answer.body.code]).toEqual([400, cursor.length > 200 ? 'FILTER_INVALID' : 'CURSOR_INVALID']);
  };

  test('a cursor whose inside is anything but a place is refused, never passed to the database', async () => {
    const inside = fc.oneof(
      evil.map((text) => text.toWellFormed()),
      // What looks like one.
      fc.tuple(fc.stringMatching(/^[0-9:.+ -]{10,40}$/), fc.stringMatching(/^[0-9a-f-]{36}$/)).map(([at, id]) => `${at}/${id}`),
      fc.tuple(fc.bigInt({ min: 0n, max: 10n ** 20n }), fc.uuid()).map(([at, id]) => `${String(at)}/${id}`),
      fc.uuid(), fc.stringMatching(/^[0-9a-f-]{36}$/), fc.stringMatching(/^\d{1,30}$/),
    );
    await fc.assert(fc.asyncProperty(fc.constantFrom('/v1/tasks', '/v1/receipts', '/v1/replays', '/v1/cancels'), inside, fc.boolean(), async (path, text, encoded) => {
      await isRefusedOrAPage(path, encoded ? Buffer.from(text).toString('base64url') : text);
    }), settings(RUNS * 2));
  });

  test('a cursor of ours with any character changed, added or removed is refused or is another place of the same list', async () => {
    const cursor = String((await api.call('admin', 'GET', '/v1/tasks?limit=3')).body['cursor']);
    await fc.assert(fc.asyncProperty(fc.nat(cursor.length), fc.constantFrom('A', 'z', '9', '_', '-', '', '=', '\0', 'é'), fc.nat(2), async (at, put, removed) => {
      await isRefusedOrAPage('/v1/tasks', cursor.slice(0, at) + put + cursor.slice(at + removed));
    }), settings(RUNS));
  });
});

describe('receipts', () => {
  const KINDS = ['delivered', 'received', 'progress', 'completed', 'failed', 'text'];
  const id = fc.oneof(evil, fc.constant('D-1'));
  const someJson = fc.oneof(fc.jsonValue({ maxDepth: 3 }), evil);
  const body = fc.record({
    deliveryId: id, sender: fc.constant('platform'), task: fc.oneof(evil, fc.constant('TASK'), fc.constant('TASK')), step: fc.oneof(evil, fc.constantFrom('publish', 'publish')), kind: fc.oneof(fc.constantFrom(...KINDS), evil),
    threadId: fc.oneof(evil, fc.constant('THREAD'), fc.constant(null)), inReplyTo: fc.oneof(evil, fc.constant('MESSAGE'), fc.constant(null)), externalId: fc.oneof(evil, fc.constantFrom('ext-1', 'ext-2')), code: evil,
    retryable: fc.oneof(fc.boolean(), someJson), artifact: someJson, text: fc.oneof(evil, fc.constant(null)),
  }, { requiredKeys: ['sender', 'task', 'step', 'kind'] });
  const real = (value: unknown): unknown => (value === 'TASK' ? tale.task : value === 'THREAD' ? `${tale.task}/publish` : value === 'MESSAGE' ? tale.message : value);
  const signed = async (text: string | Buffer, more: Record<string, string> = {}): Promise<Answer> => {
    const content = text.toString();
    const headers = { ...sign({ id: randomUUID(), at: new Date(), body: content, secrets: [secret] }), 'content-type': 'application/json', ...more };
    return api.call(null, 'POST', '/v1/receipts', { body: content, headers });
  };
  const stored = async (): Promise<number> => Number((await api.ledger.query<{ n: string }>('select count(*) as n from throughline.receipt'))[0]?.n);
  const evidenceless = async (): Promise<unknown> => api.ledger.query(`select s.name from throughline.step s where s.state = 'succeeded' and not exists (select from throughline.acceptance a where a.task_id = s.task_id and a.step = s.name)`);

  test('any signed receipt is stored with a verdict, or refused and not stored; none makes a success without a proof', async () => {
    await fc.assert(fc.asyncProperty(body, async (given) => {
      const text = JSON.stringify(Object.fromEntries(Object.entries(given).map(([name, value]) => [name, real(value)])));
      const before = await stored();
      const answer = await signed(text);
      isCoded(answer, text);
      if (answer.status >= 400) expect(await stored()).toBe(before);
      else expect(answer.body).toMatchObject({ verdict: expect.any(String) });
    }), settings(RUNS * 2));
    expect(await evidenceless()).toEqual([]);
    expect((await api.client.audit({})).findings.filter(({ kind }) => kind === 'broken')).toEqual([]);
  });

  test('bytes that are no receipt, and signatures that are none, store nothing', async () => {
    const before = await stored();
    await fc.assert(fc.asyncProperty(fc.oneof(evil.map((text) => text.toWellFormed()), fc.json(), fc.constantFrom('{', '[]', '""', '{"__proto__": {}}', '{"sender": {"toString": 1}}', '{"sender": "platform", "sender": "x"}')), async (text) => {
      isCoded(await signed(text), text);
    }), settings(RUNS / 2));
    await fc.assert(fc.asyncProperty(fc.constantFrom('webhook-id', 'webhook-timestamp', 'webhook-signature'), fc.string({ maxLength: 60 }).map((text) => text.replace(/[^\x20-\x7e]/g, '').trim()), async (name, value) => {
      const answer = await signed(JSON.stringify({ sender: 'platform', task: tale.task, step: 'publish', kind: 'completed' }), { [name]: value });
      isCoded(answer, `${name}: ${value}`);
      expect(answer.status).toBeGreaterThanOrEqual(400);
    }), settings(RUNS / 2));
    expect(await stored()).toBe(before);
  });
});

test('any body of an action is answered or refused by a code, and nobody acts in another name', async () => {
  await fc.assert(fc.asyncProperty(fc.constantFrom('cancel', 'withdraw', 'abandon-wait', 'decide', 'replay'), fc.dictionary(fc.constantFrom('why', 'id', 'by', 'step', 'verdict', 'evidence', 'effect', 'item', 'void', 'x', '__proto__'), fc.oneof(evil, fc.jsonValue({ maxDepth: 2 })), { maxKeys: 5 }), async (action, given) => {
    const text = JSON.stringify(given);
    isCoded(await api.call('operator', 'POST', `/v1/tasks/${tale.task}/${action}`, { body: text }), `${action} ${text}`);
  }), settings(RUNS));
  const actors = await api.ledger.query<{ actor: string }>("select distinct actor from throughline.timeline where kind = 'cancel'");
  for (const { actor } of actors) expect(actor).toMatch(/^token:operator(\/|$)/);
});
