/** The publish step: its calls to the platform, how a lost answer is looked up, and how success is proven. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Check, EffectCall, ProbeAnswer, ProbeContext, ReadBackAnswer, ReadBackContext, WithdrawAnswer, WithdrawContext } from '../../src/index.ts';
import type { RenderResult, RenderedPicture } from './facts.ts';
import { PlatformError } from './platform/client.ts';
import type { CallIdentity, PlatformClient } from './platform/client.ts';
import type { NewPost, Picture, PostView } from './platform/types.ts';
import { placePictures } from './render.ts';

/** What the publish step returns: the post as the platform names it. */
export const publishResultSchema = z.strictObject({ postId: z.string(), path: z.string() });
export type PublishResult = z.output<typeof publishResultSchema>;

interface Needed {
  readonly render: RenderResult;
}

/** The reference travels inside the request: it is what a probe looks for after a lost answer. */
export function identityOf(call: Pick<EffectCall, 'key' | 'messageId' | 'threadId' | 'reference'>): CallIdentity {
  const { task, step, item } = call.reference;
  return {
    key: call.key,
    messageId: call.messageId,
    threadId: call.threadId,
    taskId: task,
    step,
    ...(item === '' ? {} : { item }),
  };
}

/** The post to be sent. `urls` and `ids` come from the uploads, in the order of the note. */
export function composePost(
  render: RenderResult,
  html: string,
  uploaded: readonly { readonly item: string; readonly id: string; readonly path: string }[],
): Omit<NewPost, 'callbackUrl'> {
  const { title, author, language } = render.facts.frontMatter;
  const urls = Object.fromEntries(uploaded.map(({ item, path }) => [item, path]));
  return {
    title,
    author,
    language,
    html: placePictures(html, render.facts.pictures, urls),
    pictures: uploaded.map(({ id }) => id),
  };
}

export function resultOf(post: PostView): PublishResult {
  return { postId: post.id, path: post.path };
}

/**
 * Looks on the platform for what one submission generation may have made: by task reference, then by key, so that an
 * earlier generation's post is not taken for this one's.
 */
export async function probe(platform: PlatformClient, context: ProbeContext<unknown, Needed>): Promise<ProbeAnswer> {
  const { taskId, step, effect, item, key, messageIds, signal } = context;
  const mine = ({ reference }: Picture | PostView): boolean =>
    reference.key === key || (reference.messageId !== null && messageIds.includes(reference.messageId));
  if (effect === 'picture') {
    const found = (await platform.findPictures({ task: taskId, step, item }, { signal })).find(mine);
    if (found === undefined) return { answer: 'absent' };
    return { answer: 'completed', externalId: found.id, result: { id: found.id, path: found.path } };
  }
  const post = (await platform.findPosts({ task: taskId, step }, { signal })).find(mine);
  if (post === undefined) return { answer: 'absent' };
  const taken = { externalId: post.id, result: resultOf(post) };
  switch (post.status) {
    case 'accepted':
      return { answer: 'present', ...taken };
    case 'published':
      return { answer: 'completed', ...taken };
    case 'withdrawn':
      return { answer: 'absent' };
    case 'failed':
      return { answer: 'unknown', detail: `the platform keeps post ${post.id} as failed` };
  }
}

/** The platform's own words for "it stays": nothing was taken back, and asking again would not change that. */
const FINAL: ReadonlySet<string> = new Set(['already_final', 'already_failed']);

/** Takes the post back. Where its answer was lost, it is looked for first; what the platform doesn't show can't be taken back. */
export async function withdraw(platform: PlatformClient, context: WithdrawContext<unknown, unknown, unknown>): Promise<WithdrawAnswer> {
  const { submission, signal, timeoutMs } = context;
  const id = submission.externalId ?? (await findSubmitted(platform, context));
  if (id === null) return { outcome: 'refused', code: 'not_found', detail: 'the platform shows no post of this submission' };
  try {
    await platform.withdrawPost(id, identityOf(context), { signal, timeoutMs });
    return { outcome: 'confirmed' };
  } catch (error) {
    if (error instanceof PlatformError && error.platformCode !== undefined && FINAL.has(error.platformCode)) {
      return { outcome: 'refused', code: error.platformCode, detail: error.message };
    }
    throw error;
  }
}

async function findSubmitted(platform: PlatformClient, { taskId, step, submission, signal }: WithdrawContext<unknown, unknown, unknown>): Promise<string | null> {
  const posts = await platform.findPosts({ task: taskId, step }, { signal });
  return posts.find(({ reference }) => reference.key === submission.key || submission.messageIds.includes(reference.messageId ?? ''))?.id ?? null;
}

/**
 * Reads the published post and its pictures back. `exists`: it is out · `ours`: it carries this task's reference ·
 * `minimum`: the HTML is what was rendered, and each picture's bytes are the rendered ones.
 */
export async function readBack(
  platform: PlatformClient,
  context: ReadBackContext<unknown, Needed, PublishResult>,
  options: { readonly visibleWithinMs: number },
): Promise<ReadBackAnswer<PublishResult>> {
  const { taskId, step, signal } = context;
  const id = context.result?.postId ?? context.externalId;
  const post = id === null ? (await platform.findPosts({ task: taskId, step }, { signal })).at(-1) : await platform.readPost(id, { signal });
  if (post === undefined || post === null) {
    // Where posts become visible late, not seeing one proves nothing yet.
    const exists = { ok: options.visibleWithinMs === 0 ? false : null, detail: 'the platform does not show the post' };
    return { exists, ours: unseen, minimum: unseen };
  }
  const html = new TextDecoder().decode(await context.readArtifact(context.results.render.html));
  return {
    exists: isOut(post),
    ours: {
      ok: post.reference.taskId === taskId && post.reference.step === step,
      detail: `carries ${post.reference.taskId ?? 'no task'}/${post.reference.step ?? 'no step'}`,
    },
    minimum: await isWhole(platform, post, html, context.results.render.facts.pictures, signal),
    result: resultOf(post),
    evidence: { postId: post.id, status: post.status, sha256: post.sha256, pictures: post.pictures.map(({ sha256 }) => sha256) },
  };
}

const unseen: Check = { ok: null, detail: 'not looked at' };

function isOut(post: PostView): Check {
  const ok = post.status === 'published' ? true : post.status === 'accepted' ? null : false;
  return { ok, detail: `the post is ${post.status}` };
}

/** Nothing is taken from the platform's word: HTML and pictures are read and hashed. */
async function isWhole(
  platform: PlatformClient,
  post: PostView,
  html: string,
  pictures: readonly RenderedPicture[],
  signal: AbortSignal,
): Promise<Check> {
  const urls: Record<string, string> = {};
  for (const picture of pictures) {
    const shown = post.pictures.find(
      ({ reference }) => reference.item === picture.item && reference.taskId === post.reference.taskId,
    );
    const read = shown === undefined ? null : await platform.readPicture(shown.id, { signal });
    if (shown === undefined || read === null) return { ok: false, detail: `picture ${picture.item} is missing` };
    const sha256 = createHash('sha256').update(read.bytes).digest('hex');
    if (sha256 !== picture.sha256) return { ok: false, detail: `picture ${picture.item} has other bytes` };
    urls[picture.item] = shown.path;
  }
  if (post.html !== placePictures(html, pictures, urls)) return { ok: false, detail: 'the HTML is not the rendered one' };
  return { ok: true, detail: `HTML and ${pictures.length} pictures are as rendered` };
}
