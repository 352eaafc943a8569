import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { Metrics } from '../../src/metrics/index.ts';
import { mayDo, PERMISSIONS, ROLES } from '../../src/state/index.ts';
import type { Permission, Role } from '../../src/state/index.ts';
import { createSecret, sign } from '../../src/webhooks/signature.ts';
import { openApi } from '../support/api.ts';
import type { Answer, ApiUnderTest } from '../support/api.ts';
import { digestOf, planOf } from '../support/factories.ts';

const lines: string[] = [];
const metrics = new Metrics();
const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
const plan = planOf({ effects: 'none' });
const other = planOf({ effects: 'none', attempts: 7 });
let api: ApiUnderTest;
let task: string;

beforeAll(async () => {
  api = await openApi({ metrics, log });
  for (const each of [plan, other]) await api.ledger.door.typeRegister({ type: each.type, version: 1, plan: each, plan_digest: digestOf(each), input_bytes_max: 262_144, by: 'test' });
  task = (await api.client.enqueue(plan.type, { a: 1 })).id;
});
afterAll(async () => {
  await api.close();
});

const rows = async (): Promise<unknown> => (await api.ledger.query('select (select count(*) from throughline.task)::int as tasks, (select count(*) from throughline.timeline)::int as entries, (select count(*) from throughline.receipt)::int as receipts'))[0];
const refusedTimes = async (code: string): Promise<number> => (await metrics.refusals.get()).values.filter(({ labels }) => labels.code === code).reduce((sum, { value }) => sum + value, 0);

/** Refused with this code; nothing changed; and it was recorded. */
async function isRefused(work: () => Promise<Answer>, status: number, code: string): Promise<void> {
  const [before, times, logged] = [await rows(), await refusedTimes(code), lines.length];
  expect(await work()).toMatchObject({ status, body: { code } });
  expect(await rows()).toEqual(before);
  expect(await refusedTimes(code)).toBe(times + 1);
  expect(lines.slice(logged).some((line) => line.includes('"refused"') && line.includes(code))).toBe(true);
}

interface RouteCase {
  readonly method: string;
  readonly url: string;
  readonly permission: Permission | null;
}

/** Every route that the server has, from its own description. */
const routes = (): RouteCase[] => {
  const paths = api.api.app.swagger().paths ?? {};
  return Object.entries(paths).flatMap(([url, methods]) =>
    Object.keys(methods as object).map((method) => ({ method: method.toUpperCase(), url, permission: api.api.permissions.get(`${method.toUpperCase()} ${url.replaceAll(/\{(\w+)\}/g, ':$1')}`) ?? null })));
};

describe('roles', () => {
  test('every role meets every route as the table says', async () => {
    const wrong: string[] = [];
    for (const { method, url, permission } of routes()) {
      if (permission === null) continue;
      // An id that no task has, and a body that fits no route: past the door, each is refused for that instead.
      const path = url.replace('{task}', randomUUID()).replace('{sha256}', 'a'.repeat(64)).replaceAll(/\{\w+\}/g, randomUUID());
      for (const role of ROLES) {
        if (url === '/v1/events' && mayDo(role, permission)) continue;
        const { status, body } = await api.call(role, method, path, method === 'POST' ? { body: { nothing: true } } : {});
        const refused = status === 403 && body.code === 'ROLE_FORBIDDEN';
        if (refused === mayDo(role, permission)) wrong.push(`${role} ${method} ${url}: ${String(status)}`);
      }
      const stranger = await api.call(null, method, path, method === 'POST' ? { body: { nothing: true } } : {});
      if (stranger.status !== 401) wrong.push(`nobody ${method} ${url}: ${String(stranger.status)}`);
    }
    expect(wrong).toEqual([]);
  });

  test('each route asks for something, but for life and readiness; each permission has its role', () => {
    expect(routes().filter(({ permission }) => permission === null).map(({ url }) => url).sort()).toEqual(['/healthz', '/readyz']);
    for (const permission of Object.keys(PERMISSIONS) as Permission[]) expect(ROLES.some((role: Role) => mayDo(role, permission))).toBe(true);
  });
});

