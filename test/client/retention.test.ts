/** Retention through client, API and command line, with a real store of artifacts. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { localArtifactStore } from '../../src/activities/artifacts.ts';
import type { ArtifactStore } from '../../src/activities/artifacts.ts';
import { cli, documentOf, type Failure } from '../cli/cli.ts';
import { openApi } from '../support/api.ts';
import type { ApiUnderTest } from '../support/api.ts';
import { Tale } from '../support/tale.ts';

const DAY = 24 * 3_600_000;

let api: ApiUnderTest;
let folder: string;
let store: ArtifactStore;
beforeAll(async () => {
  api = await openApi();
  folder = await mkdtemp(join(tmpdir(), 'throughline-prune-'));
  store = localArtifactStore(folder);
});
afterAll(async () => {
  await api.close();
  await rm(folder, { recursive: true, force: true });
});

/** A task that stored these contents and succeeded. */
async function withArtifacts(...contents: readonly string[]): Promise<Tale> {
  const tale = await (await Tale.of(api.ledger, { effects: 'none', probe: false, proof: { kind: 'record', requires: ['/url'] } })).claim();
  for (const content of contents) {
    const { sha256, uri, bytes } = await store.put({ bytes: Buffer.from(content), mediaType: 'text/plain' });
    await api.ledger.door.artifactPut(tale.task, tale.step, tale.claimed.id, { name: content, sha256, uri, media_type: 'text/plain', bytes }, 10);
  }
  return tale.done();
}
async function old(): Promise<void> {
  for (let rows = await api.ledger.door.outboxTake(100, 1); rows.length > 0; rows = await api.ledger.door.outboxTake(100, 1)) await api.ledger.door.outboxSent(rows.map(({ task, version }) => ({ task, version })));
  await api.ledger.shiftClock(91 * DAY);
}
const uriOf = (content: string): string => `cas:sha256:${createHash('sha256').update(content).digest('hex')}`;
const kept = async (content: string): Promise<boolean> => store.stat(uriOf(content)).then(() => true, (error: unknown) => {
  expect(error).toMatchObject({ code: 'ARTIFACT_UNKNOWN' });
  return false;
});

test('the command line, the API and a wait say of a pruned task how it ended', async () => {
  const tale = await withArtifacts();
  await old();
  const env = { DATABASE_URL: api.ledger.url };
  const dry = await cli(['prune', '--older-than', '90d', '--dry-run', '--json'], { env });
  expect([dry.code, documentOf(dry)]).toEqual([0, { dryRun: true, pruned: 1, examined: 1, kept: {}, artifacts: 0, complete: true }]);
  const done = await cli(['prune', '--older-than', '90d'], { env });
  expect([done.code, done.stdout]).toEqual([0, '1 pruned, of 1 that are old enough by their creation.\n']);
  const status = await cli(['status', tale.task, '--json'], { env });
  expect([status.code, (documentOf(status) as Failure).error]).toMatchObject([3, { code: 'TASK_PRUNED', message: expect.stringMatching(/it ended succeeded at/), facts: { state: 'succeeded' } }]);

  expect(await api.client.waitFor(tale.task)).toMatchObject({ id: tale.task, status: 'succeeded' });
  for (const part of ['', '/timeline', '/explanation', '/record', '/evidence']) expect(await api.call('reader', 'GET', `/v1/tasks/${tale.task}${part}`)).toMatchObject({ status: 410, body: { code: 'TASK_PRUNED' } });
  expect(await api.call('operator', 'POST', `/v1/tasks/${tale.task}/cancel`, { body: { why: 'late' } })).toMatchObject({ status: 410, body: { code: 'TASK_PRUNED' } });
  const authorization = `Bearer ${await api.token('reader', ['another-type'])}`;
  expect(await api.call(null, 'GET', `/v1/tasks/${tale.task}`, { headers: { authorization } })).toMatchObject({ status: 403, body: { code: 'TYPE_FORBIDDEN' } });
  for (const query of ['/v1/audit', '/v1/receipts']) expect(await api.call('reader', 'GET', `${query}?task=${tale.task}`)).toMatchObject({ status: 410, body: { code: 'TASK_PRUNED' } });
  await expect(api.client.audit({ task: tale.task })).rejects.toMatchObject({ code: 'TASK_PRUNED' });
  await expect(api.client.receipts({ task: tale.task })).rejects.toMatchObject({ code: 'TASK_PRUNED' });
  for (const ask of ['get', 'record', 'history', 'explain', 'evidence'] as const) await expect(api.client[ask](tale.task)).rejects.toMatchObject({ code: 'TASK_PRUNED', exit: 3 });
  await expect(api.client.get(randomUUID())).rejects.toMatchObject({ code: 'TASK_UNKNOWN' });
});

test('artifacts go from the store only where it is asked for, and never one that a task still refers to', async () => {
  await withArtifacts('alone', 'shared');
  await old();
  await withArtifacts('shared', 'young');
  await api.client.retention.prune({ olderThan: '90d' });
  expect(await Promise.all(['alone', 'shared', 'young'].map(kept))).toEqual([true, true, true]);
  expect(await api.client.retention.prune({ olderThan: '90d', artifacts: store })).toMatchObject({ artifacts: 1 });
  expect(await Promise.all(['alone', 'shared', 'young'].map(kept))).toEqual([false, true, true]);
  // What is referred to by nobody later goes later, and what came back is stored anew.
  await withArtifacts('alone');
  await old();
  await api.client.retention.prune({ olderThan: '90d', artifacts: store });
  expect(await Promise.all(['alone', 'shared', 'young'].map(kept))).toEqual([false, false, false]);
});

test('a content that is stored while it is being removed is stored once more: no task is left without it', async () => {
  await withArtifacts('back');
  await old();
  const answers: unknown[] = [];
  const tale = await (await Tale.of(api.ledger, { effects: 'none', probe: false, proof: { kind: 'record', requires: ['/url'] } })).claim();
  const put = async (): Promise<void> => {
    const { sha256, uri, bytes } = await store.put({ bytes: Buffer.from('back'), mediaType: 'text/plain' });
    answers.push(await api.ledger.door.artifactPut(tale.task, tale.step, tale.claimed.id, { name: 'back', sha256, uri, media_type: 'text/plain', bytes }, 10));
  };
  const racing = { remove: async (uri: string): Promise<boolean> => { await put(); return store.remove(uri); } };
  await api.client.retention.prune({ olderThan: '90d', artifacts: racing });
  expect(await kept('back')).toBe(false);
  await put();
  expect(answers).toEqual([{ leaving: true }, { stored: true }]);
  expect(await kept('back')).toBe(true);
});

test('a store that is away keeps what it holds; the next prune removes it', async () => {
  await withArtifacts('later');
  await old();
  const away = { remove: async (): Promise<boolean> => Promise.reject(new Error('away')) };
  await expect(api.client.retention.prune({ olderThan: '90d', artifacts: away })).rejects.toThrow('away');
  expect(await kept('later')).toBe(true);
  await api.ledger.shiftClock(DAY);
  expect(await api.client.retention.prune({ olderThan: '90d', artifacts: store })).toMatchObject({ pruned: 0, artifacts: 1 });
  expect(await kept('later')).toBe(false);
});
