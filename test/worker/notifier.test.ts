/** Notifications end to end but for the worker's loop: real rows, a real sender, a real endpoint. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createClient, type ThroughlineClient } from '../../src/client/client.ts';
import type { WebhookInput, WebhookWithSecret } from '../../src/client/webhooks.ts';
import { Notifications, Reader } from '../../src/ledger/index.ts';
import { LIMITS } from '../../src/state/index.ts';
import { createLogger } from '../../src/worker/log.ts';
import { Notifier, notifyRetryMs, type NotifierOptions } from '../../src/worker/notifier.ts';
import { AddressPolicy } from '../../src/webhooks/address.ts';
import { verify } from '../../src/webhooks/signature.ts';
import { openEndpoint, type Endpoint } from '../support/endpoint.ts';
import { HOUR } from '../support/factories.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { Tale } from '../support/tale.ts';

let ledger: Ledger;
let client: ThroughlineClient;
let endpoint: Endpoint;
beforeAll(async () => {
  ledger = await openLedger();
  client = createClient({ databaseUrl: ledger.url, by: 'service:test', connectionsMax: 4 });
  endpoint = await openEndpoint();
});
beforeEach(async () => {
  for (const { id } of await client.webhooks.list()) await client.webhooks.remove(id);
  endpoint.got.length = 0;
  endpoint.answers.length = 0;
});
afterAll(async () => {
  await endpoint.close();
  await client.close();
  await ledger.close();
});

const LOCAL = new AddressPolicy(['127.0.0.1']);
const notifier = (more: Partial<NotifierOptions> = {}): Notifier =>
  new Notifier({ notifications: new Notifications(ledger.database), reader: new Reader(ledger.database), addresses: LOCAL, log: createLogger('silent'), ...more });
const hook = (more: Partial<WebhookInput> = {}): Promise<WebhookWithSecret> => client.webhooks.add({ url: endpoint.url, allowHttp: true, ...more });
const now = async (): Promise<Date> => (await ledger.query<{ now: Date }>('select throughline.now() as now'))[0]?.now ?? new Date(0);
const types = (): unknown[] => endpoint.got.map(({ json }) => json.type);
const FREE = { effects: 'none', probe: false, receipt: false, proof: { kind: 'record', requires: ['/url'] } } as const;
const succeeded = async (): Promise<Tale> => (await (await Tale.of(ledger, FREE)).claim()).done();
const died = async (): Promise<Tale> => (await (await Tale.of(ledger, FREE)).claim()).fail(false);
/** The last of a webhook's notifications. */
const last = async (webhook: { readonly id: string }) => (await client.webhooks.notifications({ webhook: webhook.id, limit: 1 })).rows[0];

