/**
 * A worker process that vanishes (SIGKILL), freezes (SIGSTOP) or is asked to stop (SIGTERM). One process is brought
 * to several phases of a step at once, with a task standing in each, and killed; another takes over. The points around
 * each call of the ledger are test/kill's.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { NewFault } from '../../examples/note-publishing/platform/faults.ts';
import type { TaskRecord } from '../../src/index.ts';
import { Proxy } from '../support/e2e-proxy.ts';
import type { HoldRule } from '../support/e2e-proxy.ts';
import { path, PATIENCE_MS, Stage, stepOf, until, within } from '../support/e2e.ts';
import type { WorkerProcess } from '../support/e2e.ts';
import { Scenes } from '../support/e2e-scenes.ts';

interface Phase {
  readonly name: string;
  readonly type: 'plain' | 'quick' | 'post';
  /** Where the worker's call of the ledger is held. */
  readonly hold?: HoldRule;
  /** Stands in the handler. */
  readonly stand?: true;
  readonly faults?: readonly NewFault[];
  /** What the ledger says at the kill. */
  readonly state: string;
  readonly attempt: number;
  /** Attempts in the end. */
  readonly attempts: number;
  /** Requests of the body that reached the platform. */
  readonly bodies?: number;
  /** Reasons that the story must have. */
  readonly reasons: readonly string[];
}

const silent: NewFault = { kind: 'no_receipt', route: 'publish_post' };
const lost: NewFault = { kind: 'timeout_after', route: 'publish_post' };
const expired = 'lease_expired_effect_uncertain';

const PHASES: readonly Phase[] = [
  { name: 'while it waits for a receipt', type: 'post', faults: [silent], state: 'submitted', attempt: 1, attempts: 1, bodies: 1, reasons: ['submission_accepted', 'receipt_completed'] },
  { name: 'while it is unconfirmed', type: 'post', faults: [silent, lost], hold: { call: 'step_claim', when: 'before', skip: 1 }, state: 'unconfirmed', attempt: 1, attempts: 2, bodies: 2, reasons: ['answer_lost', 'resend_same_key'] },
  { name: 'inside the handler', type: 'plain', stand: true, state: 'leased', attempt: 1, attempts: 2, reasons: ['lease_expired'] },
  { name: 'at the end of a quick step', type: 'quick', hold: { call: 'step_settle', containing: ['work'], when: 'before' }, state: 'leased', attempt: 1, attempts: 2, reasons: ['lease_expired'] },
  { name: 'during the call', type: 'post', faults: [silent, { kind: 'slow', route: 'publish_post', ms: 9_000 }], state: 'leased', attempt: 1, attempts: 2, bodies: 2, reasons: [expired, 'resend_same_key'] },
  { name: 'after the post was taken, with its receipt already there', type: 'post', hold: { call: 'effect_outcome', when: 'before', skip: 1 }, state: 'leased', attempt: 1, attempts: 1, bodies: 1, reasons: ['lease_expired', 'receipt_completed'] },
];

let stage: Stage;
let second: WorkerProcess;
let secondDoor: Proxy;
const scenes = new Scenes();
const ids = new Map<Phase, string>();
const found = new Map<Phase, TaskRecord>();

const idOf = (phase: Phase): string => ids.get(phase) ?? '';

/** Starts the phase's task and waits until it stands there. */
async function arrange(phase: Phase, door: Proxy): Promise<void> {
  let reached: Promise<unknown> = Promise.resolve();
  const id = await stage.start(stage.tasks[phase.type], { stand: phase.stand === true ? ['start'] : [] }, async (task) => {
    for (const fault of phase.faults ?? []) await stage.platform.admin.addFault({ ...fault, task });
    if (phase.hold !== undefined) reached = door.hold({ ...phase.hold, containing: [task, ...(phase.hold.containing ?? [])] }).reached;
    else if (phase.stand === true) reached = stage.hooks.reached(task, 'start');
  });
  ids.set(phase, id);
  await within(`a task stands ${phase.name}`, reached);
  await stage.state(id, phase.state);
  const slow = phase.faults?.some(({ kind }) => kind === 'slow') === true;
  if (slow) await until('the slow request has arrived', async () => (await stage.platform.admin.log({ task: id })).some(({ route }) => route === 'publish_post'));
}

/** The platform's word on a post whose own receipts were switched off. */
async function platformSays(task: string): Promise<void> {
  const { touches } = await stage.client.record(task);
  const post = touches.find(({ submits, outcome }) => submits && outcome === 'confirmed');
  for (const kind of ['received', 'completed'] as const) {
    await stage.client.deliverReceipt({ deliveryId: `${task}/${kind}`, sender: 'platform', task, step: 'post', threadId: post?.thread_id ?? '', inReplyTo: post?.message_id ?? '', kind, externalId: post?.external_id ?? '' });
  }
}

