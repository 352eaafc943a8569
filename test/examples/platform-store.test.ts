import { readFile, truncate, appendFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { PlatformClient } from '../../examples/note-publishing/platform/client.ts';
import type { PlatformProcess } from '../../examples/note-publishing/platform/process.ts';
import { DEFAULT_SETTINGS } from '../../examples/note-publishing/platform/types.ts';
import type { AccessEntry, Settings } from '../../examples/note-publishing/platform/types.ts';
import { Bench, client, failure, identity, newTask, picture, post, until } from './support.ts';

const bench = new Bench();
let platform: PlatformProcess;
let calls: PlatformClient;

beforeAll(async () => {
  platform = await bench.platform();
  calls = client(platform);
});
afterAll(() => bench.end());

/** Runs with other settings of the shared platform, and puts the old ones back. */
async function withSettings<T>(settings: Partial<Settings>, work: () => Promise<T>): Promise<T> {
  await platform.admin.changeSettings(settings);
  try {
    return await work();
  } finally {
    await platform.admin.changeSettings(DEFAULT_SETTINGS);
  }
}

describe('an idempotency key', () => {
  it('is answered with the first answer, and acts once', async () => {
    const task = newTask();
    const first = await calls.publishPost(post(), identity(task, { key: `${task}/1`, messageId: 'first' }));
    const again = await calls.publishPost(post(), identity(task, { key: `${task}/1`, messageId: 'second' }));
    expect(again).toEqual(first);
    expect(again.reference.messageId).toBe('first');
    expect(await platform.admin.counts(task)).toMatchObject({ acted: 1, deduped: 1, posts: 1 });
  });

  it('acts once for twenty at the same time', async () => {
    const task = newTask();
    const upload = () => calls.uploadPicture(picture(), identity(task, { key: `${task}/p` }));
    const ids = (await Promise.all(Array.from({ length: 20 }, upload))).map((made) => made.id);
    expect(new Set(ids).size).toBe(1);
    expect(await platform.admin.counts(task)).toMatchObject({ acted: 1, deduped: 19, pictures: 1 });
  });

  it('with another request is refused', async () => {
    const task = newTask();
    await calls.publishPost(post(), identity(task, { key: `${task}/1` }));
    const error = await failure(calls.publishPost(post({ title: 'Other' }), identity(task, { key: `${task}/1` })));
    expect(error).toMatchObject({ status: 422, platformCode: 'key_reused' });
  });

  it('counts as none past its window', async () => {
    const task = newTask();
    const mine = identity(task, { key: `${task}/1` });
    await withSettings({ idempotencyWindowMs: 1 }, async () => {
      const first = await calls.publishPost(post(), mine);
      await until('the window is over', async () => (await calls.publishPost(post(), mine)).id !== first.id);
    });
    expect((await platform.admin.counts(task)).posts).toBeGreaterThanOrEqual(2);
  });

  it('is ignored by a keyless platform, but shown in its log', async () => {
    const keyless = await bench.platform({ flags: ['--no-keys'] });
    const task = newTask();
    await client(keyless).publishPost(post(), identity(task, { key: 'k' }));
    await client(keyless).publishPost(post(), identity(task, { key: 'k' }));
    expect(await keyless.admin.counts(task)).toMatchObject({ acted: 2, deduped: 0, posts: 2 });
    expect((await keyless.admin.log({ task })).map((entry) => entry.key)).toEqual(['k', 'k']);
  });
});

describe('reading back', () => {
  it('finds pictures and posts by task, step and item, with their bytes', async () => {
    const task = newTask();
    const sent = picture('a picture');
    const stored = await calls.uploadPicture(sent, identity(task, { item: '图/1' }));
    await calls.uploadPicture(picture('another'), identity(newTask(), { item: '图/1' }));
    const made = await calls.publishPost(post({ pictures: [stored.id] }), identity(task));
    expect((await calls.findPictures({ task, item: '图/1' })).map((found) => found.sha256)).toEqual([sent.sha256]);
    expect(await calls.findPictures({ task, item: 'other' })).toEqual([]);
    expect((await calls.readPicture(stored.id))?.bytes).toEqual(sent.bytes);
    const [found] = await calls.findPosts({ task, step: 'publish' });
    expect(found).toMatchObject({ id: made.id, html: post().html, pictures: [{ sha256: sent.sha256 }] });
    expect(await calls.findPosts({ task, step: 'other' })).toEqual([]);
    expect(await calls.readPost('post_unknown')).toBeNull();
  });

  it('does not see a post before it is visible', async () => {
    const task = newTask();
    const { id } = await withSettings({ visibleAfterMs: 500 }, () => calls.publishPost(post(), identity(task)));
    expect(await calls.readPost(id)).toBeNull();
    expect(await calls.findPosts({ task })).toEqual([]);
    const found = await until('it is visible', () => calls.readPost(id));
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(found.visibleAt));
  });

  it('refuses what it cannot take, with path and code, and logs it', async () => {
    const task = newTask();
    const wrong = { ...picture(), sha256: '0'.repeat(64) };
    expect(await failure(calls.uploadPicture(wrong, identity(task)))).toMatchObject({ platformCode: 'digest_mismatch' });
    const text = { ...picture(), contentType: 'text/plain' };
    expect((await failure(calls.uploadPicture(text, identity(task)))).status).toBe(415);
    const unknown = post({ pictures: ['pic_unknown'] });
    expect(await failure(calls.publishPost(unknown, identity(task)))).toMatchObject({ platformCode: 'unknown_picture' });
    const huge = { ...picture('x'.repeat(9 * 1024 * 1024)) };
    expect((await failure(calls.uploadPicture(huge, identity(task)))).status ?? 413).toBe(413);
    expect(await failure(calls.publishPost(post(), identity('bad\nname')))).toMatchObject({ status: 400 });
    expect(await platform.admin.counts(task)).toMatchObject({ acted: 0, pictures: 0, posts: 0 });
    expect((await platform.admin.counts(task)).refused).toBeGreaterThanOrEqual(2);
  });
});