describe('what is told', () => {
  test('a success, once, signed, with ids and codes alone', async () => {
    const { secret } = await hook();
    const tale = await succeeded();
    expect(await notifier().runOnce()).toMatchObject({ taken: 1, sent: 1 });
    const [got, ...more] = endpoint.got;
    expect(more).toEqual([]);
    expect(got?.json).toEqual({
      type: 'task.succeeded', timestamp: expect.stringMatching(/Z$/),
      data: { task: tale.task, step: null, type: (await tale.taskRow())['type'], version: 1, status: 'succeeded', at_rest: true, reason: 'proof_accepted', headline: expect.stringContaining('proof') },
    });
    expect(verify({ headers: got?.headers ?? {}, body: got?.body ?? '', secrets: [secret], now: await now() }).id).toBe(got?.headers['webhook-id']);
    expect(await notifier().runOnce()).toMatchObject({ taken: 0 });
    // Nothing that comes after its end tells it again.
    await tale.cancel();
    await tale.look();
    expect(await notifier().runOnce()).toMatchObject({ taken: 0 });
  });

  test('nothing of input, result, error or key', async () => {
    await hook();
    const said = 'hunter2-secret';
    const tale = await Tale.of(ledger, FREE, { input: { token: said }, key: `key/${said}` });
    await (await tale.claim()).fail(false, { error: { category: 'rejected', stage: 'execute', name: 'Error', message: `token ${said} refused`, code: 'TOKEN' } });
    const other = await Tale.of(ledger, FREE, { input: { token: said, n: 2 } });
    await (await other.claim()).done({ url: `https://example.org/?${said}` });
    const review = await (await (await Tale.of(ledger, { review: true })).claim()).asks({ note: said });
    await ledger.door.reviewDecide(review.task, { id: 'v', step: review.step, by: 'ann', why: said, verdict: 'rejected', digest: 'x' });
    expect((await notifier().runOnce()).sent).toBe(5);
    expect(endpoint.got.map(({ body }) => body).join('\n')).not.toContain(said);
  });

  test('a death, of the step and of the task; after a replay the next one as well', async () => {
    await hook({ events: ['step.dead', 'task.dead'] });
    const tale = await died();
    await notifier().runOnce();
    expect(types().sort()).toEqual(['step.dead', 'task.dead']);
    expect(endpoint.got.find(({ json }) => json.type === 'step.dead')?.json.data).toMatchObject({ task: tale.task, step: tale.step, state: 'dead', reason: 'not_retryable', attempt: 1 });
    await tale.cancel();
    await notifier().runOnce();
    expect(types()).toHaveLength(2);
  });

  test('a replayed step that dies again is told again', async () => {
    await hook({ events: ['task.dead'] });
    const tale = await died();
    await tale.replay();
    await (await tale.claim()).fail(false);
    await notifier().runOnce();
    expect(types()).toEqual(['task.dead', 'task.dead']);
    expect(new Set(endpoint.got.map(({ headers }) => headers['webhook-id'])).size).toBe(2);
  });

  test('a dead step is told while its siblings still run', async () => {
    await hook({ events: ['step.dead', 'task.dead'] });
    const tale = await Tale.of(ledger, [{ ...FREE, name: 'a' }, { ...FREE, name: 'b' }]);
    await (await tale.about('a').claim()).fail(false);
    await notifier().runOnce();
    expect(types()).toEqual(['step.dead']);
    await (await tale.about('b').claim()).done();
    await notifier().runOnce();
    expect(types()).toEqual(['step.dead', 'task.dead']);
  });

  test('a cancel', async () => {
    await hook();
    await (await Tale.of(ledger, FREE)).cancel();
    await notifier().runOnce();
    expect(types()).toEqual(['task.cancelled']);
  });

  test('a step that is unconfirmed for long, once in each window; not before, and not after it was resolved', async () => {
    await hook({ events: ['step.unconfirmed'] });
    const tale = await (await (await Tale.of(ledger, { keyed: false })).claim()).intend();
    await tale.settle('lost');
    await notifier().runOnce();
    await tale.pass(LIMITS.notify_unconfirmed_ms - 60_000);
    await notifier().runOnce();
    expect(types()).toEqual([]);
    await tale.pass(60_001);
    for (let pass = 0; pass < 3; pass += 1) await Promise.all([notifier().runOnce(), notifier().runOnce()]);
    expect(types()).toEqual(['step.unconfirmed']);
    expect(endpoint.got[0]?.json.data).toMatchObject({ task: tale.task, step: tale.step, state: 'unconfirmed', reason: 'answer_lost' });
    await tale.pass(LIMITS.notify_window_ms);
    await notifier().runOnce();
    expect(types()).toHaveLength(2);
    await tale.probe('present');
    await tale.pass(LIMITS.notify_window_ms);
    await notifier().runOnce();
    expect(types()).toHaveLength(2);
  });

  test('a review that nobody opened, once for each reminder, and escalated from the third on', async () => {
    await hook({ events: ['review.unopened', 'review.undecided', 'review.escalated'] });
    const tale = await (await (await Tale.of(ledger, { review: true })).claim()).asks();
    for (const expected of [['review.unopened'], ['review.unopened'], ['review.escalated', 'review.unopened'], ['review.escalated', 'review.unopened']]) {
      await tale.overdue();
      await tale.look();
      await notifier().runOnce();
      await notifier().runOnce();
      expect(types().sort()).toEqual(expected);
      endpoint.got.length = 0;
    }
    await tale.decide('opened');
    await tale.overdue();
    await notifier().runOnce();
    expect(types()).toEqual(['review.undecided']);
    expect(endpoint.got[0]?.json.data).toMatchObject({ step: tale.step, state: 'received', reminders: 1 });
  });

  test('a wake-up that was parked', async () => {
    await hook({ events: ['wakeup.parked'] });
    const tale = await Tale.of(ledger, FREE);
    await ledger.door.outboxFailed(tale.task, 'INVALID_ARGUMENT', 0, true, 1);
    await notifier().runOnce();
    expect(types()).toEqual(['wakeup.parked']);
    expect(endpoint.got[0]?.json.data).toMatchObject({ task: tale.task, attempts: 1 });
  });
});

