/** The platform's own routes: pictures, posts, finding by task reference, withdrawal. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { handle, refuse } from './calls.ts';
import type { Act, Answer, Call, Platform } from './calls.ts';
import { planReceipts } from './receipts.ts';
import { newId, postStatus, sha256 } from './store.ts';
import { HEADERS, PLATFORM_LIMITS, newPostSchema, pictureTypes, referenceText } from './types.ts';
import type { NewPost, Picture, Post, Reference } from './types.ts';

const findSchema = z.strictObject({
  task: referenceText,
  step: referenceText.optional(),
  item: referenceText.optional(),
});
const notFound = (what: string): Answer => refuse(404, 'not_found', `no such ${what}`);

/** `POST /pictures`, `GET /pictures?task=&step=&item=`, `GET /pictures/:id`. */
export function pictureRoutes(app: FastifyInstance, platform: Platform): void {
  const { store } = platform;
  app.post('/pictures', { bodyLimit: PLATFORM_LIMITS.picture_bytes_max }, (request, reply) => {
    const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    const digest = sha256(bytes);
    return handle(platform, 'upload_picture', request, reply, digest, (call) => {
      const contentType = request.headers['content-type'] ?? '';
      if (bytes.length === 0 || !(pictureTypes as readonly string[]).includes(contentType)) {
        return refuse(415, 'not_a_picture', `one of ${pictureTypes.join(', ')} is needed`, 'content-type');
      }
      const declared = request.headers[HEADERS.digest];
      if (declared !== undefined && declared !== digest) {
        return refuse(422, 'digest_mismatch', `the bytes have sha256 ${digest}`, HEADERS.digest);
      }
      store.savePictureBytes(bytes, digest);
      const id = newId('pic');
      const picture: Picture = {
        id,
        path: `/pictures/${id}`,
        contentType,
        bytes: bytes.length,
        sha256: digest,
        ...accepted(platform, call),
      };
      return { did: 'acted', change: { type: 'picture', picture }, status: 201, body: picture, externalId: id };
    });
  });

  app.get('/pictures', (request, reply) =>
    handle(platform, 'find_pictures', request, reply, null, (call) =>
      find(request.query, [...store.pictures.values()], call, (pictures) => ({ pictures })),
      asked(request.query),
    ),
  );

  app.get<{ Params: { id: string } }>('/pictures/:id', (request, reply) => {
    const picture = store.pictures.get(request.params.id);
    const read = (call: Call): Answer => {
      if (picture === undefined || !visible(picture, call)) return notFound('picture');
      const headers = { 'content-type': picture.contentType, [HEADERS.digest]: picture.sha256 };
      return { did: 'read', status: 200, body: store.readPictureBytes(picture), headers, externalId: picture.id };
    };
    return handle(platform, 'read_picture', request, reply, null, read, of(picture));
  });
}

/** `POST /posts`, `GET /posts?task=&step=`, `GET /posts/:id`, `DELETE /posts/:id`. */
export function postRoutes(app: FastifyInstance, platform: Platform): void {
  const { store } = platform;
  app.post('/posts', { bodyLimit: PLATFORM_LIMITS.post_bytes_max }, (request, reply) => {
    const parsed = newPostSchema.safeParse(request.body);
    // Where receipts go is no part of what is published: a caller that moved may still repeat its request.
    const digest = sha256(JSON.stringify({ ...parsed.data, callbackUrl: null }));
    return handle(platform, 'publish_post', request, reply, digest, (call) => {
      if (!parsed.success) {
        const issue = parsed.error.issues[0];
        return refuse(422, 'invalid_post', issue?.message ?? 'invalid', issue?.path.join('.'));
      }
      const missing = parsed.data.pictures.find((id) => !store.pictures.has(id));
      if (missing !== undefined) {
        return refuse(422, 'unknown_picture', `no picture ${missing}`, 'pictures');
      }
      return acceptPost(platform, parsed.data, call);
    });
  });

  app.get('/posts', (request, reply) =>
    handle(platform, 'find_posts', request, reply, null, (call) =>
      find(request.query, [...store.posts.values()], call, (posts) => ({
        posts: posts.map((post) => store.view(post, call.now)),
      })),
      asked(request.query),
    ),
  );

  app.get<{ Params: { id: string } }>('/posts/:id', (request, reply) => {
    const { id } = request.params;
    const read = (call: Call): Answer => {
      const post = store.posts.get(id);
      if (post === undefined || !visible(post, call)) return notFound('post');
      return { did: 'read', status: 200, body: store.view(post, call.now), externalId: post.id };
    };
    return handle(platform, 'read_post', request, reply, null, read, of(store.posts.get(id)));
  });

  app.delete<{ Params: { id: string } }>('/posts/:id', (request, reply) =>
    handle(platform, 'withdraw_post', request, reply, request.params.id, (call) => {
      const post = store.posts.get(request.params.id);
      return post === undefined ? notFound('post') : withdraw(post, call);
    }),
  );
}

