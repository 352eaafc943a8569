import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { EVENT_NAMES, rulesFor, STEP_STATES, type RestState, type StepEvent } from '../../src/state/index.ts';
import { digestOf, MINUTE, planOf, uuid, type Shape } from '../support/factories.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { snapshot } from '../support/snapshot.ts';
import { HOLDER, Tale } from '../support/tale.ts';
import { waiting } from './scenarios/scenario.ts';

let ledger: Ledger;
const tales = new Map<RestState, Tale>();

const RENDER: Shape = { name: 'render', effects: 'none', probe: false };
const WAYS: Readonly<Record<RestState, (tale: Tale) => Promise<unknown>>> = {
  waiting: async () => undefined,
  queued: async () => undefined,
  leased: (tale) => tale.claim(),
  submitted: (tale) => waiting(tale, 'submitted'),
  received: (tale) => waiting(tale, 'received'),
  in_progress: (tale) => waiting(tale, 'in_progress'),
  unconfirmed: (tale) => waiting(tale, 'unconfirmed'),
  completed: async (tale) => (await waiting(tale, 'submitted'), tale.receives('completed')),
  succeeded: async (tale) => (await waiting(tale, 'submitted'), await tale.receives('completed'), tale.accept()),
  cancel_requested: async (tale) => (await tale.claim(), tale.cancel()),
  cancelled: (tale) => tale.cancel(),
  dead: async (tale) => (await waiting(tale, 'submitted'), tale.abandons()),
};
const STATES = Object.keys(WAYS) as RestState[];

async function make(state: RestState): Promise<Tale> {
  // Real time passes while hundreds of doors are knocked at.
  const long: Shape = { leaseMs: 15 * MINUTE };
  const tale = await Tale.of(ledger, state === 'waiting' ? [RENDER, { ...long, needs: ['render'] }] : long);
  await WAYS[state](tale);
  return tale;
}

beforeAll(async () => {
  ledger = await openLedger();
  for (const state of STATES) tales.set(state, await make(state));
});
afterAll(() => ledger.close());

const taleOf = (state: RestState): Tale => {
  const tale = tales.get(state);
  if (tale === undefined) throw new Error(`no tale in ${state}`);
  return tale;
};

describe('the machine', () => {
  const outside = STATES.flatMap((state) => EVENT_NAMES.filter((event) => rulesFor(event, state).length === 0).map((event) => [event, state] as const));

  test.each(STATES)('a step in %s is there by legal calls alone', async (state) => {
    expect(await taleOf(state).state()).toBe(state);
  });

  test.each(outside)('%s has no row in %s: refused, and nothing changes', async (event, state) => {
    const tale = taleOf(state);
    const before = await snapshot(ledger, tale.task);
    const [answer] = await ledger.query("select throughline._move($1, $2, $3, throughline.now(), 'test', '{\"cancel_id\": \"c\", \"retryable\": true, \"counts\": true}') as label", [tale.task, tale.step, event]);
    expect(answer).toEqual({ label: null });
    expect(await snapshot(ledger, tale.task)).toEqual(before);
  });
});

/** The doors through which an event comes in, how they refuse it, and what evidence of the refusal they keep. */
interface Doorway {
  readonly events: readonly StepEvent[];
  readonly knock: (tale: Tale) => Promise<unknown>;
  readonly refusal: unknown;
  readonly keeps?: readonly ('timeline' | 'cancel' | 'cancel_step' | 'receipt' | 'outbox')[];
}