describe('tokens', () => {
  const withToken = (token: string) => (): Promise<Answer> => api.call(null, 'POST', '/v1/tasks', { body: { type: plan.type, input: 1 }, headers: { authorization: `Bearer ${token}` } });

  test.each([
    ['no token', () => api.call(null, 'POST', '/v1/tasks', { body: { type: 'x', input: 1 } }), 'TOKEN_REQUIRED'],
    ['another scheme', () => api.call(null, 'GET', '/v1/tasks', { headers: { authorization: 'Basic YTpi' } }), 'TOKEN_REQUIRED'],
    ['a token that nobody made', withToken(`tl_${'A'.repeat(43)}`), 'TOKEN_INVALID'],
    ['a digest instead of the token', withToken('a'.repeat(64)), 'TOKEN_INVALID'],
  ])('%s is refused and recorded; nothing changes', async (_, work, code) => {
    await isRefused(work, 401, code);
  });

  test('an expired and a revoked token are refused from that moment on', async () => {
    const short = await api.client.access.createToken({ name: 'short', role: 'caller', expiresIn: '1h' });
    expect(await withToken(short.token)()).toMatchObject({ status: 201 });
    await api.ledger.shiftClock(3_600_001);
    await isRefused(withToken(short.token), 401, 'TOKEN_INVALID');
    const long = await api.client.access.createToken({ name: 'long', role: 'caller' });
    expect(await withToken(long.token)()).toMatchObject({ status: 201 });
    await api.client.access.revokeToken('long');
    await isRefused(withToken(long.token), 401, 'TOKEN_INVALID');
    // The name is free again, the old text is not.
    await api.client.access.createToken({ name: 'long', role: 'reader' });
    await expect(api.client.access.createToken({ name: 'long', role: 'reader' })).rejects.toMatchObject({ code: 'NAME_TAKEN' });
    await isRefused(withToken(long.token), 401, 'TOKEN_INVALID');
  });

  test('a token for one type neither reads nor writes tasks of another', async () => {
    const { token } = await api.client.access.createToken({ name: 'scoped', role: 'admin', types: [other.type] });
    const foreign = await api.client.cancels.create({ filter: { type: plan.type }, why: 'x' });
    const headers = { authorization: `Bearer ${token}` };
    const call = (method: string, path: string, body?: unknown) => () => api.call(null, method, path, { headers, ...(body === undefined ? {} : { body }) });
    for (const work of [
      call('POST', '/v1/tasks', { type: plan.type, input: 1 }), call('POST', '/v1/tasks/batch', { type: plan.type, items: [] }), call('GET', `/v1/tasks?type=${plan.type}`), call('GET', `/v1/events?type=${plan.type}`), call('GET', `/v1/events?task=${task}`),
      ...['', '/record', '/steps', '/timeline', '/effects', '/receipts', '/artifacts', '/explanation', `/artifacts/${'a'.repeat(64)}/content`].map((part) => call('GET', `/v1/tasks/${task}${part}`)),
      call('POST', `/v1/tasks/${task}/cancel`, { why: 'x' }), call('POST', `/v1/tasks/${task}/replay`, { why: 'x' }), call('POST', `/v1/tasks/${task}/decide`, { step: 'publish', verdict: 'approved', why: 'x' }),
      ...['withdraw', 'abandon-wait', 'unpark'].map((name) => call('POST', `/v1/tasks/${task}/${name}`, { why: 'x' })), call('POST', `/v1/tasks/${task}/correct`, { why: 'x', entry: 1 }),
      ...['confirm-effect', 'confirm-absent'].map((name) => call('POST', `/v1/tasks/${task}/${name}`, { why: 'x', step: 'publish', effect: 'post', evidence: 'x' })),
      call('GET', '/v1/receipts'), call('GET', `/v1/receipts?task=${task}`), call('POST', '/v1/receipts/d-1/rematch', { why: 'x', task, step: 'publish' }),
      call('GET', '/v1/audit'), call('GET', `/v1/audit?task=${task}`), call('GET', `/v1/tasks/${task}/evidence`),
      ...['replays', 'cancels'].flatMap((name) => [call('POST', `/v1/${name}`, { why: 'x', filter: { reason: 'answer_lost' } }), call('POST', `/v1/${name}`, { why: 'x', filter: { type: plan.type } })]),
      call('GET', `/v1/cancels/${foreign.id}`), call('GET', `/v1/cancels/${foreign.id}/items`), call('POST', `/v1/cancels/${foreign.id}/apply`, {}), call('POST', `/v1/cancels/${foreign.id}/abort`, { why: 'x' }),
    ]) await isRefused(work, 403, 'TYPE_FORBIDDEN');
    expect((await call('GET', '/v1/cancels')()).body['rows']).toEqual([]);
    expect((await call('GET', '/v1/tasks')()).body['rows']).toEqual([]);
    expect((await call('GET', '/v1/task-types')()).body['rows']).toMatchObject([{ type: other.type }]);
  });

  test('only digests are stored', async () => {
    const { token } = await api.client.access.createToken({ name: 'hidden', role: 'reader' });
    const stored = JSON.stringify(await api.ledger.query('select * from throughline.api_token'));
    expect(stored).not.toContain(token);
    expect(stored).not.toContain(token.slice(3));
  });
});