describe('a withdrawal', () => {
  it('takes a post back once, with its own key and outcome', async () => {
    const task = newTask();
    const { id } = await calls.publishPost(post(), identity(task, { key: `${task}/1` }));
    const mine = identity(task, { key: `${task}/withdraw` });
    expect(await calls.withdrawPost(id, mine)).toEqual({ id, withdrawn: true });
    expect(await calls.withdrawPost(id, mine)).toEqual({ id, withdrawn: true });
    expect(await calls.withdrawPost(id, identity(task))).toEqual({ id, withdrawn: true });
    expect((await calls.readPost(id))?.status).toBe('withdrawn');
    expect(await platform.admin.counts(task)).toMatchObject({ acted: 2, deduped: 2, posts: 1, withdrawn: 1 });
  });

  it('is refused once the post is final', async () => {
    const task = newTask();
    const settings = { completedAfterMs: 0, finalAfterMs: 0 };
    const { id } = await withSettings(settings, () => calls.publishPost(post(), identity(task)));
    const error = await failure(calls.withdrawPost(id, identity(task)));
    expect(error).toMatchObject({ status: 409, platformCode: 'already_final' });
    expect((await calls.readPost(id))?.status).toBe('published');
  });
});

describe('the journal', () => {
  it('keeps everything that was answered through SIGKILL, and the log agrees', async () => {
    const data = await bench.folder();
    const before = await bench.platform({ data });
    const task = newTask();
    const stored = await client(before).uploadPicture(picture('kept'), identity(task, { key: 'p' }));
    const made = await client(before).publishPost(post({ pictures: [stored.id] }), identity(task, { key: 'b' }));
    const counts = await before.admin.counts(task);
    await before.kill();

    const after = await bench.platform({ data });
    expect(await after.admin.counts(task)).toMatchObject({ acted: counts.acted, pictures: 1, posts: 1 });
    expect((await client(after).readPicture(stored.id))?.bytes.toString()).toBe('kept');
    expect((await client(after).publishPost(post({ pictures: [stored.id] }), identity(task, { key: 'b' }))).id).toBe(made.id);
    expect((await after.admin.counts(task)).posts).toBe(1);
    const numbers = (await after.admin.log()).map((entry) => entry.n);
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  it('survives SIGKILL at any moment: each answered request is there once, none twice', async () => {
    const data = await bench.folder();
    const task = newTask();
    const answered: string[] = [];
    let running = await bench.platform({ data });
    for (let round = 0; round < 2; round += 1) {
      const now = client(running);
      const from = answered.length;
      const stream = (async () => {
        for (let n = 0; ; n += 1) {
          const key = `${round}/${n}`;
          await now.publishPost(post(), identity(task, { key, messageId: key }));
          answered.push(key);
        }
      })();
      await until('some are answered', () => answered.length > from + 5);
      await running.kill();
      await stream.catch(() => undefined);
      running = await bench.platform({ data });
    }
    const posts = (await client(running).findPosts({ task })).map((found) => found.reference.messageId);
    expect(new Set(posts).size).toBe(posts.length);
    expect(posts).toEqual(expect.arrayContaining(answered));
    const acted = (await running.admin.log({ task })).filter((entry) => entry.did === 'acted');
    expect(acted.map((entry) => entry.messageId)).toEqual(posts);
  });

  it('cuts off a last line that was never finished, and completes an access log that lost its end', async () => {
    const data = await bench.folder();
    const before = await bench.platform({ data });
    const task = newTask();
    await client(before).publishPost(post(), identity(task));
    await before.kill();
    await appendFile(join(data, 'journal.jsonl'), '{"change":{"type":"post"');
    await truncate(join(data, 'access.jsonl'), 0);
    const size = (await stat(join(data, 'journal.jsonl'))).size;

    const after = await bench.platform({ data });
    expect((await stat(join(data, 'journal.jsonl'))).size).toBeLessThan(size);
    expect(await after.admin.counts(task)).toMatchObject({ requests: 1, acted: 1, posts: 1 });
    await client(after).publishPost(post(), identity(task));
    const lines = (await readFile(join(data, 'access.jsonl'), 'utf8')).trim().split('\n');
    const entries = lines.map((line) => JSON.parse(line) as AccessEntry);
    expect(entries.map((entry) => [entry.did, entry.taskId])).toEqual([['acted', task], ['acted', task]]);
  });

  it('that is damaged in the middle is not started on', async () => {
    const data = await bench.folder();
    await writeFile(join(data, 'journal.jsonl'), '{"change"\n');
    await expect(bench.platform({ data })).rejects.toThrow(/journal\.jsonl line 1/u);
  });
});

describe('the process', () => {
  it('stops on SIGTERM with code 0, even with a request that is never answered', async () => {
    const stopping = await bench.platform();
    const task = newTask();
    await stopping.admin.addFault({ kind: 'timeout_before', task });
    const hanging = failure(client(stopping).publishPost(post(), identity(task)));
    await until('it hangs', async () => (await stopping.admin.log({ task }))[0]?.did === 'ignored');
    expect(await stopping.stop()).toBe(0);
    expect((await hanging).status).toBeUndefined();
  });

  it('asks for its token when it has one', async () => {
    const guarded = await bench.platform({ env: { PLATFORM_TOKEN: 'open-sesame' } });
    const error = await failure(client(guarded).publishPost(post(), identity(newTask())));
    expect(error).toMatchObject({ status: 401, platformCode: 'unauthorized' });
  });
});
