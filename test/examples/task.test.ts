import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { RenderResult } from '../../examples/note-publishing/facts.ts';
import type { PlatformClient } from '../../examples/note-publishing/platform/client.ts';
import type { PlatformProcess } from '../../examples/note-publishing/platform/process.ts';
import { identityOf, probe, readBack } from '../../examples/note-publishing/publish.ts';
import type { PublishResult } from '../../examples/note-publishing/publish.ts';
import { createPublishNote } from '../../examples/note-publishing/task.ts';
import type { ArtifactRef, EffectCall, HandlerContext, ProbeContext, ReadBackContext, ReviewAnswer } from '../../src/index.ts';
import { Bench, client, failure, newTask, until } from './support.ts';

const bench = new Bench();
const notes = fileURLToPath(new URL('../../examples/note-publishing/notes/', import.meta.url));
let platform: PlatformProcess;
let calls: PlatformClient;
let definition: ReturnType<typeof createPublishNote>;

beforeAll(async () => {
  platform = await bench.platform();
  calls = client(platform, 400);
  definition = createPublishNote({ notes, platform: calls, callbackUrl: 'http://127.0.0.1:9/receipts' });
});
afterAll(() => bench.end());

/** Stands in for the engine: artifacts in memory, effects called once each. Nothing is retried or recorded. */
class Handler {
  readonly taskId = newTask();
  readonly sent: EffectCall[] = [];
  readonly #artifacts = new Map<string, Uint8Array>();

  async run<R>(step: string, input: unknown, results: Record<string, unknown> = {}): Promise<R> {
    const handler = definition.steps.get(step);
    const context = { ...this.#context(step), input: definition.parseInput(input), results };
    return (await handler?.run(context as never)) as R;
  }

  readArtifact = async ({ uri }: { readonly uri: string }): Promise<Uint8Array> => this.#artifacts.get(uri) ?? new Uint8Array();

  call(effect: string, item = '', generation = 1): EffectCall {
    const key = `${this.taskId}/publish/${effect}/${item}/${generation}`;
    const reference = { task: this.taskId, step: 'publish', effect, item };
    const messageId = `${key}#${this.sent.length}`;
    return { key, messageId, threadId: this.taskId, reference, signal: new AbortController().signal, timeoutMs: 400 };
  }

  #context(step: string): Partial<HandlerContext<unknown, unknown>> & { effect: unknown } {
    return {
      taskId: this.taskId,
      step,
      readArtifact: this.readArtifact,
      artifact: async ({ name, mediaType, content }): Promise<ArtifactRef> => {
        const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
        const sha256 = createHash('sha256').update(bytes).digest('hex');
        this.#artifacts.set(`sha256:${sha256}`, bytes);
        return { uri: `sha256:${sha256}`, name, mediaType, bytes: bytes.length, sha256 };
      },
      effect: async (name: string, options: { item?: string }, work: (call: EffectCall) => Promise<unknown>) => {
        const call = this.call(name, options.item);
        this.sent.push(call);
        return work(call);
      },
    };
  }
}

async function rendered(note = 'tides'): Promise<{ handler: Handler; render: RenderResult }> {
  const handler = new Handler();
  return { handler, render: await handler.run<RenderResult>('render', { note }) };
}

function asked(handler: Handler, call: EffectCall): ProbeContext<unknown, { render: RenderResult }> {
  const { effect, item } = call.reference;
  const results = {} as { render: RenderResult };
  const { key, messageId, threadId, signal } = call;
  return { taskId: handler.taskId, step: 'publish', effect, item, key, threadId, messageIds: [messageId], externalId: null, input: null, results, signal };
}

function back(handler: Handler, render: RenderResult, result: PublishResult | null): ReadBackContext<unknown, { render: RenderResult }, PublishResult> {
  const signal = new AbortController().signal;
  const { taskId, readArtifact } = handler;
  return { taskId, step: 'publish', input: null, results: { render }, result, externalId: result?.postId ?? null, artifacts: [], signal, readArtifact };
}

