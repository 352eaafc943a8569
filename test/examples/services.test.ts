/** The services of the examples, over real HTTP and a real ledger; no worker is needed to start, ask, cancel and explain. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { z } from 'zod';
import { createService as createExpress } from '../../examples/services/express.ts';
import { createService as createFastify } from '../../examples/services/fastify.ts';
import { createHandlers } from '../../examples/services/next.ts';
import { saveAndPublish } from '../../examples/services/pg-transaction.ts';
import { createClient, defineTask } from '../../src/index.ts';
import type { ThroughlineClient } from '../../src/index.ts';
import { openLedger } from '../support/ledger.ts';
import type { Ledger } from '../support/ledger.ts';

const publish = defineTask({
  type: 'publish-note', version: 1, input: z.object({ note: z.string(), revision: z.int() }),
  steps: (flow) =>
    flow
      .step('render', { result: z.object({ html: z.string() }), proof: { record: ['/html'] }, run: async () => Promise.resolve({ html: '' }) })
      .step('publish', { needs: ['render'], result: z.object({ url: z.string() }), proof: { record: ['/url'] }, run: async () => Promise.resolve({ url: '' }) }),
});
let ledger: Ledger;
let client: ThroughlineClient;
const ends: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  ledger = await openLedger();
  client = createClient({ databaseUrl: ledger.url });
  await client.register(publish);
});
afterAll(async () => {
  for (const end of ends) await end();
  await client.close();
  await ledger.close();
});

type Call = (method: 'GET' | 'POST', path: string, body?: object) => Promise<{ readonly status: number; readonly body: Record<string, unknown> }>;
const overHttp = (url: string): Call => async (method, path, body) => {
  const response = await fetch(`${url}${path}`, { method, ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }) });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
};

const SERVICES: Readonly<Record<string, () => Promise<Call>>> = {
  express: async () => {
    const server = createServer(createExpress(client)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    ends.push(() => new Promise((done) => server.close(done)));
    return overHttp(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}`);
  },
  fastify: async () => {
    const app = createFastify(client);
    ends.push(() => app.close());
    return overHttp(await app.listen({ host: '127.0.0.1', port: 0 }));
  },
  // Next finds the file by the path, and hands over what stood in it.
  next: () => {
    const handlers = createHandlers(client);
    return Promise.resolve(async (method, path, body) => {
      const [, kind, name = '', action = 'status'] = path.split('/');
      const request = new Request(`http://next.test${path}`, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
      const response = kind === 'notes' ? await handlers.publish(request, { params: Promise.resolve({ note: name }) }) : await handlers[action as 'status' | 'why' | 'cancel'](request, { params: Promise.resolve({ task: name }) });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    });
  },
};

describe.each(Object.entries(SERVICES))('%s', (name, open) => {
  let call: Call;
  beforeAll(async () => {
    call = await open();
  });

  test('starts once for a repeated request; another input under its key is a conflict with the paths', async () => {
    const first = await call('POST', `/notes/${name}-tides/publish`, { revision: 3 });
    expect(first).toEqual({ status: 201, body: { id: expect.any(String), state: 'queued' } });
    expect(await call('POST', `/notes/${name}-tides/publish`, { revision: 3 })).toEqual({ status: 200, body: first.body });
    expect(await call('POST', `/notes/${name}-tides/publish`, { revision: 4 })).toMatchObject({ status: 409, body: { code: 'DEDUPE_CONFLICT', paths: ['/input/revision'] } });
  });

  test('says each step, why it stands where it stands, and what a cancel did', async () => {
    const { body: { id } } = await call('POST', `/notes/${name}-moon/publish`, {});
    const task = `/tasks/${String(id)}`;
    expect(await call('GET', task)).toEqual({ status: 200, body: { status: 'queued', atRest: false, steps: [{ name: 'render', state: 'queued', attempt: 0 }, { name: 'publish', state: 'waiting', attempt: 0 }] } });
    expect((await call('GET', `${task}/why`)).body).toMatchObject({ headline: expect.stringContaining('no worker is running'), willRunAgain: expect.any(String) });
    expect(await call('POST', `${task}/cancel`, {})).toMatchObject({ status: 422, body: { code: 'REASON_REQUIRED', path: '/why' } });
    expect(await call('POST', `${task}/cancel`, { why: 'wrong picture', id: 'ticket-1' })).toMatchObject({ status: 200, body: { verdict: 'prevented' } });
    expect((await call('GET', task)).body).toMatchObject({ status: 'cancelled', atRest: true });
    expect(await call('GET', `/tasks/${randomUUID()}`)).toMatchObject({ status: 404, body: { code: 'TASK_UNKNOWN' } });
  });
});

test('in a transaction of plain pg: the row and its task are both there, or neither', async () => {
  const pool = new pg.Pool({ connectionString: ledger.url, max: 2 });
  ends.push(() => pool.end());
  await pool.query('create table note (slug text primary key, title text not null)');
  const id = await saveAndPublish(pool, client, { slug: 'tides', title: 'Tides' });
  expect(await client.get(id)).toMatchObject({ status: 'queued' });
  await expect(saveAndPublish(pool, client, { slug: 'moon', title: 'Moon' }, () => Promise.reject(new Error('no stock')))).rejects.toThrow('no stock');
  await expect(saveAndPublish(pool, client, { slug: 'tides', title: 'Tides, twice' })).rejects.toMatchObject({ code: '23505' });
  expect((await pool.query('select slug from note')).rows).toEqual([{ slug: 'tides' }]);
  expect((await client.list({ type: 'publish-note', key: 'publish/moon' })).rows).toEqual([]);
});
