import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startIntake } from '../../examples/note-publishing/intake.ts';
import type { NewFault } from '../../examples/note-publishing/platform/faults.ts';
import type { PlatformProcess } from '../../examples/note-publishing/platform/process.ts';
import type { Receipt } from '../../examples/note-publishing/platform/types.ts';
import { Bench, client, identity, newTask, post, until } from './support.ts';

const bench = new Bench();
let platform: PlatformProcess;
let callbackUrl: string;
/** Everything that arrived, in order. */
const arrived: Receipt[] = [];
/** How many deliveries are still to be refused, by the message that they answer. */
const refusals = new Map<string, number>();

beforeAll(async () => {
  platform = await bench.platform({ flags: ['--receipt-retry-ms', '20'], env: { PLATFORM_RECEIPT_SECRET: 's3' } });
  const intake = await startIntake({
    secret: 's3',
    deliver: async (receipt) => {
      const left = refusals.get(receipt.inReplyTo ?? '') ?? 0;
      refusals.set(receipt.inReplyTo ?? '', left - 1);
      if (left > 0) throw new Error('the store is away');
      arrived.push(receipt);
      return Promise.resolve();
    },
  });
  callbackUrl = intake.url;
  bench.onEnd(() => intake.close());
});
afterAll(() => bench.end());

/** Publishes under a fault and waits until the platform owes no receipt any more; what arrived about this task. */
async function publish(fault?: Omit<NewFault, 'task'>): Promise<{ task: string; message: string; postId: string; receipts: Receipt[] }> {
  const task = newTask();
  if (fault !== undefined) await platform.admin.addFault({ ...fault, task });
  const mine = identity(task);
  const from = arrived.length;
  const made = await client(platform).publishPost(post({ callbackUrl }), mine);
  await until('nothing is owed', async () => (await platform.admin.receipts(task)).every(({ copies }) => copies === 0));
  const receipts = arrived.slice(from).filter((receipt) => receipt.taskId === task || receipt.externalId === made.id);
  return { task, message: mine.messageId, postId: made.id, receipts };
}

const kinds = (receipts: readonly Receipt[]): string[] => receipts.map((receipt) => receipt.kind);

describe('the receipts of a post', () => {
  it('say received, progress and completed, and name task, step, thread, message and post', async () => {
    const { task, message, postId, receipts } = await publish();
    expect(kinds(receipts)).toEqual(['received', 'progress', 'completed']);
    for (const receipt of receipts) {
      expect(receipt).toMatchObject({ taskId: task, step: 'publish', threadId: `${task}/publish`, inReplyTo: message });
      expect(receipt.externalId).toBe(postId);
    }
    expect(receipts.at(-1)?.artifact).toMatchObject({ uri: `/posts/${postId}` });
    expect((await client(platform).readPost(postId))?.status).toBe('published');
  });

  it('are sent again until they are answered with 2xx', async () => {
    const task = newTask();
    const mine = identity(task);
    refusals.set(mine.messageId, 5);
    await client(platform).publishPost(post({ callbackUrl }), mine);
    const states = await until('all are delivered', async () => {
      const now = await platform.admin.receipts(task);
      return now.every(({ deliveredAt }) => deliveredAt !== null) && now;
    });
    expect(states.reduce((sum, state) => sum + state.tries, 0)).toBe(3 + 5);
    expect(kinds(arrived.filter((receipt) => receipt.taskId === task)).sort()).toEqual(['completed', 'progress', 'received']);
  });

  it('that were owed when the process was killed are sent after its restart', async () => {
    const data = await bench.folder();
    const flags = ['--completed-after-ms', '1', '--received-after-ms', '1', '--progress-after-ms', '1'];
    const env = { PLATFORM_RECEIPT_SECRET: 's3' };
    const before = await bench.platform({ data, flags, env });
    const task = newTask();
    const mine = identity(task);
    refusals.set(mine.messageId, Number.MAX_SAFE_INTEGER);
    await client(before).publishPost(post({ callbackUrl }), mine);
    await until('they were tried', async () => (await before.admin.receipts(task)).every(({ tries }) => tries > 0));
    await before.kill();
    refusals.delete(mine.messageId);
    const after = await bench.platform({ data, flags, env });
    await until('none is owed', async () => (await after.admin.receipts(task)).every(({ copies }) => copies === 0));
    expect(kinds(arrived.filter((receipt) => receipt.taskId === task)).sort()).toEqual(['completed', 'progress', 'received']);
  });

  it('stop when the post is withdrawn', async () => {
    const task = newTask();
    await platform.admin.addFault({ kind: 'late_receipt', task, ms: 60_000 });
    const { id } = await client(platform).publishPost(post({ callbackUrl }), identity(task));
    await client(platform).withdrawPost(id, identity(task));
    expect((await platform.admin.receipts(task)).map(({ dropped }) => dropped)).toEqual(Array(3).fill('withdrawn'));
  });
});