describe('to whom', () => {
  test('only what was asked for, and only of the types asked for', async () => {
    const [dead, good] = [await died(), await succeeded()];
    const all = await hook({ events: ['task.succeeded'] });
    const { type } = await dead.taskRow() as { type: string };
    const none = await hook({ types: ['another-type'] });
    const one = await hook({ types: [type], events: ['task.succeeded', 'task.dead'] });
    expect((await good.taskRow())['type']).toBe(type);
    await succeeded();
    await died();
    const of = async (id: string): Promise<unknown[]> => (await client.webhooks.notifications({ webhook: id })).rows.map(({ event }) => event);
    expect(await of(all.id)).toEqual(['task.succeeded']);
    expect(await of(none.id)).toEqual([]);
    expect(await of(one.id)).toEqual(['task.dead', 'task.succeeded']);
  });

  test('nobody is told what was there before', async () => {
    const tale = await died();
    await hook();
    await tale.cancel();
    expect(await notifier().runOnce()).toMatchObject({ taken: 0 });
  });

  test('with no webhook nothing is written', async () => {
    const before = await ledger.query('select count(*) from throughline.notification');
    await succeeded();
    await died();
    expect(await ledger.query('select count(*) from throughline.notification')).toEqual(before);
  });

  test('disabled, nothing new is written and what is pending waits; removed, it is dropped and the secret forgotten', async () => {
    const webhook = await hook();
    await succeeded();
    expect(await client.webhooks.change(webhook.id, { enabled: false, why: 'moving house' })).toMatchObject({ enabled: false, disabled_why: 'moving house', pending: 1 });
    await succeeded();
    expect(await notifier().runOnce()).toMatchObject({ taken: 0 });
    expect(await client.webhooks.change(webhook.id, { enabled: true })).toMatchObject({ enabled: true, disabled_why: null, pending: 1 });
    expect(await client.webhooks.remove(webhook.id)).toEqual({ removed: true, dropped: 1 });
    expect(await notifier().runOnce()).toMatchObject({ taken: 0 });
    expect(await last(webhook)).toMatchObject({ status: 'dropped' });
    expect(await client.webhooks.list()).toEqual([]);
    expect(await ledger.query('select secrets from throughline.webhook where id = $1', [webhook.id])).toEqual([{ secrets: [] }]);
    await expect(client.webhooks.change(webhook.id, { enabled: true })).rejects.toMatchObject({ code: 'WEBHOOK_UNKNOWN' });
  });
});

