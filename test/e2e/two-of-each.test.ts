/** Two API processes and two workers on one ledger, as a deployment has them: whoever asks whom, there is one truth. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createHttpClient } from '../../src/http/index.ts';
import type { ThroughlineHttpClient } from '../../src/http/index.ts';
import { startCli } from '../cli/cli.ts';
import type { Running } from '../cli/cli.ts';
import { Stage, stepOf, within } from '../support/e2e.ts';

let stage: Stage;
let processes: readonly Running[];
let doors: readonly { readonly url: string; readonly client: ThroughlineHttpClient }[] = [];
let token: string;

beforeAll(async () => {
  stage = await Stage.open();
  ({ token } = await stage.client.access.createToken({ name: 'web', role: 'admin' }));
  const { temporalAddress, temporalNamespace, databaseUrl } = stage.settings();
  const env = { DATABASE_URL: databaseUrl, TEMPORAL_ADDRESS: temporalAddress, TEMPORAL_NAMESPACE: temporalNamespace };
  processes = [startCli(['api', '--port', '0'], { env }), startCli(['api', '--port', '0'], { env })];
  await Promise.all([stage.worker(), stage.worker()]);
  doors = await Promise.all(processes.map(async (one) => {
    let url: string | undefined;
    while (url === undefined) url = /http:\/\/[\d.:]+/.exec(await within('an API says where it is', one.line()))?.[0];
    return { url, client: createHttpClient({ url, token, by: 'mei' }) };
  }));
}, 120_000);
afterAll(async () => {
  for (const { client } of doors) await client.close();
  await stage.end();
});

const each = (n: number): { readonly url: string; readonly client: ThroughlineHttpClient } => doors[n % doors.length] ?? (() => { throw new Error('no door'); })();
const codes = (results: readonly PromiseSettledResult<unknown>[]): string[] => results.map((one) => (one.status === 'fulfilled' ? 'ok' : (one.reason as { code: string }).code)).sort();

test('20 parallel requests under one key through both: one task, 20 good answers, one created; another input is a conflict in both', async () => {
  await stage.client.register(stage.tasks.plain);
  for (let round = 0; round < 3; round += 1) {
    const key = randomUUID();
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => each(n).client.enqueue('plain', { n: 1 }, { key })));
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    expect(answers.filter(({ created }) => created)).toHaveLength(1);
    expect(codes(await Promise.allSettled([0, 1].map((n) => each(n).client.enqueue('plain', { n: 2 }, { key }))))).toEqual(['DEDUPE_CONFLICT', 'DEDUPE_CONFLICT']);
    // Each task ends once, whichever of the workers took it.
    const record = await stage.rested(answers[0]?.id ?? '');
    expect([record.task.status, stepOf(record).attempt]).toEqual(['succeeded', 1]);
  }
});

test('what is written through one is read and streamed through the other', async () => {
  const stop = new AbortController();
  const { id } = await each(0).client.enqueue('plain', {}, { delay: '1h' });
  const response = await fetch(`${each(1).url}/v1/events?task=${id}`, { headers: { authorization: `Bearer ${token}` }, signal: stop.signal });
  const reader = response.body?.getReader();
  if (reader === undefined) throw new Error('no stream');
  const decoder = new TextDecoder();
  let heard = '';
  const hears = (text: string): Promise<unknown> => within(`the stream says ${text}`, (async () => {
    while (!heard.includes(text)) heard += decoder.decode((await reader.read()).value, { stream: true });
  })());
  await hears('"queued"');
  const [answer] = await Promise.all([each(0).client.cancel(id, { id: 'c-1', why: 'not needed' }), hears('"cancelled"')]);
  expect(answer).toMatchObject({ verdict: 'prevented', by: 'token:web/mei' });
  expect(await each(1).client.cancel(id, { id: 'c-1', why: 'not needed' })).toMatchObject({ verdict: 'prevented', repeated: true });
  expect(await each(1).client.get(id)).toMatchObject({ status: 'cancelled' });
  stop.abort();
  await reader.cancel().catch(() => undefined);
});

test('two operators at once through both: one replay, the other is told why not; the task then ends', async () => {
  for (let round = 0; round < 3; round += 1) {
    const { id } = await each(round).client.enqueue('plain', { hopeless: 1 });
    expect(await each(round + 1).client.waitFor(id, { timeoutMs: 60_000 })).toMatchObject({ status: 'dead' });
    expect(codes(await Promise.allSettled([0, 1].map((n) => each(n).client.replay(id, { why: `operator ${String(n)}` }))))).toEqual(['REPLAY_NOT_DEAD', 'ok']);
    const record = await stage.rested(id);
    expect([record.task.status, stepOf(record).attempt]).toEqual(['succeeded', 2]);
  }
});

test('a cancel through one against a claim by any worker: answer and end agree', async () => {
  const ids = await Promise.all(Array.from({ length: 12 }, async (_, n) => (await each(n).client.enqueue('plain', { n })).id));
  const answers = await Promise.all(ids.map((id, n) => each(n + 1).client.cancel(id, { why: 'too many' })));
  for (const [n, id] of ids.entries()) {
    const { status } = await each(n).client.waitFor(id, { timeoutMs: 60_000 });
    if (answers[n]?.verdict === 'prevented') expect(status).toBe('cancelled');
    const { cancels } = await each(n).client.record(id);
    expect([cancels[0]?.steps[0]?.verdict, status]).toEqual(status === 'cancelled' ? [expect.stringMatching(/^(prevented|stopped_at_boundary)$/), status] : [expect.stringMatching(/^(too_late|already_terminal)$/), 'succeeded']);
  }
});

test('each API ends what it does and exits with 0 at SIGTERM, while the other goes on', async () => {
  const [first] = processes;
  const waits = each(0).client.waitFor((await each(1).client.enqueue('plain', {}, { delay: '1h' })).id, { timeoutMs: 500 }).catch((error: unknown) => (error as { code: string }).code);
  first?.child.kill('SIGTERM');
  expect(await first?.ended).toEqual([0, null]);
  expect(['WAIT_TIMEOUT', 'API_UNAVAILABLE']).toContain(await waits);
  expect(await each(1).client.health()).toEqual({ ledger: 'up', temporal: 'up' });
});