describe('the task type publish-note', () => {
  it('is one note in one version', () => {
    expect(definition.dedupeKey(definition.parseInput({ note: 'tides' }))).toEqual({
      subject: 'tides',
      action: 'publish',
      resourceVersion: '1',
    });
    expect(() => definition.parseInput({ note: '../../etc' })).toThrow(/slug/u);
  });

  it('renders HTML and pictures into artifacts', async () => {
    const { handler, render } = await rendered();
    expect(Object.keys(render.pictures)).toEqual(['1-shore', '2-tide-curve', '3-spring-neap']);
    for (const picture of render.facts.pictures) {
      expect(render.pictures[picture.item]).toMatchObject({ sha256: picture.sha256, mediaType: picture.contentType });
    }
    expect(new TextDecoder().decode(await handler.readArtifact(render.html))).toContain('<h2>Two highs, two lows</h2>');
  });

  it('refuses a note that is not there or has another version, for good', async () => {
    await expect(new Handler().run('render', { note: 'nowhere' })).rejects.toMatchObject({
      category: 'invalid_input',
      code: 'note_missing',
    });
    await expect(new Handler().run('render', { note: 'tides', version: 2 })).rejects.toMatchObject({
      category: 'invalid_input',
      code: 'note_version_differs',
    });
  });

  it.each([
    ['tides', { approve: 'all automatic checks passed' }],
    ['release-2-4', { ask: 'person' }],
  ])('reviews %s', async (note, answer) => {
    const { handler, render } = await rendered(note);
    expect(await handler.run<ReviewAnswer>('review', { note }, { render })).toMatchObject(answer);
  });

  it('rejects a note with errors, and names them', async () => {
    const { handler, render } = await rendered('release-2-4');
    const facts = { ...render.facts, broken: [{ path: 'x.png', code: 'picture_missing' }], textChars: 0 };
    const answer = await handler.run<{ reject: string }>('review', { note: 'tides' }, { render: { ...render, facts } });
    expect(answer.reject).toMatch(/body: .*x\.png: the file is not there/u);
  });

  it.each(['tides', 'scallion-noodles', 'release-2-4'])('publishes %s, and the proof reads it back whole', async (note) => {
    const { handler, render } = await rendered(note);
    const result = await handler.run<PublishResult>('publish', { note }, { render, review: {} });
    await until('it is out', async () => (await calls.readPost(result.postId))?.status === 'published');
    const answer = await readBack(calls, back(handler, render, result), { visibleWithinMs: 0 });
    expect([answer.exists.ok, answer.ours.ok, answer.minimum.ok]).toEqual([true, true, true]);
    expect(answer.result).toEqual(result);
    const log = (await platform.admin.log({ task: handler.taskId })).filter((entry) => entry.did === 'acted');
    expect(log.map(({ key, messageId }) => [key, messageId])).toEqual(handler.sent.map(({ key, messageId }) => [key, messageId]));
    expect(handler.sent.map(({ reference }) => reference.effect)).toEqual([...render.facts.pictures.map(() => 'picture'), 'body']);
  });
});