async function endsAsIfNothingHadHappened(phase: Phase): Promise<void> {
  const id = idOf(phase);
  const before = found.get(phase);
  if (before !== undefined) expect([stepOf(before).state, stepOf(before).attempt]).toEqual([phase.state, phase.attempt]);
  if (phase.faults?.includes(silent) === true) {
    await stage.state(id, 'submitted');
    await platformSays(id);
  }
  const record = await stage.rested(id);
  expect(record.task.status).toBe('succeeded');
  expect(stepOf(record)).toMatchObject({ attempt: phase.attempts, charged: phase.attempts, open_count: 0, holder: null });
  for (const reason of phase.reasons) expect(path(record, stepOf(record).name).join()).toContain(reason);
  expect(await stage.disagreements(id)).toEqual([]);
  if (phase.bodies === undefined) return;
  const log = await stage.platform.admin.log({ task: id });
  expect(log.filter(({ route }) => route === 'publish_post')).toHaveLength(phase.bodies);
  expect(await stage.platform.admin.counts(id)).toMatchObject({ pictures: 1, posts: 1 });
}

beforeAll(async () => {
  // A call outlasts what a slow machine needs to bring all of them to their places.
  stage = await Stage.open({ outside: { callTimeoutMs: 6_000 } });
  const { proxy: door, url } = await Proxy.ofPostgres(stage.ledger.url);
  const { proxy, url: secondUrl } = await Proxy.ofPostgres(stage.ledger.url);
  secondDoor = proxy;
  stage.onEnd(() => Promise.all([door.close(), secondDoor.close()]));
  const first = await stage.worker({ databaseUrl: url });
  // Those that can stand there for long first, then those whose leases run.
  const patient = PHASES.slice(0, 2);
  await Promise.all(patient.map((phase) => arrange(phase, door)));
  await Promise.all(PHASES.filter((phase) => !patient.includes(phase)).map((phase) => arrange(phase, door)));
  await Promise.all(PHASES.map(async (phase) => found.set(phase, await stage.client.record(idOf(phase)))));
  first.signal('SIGKILL');
  expect(await first.ended).toEqual({ code: null, signal: 'SIGKILL' });
  second = await stage.worker({ databaseUrl: secondUrl });
  scenes.begin();
}, 180_000);
afterAll(() => stage.end());

describe('a worker killed', () => {
  for (const phase of PHASES) scenes.test(`${phase.name}: another ends the task, and the outside was touched once`, () => endsAsIfNothingHadHappened(phase));
});

