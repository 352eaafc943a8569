/** The timeline as a stream: nothing twice, nothing left out, whoever writes late and however often the stream is cut. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import pg from 'pg';
import { createApi } from '../../src/api/index.ts';
import { EventReader } from '../../src/ledger/events.ts';
import { openApi } from '../support/api.ts';
import type { ApiUnderTest } from '../support/api.ts';
import { digestOf, planOf } from '../support/factories.ts';

const plan = planOf({ effects: 'none' });
const other = planOf({ effects: 'none', attempts: 7 });
let api: ApiUnderTest;

beforeAll(async () => {
  api = await openApi({ eventBeatMs: 100, requestsPerMinute: 100_000 });
  for (const each of [plan, other]) await api.ledger.door.typeRegister({ type: each.type, version: 1, plan: each, plan_digest: digestOf(each), input_bytes_max: 262_144, by: 'test' });
});
afterAll(async () => {
  await api.close();
});

interface Frame {
  readonly id: number | null;
  readonly event: string | null;
  readonly data: { readonly id: number; readonly task: string; readonly type: string } | null;
}

/** Frames of a stream, as a browser would understand them: only what a blank line ended counts. */
async function* frames(path: string, { lastId, signal }: { readonly lastId?: number; readonly signal?: AbortSignal } = {}): AsyncGenerator<Frame> {
  const response = await fetch(`${api.url}${path}`, {
    headers: { authorization: `Bearer ${await api.token('reader')}`, ...(lastId === undefined ? {} : { 'last-event-id': String(lastId) }) },
    ...(signal === undefined ? {} : { signal }),
  });
  if (response.status !== 200 || response.body === null) throw new Error(`${String(response.status)} ${await response.text()}`);
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const fields = new Map(text.slice(0, end).split('\n').map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)]));
      text = text.slice(end + 2);
      const data = fields.get('data');
      yield { id: fields.has('id') ? Number(fields.get('id')) : null, event: fields.get('event') ?? null, data: data === undefined ? null : (JSON.parse(data) as Frame['data']) };
    }
  }
}

const idsOf = async (type: string): Promise<number[]> =>
  (await api.ledger.query<{ id: number }>('select l.id::float8 as id from throughline.timeline l join throughline.task t on t.id = l.task_id where t.type = $1 order by l.id', [type])).map(({ id }) => id);

/** A transaction that somebody holds open. */
async function holding(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: api.ledger.url });
  await client.connect();
  await client.query('begin');
  return client;
}

test('a place is settled only when every older writer has ended, also one that nobody has ended after', async () => {
  const reader = new EventReader(api.ledger.database);
  const writer = await holding();
  const { id: task } = await api.client.enqueue(other.type, {}, { tx: writer });
  const [{ id } = { id: 0 }] = (await writer.query<{ id: number }>('select max(id)::float8 as id from throughline.timeline where task_id = $1', [task])).rows;
  const mark = await reader.mark(-1);
  expect(mark.id).toBeGreaterThanOrEqual(id);
  expect(mark.xid).not.toBeNull();
  expect(mark.xmin < (mark.xid ?? 0n)).toBe(true);
  await writer.query('commit');
  await writer.end();
  // Others of the server may still hold it back; it comes.
  let later = await reader.mark(mark.id);
  while (later.xmin < (mark.xid ?? 0n)) later = await reader.mark(mark.id);
  expect(await reader.page(id - 1, mark.id, { task }, 10)).toMatchObject([{ id }]);
});

test('a row that commits late is delivered before those that were written after it', async () => {
  const stop = new AbortController();
  const seen: string[] = [];
  const first = await holding();
  const early = await api.client.enqueue(other.type, {}, { tx: first });
  const stream = frames(`/v1/events?type=${other.type}&after=0&reason=new_task`, { signal: stop.signal });
  const quick = await api.client.enqueue(other.type, {});
  // Only beats until the first one ends, though a later row is there for all to read.
  let beats = 0;
  for await (const { event, data } of stream) {
    if (data !== null && event === 'transition') seen.push(data.task);
    if (event === null && (beats += 1) === 4) {
      expect(seen).not.toContain(quick.id);
      await first.query('commit');
      await first.end();
    }
    if (seen.includes(quick.id)) break;
  }
  stop.abort();
  expect(seen.slice(-2)).toEqual([early.id, quick.id]);
});