describe('the probe', () => {
  it('finds a picture whose answer was lost, by item, and none that was not sent', async () => {
    const { handler, render } = await rendered();
    await platform.admin.addFault({ kind: 'lost_answer', route: 'upload_picture', task: handler.taskId, nth: 2 });
    await failure(handler.run('publish', { note: 'tides' }, { render, review: {} }));
    const lost = handler.sent[1];
    expect(lost?.reference.item).toBe('2-tide-curve');
    const found = await probe(calls, asked(handler, lost ?? handler.call('picture')));
    const [stored] = await calls.findPictures({ task: handler.taskId, item: '2-tide-curve' });
    expect(found).toEqual({ answer: 'completed', externalId: stored?.id, result: { id: stored?.id, path: stored?.path } });
    expect(await probe(calls, asked(handler, handler.call('picture', '3-spring-neap')))).toEqual({ answer: 'absent' });
  });

  it('tells a post that was taken from one that is out, and from one of another generation', async () => {
    const { handler, render } = await rendered();
    await platform.admin.changeSettings({ completedAfterMs: 1_500 });
    await platform.admin.addFault({ kind: 'timeout_after', route: 'publish_post', task: handler.taskId });
    expect((await failure(handler.run('publish', { note: 'tides' }, { render, review: {} }))).code).toBe('ETIMEDOUT');
    await platform.admin.changeSettings({ completedAfterMs: 200 });
    const call = handler.sent.at(-1) ?? handler.call('body');
    expect((await probe(calls, asked(handler, call))).answer).toBe('present');
    expect(await probe(calls, asked(handler, handler.call('body', '', 2)))).toEqual({ answer: 'absent' });
    await until('it is out', async () => (await probe(calls, asked(handler, call))).answer === 'completed');
    const [post] = await calls.findPosts({ task: handler.taskId });
    await calls.withdrawPost(post?.id ?? '', identityOf(handler.call('body')));
    expect(await probe(calls, asked(handler, call))).toEqual({ answer: 'absent' });
  });

  it('finds nothing after a timeout before acting', async () => {
    const { handler, render } = await rendered();
    await platform.admin.addFault({ kind: 'timeout_before', route: 'publish_post', task: handler.taskId });
    await failure(handler.run('publish', { note: 'tides' }, { render, review: {} }));
    expect(await probe(calls, asked(handler, handler.sent.at(-1) ?? handler.call('body')))).toEqual({ answer: 'absent' });
    expect(await platform.admin.counts(handler.taskId)).toMatchObject({ pictures: 3, posts: 0 });
  });

  it('of a platform that is away throws the error with its status', async () => {
    const handler = new Handler();
    await platform.admin.addFault({ kind: 'unavailable', route: 'find_posts', task: handler.taskId });
    expect((await failure(probe(calls, asked(handler, handler.call('body'))))).status).toBe(503);
  });
});

describe('the proof', () => {
  it('is open while the post is not out, and broken once it is withdrawn', async () => {
    const { handler, render } = await rendered();
    await platform.admin.changeSettings({ completedAfterMs: 60_000 });
    const result = await handler.run<PublishResult>('publish', { note: 'tides' }, { render, review: {} });
    await platform.admin.changeSettings({ completedAfterMs: 200 });
    const look = async (): Promise<boolean | null> => (await readBack(calls, back(handler, render, result), { visibleWithinMs: 0 })).exists.ok;
    expect(await look()).toBeNull();
    await calls.withdrawPost(result.postId, identityOf(handler.call('body')));
    expect(await look()).toBe(false);
  });

  it('finds the post by task where the answer was lost, and fills in the result', async () => {
    const { handler, render } = await rendered();
    const result = await handler.run<PublishResult>('publish', { note: 'tides' }, { render, review: {} });
    const answer = await readBack(calls, back(handler, render, null), { visibleWithinMs: 0 });
    expect(answer.result).toEqual(result);
    const evidence = answer.evidence as { pictures: string[] };
    expect(evidence.pictures).toEqual(render.facts.pictures.map(({ sha256 }) => sha256));
  });

  it("is not given by another task's post, by another note, or by nothing", async () => {
    const { handler, render } = await rendered();
    const result = await handler.run<PublishResult>('publish', { note: 'tides' }, { render, review: {} });
    const other = await rendered('release-2-4');
    const wrong = await readBack(calls, back(other.handler, other.render, result), { visibleWithinMs: 0 });
    expect([wrong.ours.ok, wrong.minimum.ok]).toEqual([false, false]);
    const gone = { postId: 'post_unknown', path: '/posts/post_unknown' };
    expect((await readBack(calls, back(handler, render, gone), { visibleWithinMs: 0 })).exists.ok).toBe(false);
    expect((await readBack(calls, back(handler, render, gone), { visibleWithinMs: 1_000 })).exists.ok).toBeNull();
  });
});