describe('a worker', () => {
  let third: WorkerProcess;
  let thirdDoor: Proxy;

  beforeAll(async () => {
    const { proxy, url } = await Proxy.ofPostgres(stage.ledger.url);
    thirdDoor = proxy;
    stage.onEnd(() => proxy.close());
    // Started by the test that needs it: until then the second one works alone.
    startThird = async () => {
      third = await stage.worker({ databaseUrl: url });
    };
  });
  let startThird: () => Promise<void>;

  test('that was stopped past its lease is refused when it wakes, with both epochs named; its late outcome is kept as late', async () => {
    const { tasks, platform, hooks } = stage;
    const standing = await stage.start(tasks.plain, { stand: ['start'], deaf: true });
    let settling = secondDoor.hold({ call: 'nothing', when: 'before' });
    const settled = await stage.start(tasks.plain, {}, (task) => {
      settling = secondDoor.hold({ call: 'step_settle', containing: [task], when: 'before' });
    });
    const outcomes: { task: string; reached: Promise<void>; release: () => void }[] = [];
    for (const _ of ['known before', 'news']) {
      await stage.start(tasks.post, {}, async (task) => {
        await platform.admin.addFault({ ...silent, task });
        const held = secondDoor.hold({ call: 'effect_outcome', containing: [task], when: 'before', skip: 1 });
        outcomes.push({ task, reached: held.reached, release: () => { held.release(); } });
      });
    }
    const [known, news] = outcomes as [(typeof outcomes)[0], (typeof outcomes)[0]];
    await within('all stand on the second worker', Promise.all([hooks.reached(standing, 'start'), settling.reached, known.reached, news.reached]));
    second.signal('SIGSTOP');
    const claim = thirdDoor.hold({ call: 'step_claim', containing: [news.task], when: 'before' });
    await startThird();
    const others = await Promise.all([standing, settled].map((task) => stage.rested(task)));
    for (const record of others) expect(stepOf(record)).toMatchObject({ state: 'succeeded', attempt: 2, charged: 2, epoch: 3 });
    await stage.state(known.task, 'submitted');
    await stage.state(news.task, 'unconfirmed');

    second.signal('SIGCONT');
    hooks.release(standing, 'start');
    settling.release();
    known.release();
    news.release();
    const late = await until('the late settle is kept', async () => (await stage.client.history(settled)).find(({ kind }) => kind === 'late'));
    expect(late).toMatchObject({ step: 'work', epoch: 1, actor: `worker:${second.holder}`, facts: { what: 'settle', how: 'done', claim_epoch: 1, current_epoch: 3 } });
    await until('the second worker says that its claim was lost', () => second.log().includes('claim of epoch 1 meets epoch 3'));
    await stage.state(news.task, 'submitted');
    claim.release();
    const { timeline, touches } = await stage.client.record(news.task);
    expect(timeline.filter(({ kind }) => kind === 'outcome').at(-1)).toMatchObject({ epoch: 1, facts: { outcome: 'confirmed', late: true } });
    expect(touches.filter(({ submits }) => submits)).toEqual([expect.objectContaining({ attempt: 1, outcome: 'confirmed', late: true })]);
    for (const [task, attempt] of [[known.task, 2], [news.task, 1]] as const) {
      await platformSays(task);
      const record = await stage.rested(task);
      expect(stepOf(record)).toMatchObject({ state: 'succeeded', attempt });
      expect(await stage.disagreements(task)).toEqual([]);
    }
    // The one that finished stands, whatever came later.
    expect(stepOf(await stage.client.record(settled))).toMatchObject({ state: 'succeeded', result: { attempt: 2 } });
  }, 180_000);

  test('that is asked to stop gives its work back at once, uncharged, claims nothing more and exits with 0', async () => {
    const { tasks, platform, hooks } = stage;
    const holderOf = async (task: string): Promise<string | null> => stepOf(await stage.client.record(task)).holder;
    /** Two workers share the queue: tasks are started until the second has one that stands where it should. */
    const onSecond = async (start: () => Promise<string>, stands: (task: string) => Promise<unknown>): Promise<{ mine: string; others: string[] }> => {
      const others: string[] = [];
      for (;;) {
        const task = await start();
        await within('it stands', stands(task));
        if ((await holderOf(task)) === second.holder) return { mine: task, others };
        others.push(task);
      }
    };
    const slow: NewFault = { kind: 'slow_answer', route: 'publish_post', ms: 1_000 };
    const [willing, deaf] = await Promise.all([false, true].map((isDeaf) => onSecond(() => stage.start(tasks.plain, { stand: ['start'], deaf: isDeaf }), (task) => hooks.reached(task, 'start'))));
    const calling = await onSecond(
      () => stage.start(tasks.post, {}, (task) => platform.admin.addFault({ ...slow, task })),
      (task) => until('the post has arrived', async () => (await platform.admin.log({ task })).some(({ route }) => route === 'publish_post')),
    );
    if (willing === undefined || deaf === undefined) throw new Error('both were started');
    const asked = new Date().toISOString();
    second.signal('SIGTERM');
    expect(await within('the second worker has ended', second.ended)).toEqual({ code: 0, signal: null });

    for (const task of [...willing.others, ...deaf.others]) hooks.release(task, 'start');
    for (const { mine, others } of [willing, deaf, calling]) {
      for (const task of [mine, ...others]) expect((await stage.rested(task)).task.status).toBe('succeeded');
    }
    for (const { mine } of [willing, deaf]) {
      const record = await stage.client.record(mine);
      expect(stepOf(record)).toMatchObject({ attempt: 2, charged: 1 });
      expect(path(record, 'work')).toEqual(['queued (new_task)', 'leased (claimed)', 'queued (worker_shutdown)', 'leased (claimed)', 'completed (attempt_completed)', 'succeeded (proof_accepted)']);
    }
    // The call in flight was let finish, and its outcome recorded.
    const record = await stage.client.record(calling.mine);
    expect(stepOf(record)).toMatchObject({ attempt: 1 });
    expect(await stage.disagreements(calling.mine)).toEqual([]);
    expect(await platform.admin.counts(calling.mine)).toMatchObject({ posts: 1, deduped: 0 });
    const claims = await stage.ledger.query("select count(*)::int as n from throughline.timeline where event = 'claim' and actor = $1 and at > $2", [`worker:${second.holder}`, asked]);
    expect(claims).toEqual([{ n: 0 }]);
    expect(third.log()).not.toContain('"level":50');
  }, 120_000);
});

test('nothing is left over: no claim, no open request, no wake-up that waits', async () => {
  await until('the outbox is empty', async () => (await stage.ledger.query('select from throughline.outbox')).length === 0, PATIENCE_MS);
  expect(await stage.ledger.query('select task_id, name, state from throughline.step where claim_id is not null or check_claim_id is not null or open_count > 0')).toEqual([]);
});