describe('failures', () => {
  test.each<[string, object, string]>([
    ['an error', { status: 500 }, 'answered 500'], ['a refusal', { status: 404 }, 'answered 404'],
    ['a redirect, which is not followed', { status: 302, headers: { location: '/elsewhere' } }, 'answered 302: redirects are not followed'],
  ])('%s is tried again later, with the same id and the same bytes', async (_, answer, error) => {
    const webhook = await hook();
    const tale = await succeeded();
    endpoint.answers.push(answer);
    expect(await notifier().runOnce()).toMatchObject({ taken: 1, failed: 1, parked: 0 });
    expect(await last(webhook)).toMatchObject({ status: 'pending', attempts: 1, last_error: error });
    expect(await notifier().runOnce()).toMatchObject({ taken: 0 });
    await tale.pass(5_001);
    // What the task has become meanwhile does not change what is told.
    await tale.cancel();
    expect(await notifier().runOnce()).toMatchObject({ sent: 1 });
    const [first, second, ...more] = endpoint.got;
    expect(more).toEqual([]);
    expect([second?.body, second?.headers['webhook-id'], second?.path]).toEqual([first?.body, first?.headers['webhook-id'], '/hook']);
    expect(await last(webhook)).toMatchObject({ status: 'sent', attempts: 2, http_status: 204, last_error: null });
  });

  test('an endpoint that hangs is given up, and holds up no other', async () => {
    const slow = await hook({ events: ['task.dead'] });
    await hook({ events: ['task.succeeded'] });
    await died();
    endpoint.answers.push({ hang: true });
    const first = notifier({ timeoutMs: 300 }).runOnce();
    expect(await first).toMatchObject({ failed: 1 });
    expect((await last(slow))?.last_error).toMatch(/TimeoutError|no answer within 300 ms/);
    for (let n = 0; n < LIMITS.notify_batch_rows + 5; n += 1) await died();
    await succeeded();
    endpoint.got.length = 0;
    await notifier().runOnce();
    expect(types().filter((type) => type === 'task.succeeded')).toEqual(['task.succeeded']);
  });

  test('an endless answer is not read', async () => {
    await hook();
    await succeeded();
    endpoint.answers.push({ status: 200, body: Buffer.alloc(32 * 1024 * 1024) });
    expect(await notifier().runOnce()).toMatchObject({ sent: 1 });
  });

  test('Retry-After is obeyed, and the whole endpoint left alone', async () => {
    const webhook = await hook();
    const tale = await succeeded();
    endpoint.answers.push({ status: 429, headers: { 'retry-after': '3600' } });
    await notifier().runOnce();
    await succeeded();
    await tale.pass(HOUR - 60_000);
    expect(await notifier().runOnce()).toMatchObject({ taken: 0 });
    expect((await client.webhooks.list())[0]).toMatchObject({ id: webhook.id, quiet_until: expect.any(String), pending: 2 });
    await tale.pass(60_001);
    expect(await notifier().runOnce()).toMatchObject({ sent: 2 });
  });

  test('after its tries it is parked, the others are told, and a person sends it again', async () => {
    const webhook = await hook({ events: ['task.succeeded', 'notification.parked'] });
    const tale = await succeeded();
    for (let n = 0; n < LIMITS.webhook_attempts_max; n += 1) {
      endpoint.answers.push({ status: 503 });
      await notifier().runOnce();
      await tale.pass(7 * HOUR);
    }
    expect(await last(webhook)).toMatchObject({ status: 'parked', attempts: LIMITS.webhook_attempts_max, http_status: 503, next_at: null });
    expect(await notifier().runOnce()).toMatchObject({ taken: 0 });
    const id = (await last(webhook))?.id ?? '';
    expect(await client.webhooks.unpark(id, { why: 'repaired', by: 'operator:oda' })).toEqual({ unparked: true });
    expect(await client.webhooks.unpark(id, { why: 'repaired', by: 'operator:oda' })).toEqual({ unparked: false, status: 'pending' });
    expect((await tale.timeline()).at(-1)).toMatchObject({ kind: 'note', actor: 'operator:oda', facts: { what: 'unparked', why: 'repaired', notification: id } });
    expect(await notifier().runOnce()).toMatchObject({ sent: 1 });
    await expect(client.webhooks.unpark('00000000-0000-7000-8000-000000000000', { why: 'x' })).rejects.toMatchObject({ code: 'NOTIFICATION_UNKNOWN' });
  });

  test('an address that is not public gets nothing, is parked at once, and the other webhooks hear of it', async () => {
    const webhook = await hook({ events: ['task.succeeded'] });
    const watcher = await hook({ events: ['notification.parked'] });
    const tale = await succeeded();
    expect(await notifier({ addresses: new AddressPolicy() }).runOnce()).toMatchObject({ taken: 1, parked: 1 });
    expect(endpoint.got).toEqual([]);
    expect(await last(webhook)).toMatchObject({ status: 'parked', last_error: expect.stringContaining('ADDRESS_REFUSED') });
    expect(await last(watcher)).toMatchObject({ event: 'notification.parked', task: tale.task });
    // A name that leads there is refused as well.
    await client.webhooks.change(webhook.id, { url: endpoint.url.replace('127.0.0.1', 'localhost'), allowHttp: true });
    await succeeded();
    await notifier({ addresses: new AddressPolicy() }).runOnce();
    expect(endpoint.got).toEqual([]);
    expect(await last(webhook)).toMatchObject({ status: 'parked', last_error: expect.stringContaining('ADDRESS_REFUSED') });
  });

  test('an endpoint that says that it is gone is asked nothing any more', async () => {
    const webhook = await hook();
    await succeeded();
    endpoint.answers.push({ status: 410 });
    await notifier().runOnce();
    expect((await client.webhooks.list())[0]).toMatchObject({ id: webhook.id, enabled: false, disabled_why: expect.stringContaining('410'), parked: 1 });
  });

  test('nobody listens', async () => {
    const webhook = await hook({ url: 'http://127.0.0.1:9/' });
    await succeeded();
    await notifier().runOnce();
    expect(await last(webhook)).toMatchObject({ status: 'pending', attempts: 1, last_error: expect.stringContaining('ECONNREFUSED'), http_status: null });
  });
});

