import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { PlatformClient } from '../../examples/note-publishing/platform/client.ts';
import type { PlatformProcess } from '../../examples/note-publishing/platform/process.ts';
import { Bench, client, failure, identity, newTask, picture, post, until } from './support.ts';

const bench = new Bench();
let platform: PlatformProcess;
let calls: PlatformClient;
/** Gives up soon: for calls that are never answered. */
let hasty: PlatformClient;

beforeAll(async () => {
  platform = await bench.platform();
  calls = client(platform);
  hasty = client(platform, 300);
});
afterAll(() => bench.end());

/** What the platform's log says it did for the task, in order of arrival. */
async function did(task: string): Promise<string[]> {
  return (await platform.admin.log({ task })).map((entry) => entry.did);
}

describe('a fault of a request', () => {
  it('429 carries Retry-After and changes nothing', async () => {
    const task = newTask();
    await platform.admin.addFault({ kind: 'too_many_requests', task, retryAfterS: 7 });
    const error = await failure(calls.publishPost(post(), identity(task)));
    expect(error).toMatchObject({ status: 429, retryAfterMs: 7_000, platformCode: 'too_many_requests' });
    expect(await platform.admin.counts(task)).toMatchObject({ requests: 1, refused: 1, posts: 0 });
  });

  it('503 strikes as often as it is told, then no more', async () => {
    const task = newTask();
    await platform.admin.addFault({ kind: 'unavailable', task, count: 2 });
    expect((await failure(calls.publishPost(post(), identity(task)))).status).toBe(503);
    expect((await failure(calls.publishPost(post(), identity(task)))).status).toBe(503);
    await calls.publishPost(post(), identity(task));
    expect(await did(task)).toEqual(['refused', 'refused', 'acted']);
  });

  it('begins at the nth call that matches, and only there', async () => {
    const task = newTask();
    await platform.admin.addFault({ kind: 'refuse', route: 'upload_picture', task, nth: 2, code: 'too_dark' });
    await calls.uploadPicture(picture('1'), identity(task, { item: 'a' }));
    const error = await failure(calls.uploadPicture(picture('2'), identity(task, { item: 'b' })));
    expect(error).toMatchObject({ status: 422, platformCode: 'too_dark' });
    await calls.uploadPicture(picture('3'), identity(task, { item: 'c' }));
    expect(await did(task)).toEqual(['acted', 'refused', 'acted']);
  });

  it('is aimed at an item, whatever the order of calls', async () => {
    const task = newTask();
    await platform.admin.addFault({ kind: 'unavailable', task, item: 'b', count: null });
    await calls.uploadPicture(picture(), identity(task, { item: 'a' }));
    expect((await failure(calls.uploadPicture(picture(), identity(task, { item: 'b' })))).status).toBe(503);
    expect((await calls.findPictures({ task })).map((found) => found.reference.item)).toEqual(['a']);
  });

  it('slow: the answer comes late, the request is listed as pending meanwhile', async () => {
    const task = newTask();
    await platform.admin.addFault({ kind: 'slow', task, ms: 400 });
    const slow = calls.publishPost(post(), identity(task));
    await until('the request is pending', async () => (await did(task))[0] === 'pending');
    await slow;
    expect(await did(task)).toEqual(['acted']);
  });

  it('a slow request arrives late: it acts although its caller has given up', async () => {
    const task = newTask();
    await platform.admin.addFault({ kind: 'slow', task, ms: 600 });
    expect((await failure(hasty.publishPost(post(), identity(task)))).code).toBe('ETIMEDOUT');
    await until('the post is there', async () => (await platform.admin.counts(task)).posts === 1);
  });

  it('timeout before acting: no answer, nothing done', async () => {
    const task = newTask();
    await platform.admin.addFault({ kind: 'timeout_before', task });
    const error = await failure(hasty.publishPost(post(), identity(task)));
    expect(error).toMatchObject({ code: 'ETIMEDOUT', status: undefined });
    const [entry] = await platform.admin.log({ task });
    expect(entry).toMatchObject({ did: 'ignored', answered: false, faults: ['timeout_before'] });
    expect(await calls.findPosts({ task })).toEqual([]);
  });

  it('timeout after acting: no answer, but the post is there', async () => {
    const task = newTask();
    await platform.admin.addFault({ kind: 'timeout_after', task });
    expect((await failure(hasty.publishPost(post(), identity(task)))).code).toBe('ETIMEDOUT');
    const [entry] = await platform.admin.log({ task, after: 0 });
    expect(entry).toMatchObject({ did: 'acted', answered: false });
    expect(await calls.findPosts({ task })).toHaveLength(1);
  });

  it('lost answer: the socket breaks, but the picture is there', async () => {
    const task = newTask();
    await platform.admin.addFault({ kind: 'lost_answer', task });
    const error = await failure(calls.uploadPicture(picture(), identity(task, { item: 'a' })));
    expect(error.status).toBeUndefined();
    expect(['UND_ERR_SOCKET', 'ECONNRESET']).toContain(error.code);
    expect(await calls.findPictures({ task, item: 'a' })).toHaveLength(1);
  });

  it('lost request: the socket breaks and nothing is there', async () => {
    const task = newTask();
    await platform.admin.addFault({ kind: 'lost_request', task });
    const error = await failure(calls.uploadPicture(picture(), identity(task)));
    expect(['UND_ERR_SOCKET', 'ECONNRESET']).toContain(error.code);
    expect(await calls.findPictures({ task })).toEqual([]);
  });

  it('authorization revoked: 401 until it is restored', async () => {
    const task = newTask();
    const fault = await platform.admin.addFault({ kind: 'authorization_revoked', task, count: null });
    for (let n = 0; n < 3; n += 1) {
      const error = await failure(calls.publishPost(post(), identity(task)));
      expect(error).toMatchObject({ status: 401, platformCode: 'authorization_revoked' });
    }
    expect(await platform.admin.removeFaults(fault.id)).toBe(1);
    await calls.publishPost(post(), identity(task));
    expect((await platform.admin.counts(task)).posts).toBe(1);
  });

  it('strikes reads too, aimed at the task that they are about', async () => {
    const task = newTask();
    const { id } = await calls.publishPost(post(), identity(task));
    await platform.admin.addFault({ kind: 'unavailable', route: 'read_post', task });
    await platform.admin.addFault({ kind: 'unavailable', route: 'find_posts', task });
    expect((await failure(calls.readPost(id))).status).toBe(503);
    expect((await failure(calls.findPosts({ task }))).status).toBe(503);
    expect((await calls.readPost(id))?.id).toBe(id);
  });

  it('a fault that cannot be is refused with its path', async () => {
    await expect(platform.admin.addFault({ kind: 'slow', count: 0 })).rejects.toThrow(/400.*"path":"count"/u);
    await expect(platform.admin.addFault({ kind: 'slow', ms: -1 })).rejects.toThrow(/"path":"ms"/u);
  });
});

describe('an error of the client', () => {
  it('names a refused connection', async () => {
    const gone = await bench.platform();
    const late = client(gone);
    await gone.stop();
    expect(await failure(late.readPost('post_1'))).toMatchObject({ code: 'ECONNREFUSED', status: undefined });
  });

  it("names the caller's own abort", async () => {
    const task = newTask();
    await platform.admin.addFault({ kind: 'timeout_before', task });
    const stop = new AbortController();
    const call = failure(calls.publishPost(post(), identity(task), { signal: stop.signal }));
    await until('the request arrived', async () => (await did(task)).length === 1);
    stop.abort();
    expect((await call).code).toBe('ABORT_ERR');
  });
});