describe('signed receipts', () => {
  const receipt = (fields: object = {}): string => JSON.stringify({ sender: 'press', task, step: 'publish', kind: 'received', ...fields });
  const deliver = (body: string, secret: string, { id = randomUUID(), at = new Date() } = {}): Promise<Answer> =>
    api.call(null, 'POST', '/v1/receipts', { body, headers: { ...sign({ id, at, body, secrets: [secret] }) } });
  const now = async (): Promise<Date> => new Date(String((await api.ledger.query("select throughline._iso(throughline.now()) as now"))[0]?.['now']));

  test('a good signature delivers; the same delivery again is no second receipt; keys change over', async () => {
    const old = await api.client.access.addSenderKey({ sender: 'press' });
    const id = randomUUID();
    const at = await now();
    const first = await deliver(receipt(), old.secret, { id, at });
    expect(first).toMatchObject({ status: 200 });
    expect(await deliver(receipt(), old.secret, { id, at })).toMatchObject({ status: 200, body: { id: first.body['id'] } });
    const next = await api.client.access.addSenderKey({ sender: 'press' });
    expect(await deliver(receipt(), old.secret, { at: await now() })).toMatchObject({ status: 200 });
    await api.client.access.revokeSenderKey(old.id);
    expect(await deliver(receipt(), next.secret, { at: await now() })).toMatchObject({ status: 200 });
    const late = await now();
    await isRefused(() => deliver(receipt(), old.secret, { at: late }), 401, 'SIGNATURE_INVALID');
    expect(JSON.stringify(await api.ledger.query('select secret from throughline.sender_key where revoked_at is not null'))).not.toContain(old.secret);
  });

  test('too old, too new, changed, of another sender, unknown sender: refused and recorded; nothing changes', async () => {
    const { secret } = await api.client.access.addSenderKey({ sender: 'print' });
    await api.client.access.addSenderKey({ sender: 'web' });
    const body = receipt({ sender: 'print' });
    const at = await now();
    const headers = { ...sign({ id: 'one', at, body, secrets: [secret] }) } as Record<string, string>;
    const moved = (ms: number): Date => new Date(at.getTime() + ms);
    for (const work of [
      () => deliver(body, secret, { at: moved(-6 * 60_000) }),
      () => deliver(body, secret, { at: moved(6 * 60_000) }),
      () => api.call(null, 'POST', '/v1/receipts', { body: receipt({ sender: 'print', kind: 'completed' }), headers }),
      () => api.call(null, 'POST', '/v1/receipts', { body, headers: { ...headers, 'webhook-id': 'two' } }),
      () => deliver(receipt({ sender: 'web' }), secret, { at }),
      () => deliver(receipt({ sender: 'nobody' }), secret, { at }),
      () => deliver(body, createSecret(), { at }),
    ]) await isRefused(work, 401, 'SIGNATURE_INVALID');
    // The very request that was good is refused when its time is over.
    expect(await api.call(null, 'POST', '/v1/receipts', { body, headers })).toMatchObject({ status: 200 });
    await api.ledger.shiftClock(6 * 60_000);
    await isRefused(() => api.call(null, 'POST', '/v1/receipts', { body, headers }), 401, 'SIGNATURE_INVALID');
  });

  test("a platform's token delivers only under its own name", async () => {
    const body = { sender: 'platform', deliveryId: randomUUID(), task, step: 'publish', kind: 'received' };
    expect(await api.call('platform', 'POST', '/v1/receipts', { body })).toMatchObject({ status: 200 });
    await isRefused(() => api.call('platform', 'POST', '/v1/receipts', { body: { ...body, sender: 'press' } }), 403, 'SENDER_FORBIDDEN');
  });
});

describe('what must not get out', () => {
  test('no token, signature key or input reaches the log', async () => {
    const secret = `hunter2-${randomUUID()}`;
    const made = await api.client.access.createToken({ name: 'loud', role: 'admin' });
    const key = await api.client.access.addSenderKey({ sender: 'loud' });
    const headers = { authorization: `Bearer ${made.token}` };
    await api.call(null, 'POST', '/v1/tasks', { body: { type: plan.type, input: { password: secret }, key: secret }, headers });
    await api.call(null, 'POST', '/v1/tasks', { body: { type: plan.type, input: { password: secret }, nope: secret }, headers });
    await api.call(null, 'POST', '/v1/tasks', { body: `{"password": "${secret}"`, headers });
    await api.call(null, 'GET', `/v1/tasks?key=${secret}&token=${made.token}`, { headers });
    await api.call(null, 'GET', '/v1/tasks', { headers: { authorization: `Bearer ${made.token}x` } });
    await api.call(null, 'POST', '/v1/receipts', { body: { sender: 'loud', deliveryId: 'd', task, step: 's', kind: 'text', text: secret }, headers: { 'webhook-id': 'd', 'webhook-timestamp': '1', 'webhook-signature': `v1,${secret}` } });
    const log = lines.join('');
    for (const hidden of [secret, made.token, made.token.slice(3), key.secret]) expect(log).not.toContain(hidden);
    expect(log).toContain('"route":"/v1/tasks"');
  });

  test('too many requests are told when to come back, and strangers sooner', async () => {
    const strict = await openApi({ refusalsPerMinute: 3, requestsPerMinute: 5 });
    const codes: unknown[] = [];
    for (let index = 0; index < 5; index += 1) codes.push((await strict.call(null, 'GET', '/v1/tasks')).status);
    expect(codes).toEqual([401, 401, 401, 429, 429]);
    const statuses: number[] = [];
    let last: Answer | undefined;
    for (let index = 0; index < 6; index += 1) statuses.push((last = await strict.call('reader', 'GET', '/v1/tasks')).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
    expect(Number(last?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(last?.body).toMatchObject({ code: 'RATE_LIMITED' });
    await strict.close();
  });
});
