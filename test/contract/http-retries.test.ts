/** The client over HTTP on a bad line: what is sent again is done once, and every failure has a code. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createHttpClient } from '../../src/http/index.ts';
import { openApi } from '../support/api.ts';
import type { ApiUnderTest } from '../support/api.ts';
import { planOf } from '../support/factories.ts';
import { register } from '../support/tale.ts';

const plan = planOf({ effects: 'none' });
let api: ApiUnderTest;
let line: Server;
let url: string;
/** What the line does with the next requests; then it carries. */
const faults: ('lost answer' | 'cut' | 'busy' | 'bad gateway')[] = [];
const carried: string[] = [];

async function carry(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const fault = faults.shift();
  if (fault === 'cut') return void request.socket.destroy();
  if (fault === 'busy') return void response.writeHead(503, { 'retry-after': '0' }).end();
  if (fault === 'bad gateway') return void response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>');
  carried.push(`${String(request.method)} ${String(request.url)}`);
  const answer = await fetch(`${api.url}${String(request.url)}`, {
    method: String(request.method), headers: { authorization: String(request.headers.authorization), ...(body.length === 0 ? {} : { 'content-type': 'application/json' }) }, ...(body.length === 0 ? {} : { body }),
  });
  const text = await answer.text();
  if (fault === 'lost answer') return void request.socket.destroy();
  response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' }).end(text);
}

beforeAll(async () => {
  api = await openApi();
  await register(api.ledger, plan);
  line = createServer((request, response) => void carry(request, response));
  await new Promise<void>((resolve) => line.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${String((line.address() as AddressInfo).port)}`;
});
afterAll(async () => {
  line.closeAllConnections();
  line.close();
  await api.close();
});

const open = async (retries = 5): Promise<ReturnType<typeof createHttpClient>> => createHttpClient({ url, token: await api.token('admin'), retries });
const count = async (): Promise<number> => (await api.ledger.query<{ n: number }>('select count(*)::int as n from throughline.task'))[0]?.n ?? -1;

test('a task whose answer was lost is one task, and was created by this call; with a key, too', async () => {
  const client = await open();
  const before = await count();
  faults.push('lost answer', 'busy', 'cut');
  const one = await client.enqueue(plan.type, { a: 1 });
  expect(one.created).toBe(true);
  faults.push('lost answer');
  const keyed = await client.enqueue(plan.type, { a: 1 }, { key: 'k' });
  expect(keyed.created).toBe(true);
  expect((await client.enqueue(plan.type, { a: 1 }, { key: 'k' })).created).toBe(false);
  faults.push('lost answer');
  expect(await client.enqueueBatch(plan.type, [{ input: 1 }, { input: 2, key: 'k2' }])).toMatchObject([{ created: true }, { created: true }]);
  expect(await count()).toBe(before + 4);
});

test('an action whose answer was lost is done once', async () => {
  const client = await open();
  const { id } = await client.enqueue(plan.type, {});
  faults.push('lost answer', 'bad gateway');
  expect(await client.cancel(id, { why: 'no' })).toMatchObject({ verdict: 'prevented' });
  expect((await client.record(id)).cancels).toHaveLength(1);
});

test('a line that stays bad ends in a code; what the API refuses is not sent again', async () => {
  const client = await open(1);
  faults.push('bad gateway', 'bad gateway');
  await expect(client.get(randomUUID())).rejects.toMatchObject({ code: 'API_UNAVAILABLE', detail: { facts: { status: 502 } } });
  faults.push('cut', 'cut');
  await expect(client.get(randomUUID())).rejects.toMatchObject({ code: 'API_UNAVAILABLE' });
  carried.length = 0;
  await expect(client.get(randomUUID())).rejects.toMatchObject({ code: 'TASK_UNKNOWN' });
  expect(carried).toHaveLength(1);
  await expect(createHttpClient({ url, token: 'tl_none' }).get(randomUUID())).rejects.toMatchObject({ code: 'TOKEN_INVALID' });
  expect(() => createHttpClient({ url: 'ledger', token: 'x' })).toThrow('http or https');
});

test('a wait goes on over lost answers, and ends with its task or its caller', async () => {
  const client = await open();
  const { id } = await client.enqueue(plan.type, {});
  faults.push('cut', 'busy');
  const waiting = client.waitFor(id);
  await api.client.cancel(id, { why: 'done' });
  expect(await waiting).toMatchObject({ id, status: 'cancelled' });
  const { id: other } = await client.enqueue(plan.type, {});
  const gone = new AbortController();
  const left = client.waitFor(other, { signal: gone.signal });
  gone.abort(new Error('enough'));
  await expect(left).rejects.toThrow('enough');
  const closed = client.waitFor(other);
  await client.close();
  await expect(closed).rejects.toMatchObject({ code: 'API_UNAVAILABLE' });
});