test('a stream that is cut 100 times during 2,000 rows delivers each exactly once, in order', async () => {
  const CUTS = 100;
  const before = (await idsOf(plan.type)).at(-1) ?? 0;
  const witnessStop = new AbortController();
  const witness: number[] = [];
  const path = `/v1/events?type=${plan.type}&after=${String(before)}`;
  const witnessed = (async () => {
    for await (const { data } of frames(path, { signal: witnessStop.signal })) if (data !== null) witness.push(data.id);
  })().catch((error: unknown) => {
    if (!witnessStop.signal.aborted) throw error;
  });

  // Transactions that overlap and end in another order than they began.
  const writing = (async () => {
    const tasks: string[] = [];
    for (let round = 0; round < 5; round += 1) {
      const holders = await Promise.all([holding(), holding(), holding(), holding()]);
      for (const holder of holders) {
        const made = await api.client.enqueueBatch(plan.type, Array.from({ length: 25 }, () => ({ input: {} })), { tx: holder });
        tasks.push(...made.flatMap((result) => ('id' in result ? [result.id] : [])));
      }
      for (const holder of holders.reverse()) {
        await holder.query('commit');
        await holder.end();
      }
    }
    await Promise.all(Array.from({ length: 8 }, async (_, lane) => {
      for (let index = lane; index < tasks.length; index += 8) await api.client.cancel(tasks[index] ?? '', { why: 'enough' });
    }));
  })();

  const received: { readonly id: number; readonly task: string }[] = [];
  let last: number | undefined;
  let cuts = 0;
  let goal = Number.POSITIVE_INFINITY;
  void writing.then(async () => {
    goal = (await idsOf(plan.type)).filter((id) => id > before).length;
  });
  while (received.length < goal) {
    const cut = new AbortController();
    let own = 0;
    try {
      for await (const { id, data } of frames(path, { signal: cut.signal, ...(last === undefined ? {} : { lastId: last }) })) {
        if (id !== null) last = id;
        if (data !== null) {
          received.push(data);
          own += 1;
        }
        // After some rows, in the midst of what was sent already; the last connections read to the end.
        if ((cuts < CUTS && own > 18) || received.length >= goal) break;
      }
    } catch (error) {
      if (!cut.signal.aborted) throw error;
    }
    cut.abort();
    cuts += 1;
  }
  await writing;
  const expected = (await idsOf(plan.type)).filter((id) => id > before);
  expect(expected.length).toBeGreaterThanOrEqual(2_000);
  expect(cuts).toBeGreaterThanOrEqual(CUTS);
  expect(received.map(({ id }) => id)).toEqual(expected);
  while (witness.length < expected.length) await new Promise((resolve) => setImmediate(resolve));
  witnessStop.abort();
  await witnessed;
  expect(witness).toEqual(expected);
});

test('a stream without news says that it lives, and moves the place over what is not for its reader', async () => {
  const { id } = await api.client.enqueue(other.type, {});
  const newest = (await idsOf(other.type)).at(-1) ?? 0;
  const stop = new AbortController();
  let place: number | null = null;
  for await (const { id: at, event } of frames(`/v1/events?type=${other.type}&kind=correction&after=0`, { signal: stop.signal })) {
    expect(event).toBeNull();
    place = at;
    if (at !== null && at >= newest) break;
  }
  stop.abort();
  expect(place).toBeGreaterThanOrEqual(newest);
  expect(id).toBeTruthy();
});

test('a reader that does not read holds nothing in memory, holds nobody up, misses nothing, and does not hold up a stop', async () => {
  const second = await createApi({ client: api.client });
  const url = new URL(await second.listen({ host: '127.0.0.1', port: 0 }));
  const served: Socket[] = [];
  second.app.server.on('connection', (socket: Socket) => served.push(socket));
  const { id: task } = await api.client.enqueue(other.type, {});
  const token = await api.token('reader');
  const open = async (): Promise<Socket> => {
    const socket = connect(Number(url.port), url.hostname);
    // Nothing is read before somebody asks: the system's own buffers fill up.
    socket.pause();
    socket.write(`GET /v1/events?task=${task}&kind=note HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n\r\n`);
    await once(socket, 'connect');
    return socket;
  };
  const [slow, never] = [await open(), await open()];
  // More than the system takes on the way, however much that is.
  let rows = 0;
  const add = async (count: number): Promise<void> => {
    await api.ledger.query("insert into throughline.timeline (task_id, kind, at, actor, facts) select $1, 'note', now(), 'test', jsonb_build_object('text', repeat('x', 20000)) from generate_series(1, $2::int)", [task, count]);
    rows += count;
  };
  const stop = new AbortController();
  let quick = 0;
  await add(500);
  for await (const { data } of frames(`/v1/events?task=${task}&kind=note`, { signal: stop.signal })) {
    if (data === null || (quick += 1) < rows) continue;
    if (served.length === 2 && served.every(({ writableLength }) => writableLength > 0)) break;
    await add(200);
  }
  stop.abort();
  for (const { writableLength } of served) expect(writableLength).toBeLessThan(256 * 1024);
  let late = 0;
  let rest = '';
  for await (const chunk of slow) {
    const ended = (rest + (chunk as Buffer).toString('latin1')).split('\n\n');
    rest = ended.pop() ?? '';
    late += ended.filter((frame) => frame.includes('event: note')).length;
    if (late === rows) break;
  }
  expect(late).toBe(rows);
  await second.close();
  never.destroy();
});

test('a place that is none is refused, and HEAD opens no stream', async () => {
  expect(await api.call('reader', 'GET', '/v1/events', { headers: { 'last-event-id': 'x' } })).toMatchObject({ status: 400, body: { code: 'CURSOR_INVALID' } });
  expect(await api.call('reader', 'GET', '/v1/events?after=-1')).toMatchObject({ status: 400, body: { code: 'FILTER_INVALID', path: '/after' } });
  expect((await fetch(`${api.url}/v1/events`, { method: 'HEAD', headers: { authorization: `Bearer ${await api.token('reader')}` } })).status).toBe(404);
});
