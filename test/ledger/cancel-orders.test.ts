/**
 * A cancel set in every phase of a step, and anything that may happen after it: no intent is written any more, the
 * step never starts again, and what was answered agrees with how it ends. A failing run is printed with its seed.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { uuid, type Shape } from '../support/factories.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { broken, fc, settings } from '../support/property.ts';
import { findings } from '../support/soundness.ts';
import { Tale } from '../support/tale.ts';

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger.close());

type Act = (tale: Tale, review: boolean) => Promise<unknown>;

const ask: Act = (tale, review) => (review ? tale.asks() : tale.confirmed().then((one) => one.settle('submitted')));
const open: Act = (tale, review) => tale.intend(review ? 'request' : 'post');
const lost: Act = async (tale, review) => { await tale.claim(); await open(tale, review); await tale.settle('lost'); };
const word = (kind: 'received' | 'progress' | 'completed' | 'failed'): Act => (tale, review) => tale.receipt(kind, { retryable: true, ...(review ? { sender: 'reviewer:ann' } : {}) });

/** Where a step can stand when it is cancelled. */
const PHASES: Readonly<Record<string, Act>> = {
  queued: () => Promise.resolve(),
  'in backoff': async (tale) => { await tale.claim(); await tale.fail(); },
  leased: (tale) => tale.claim(),
  'leased, a request under way': async (tale, review) => { await tale.claim(); await open(tale, review); },
  'leased, a picture stored': async (tale, review) => { await tale.claim(); if (!review) await tale.confirmed('picture'); },
  'leased, the answer recorded': async (tale, review) => { await tale.claim(); if (!review) await tale.confirmed(); },
  'leased, an early failure stored': async (tale, review) => { await tale.claim(); await open(tale, review); await word('failed')(tale, review); },
  'in rescue, nothing open': async (tale) => { await tale.claim(); await tale.until('lease_expires_at'); },
  'in rescue, a request under way': async (tale, review) => { await tale.claim(); await open(tale, review); await tale.until('lease_expires_at'); },
  'rescued, a request under way': async (tale, review) => { await tale.claim(); await open(tale, review); await tale.expire(); },
  rescued: async (tale) => { await tale.claim(); await tale.expire(); },
  submitted: async (tale, review) => { await tale.claim(); await ask(tale, review); },
  received: async (tale, review) => { await tale.claim(); await ask(tale, review); await word('received')(tale, review); },
  'in progress': async (tale, review) => { await tale.claim(); await ask(tale, review); await word('progress')(tale, review); },
  'after a failed receipt': async (tale, review) => { await tale.claim(); await ask(tale, review); await word('failed')(tale, review); },
  unconfirmed: lost,
  'unconfirmed, looked at once': async (tale, review) => { await lost(tale, review); await tale.tryCheck('absent'); },
  'unconfirmed, since no receipt came': async (tale, review) => { await tale.claim(); await ask(tale, review); await tale.overdue(); },
  'found absent': async (tale, review) => { await lost(tale, review); await tale.probe('absent', 'absent'); },
  'sent again under the same key': async (tale, review) => { await lost(tale, review); await tale.claim(); },
  completed: async (tale, review) => { await tale.claim(); await ask(tale, review); await word('completed')(tale, review); },
  dead: async (tale) => { await tale.claim(); await tale.fail(false); },
  'dead, a request under way': async (tale, review) => { await lost(tale, review); await tale.abandons(); },
};

const OUTCOMES = ['confirmed', 'refused', 'not_sent'] as const;
const HOWS = ['done', 'submitted', 'boundary', 'failed', 'lost', 'release'] as const;
const LOOKS = ['present', 'completed', 'absent', 'unknown'] as const;

/** The outside is truthful: what was proven absent is not confirmed afterwards (the limit that the design admits). */
async function answers(tale: Tale, outcome: (typeof OUTCOMES)[number]): Promise<void> {
  const gone = outcome === 'confirmed' && (await tale.effects()).some((effect) => effect['absent_established'] === true);
  if (tale.message !== '' && !gone) await tale.tryOutcome(outcome);
}

/** What may happen after it. Most of it is refused most of the time: that is the point. */
const ACTS: Readonly<Record<string, Act>> = {
  'a worker claims': async (tale) => { await tale.until('next_run_at'); await tale.tryClaim(`w-${uuid().slice(0, 4)}`); },
  'the handler asks for the picture': (tale) => tale.tryIntend('picture'),
  'the handler asks for the post': (tale, review) => tale.tryIntend(review ? 'request' : 'post'),
  ...Object.fromEntries(OUTCOMES.map((outcome): [string, Act] => [`the answer is ${outcome}`, (tale) => answers(tale, outcome)])),
  ...Object.fromEntries(HOWS.map((how): [string, Act] => [`the attempt ends: ${how}`, (tale) => tale.trySettle(how, { retryable: true, ...(how === 'done' || how === 'submitted' ? { result: { url: 'x' } } : {}) })])),
  'the review is opened by its handler': (tale, review) => (review ? tale.trySettle('review', { review: {} }) : Promise.resolve()),
  'the lease runs out': (tale) => tale.expire(),
  'the sweeper passes': (tale) => ledger.door.taskSweep(tale.task, 'sweeper', 1_000),
  'no receipt comes in time': (tale) => tale.overdue(),
  ...Object.fromEntries((['received', 'progress', 'completed', 'failed'] as const).map((kind): [string, Act] => [`a receipt: ${kind}`, word(kind)])),
  ...Object.fromEntries(LOOKS.map((answer): [string, Act] => [`a look finds it ${answer}`, (tale) => tale.tryCheck(answer)])),
  'the proof is accepted': (tale) => tale.accept(),
  'the proof is not visible': (tale) => tale.accept(null),
  'a person confirms it': (tale, review) => tale.confirms(true, review ? 'request' : 'post'),
  'a person confirms its absence': (tale, review) => tale.confirms(false, review ? 'request' : 'post'),
  'a person replays': (tale) => tale.replay(),
  'a person replays and voids': (tale, review) => tale.replay({ void: [{ effect: review ? 'request' : 'post', item: '' }] }),
  'the wait is abandoned': (tale) => tale.abandons(),
  'another cancel': (tale) => tale.cancel(),
  'an hour passes': (tale) => tale.pass(3_600_000),
};

