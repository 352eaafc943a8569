import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { uuid, type Shape } from '../support/factories.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { snapshot } from '../support/snapshot.ts';
import { FAILURE, HOLDER, Tale } from '../support/tale.ts';
import { waiting } from './scenarios/scenario.ts';

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger.close());

/** One call of the door with all its ids, prepared so that it can be made twice. */
type Call = (tale: Tale) => Promise<() => Promise<unknown>>;

const settle = (how: 'done' | 'submitted' | 'failed' | 'lost' | 'release', arrange: (tale: Tale) => Promise<unknown> = async () => undefined): Call => async (tale) => {
  await tale.claim();
  await arrange(tale);
  return () => tale.trySettle(how, { retryable: true, ...(how === 'failed' ? { error: FAILURE } : {}) });
};

const CALLS: Readonly<Record<string, { readonly shape?: Shape; readonly call: Call }>> = {
  step_claim: { call: async (tale) => { const id = uuid(); return () => ledger.door.stepClaim(tale.task, tale.step, id, HOLDER); } },
  'step_settle done': { shape: { effects: 'none', probe: false, proof: { kind: 'record', requires: [] } }, call: settle('done') },
  'step_settle submitted': { call: settle('submitted', (tale) => tale.confirmed()) },
  'step_settle failed': { call: settle('failed') },
  'step_settle lost': { call: settle('lost', (tale) => tale.intend()) },
  'step_settle release': { call: settle('release') },
  effect_intend: { call: async (tale) => { await tale.claim(); const message_id = uuid(); return () => ledger.door.effectIntend(tale.task, tale.step, { claim: tale.claimed.id, message_id, name: 'post', item: '', digest: 'd' }); } },
  'effect_outcome confirmed': { call: async (tale) => { await (await tale.claim()).intend(); return () => tale.tryOutcome('confirmed'); } },
  'effect_outcome refused': { call: async (tale) => { await (await tale.claim()).intend(); return () => tale.tryOutcome('refused'); } },
  'effect_outcome not_sent': { call: async (tale) => { await (await tale.claim()).intend(); return () => tale.tryOutcome('not_sent'); } },
  'effect_outcome, late': { call: async (tale) => { await waiting(tale, 'unconfirmed'); return () => tale.tryOutcome('confirmed'); } },
  checkpoint_put: { call: async (tale) => { await tale.claim(); return () => ledger.door.checkpointPut(tale.task, tale.step, tale.claimed.id, 'only', { n: 1 }, 1); } },
  artifact_put: { call: async (tale) => { await tale.claim(); const artifact = { name: 'a.html', sha256: 'a'.repeat(64), uri: 'file:///a', media_type: 'text/html', bytes: 1 }; return () => ledger.door.artifactPut(tale.task, tale.step, tale.claimed.id, artifact, 1); } },
  receipt_put: { call: async (tale) => { await waiting(tale, 'submitted'); const delivery_id = uuid(); return () => tale.receipt('completed', { delivery_id }); } },
  review_decide: { shape: { review: true }, call: async (tale) => { await (await tale.claim()).asks(); return () => tale.decide('approved', 'ann', { id: 'd' }); } },
  task_cancel: { call: async (tale) => { await tale.claim(); return () => tale.cancel({ id: 'c' }); } },
  task_withdraw: { call: async (tale) => { await waiting(tale, 'submitted'); return () => tale.withdraw({ id: 'w' }); } },
  withdrawal_claim: { call: async (tale) => { await waiting(tale, 'submitted'); await tale.withdraws(); const claim = uuid(); return () => ledger.door.withdrawalClaim(tale.task, tale.step, claim, HOLDER); } },
  'withdrawal_outcome not_sent': { call: async (tale) => { await waiting(tale, 'submitted'); await (await tale.withdraws()).takesBack(); return () => tale.answers('not_sent'); } },
  'withdrawal_outcome refused for now': { call: async (tale) => { await waiting(tale, 'submitted'); await (await tale.withdraws()).takesBack(); return () => tale.answers('refused', { again: true }); } },
  'withdrawal_outcome refused': { call: async (tale) => { await waiting(tale, 'submitted'); await (await tale.withdraws()).takesBack(); return () => tale.answers('refused'); } },
  'withdrawal_outcome lost': { call: async (tale) => { await waiting(tale, 'submitted'); await (await tale.withdraws()).takesBack(); return () => tale.answers('lost'); } },
  'withdrawal_outcome confirmed': { call: async (tale) => { await waiting(tale, 'submitted'); await (await tale.withdraws()).takesBack(); return () => tale.answers('confirmed'); } },
  wait_abandon: { call: async (tale) => { await waiting(tale, 'submitted'); return () => ledger.door.waitAbandon(tale.task, { id: 'a', by: 'u', why: 'y', step: tale.step }); } },
  check_claim: { shape: { receipt: false }, call: async (tale) => { await (await (await tale.claim()).confirmed()).done(); const check = uuid(); return () => ledger.door.checkClaim(tale.task, tale.step, check, 60_000, HOLDER); } },
  task_replay: { call: async (tale) => { await (await tale.claim()).fail(false); return () => tale.replay({ id: 'r' }); } },
  timeline_correct: { call: async (tale) => { const entry = (await tale.timeline()).at(-1)?.id ?? ''; return () => ledger.door.timelineCorrect(tale.task, { entry, by: 'u', why: 'y' }); } },
};

test.each(Object.entries(CALLS))('%s, made again because its answer was lost, changes nothing', async (_name, { shape = {}, call }) => {
  const tale = await Tale.of(ledger, shape);
  const make = await call(tale);
  const first = await make();
  const before = await snapshot(ledger, tale.task);
  const second = await make();
  expect(await snapshot(ledger, tale.task)).toEqual(before);
  // No refusal: whoever repeats it must not think that somebody else was first.
  for (const answer of [first, second]) expect(answer).not.toHaveProperty('refused');
});

test.each(['probe_result', 'accept_result'])('%s, made again because its answer was lost, changes nothing', async (name) => {
  const tale = await Tale.of(ledger, { receipt: false });
  await tale.claim();
  if (name === 'probe_result') await (await tale.intend()).settle('lost');
  else await (await tale.confirmed()).done();
  await tale.until('next_check_at');
  const check = uuid();
  const claim = await ledger.door.checkClaim(tale.task, tale.step, check, 60_000, HOLDER);
  if (!('check' in claim)) throw new Error('no check');
  const row = { check, check_no: claim.check_no, holder: HOLDER };
  const make = (): Promise<unknown> => name === 'probe_result'
    ? ledger.door.probeResult(tale.task, tale.step, { ...row, effect_id: claim.subject?.id ?? '', answer: 'unknown' })
    : ledger.door.acceptResult(tale.task, tale.step, { ...row, found: null, ours: null, minimum: null });
  await make();
  const before = await snapshot(ledger, tale.task);
  expect(await make()).toMatchObject({ recorded: true, repeated: true, view: { task: tale.task } });
  expect(await snapshot(ledger, tale.task)).toEqual(before);
});

test('a settle whose answer was lost is still known when another worker has the step', async () => {
  const tale = await (await Tale.of(ledger)).claim();
  const mine = { ...tale.claimed };
  await tale.settle('release');
  await tale.claim('another/1');
  const before = await snapshot(ledger, tale.task);
  expect(await ledger.door.stepSettle(tale.task, tale.step, { claim: mine.id, epoch: mine.epoch, holder: mine.holder, how: 'release' })).toMatchObject({ settled: true, repeated: true });
  expect(await snapshot(ledger, tale.task)).toEqual(before);
});
