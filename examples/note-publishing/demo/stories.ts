/** Eight stories, each on real servers, each with the end that it must have. */
import type { Explanation, ParentStatus, RestState, ThroughlineClient, View } from '../../../src/index.ts';
import type { PlatformProcess } from '../platform/process.ts';
import type { TaskCounts } from '../platform/types.ts';
import type { createPublishNote } from '../task.ts';

export interface Scene {
  readonly client: ThroughlineClient;
  readonly platform: PlatformProcess;
  readonly publishNote: ReturnType<typeof createPublishNote>;
  /** The platform without keys, and the task type that publishes there. */
  readonly keyless: PlatformProcess;
  readonly publishKeyless: ReturnType<typeof createPublishNote>;
  /** A crash of the worker, and another in its place. */
  readonly replaceWorker: () => Promise<void>;
  readonly say: (line: string) => void;
}

export interface Told {
  readonly name: string;
  readonly title: string;
  readonly taskId: string;
  readonly status: ParentStatus;
  readonly steps: Readonly<Record<string, RestState>>;
  /** What of the expected end is not so; empty: all is. */
  readonly wrong: readonly string[];
  readonly platform: TaskCounts;
  readonly explanation: Explanation;
}

interface Story {
  readonly name: string;
  readonly title: string;
  readonly tell: (scene: Scene) => Promise<string>;
  /** It ends the worker: no other may be told meanwhile. */
  readonly alone?: true;
  /** It happens on the platform without keys. */
  readonly keyless?: true;
  readonly end: { readonly status: ParentStatus; readonly posts: number; readonly pictures: number; readonly codes: readonly string[]; readonly verdicts?: readonly string[] };
}

const REST_TIMEOUT_MS = 90_000;