const REFUSED = /refused|TRANSITION_REFUSED|REPLAY_|REVIEW_NOT_OPEN|EFFECT_UNKNOWN|receipt is|message_id/;
/** Acts that the door may refuse; anything else that goes wrong is a fault. */
async function tries(act: () => Promise<unknown>): Promise<void> {
  await act().catch((error: unknown) => {
    const text = error instanceof Error ? `${'code' in error ? String(error.code) : ''} ${error.message}` : String(error);
    if (!REFUSED.test(text)) throw error;
  });
}

const shapeOf: fc.Arbitrary<Shape> = fc.record({
  keyed: fc.boolean(), probe: fc.boolean(), receipt: fc.boolean(), review: fc.boolean(), reentrant: fc.boolean(), absenceIsProof: fc.boolean(), checks: fc.constantFrom(2, 6),
}).map((shape) => (shape.review ? { review: true, reentrant: shape.reentrant } : { ...shape, effects: 'picture+post' as const }));

const actOf = fc.constantFrom(...Object.keys(ACTS));

/** What the final answer promises of the state. */
const AGREES: Readonly<Record<string, readonly string[]>> = {
  prevented: ['cancelled'], stopped_at_boundary: ['cancelled'], withdrawn: ['cancelled'], too_late: ['completed', 'succeeded', 'dead'], needs_person: ['dead'],
  already_terminal: ['succeeded', 'cancelled'], pending: ['cancel_requested', 'submitted', 'received', 'in_progress', 'unconfirmed'],
};

async function cancelledIn(phase: string, shape: Shape, acts: readonly string[]): Promise<void> {
  const tale = await Tale.of(ledger, { ...shape, name: 'publish' });
  const review = shape.review === true;
  await tries(async () => PHASES[phase]?.(tale, review));
  const found = await tale.row();
  const answer = await tale.cancel();
  const [step] = answer.steps;
  const [asked] = await ledger.query<{ id: string }>("select max(id)::text as id from throughline.timeline where task_id = $1 and kind = 'cancel'", [tale.task]);
  const story = [`${phase} (${found.state}): answered ${step?.verdict ?? 'nothing'}, ${await tale.state()}`];
  let last = step?.verdict ?? '';
  for (const name of acts) {
    const before = await tale.row();
    await tries(async () => ACTS[name]?.(tale, review));
    const after = await tale.row();
    story.push(`${name}: ${before.state} → ${after.state} (${after.reason})`);
    if (['succeeded', 'cancelled'].includes(before.state) && after.seq !== before.seq) throw broken('nothing terminal moves', story);
    const since = await tale.timeline(asked?.id);
    if (since.some(({ kind }) => kind === 'intent')) throw broken('no intent follows an answered cancel', story);
    if (since.some(({ kind, from_state, to_state }) => kind === 'transition' && from_state !== to_state && ['queued', 'leased'].includes(to_state))) throw broken('it never starts again', story);
    const [now] = await ledger.query<{ verdict: string }>('select verdict from throughline.cancel_step where task_id = $1 and cancel_id = $2', [tale.task, answer.id]);
    if (!(AGREES[now?.verdict ?? ''] ?? []).includes(after.state)) throw broken(`the answer is ${String(now?.verdict)}, the step is ${after.state}`, story);
    if (['prevented', 'stopped_at_boundary', 'withdrawn', 'already_terminal'].includes(last) && now?.verdict !== last) throw broken(`${last} was answered, and now it is ${String(now?.verdict)}`, story);
    last = now?.verdict ?? '';
    const stands = (await tale.effects()).some((effect) => effect['live'] === true && effect['submits'] === true && effect['status'] === 'confirmed');
    if (stands && ['cancelled', 'queued'].includes(after.state)) throw broken(`${after.state}, and the submission stands confirmed`, story);
  }
}

test.each(Object.keys(PHASES))('cancelled %s: no intent follows, it never starts again, answer and end agree', async (phase) => {
  await fc.assert(fc.asyncProperty(shapeOf, fc.array(actOf, { minLength: 1, maxLength: 7 }), (shape, acts) => cancelledIn(phase, shape, acts)), settings(2));
});

test('afterwards every promise holds for all of them', async () => {
  expect(await findings(ledger)).toEqual({});
});