describe('a fault of receipts', () => {
  it('no receipt: the post comes out, nobody is told', async () => {
    const { postId, receipts } = await publish({ kind: 'no_receipt' });
    expect(receipts).toEqual([]);
    await until('it is out', async () => (await client(platform).readPost(postId))?.status === 'published');
  });

  it('no receipt of one kind: the others arrive', async () => {
    const { receipts } = await publish({ kind: 'no_receipt', receipts: ['completed'] });
    expect(kinds(receipts)).toEqual(['received', 'progress']);
  });

  it('late receipt: it comes after the post is out', async () => {
    const { task, receipts } = await publish({ kind: 'late_receipt', ms: 500, receipts: ['completed'] });
    expect(kinds(receipts)).toEqual(['received', 'progress', 'completed']);
    const state = (await platform.admin.receipts(task)).find(({ receipt }) => receipt.kind === 'completed');
    expect(Date.parse(state?.dueAt ?? '') - Date.parse(state?.receipt.at ?? '')).toBe(500);
  });

  it('duplicate receipt: the same delivery twice', async () => {
    const { receipts } = await publish({ kind: 'duplicate_receipt', receipts: ['completed'] });
    expect(kinds(receipts)).toEqual(['received', 'progress', 'completed', 'completed']);
    expect(receipts[2]).toEqual(receipts[3]);
  });

  it('foreign receipt: names another task and message', async () => {
    const { task, message, receipts } = await publish({ kind: 'foreign_receipt', receipts: ['completed'], instead: true });
    const foreign = receipts.find((receipt) => receipt.kind === 'completed');
    expect(foreign?.taskId).not.toBe(task);
    expect(foreign?.inReplyTo).not.toBe(message);
  });

  it('foreign receipt: can name what it is told, beside the right one', async () => {
    const other = newTask();
    const fault = { kind: 'foreign_receipt' as const, receipts: ['completed' as const], asTask: other, asMessage: 'm' };
    const { task, receipts } = await publish(fault);
    const completed = receipts.filter((receipt) => receipt.kind === 'completed');
    expect(completed.map((receipt) => receipt.taskId).sort()).toEqual([other, task].sort());
  });

  it('text-only receipt: a sentence and nothing else', async () => {
    const { receipts } = await publish({ kind: 'text_only_receipt' });
    expect(kinds(receipts)).toEqual(['received', 'progress', 'text']);
    expect(receipts[2]).toMatchObject({ externalId: null, artifact: null, code: null });
    expect(receipts[2]?.text).toMatch(/done/u);
  });

  it('failed receipt: the post fails with a code and never comes out', async () => {
    const { postId, receipts } = await publish({ kind: 'failed_receipt', code: 'spam_suspected' });
    expect(receipts.at(-1)).toMatchObject({ kind: 'failed', code: 'spam_suspected' });
    expect((await client(platform).readPost(postId))?.status).toBe('failed');
  });

  it('contradicting receipt: completed, then failed', async () => {
    const { receipts } = await publish({ kind: 'contradicting_receipt' });
    expect(kinds(receipts).filter((kind) => kind === 'completed' || kind === 'failed').sort()).toEqual(['completed', 'failed']);
  });

  it('slow answer: receipts arrive before the answer', async () => {
    const task = newTask();
    await platform.admin.addFault({ kind: 'slow_answer', task, ms: 1_000 });
    let answered = false;
    const call = client(platform).publishPost(post({ callbackUrl }), identity(task)).then(() => (answered = true));
    await until('completed arrived', () => arrived.some(({ taskId, kind }) => taskId === task && kind === 'completed'));
    expect(answered).toBe(false);
    await call;
  });
});