/** Waits for a fact in the ledger, not for a time. */
async function until(client: ThroughlineClient, task: string, holds: (view: View) => boolean, what: string): Promise<View> {
  const give_up = Date.now() + REST_TIMEOUT_MS;
  for (;;) {
    const view = await client.get(task);
    if (holds(view)) return view;
    if (view.at_rest || Date.now() > give_up) throw new Error(`waited for "${what}", but the task is ${view.status} (${view.reason})`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const stateOf = (view: View, step: string): RestState | undefined => view.steps.find(({ name }) => name === step)?.state;

async function publishAll({ client, publishNote, say }: Scene): Promise<string> {
  const first = await client.enqueue(publishNote, { note: 'tides' });
  const second = await client.enqueue(publishNote, { note: 'scallion-noodles' });
  const third = await client.enqueue(publishNote, { note: 'release-2-4' });
  say('three notes are enqueued; release-2-4 asks for a person');
  await until(client, third.id, (view) => stateOf(view, 'review') === 'submitted', 'the review waits');
  await client.decide(third.id, { step: 'review', verdict: 'opened', by: 'mei' });
  await client.decide(third.id, { step: 'review', verdict: 'approved', by: 'mei', why: 'numbers checked against the dashboard' });
  say('mei has read release-2-4 and approved it');
  await Promise.all([first, second].map(({ id }) => client.waitFor(id, { timeoutMs: REST_TIMEOUT_MS })));
  for (const { id } of [first, second]) if ((await client.get(id)).status !== 'succeeded') throw new Error(`${id} did not succeed`);
  return third.id;
}

async function lostAnswer({ client, platform, publishNote, say }: Scene): Promise<string> {
  const { id } = await client.enqueue(publishNote, { note: 'tides' }, { key: 'demo/lost-answer', delay: '300ms' });
  // Receipts would tell at once: they come late, so that the further attempt has to find out by itself.
  await platform.admin.addFault({ kind: 'timeout_after', route: 'publish_post', task: id });
  await platform.admin.addFault({ kind: 'late_receipt', route: 'publish_post', task: id, ms: 8_000 });
  await until(client, id, (view) => stateOf(view, 'publish') === 'unconfirmed', 'the answer is lost');
  say('the pictures are up; the body was sent and its answer never came: a further attempt may repeat it under the same key, which the platform answers once');
  return id;
}

async function cancelBeforeRetry({ client, platform, publishNote, say }: Scene): Promise<string> {
  const { id } = await client.enqueue(publishNote, { note: 'scallion-noodles' }, { key: 'demo/cancel-before-retry', delay: '300ms' });
  await platform.admin.addFault({ kind: 'timeout_before', route: 'publish_post', task: id });
  await until(client, id, (view) => stateOf(view, 'publish') === 'unconfirmed', 'the platform times out');
  const cancel = await client.cancel(id, { by: 'li', why: 'the recipe has a mistake' });
  say(`a further attempt is planned; li cancels first; the answer at once: ${cancel.verdict}`);
  return id;
}

async function cancelTooLate({ client, platform, publishNote, say }: Scene): Promise<string> {
  const { id } = await client.enqueue(publishNote, { note: 'tides' }, { key: 'demo/cancel-too-late', delay: '300ms' });
  await platform.admin.addFault({ kind: 'late_receipt', route: 'publish_post', task: id, ms: 2_000 });
  await until(client, id, (view) => ['submitted', 'received', 'in_progress'].includes(stateOf(view, 'publish') ?? ''), 'the body is submitted');
  const cancel = await client.cancel(id, { by: 'li', why: 'second thoughts' });
  say(`the platform has taken the body; li cancels now; the answer at once: ${cancel.verdict}`);
  return id;
}

async function workerKilled({ client, platform, publishNote, replaceWorker, say }: Scene): Promise<string> {
  const { id } = await client.enqueue(publishNote, { note: 'tides' }, { key: 'demo/worker-killed', delay: '300ms' });
  // The post is made at once; the answer would take far longer than the worker lives.
  await platform.admin.addFault({ kind: 'slow_answer', route: 'publish_post', task: id, ms: 1_400 });
  const give_up = Date.now() + REST_TIMEOUT_MS;
  while ((await platform.admin.counts(id)).posts === 0) {
    if (Date.now() > give_up) throw new Error('the post never reached the platform');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await replaceWorker();
  say('the platform has made the post; the worker was killed (SIGKILL) before it could record the answer; another one is up');
  await until(client, id, (view) => stateOf(view, 'publish') !== 'leased', 'its lease is over');
  return id;
}

async function lostWithoutKeys({ client, keyless, publishKeyless, say }: Scene): Promise<string> {
  const { id } = await client.enqueue(publishKeyless, { note: 'tides' }, { key: 'demo/lost-without-keys', delay: '300ms' });
  await keyless.admin.addFault({ kind: 'lost_answer', route: 'publish_post', task: id });
  // Its receipts would tell; without them only a look can.
  await keyless.admin.addFault({ kind: 'no_receipt', route: 'publish_post', task: id });
  await until(client, id, (view) => stateOf(view, 'publish') === 'unconfirmed', 'the answer is lost');
  say('this platform takes every request as new; the answer to the post is lost, so nothing is sent again: the step looks for it by the task\'s reference');
  await until(client, id, (view) => stateOf(view, 'publish') !== 'unconfirmed', 'the post is found');
  say('found: the post is there');
  return id;
}

async function authorizationRevoked({ client, platform, publishNote, say }: Scene): Promise<string> {
  const { id } = await client.enqueue(publishNote, { note: 'scallion-noodles' }, { key: 'demo/authorization-revoked', delay: '300ms' });
  const fault = await platform.admin.addFault({ kind: 'authorization_revoked', route: 'publish_post', task: id, count: null });
  const dead = await client.waitFor(id, { timeoutMs: REST_TIMEOUT_MS });
  say(`the platform has revoked our authorization: ${dead.status} at once, since no further attempt would change that`);
  await platform.admin.removeFaults(fault.id);
  await client.replay(id, { by: 'chen', why: 'the token was renewed' });
  say('the token is renewed; chen replays it, with the reason; pictures that are there already are not sent again');
  return id;
}

async function foreignReceipts({ client, platform, publishNote, say }: Scene): Promise<string> {
  const { id } = await client.enqueue(publishNote, { note: 'tides' }, { key: 'demo/foreign-receipts', delay: '300ms' });
  const about = { route: 'publish_post' as const, task: id };
  await platform.admin.addFault({ kind: 'foreign_receipt', ...about, receipts: ['completed'], asTask: id });
  await platform.admin.addFault({ kind: 'text_only_receipt', ...about, receipts: ['completed'], instead: false });
  say('the platform mixes up its receipts: one answers another task\'s message, one is a friendly sentence; then the right one');
  return id;
}

export const STORIES: readonly Story[] = [
  { name: 'published', title: 'The notes are published and accepted', tell: publishAll, end: { status: 'succeeded', posts: 1, pictures: 2, codes: ['proof_accepted'] } },
  { name: 'lost-answer', title: 'The body\'s answer is lost: one set of pictures, one post', tell: lostAnswer, end: { status: 'succeeded', posts: 1, pictures: 3, codes: ['answer_lost', 'resend_same_key', 'proof_accepted'] } },
  { name: 'cancel-before-retry', title: 'The cancel comes before the retry', tell: cancelBeforeRetry, end: { status: 'cancelled', posts: 0, pictures: 2, codes: ['cancel_awaits_resolution', 'probe_absent_after_cancel'] } },
  { name: 'cancel-too-late', title: 'The cancel comes after the submission', tell: cancelTooLate, end: { status: 'succeeded', posts: 1, pictures: 3, codes: ['cancel_after_submit', 'proof_accepted'] } },
  { name: 'worker-killed', title: 'The worker is killed after the platform acted: one post', tell: workerKilled, alone: true, end: { status: 'succeeded', posts: 1, pictures: 3, codes: ['lease_expired', 'receipt_completed', 'proof_accepted'] } },
  { name: 'lost-without-keys', title: 'The answer is lost on a platform without keys: found, not sent again', tell: lostWithoutKeys, keyless: true, end: { status: 'succeeded', posts: 1, pictures: 3, codes: ['answer_lost', 'probe_completed', 'proof_accepted'] } },
  { name: 'authorization-revoked', title: 'Authorization is revoked: dead at once, repaired, replayed by a person', tell: authorizationRevoked, end: { status: 'succeeded', posts: 1, pictures: 2, codes: ['not_retryable', 'replayed', 'proof_accepted'] } },
  { name: 'foreign-receipts', title: 'A receipt of another task and a mere sentence are refused, the right one completes', tell: foreignReceipts, end: { status: 'succeeded', posts: 1, pictures: 3, codes: ['receipt_completed', 'proof_accepted'], verdicts: ['wrong_message', 'text_only', 'matched'] } },
];

/** Tells one story to its end, and compares the end, the timeline and the platform's own count. */
export async function tell(story: Story, scene: Scene): Promise<Told> {
  const taskId = await story.tell(scene);
  await scene.client.waitFor(taskId, { timeoutMs: REST_TIMEOUT_MS });
  const [record, explanation, platform] = await Promise.all([scene.client.record(taskId), scene.client.explain(taskId), (story.keyless === true ? scene.keyless : scene.platform).admin.counts(taskId)]);
  const { end } = story;
  const verdicts = new Set(record.receipts.map(({ verdict }) => verdict));
  const codes = new Set(record.timeline.map(({ reason }) => reason));
  const wrong = [
    ...(record.task.status === end.status ? [] : [`status is ${record.task.status}, not ${end.status}`]),
    ...(platform.posts === end.posts ? [] : [`the platform counts ${String(platform.posts)} posts, not ${String(end.posts)}`]),
    ...(platform.pictures === end.pictures ? [] : [`the platform counts ${String(platform.pictures)} pictures, not ${String(end.pictures)}`]),
    ...end.codes.filter((code) => !codes.has(code as never)).map((code) => `the timeline has no ${code}`),
    ...(end.verdicts ?? []).filter((verdict) => !verdicts.has(verdict as never)).map((verdict) => `no receipt is ${verdict}`),
  ];
  return { name: story.name, title: story.title, taskId, status: record.task.status, steps: Object.fromEntries(record.steps.map(({ name, state }) => [name, state])), wrong, platform, explanation };
}
