import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { defineTask } from '../../src/index.ts';
import { openApi } from '../support/api.ts';
import type { ApiUnderTest } from '../support/api.ts';

const greet = defineTask({
  type: 'greet', version: 1, input: z.object({ name: z.string(), loud: z.boolean().default(false) }),
  steps: (flow) => flow.step('say', { result: z.object({ text: z.string() }), proof: { record: ['/text'] }, run: async ({ input }) => Promise.resolve({ text: `Hello, ${input.name}` }) }),
});

let api: ApiUnderTest;
beforeAll(async () => {
  api = await openApi();
  await api.client.register(greet);
});
afterAll(async () => {
  await api.close();
});

const enqueue = async (body: object = {}): Promise<string> => {
  const { body: answer } = await api.call('caller', 'POST', '/v1/tasks', { body: { type: 'greet', input: { name: 'A' }, ...body } });
  return String(answer['id']);
};

describe('tasks', () => {
  test('a new task is 201 with its address, the same key 200, another input 409 with the paths', async () => {
    const headers = { 'idempotency-key': `k/${randomUUID()}` };
    const first = await api.call('caller', 'POST', '/v1/tasks', { body: { type: 'greet', input: { name: 'A', b: 1 } }, headers });
    expect(first).toMatchObject({ status: 201, body: { state: 'queued', created: true } });
    expect(first.headers.get('location')).toBe(`/v1/tasks/${String(first.body['id'])}`);
    expect(await api.call('caller', 'POST', '/v1/tasks', { body: { type: 'greet', input: { b: 1, name: 'A' } }, headers })).toMatchObject({ status: 200, body: { created: false, id: first.body['id'] } });
    const other = await api.call('caller', 'POST', '/v1/tasks', { body: { type: 'greet', input: { name: 'B', b: 1 } }, headers });
    expect(other).toMatchObject({ status: 409, body: { code: 'DEDUPE_CONFLICT', paths: ['/input/name'], title: 'Conflict', status: 409, type: 'urn:throughline:error:DEDUPE_CONFLICT' } });
    expect(other.headers.get('content-type')).toContain('application/problem+json');
    expect(other.body['instance']).toBe(other.headers.get('x-request-id'));
  });

  test('who called stands in the timeline, and a body cannot say otherwise', async () => {
    const id = await enqueue({ by: 'mei' });
    const { body } = await api.call('reader', 'GET', `/v1/tasks/${id}/record`);
    expect(body['task']).toMatchObject({ created_by: 'token:caller/mei' });
    await api.call('operator', 'POST', `/v1/tasks/${id}/cancel`, { body: { why: 'no', by: 'token:admin' } });
    const { body: cancels } = await api.call('reader', 'GET', `/v1/tasks/${id}/cancels`);
    expect(cancels['cancels']).toMatchObject([{ by: 'token:operator/token:admin' }]);
  });

  test('every part of a task is answered with its moment', async () => {
    const id = await enqueue();
    for (const part of ['steps', 'timeline', 'effects', 'receipts', 'cancels', 'artifacts']) {
      const { status, body } = await api.call('reader', 'GET', `/v1/tasks/${id}/${part}`);
      expect({ status, part, as_of: typeof body['as_of'], rows: Array.isArray(body[part]) }).toEqual({ status: 200, part, as_of: 'string', rows: true });
    }
    expect(await api.call('reader', 'GET', `/v1/tasks/${id}`)).toMatchObject({ status: 200, body: { task: id, status: 'queued', at_rest: false } });
  });

  test('the explanation speaks the language that is asked for', async () => {
    const id = await enqueue();
    const chinese = await api.call('reader', 'GET', `/v1/tasks/${id}/explanation`, { headers: { 'accept-language': 'fr, zh;q=0.8, en;q=0.5' } });
    expect(chinese.headers.get('content-language')).toBe('zh-CN');
    expect(String(chinese.body['headline'])).toMatch(/[\u4e00-\u9fff]/);
    const english = await api.call('reader', 'GET', `/v1/tasks/${id}/explanation`, { headers: { 'accept-language': 'fr' } });
    expect(english.headers.get('content-language')).toBe('en');
  });

  test('a wait ends with the task, and otherwise when its time is over', async () => {
    const id = await enqueue();
    const waiting = api.call('reader', 'GET', `/v1/tasks/${id}?wait=30`);
    await api.call('caller', 'POST', `/v1/tasks/${id}/cancel`, { body: { why: 'done with it' } });
    expect(await waiting).toMatchObject({ status: 200, body: { at_rest: true, status: 'cancelled' } });
    const open = await enqueue();
    expect(await api.call('reader', 'GET', `/v1/tasks/${open}?wait=0.05`)).toMatchObject({ status: 200, body: { at_rest: false } });
    expect(await api.call('reader', 'GET', `/v1/tasks/${open}?wait=3600`)).toMatchObject({ status: 400, body: { code: 'FILTER_INVALID', path: '/wait' } });
  });

  test('a type shows its plan and its input as JSON Schema', async () => {
    const { body } = await api.call('reader', 'GET', '/v1/task-types');
    expect(body['rows']).toMatchObject([{ type: 'greet', version: 1, plan: { steps: [{ name: 'say' }] }, input_schema: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } } }]);
  });

  test('a batch answers for each item', async () => {
    const { status, body } = await api.call('caller', 'POST', '/v1/tasks/batch', { body: { type: 'greet', items: [{ input: { name: 'a' }, key: 'batch/1' }, { input: 1, key: '' }, { input: { name: 'a' }, key: 'batch/1' }] } });
    expect({ status, body }).toMatchObject({ status: 200, body: { results: [{ index: 0, created: true }, { index: 1, error: { code: 'REASON_REQUIRED', path: '/items/1/key' } }, { index: 2, created: false }] } });
  });

  test('20 parallel requests with one key over two processes: one task, 20 good answers, one created', async () => {
    const second = await openSecond(api);
    const headers = { authorization: `Bearer ${await api.token('caller')}`, 'content-type': 'application/json', 'idempotency-key': 'twenty' };
    const body = JSON.stringify({ type: 'greet', input: { name: 'T' } });
    const answers = await Promise.all(Array.from({ length: 20 }, async (_, index) => {
      const response = await fetch(`${index % 2 === 0 ? api.url : second.url}/v1/tasks`, { method: 'POST', headers, body });
      return { status: response.status, ...((await response.json()) as { id: string; created: boolean }) };
    }));
    await second.close();
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    expect(answers.filter(({ status, created }) => status === 201 && created)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(19);
  });

  test('a list pages without gap or repeat while tasks are added', async () => {
    const made = new Set(await Promise.all(Array.from({ length: 30 }, () => enqueue())));
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const { body } = await api.call('reader', 'GET', `/v1/tasks?limit=7${cursor === null ? '' : `&cursor=${cursor}`}`);
      seen.push(...(body['rows'] as { id: string }[]).map(({ id }) => id));
      cursor = body['cursor'] as string | null;
      await enqueue();
    } while (cursor !== null);
    expect(seen.length).toBe(new Set(seen).size);
    expect([...made].every((id) => seen.includes(id))).toBe(true);
  });
});

