/** What was submitted is taken back: by a real worker, on a real platform, whose own log says what was done. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { NewFault } from '../../examples/note-publishing/platform/faults.ts';
import { Proxy } from '../support/e2e-proxy.ts';
import { path, Stage, stepOf, until, within } from '../support/e2e.ts';
import type { WorkerProcess } from '../support/e2e.ts';

const silent: NewFault = { kind: 'no_receipt', route: 'publish_post' };

let stage: Stage;
let door: Proxy;
let first: WorkerProcess;

beforeAll(async () => {
  stage = await Stage.open();
  const { proxy, url } = await Proxy.ofPostgres(stage.ledger.url);
  door = proxy;
  stage.onEnd(() => door.close());
  first = await stage.worker({ databaseUrl: url });
}, 120_000);
afterAll(() => stage.end());

/** A task whose post is out, and whose receipts don't come. */
async function submitted(...faults: readonly NewFault[]): Promise<string> {
  const task = await stage.start(stage.tasks.post, {}, async (id) => {
    for (const fault of [silent, ...faults]) await stage.platform.admin.addFault({ ...fault, task: id });
  });
  await stage.state(task, 'submitted');
  return task;
}

const withdraw = (task: string) => stage.client.withdraw(task, { step: 'post', id: 'w1', why: 'a mistake' });
const taken = async (task: string) => (await stage.platform.admin.log({ task })).filter(({ route }) => route === 'withdraw_post');

describe('a withdrawal', () => {
  test('takes the post back, says so, and lists what stays outside', async () => {
    const task = await submitted();
    expect(await withdraw(task)).toMatchObject({ verdict: 'pending', steps: [{ found: 'submitted' }] });
    const record = await stage.rested(task);
    expect([record.task.status, stepOf(record).reason]).toEqual(['cancelled', 'withdrawal_confirmed']);
    expect(await withdraw(task)).toMatchObject({ verdict: 'withdrawn', repeated: true });
    expect((await taken(task)).map(({ did }) => did)).toEqual(['acted']);
    expect(await stage.platform.admin.counts(task)).toMatchObject({ posts: 1, withdrawn: 1, pictures: 1 });
    expect(await stage.disagreements(task)).toEqual([]);
    const { cancels, story } = await stage.client.explain(task);
    expect(cancels).toMatchObject([{ verb: 'withdraw', verdict: 'withdrawn', steps: [{ left_outside: [{ effect: 'picture', count: 1 }] }] }]);
    expect(story.map(({ sentence }) => sentence).join('\n')).toMatch(/asks the other side to take it back/i);
  });

  test('that the other side refuses leaves the wait as it is; what comes out is proven as ever', async () => {
    const task = await submitted({ kind: 'refuse', route: 'withdraw_post', code: 'already_final' });
    await withdraw(task);
    await until('it is refused', async () => (await withdraw(task)).verdict === 'too_late');
    const { touches } = await stage.client.record(task);
    const post = touches.find(({ submits }) => submits);
    await stage.client.deliverReceipt({ deliveryId: `${task}/done`, sender: 'platform', task, step: 'post', threadId: post?.thread_id ?? '', inReplyTo: post?.message_id ?? '', kind: 'completed', externalId: post?.external_id ?? '' });
    expect((await stage.rested(task)).task.status).toBe('succeeded');
    expect(await stage.platform.admin.counts(task)).toMatchObject({ posts: 1, withdrawn: 0 });
    expect(await stage.disagreements(task)).toEqual([]);
  });

  test.each<[string, NewFault, string[]]>([
    ['never arrived', { kind: 'unavailable', route: 'withdraw_post' }, ['refused', 'acted']],
    ['acted, and its answer was lost', { kind: 'lost_answer', route: 'withdraw_post' }, ['acted', 'deduped']],
    ['was not answered, and had not acted', { kind: 'timeout_before', route: 'withdraw_post' }, ['ignored', 'acted']],
    ['acted, and was not answered', { kind: 'timeout_after', route: 'withdraw_post' }, ['acted', 'deduped']],
  ])('whose request %s is sent again under its key: the platform acts once', async (_what, fault, did) => {
    const task = await submitted(fault);
    await withdraw(task);
    const record = await stage.rested(task);
    expect([record.task.status, stepOf(record).reason]).toEqual(['cancelled', 'withdrawal_confirmed']);
    expect((await taken(task)).map((entry) => entry.did)).toEqual(did);
    expect(new Set((await taken(task)).map(({ key }) => key)).size).toBe(1);
    expect(await stage.disagreements(task)).toEqual([]);
  });

  test('whose worker is killed between act and outcome: one withdrawal on the platform, and the task ends with the truth', async () => {
    const task = await submitted();
    const held = door.hold({ call: 'withdrawal_outcome', containing: [task], when: 'before' });
    await withdraw(task);
    await within('the platform has acted', held.reached);
    expect((await taken(task)).map(({ did }) => did)).toEqual(['acted']);
    first.signal('SIGKILL');
    await first.ended;
    await stage.worker();
    // Its answer counts as lost by the ledger's clock.
    await stage.ledger.shiftClock(15_000);
    const record = await stage.rested(task);
    expect([record.task.status, stepOf(record).reason]).toEqual(['cancelled', 'withdrawal_confirmed']);
    expect(path(record, 'post').slice(-2)).toEqual(['submitted (withdrawal_asked)', 'cancelled (withdrawal_confirmed)']);
    expect((await taken(task)).map(({ did }) => did)).toEqual(['acted', 'deduped']);
    expect(await stage.platform.admin.counts(task)).toMatchObject({ withdrawn: 1 });
    expect(await withdraw(task)).toMatchObject({ verdict: 'withdrawn' });
    expect(await stage.disagreements(task)).toEqual([]);
  }, 120_000);
});