describe('several senders', () => {
  test('four at once send each once', async () => {
    await hook();
    for (let n = 0; n < 12; n += 1) await succeeded();
    for (let pass = 0; pass < 3; pass += 1) await Promise.all(Array.from({ length: 4 }, () => notifier().runOnce()));
    const ids = endpoint.got.map(({ headers }) => headers['webhook-id']);
    expect(ids).toHaveLength(12);
    expect(new Set(ids).size).toBe(12);
  });

  test('what a vanished sender held is sent by another, under the same id; a failure that it reports late changes nothing', async () => {
    const webhook = await hook();
    const tale = await succeeded();
    const rows = new Notifications(ledger.database);
    const [taken] = await rows.notificationTake(10, 10, 1_000);
    expect(await notifier().runOnce()).toMatchObject({ taken: 0 });
    await tale.pass(1_001);
    expect(await notifier().runOnce()).toMatchObject({ sent: 1 });
    expect(endpoint.got.map(({ headers }) => headers['webhook-id'])).toEqual([taken?.id]);
    expect(await rows.notificationFailed(taken?.id ?? '', { take: taken?.take ?? 0, error: 'late', retry_ms: 0, attempts_max: 1 })).toEqual({ recorded: false, parked: false });
    expect(await last(webhook)).toMatchObject({ status: 'sent' });
  });

  test('nothing is sent when the hold may be over before the answer', async () => {
    const webhook = await hook();
    await succeeded();
    expect(await notifier({ holdMs: 100, timeoutMs: 15_000 }).runOnce()).toMatchObject({ failed: 1 });
    expect(endpoint.got).toEqual([]);
    expect((await last(webhook))?.last_error).toContain('not sent');
  });

  test('our own stop is no failure of the endpoint', async () => {
    const webhook = await hook();
    await succeeded();
    const stop = new AbortController();
    endpoint.answers.push({ hang: true });
    const pass = notifier({ signal: stop.signal }).runOnce();
    while (endpoint.got.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    stop.abort();
    expect(await pass).toMatchObject({ failed: 1 });
    expect(await last(webhook)).toMatchObject({ status: 'pending', attempts: 0, last_error: null });
  });
});

describe('secrets', () => {
  test('are answered once, and by nothing else', async () => {
    const webhook = await hook();
    expect(webhook.secret).toMatch(/^whsec_/);
    await client.webhooks.test(webhook.id);
    const [list, rows, record] = [await client.webhooks.list(), await client.webhooks.notifications(), await client.webhooks.change(webhook.id, { enabled: true })];
    expect(JSON.stringify([list, rows, record])).not.toContain(webhook.secret);
    expect(list).toMatchObject([{ id: webhook.id, secrets: 1, created_by: 'service:test' }]);
  });

  test('a rotation signs with both until its overlap is over', async () => {
    const old = await hook();
    const fresh = await client.webhooks.rotate(old.id, { overlap: '1h' });
    expect(fresh.secrets).toBe(2);
    const check = async (secrets: readonly string[]): Promise<unknown> => {
      const got = endpoint.got.at(-1);
      const at = await now();
      return secrets.map((secret) => {
        try {
          return verify({ headers: got?.headers ?? {}, body: got?.body ?? '', secrets: [secret], now: at }).id === got?.headers['webhook-id'];
        } catch {
          return false;
        }
      });
    };
    await succeeded();
    await notifier().runOnce();
    expect(await check([old.secret, fresh.secret])).toEqual([true, true]);
    await ledger.shiftClock(HOUR + 1);
    await succeeded();
    await notifier().runOnce();
    expect(await check([old.secret, fresh.secret])).toEqual([false, true]);
  });
});

test('a test is sent through the outbox and tells who asked', async () => {
  const webhook = await hook({ events: ['task.dead'] });
  const { notification } = await client.webhooks.test(webhook.id, { by: 'operator:oda' });
  expect(await client.webhooks.test(webhook.id, { by: 'operator:oda', id: notification })).toMatchObject({ notification });
  await notifier().runOnce();
  expect(endpoint.got.map(({ json, headers }) => [json.type, json.data['by'], headers['webhook-id']])).toEqual([['webhook.test', 'operator:oda', notification]]);
});

test('adding is idempotent by its id; the same id for another URL is a conflict', async () => {
  const first = await hook();
  expect(await hook({ id: first.id })).toMatchObject({ id: first.id });
  expect(await client.webhooks.list()).toHaveLength(1);
  await expect(hook({ id: first.id, url: `${endpoint.url}/other` })).rejects.toMatchObject({ code: 'ID_CONFLICT' });
});

test.each<[string, object, string]>([
  ['/url', { url: 'http://hooks.example/', allowHttp: false }, 'INPUT_INVALID'], ['/events', { events: ['task.exploded'] }, 'INPUT_INVALID'], ['/events', { events: [] }, 'INPUT_INVALID'],
  ['/secret', { secret: 'swordfish' }, 'INPUT_INVALID'], ['/id', { id: '7' }, 'ID_INVALID'], ['/by', { by: '' }, 'REASON_REQUIRED'],
])('a webhook with a bad %s is refused', async (path, change, code) => {
  await expect(hook(change)).rejects.toMatchObject({ code, detail: { path } });
});

test('pages of notifications neither skip nor repeat', async () => {
  const webhook = await hook();
  const made = new Set<string>();
  for (let n = 0; n < 5; n += 1) made.add((await client.webhooks.test(webhook.id)).notification);
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const page = await client.webhooks.notifications({ webhook: webhook.id, limit: 2, ...(cursor === null ? {} : { cursor }) });
    seen.push(...page.rows.map(({ id }) => id));
    cursor = page.cursor;
  } while (cursor !== null);
  expect([seen.length, new Set(seen)]).toEqual([5, made]);
});

test('waits grow to their cap, a part of them at random, never before Retry-After', () => {
  for (let attempts = 0; attempts < 2_000; attempts += 1) {
    const wait = notifyRetryMs(attempts, null);
    expect(wait).toBeGreaterThanOrEqual(4_000);
    expect(wait).toBeLessThanOrEqual(6 * HOUR);
  }
  expect(notifyRetryMs(0, 10 * HOUR)).toBe(10 * HOUR);
});