const action = { by: 'user:eve', why: 'because' };
const coded = (code: string): unknown => expect.objectContaining({ code });
const DOORS: Readonly<Record<string, Doorway>> = {
  claim: { events: ['claim'], knock: (tale) => tale.tryClaim(), refusal: expect.objectContaining({ refused: expect.stringMatching(/^(no_rule|held|not_yet)$/) }) },
  settle: {
    events: ['settle_done', 'settle_submitted', 'settle_boundary', 'settle_failed', 'settle_lost', 'release'],
    knock: (tale) => ledger.door.stepSettle(tale.task, tale.step, { claim: uuid(), epoch: 99, holder: HOLDER, how: 'done' }),
    refusal: expect.objectContaining({ refused: 'fenced' }),
    keeps: ['timeline'],
  },
  'renewing a lease': { events: ['expire'], knock: (tale) => ledger.door.leaseRenew(tale.task, tale.step, uuid(), 1_000, false, HOLDER), refusal: expect.objectContaining({ refused: 'fenced' }) },
  intent: { events: ['claim'], knock: (tale) => ledger.door.effectIntend(tale.task, tale.step, { claim: uuid(), message_id: uuid(), name: 'post', item: '', digest: 'd' }), refusal: expect.objectContaining({ refused: 'fenced' }) },
  checkpoint: { events: ['claim'], knock: (tale) => ledger.door.checkpointPut(tale.task, tale.step, uuid(), 'c', 1, 10), refusal: expect.objectContaining({ refused: 'fenced' }) },
  'a probe': {
    events: ['present', 'absent', 'inconclusive'],
    knock: (tale) => ledger.door.probeResult(tale.task, tale.step, { check: uuid(), check_no: 1, effect_id: uuid(), answer: 'present', holder: 'another/1' }),
    refusal: expect.objectContaining({ refused: 'check_not_current' }),
    keeps: ['timeline'],
  },
  'an acceptance': {
    events: ['accepted', 'not_checkable', 'missing', 'not_ours', 'below_minimum'],
    knock: (tale) => ledger.door.acceptResult(tale.task, tale.step, { check: uuid(), check_no: 1, found: true, ours: true, minimum: true, holder: 'another/1' }),
    refusal: expect.objectContaining({ refused: 'check_not_current' }),
    keeps: ['timeline'],
  },
  replay: { events: ['replay'], knock: (tale) => tale.replay(), refusal: coded('REPLAY_NOT_DEAD') },
  withdraw: { events: ['withdraw'], knock: (tale) => tale.withdraws(), refusal: coded('TRANSITION_REFUSED') },
  'abandon wait': { events: ['abandon_wait'], knock: (tale) => tale.abandons(), refusal: coded('TRANSITION_REFUSED') },
  'the outcome of a withdrawal': {
    events: ['withdrawal_confirmed', 'withdrawal_refused', 'withdrawal_lost'],
    knock: (tale) => ledger.door.withdrawalOutcome(tale.task, tale.step, { message_id: uuid(), outcome: 'confirmed', holder: 'x' }),
    refusal: coded('EFFECT_UNKNOWN'),
  },
  'a confirmation': {
    events: ['person_present', 'person_absent'],
    knock: (tale) => tale.confirms(true),
    refusal: expect.objectContaining({ code: expect.stringMatching(/^(TRANSITION_REFUSED|EFFECT_UNKNOWN)$/) }),
  },
  cancel: {
    events: ['cancel'],
    knock: (tale) => ledger.door.taskCancel(tale.task, { id: uuid(), ...action }),
    // Asked again while one is open, it follows that one; at the end it comes too late for anything.
    refusal: expect.objectContaining({ verdict: expect.stringMatching(/^(already_terminal|pending)$/) }),
    keeps: ['timeline', 'cancel', 'cancel_step', 'outbox'],
  },
  'a receipt': {
    events: ['receipt_received', 'receipt_progress', 'receipt_completed', 'receipt_failed'],
    knock: (tale) => tale.receipt('completed', { in_reply_to: uuid() }),
    refusal: expect.objectContaining({ verdict: 'wrong_message' }),
    keeps: ['timeline', 'receipt'],
  },
  'the driver\'s question': { events: ['expire', 'overdue', 'deadline', 'no_way_left', 'upstream_succeeded', 'upstream_cancelled'], knock: (tale) => tale.look(), refusal: expect.objectContaining({ status: expect.any(String) }) },
};

describe('the door', () => {
  const cases = Object.entries(DOORS).flatMap(([door, way]) => STATES.filter((state) => way.events.every((event) => rulesFor(event, state).length === 0)).map((state) => [door, state, way] as const));

  test('every event has a doorway that is knocked at', () => {
    const inner: readonly StepEvent[] = ['enqueue', 'late_confirmed'];
    const knocked = new Set(Object.values(DOORS).flatMap(({ events }) => events));
    expect(EVENT_NAMES.filter((event) => !knocked.has(event) && !inner.includes(event))).toEqual([]);
  });

  test.each(cases)('%s is refused with its code in %s and changes nothing', async (_door, state, { knock, refusal, keeps = [] }) => {
    const tale = taleOf(state);
    const before = await snapshot(ledger, tale.task, keeps);
    const step = await tale.row();
    const answer = await knock(tale).catch((error: unknown) => error);
    expect(answer).toEqual(refusal);
    expect(await tale.row()).toEqual(step);
    expect(await snapshot(ledger, tale.task, keeps)).toEqual(before);
  });

  test('refuses what names no task, step or type', async () => {
    const nobody = uuid();
    const tale = taleOf('queued');
    const unknown = { ...action, id: uuid(), step: 'nowhere' };
    await expect(ledger.door.taskCancel(nobody, unknown)).rejects.toMatchObject({ code: 'TASK_UNKNOWN' });
    await expect(ledger.door.taskCancel(tale.task, unknown)).rejects.toMatchObject({ code: 'STEP_UNKNOWN' });
    await expect(ledger.door.stepClaim(nobody, 'x', uuid(), HOLDER)).rejects.toMatchObject({ code: 'TASK_UNKNOWN' });
    await expect(ledger.door.stepClaim(tale.task, 'nowhere', uuid(), HOLDER)).rejects.toMatchObject({ code: 'STEP_UNKNOWN' });
    await expect(ledger.door.taskReplay(nobody, { ...action, id: uuid() })).rejects.toMatchObject({ code: 'TASK_UNKNOWN' });
    await expect(ledger.door.taskLook(nobody, 'run')).rejects.toMatchObject({ code: 'TASK_UNKNOWN' });
    await expect(ledger.door.taskEnqueue({ type: 'unheard-of', id: uuid(), input: {}, digest: digestOf({}), digests: {}, by: 'x' })).rejects.toMatchObject({ code: 'TYPE_UNKNOWN' });
    expect(await ledger.door.receiptPut({ delivery_id: 'd', sender: 'p', task: 'not-a-uuid', step: 's', kind: 'text', digest: 'x' })).toMatchObject({ verdict: 'unknown_task' });
  });

  test('a plan never changes under its version', async () => {
    const plan = planOf({ name: 'once' });
    const row = { type: plan.type, version: 1, plan, plan_digest: digestOf(1), input_bytes_max: 100, by: 'test' };
    await ledger.door.typeRegister(row);
    await ledger.door.typeRegister(row);
    await expect(ledger.door.typeRegister({ ...row, plan_digest: digestOf(2) })).rejects.toMatchObject({ code: 'PLAN_CHANGED' });
  });
});