function acceptPost(platform: Platform, body: NewPost, call: Call): Act {
  const { settings } = platform;
  const faults = platform.faults.strikeReceipts(call.reference);
  const id = newId('post');
  const after = (ms: number): string => new Date(call.now.getTime() + ms).toISOString();
  const fails = faults.has('failed_receipt');
  const done = after(settings.completedAfterMs);
  const { callbackUrl, ...content } = body;
  const post: Post = {
    ...content,
    id,
    path: `/posts/${id}`,
    sha256: sha256(body.html),
    ...accepted(platform, call),
    callbackUrl: callbackUrl ?? null,
    publishAt: fails ? null : done,
    failAt: fails ? done : null,
    finalAt: settings.finalAfterMs === null ? null : after(settings.completedAfterMs + settings.finalAfterMs),
    withdrawnAt: null,
  };
  return {
    did: 'acted',
    change: { type: 'post', post, receipts: planReceipts(post, settings, faults) },
    status: 202,
    body: platform.store.view(post, call.now),
    externalId: id,
  };
}

/** A repeated withdrawal, with or without a key, is told that it is done; a final post stays. */
function withdraw(post: Post, call: Call): Act | Answer {
  const body = { id: post.id, withdrawn: true };
  if (post.withdrawnAt !== null) return { did: 'deduped', status: 200, body, externalId: post.id };
  if (post.finalAt !== null && Date.parse(post.finalAt) <= call.now.getTime()) {
    return refuse(409, 'already_final', `final since ${post.finalAt}`);
  }
  if (postStatus(post, call.now) === 'failed') return refuse(409, 'already_failed', 'it never came out');
  const change = { type: 'withdrawn' as const, postId: post.id, at: call.now.toISOString() };
  return { did: 'acted', change, status: 200, body, externalId: post.id };
}

function accepted(platform: Platform, call: Call): Pick<Post, 'reference' | 'acceptedAt' | 'visibleAt'> {
  const visibleAt = new Date(call.now.getTime() + platform.settings.visibleAfterMs).toISOString();
  return { reference: call.reference, acceptedAt: call.now.toISOString(), visibleAt };
}

function visible(thing: { visibleAt: string }, call: Call): boolean {
  return Date.parse(thing.visibleAt) <= call.now.getTime();
}

/** The task that a search asks about. */
function asked(query: unknown): Partial<Reference> {
  const { data } = findSchema.safeParse(query);
  return data === undefined ? {} : { taskId: data.task, step: data.step ?? null, item: data.item ?? null };
}

/** The task that made what is read. */
function of(thing: Picture | Post | undefined): Partial<Reference> {
  if (thing === undefined) return {};
  const { taskId, step, item } = thing.reference;
  return { taskId, step, item };
}

/** What carries the task reference asked for, oldest first. */
function find<Thing extends Picture | Post>(
  query: unknown,
  things: readonly Thing[],
  call: Call,
  answer: (found: Thing[]) => unknown,
): Answer {
  const parsed = findSchema.safeParse(query);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return refuse(400, 'invalid_query', issue?.message ?? 'invalid', issue?.path.join('.'));
  }
  const { task, step, item } = parsed.data;
  const found = things.filter(
    ({ reference, visibleAt }) =>
      reference.taskId === task &&
      (step === undefined || reference.step === step) &&
      (item === undefined || reference.item === item) &&
      visible({ visibleAt }, call),
  );
  return { did: 'read', status: 200, body: answer(found) };
}