/** Another process's view: a client and a server of its own over the same ledger. */
async function openSecond(first: ApiUnderTest): Promise<{ readonly url: string; close(): Promise<void> }> {
  const { createClient } = await import('../../src/client/client.ts');
  const { createApi } = await import('../../src/api/index.ts');
  const client = createClient({ databaseUrl: first.ledger.url });
  const server = await createApi({ client });
  return {
    url: await server.listen({ host: '127.0.0.1', port: 0 }),
    async close() {
      await server.close();
      await client.close();
    },
  };
}

describe('what is refused', () => {
  const post = (body: unknown, headers: Record<string, string> = {}) => () => api.call('caller', 'POST', '/v1/tasks', { body, headers });
  const get = (path: string) => () => api.call('reader', 'GET', path);
  test.each<[string, () => Promise<unknown>, object]>([
    ['a delay that is no time', post({ type: 'greet', input: {}, delay: 'soon' }), { status: 400, body: { code: 'TIME_INVALID', path: '/delay' } }],
    ['a time without zone', post({ type: 'greet', input: {}, runAt: '2026-05-01T09:00:00' }), { status: 400, body: { code: 'TIME_INVALID', path: '/runAt' } }],
    ['an input beyond the limit', post({ type: 'greet', input: 'x'.repeat(300_000) }), { status: 413, body: { code: 'INPUT_TOO_LARGE', limit: '262144 bytes' } }],
    ['a body beyond the limit', post({ type: 'greet', input: 'x'.repeat(1_100_000) }), { status: 413, body: { code: 'INPUT_TOO_LARGE', limit: '1048576 bytes' } }],
    ['an unknown type', post({ type: 'nobody', input: {} }), { status: 404, body: { code: 'TYPE_UNKNOWN' } }],
    ['a NUL', post({ type: 'greet', input: { name: 'a\u0000' } }), { status: 422, body: { code: 'INPUT_NOT_STORABLE', path: '/input/name' } }],
    ['a field that is not known', post({ type: 'greet', input: {}, createdBy: 'me' }), { status: 422, body: { code: 'INPUT_INVALID' } }],
    ['half a document', post('{"type": "greet"'), { status: 400, body: { code: 'BODY_INVALID' } }],
    ['no document', post(''), { status: 400, body: { code: 'BODY_INVALID' } }],
    ['a prototype', post('{"type": "greet", "__proto__": {"x": 1}, "input": {}}'), { status: 400, body: { code: 'BODY_INVALID' } }],
    ['another media type', post('a=1', { 'content-type': 'application/x-www-form-urlencoded' }), { status: 415, body: { code: 'MEDIA_TYPE_UNSUPPORTED' } }],
    ['an id that is none', get('/v1/tasks/%2e%2e%2fx'), { status: 400, body: { code: 'ID_INVALID' } }],
    ['a bad escape', get('/v1/tasks/%zz'), { status: 400, body: { code: 'BODY_INVALID' } }],
    ['an unknown task', get(`/v1/tasks/${randomUUID()}`), { status: 404, body: { code: 'TASK_UNKNOWN' } }],
    ['an unknown sort column', get('/v1/tasks?sort=evil'), { status: 400, body: { code: 'FILTER_INVALID' } }],
    ['a foreign cursor', get('/v1/tasks?cursor=abc'), { status: 400, body: { code: 'CURSOR_INVALID' } }],
    ['a limit of 0', get('/v1/tasks?limit=0'), { status: 400, body: { code: 'FILTER_INVALID', path: '/limit' } }],
    ['an address that is nothing', get('/v2/tasks'), { status: 404, body: { code: 'ROUTE_UNKNOWN' } }],
  ])('%s: a problem with a code', async (_, work, expected) => {
    expect(await work()).toMatchObject(expected);
  });

  test('script in every field comes back as literal JSON, never as a page', async () => {
    const script = '<script>alert(1)</script>';
    const id = await enqueue({ input: { name: script, [script]: 1 }, key: script, by: script });
    await api.call('operator', 'POST', `/v1/tasks/${id}/cancel`, { body: { why: script } });
    for (const path of [`/v1/tasks/${id}/record`, `/v1/tasks/${id}/explanation`, `/v1/tasks?key=${encodeURIComponent(script)}`, `/v1/tasks?sort=${encodeURIComponent(script)}`, `/${encodeURIComponent(script)}`]) {
      const answer = await api.call('reader', 'GET', path);
      expect(answer.headers.get('content-type')).toMatch(/^application\/(problem\+)?json/);
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    }
    const { body } = await api.call('reader', 'GET', `/v1/tasks/${id}/record`);
    expect(body['task']).toMatchObject({ key: script, input: { name: script } });
  });

  test('a delay beyond 2^31 ms is kept', async () => {
    const id = await enqueue({ delay: '60d' });
    const { body } = await api.call('reader', 'GET', `/v1/tasks/${id}`);
    expect((body['steps'] as { next: { in_ms: number } }[])[0]?.next.in_ms).toBeGreaterThan(59 * 86_400_000);
  });
});