describe('Postgres itself', () => {
  const CHECK = '23514';
  const where = 'where task_id = $1 and name = $2';
  const set = (tale: Tale, assignments: string): Promise<unknown> => ledger.query(`update throughline.step set ${assignments} ${where}`, [tale.task, tale.step]);

  test('refuses a transition that is no edge of the table', async () => {
    const tale = taleOf('queued');
    const insert = (rule: string, from: string, to: string, reason: string): Promise<unknown> =>
      ledger.query(
        `insert into throughline.timeline (task_id, step, kind, at, rule, part, from_state, to_state, reason, actor) values ($1, $2, 'transition', now(), $3, 1, $4, $5, $6, 'x')`,
        [tale.task, tale.step, rule, from, to, reason],
      );
    await expect(insert('claim', 'dead', 'leased', 'claimed')).rejects.toMatchObject({ code: '23503' });
    await expect(insert('claim', 'queued', 'succeeded', 'claimed')).rejects.toMatchObject({ code: '23503' });
    await expect(insert('nonsense', 'queued', 'leased', 'claimed')).rejects.toMatchObject({ code: '23503' });
  });

  test('refuses a state that names an entry which did not make it', async () => {
    const tale = taleOf('queued');
    const { seq } = await tale.row();
    await expect(set(tale, `state = 'succeeded', seq = ${seq} + 1000000`)).rejects.toMatchObject({ code: '23503' });
  });

  test('refuses to update, delete or truncate the timeline', async () => {
    const tale = taleOf('queued');
    await expect(ledger.query("update throughline.timeline set actor = 'x' where task_id = $1", [tale.task])).rejects.toMatchObject({ code: 'TL002' });
    await expect(ledger.query('delete from throughline.timeline where task_id = $1', [tale.task])).rejects.toMatchObject({ code: 'TL002' });
    await expect(ledger.query('truncate throughline.timeline cascade')).rejects.toMatchObject({ code: 'TL002' });
  });

  test.each([
    ['leased', 'without a holder', "state = 'leased'", 'queued'],
    ['cancel_requested', 'without a holder', "state = 'cancel_requested'", 'queued'],
    ['failed', 'at rest', "state = 'failed'", 'queued'],
    ['queued', 'with a cancel', "cancel_id = 'c'", 'queued'],
    ['leased', 'with a cancel', "cancel_id = 'c'", 'leased'],
    ['cancel_requested', 'without a cancel', 'cancel_id = null', 'cancel_requested'],
    ['leased', 'losing its holder alone', 'holder = null', 'leased'],
    ['leased', 'losing its lease alone', 'lease_expires_at = null', 'leased'],
    ['queued', 'with something open', 'open_count = 1', 'queued'],
    ['completed', 'with something open', 'open_count = 1', 'completed'],
    ['cancelled', 'with something open', 'open_count = 1', 'cancelled'],
    ['succeeded', 'with something open', 'open_count = 1', 'succeeded'],
    ['unconfirmed', 'with less than nothing open', 'open_count = -1', 'unconfirmed'],
    ['queued', 'with negative attempts', 'charged = -1', 'queued'],
  ] as const)('refuses %s %s', async (_state, _how, assignments, from) => {
    const tale = taleOf(from);
    const before = await snapshot(ledger, tale.task);
    // No edge leads to failed by hand: the entry is refused before the row.
    await expect(set(tale, assignments)).rejects.toMatchObject({ code: assignments === "state = 'failed'" ? '23503' : CHECK });
    expect(await snapshot(ledger, tale.task)).toEqual(before);
  });

  test('knows every state that a step may rest in', () => {
    expect([...STATES].sort()).toEqual(STEP_STATES.filter((state) => state !== 'failed').sort());
  });
});
