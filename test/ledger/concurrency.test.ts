import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { uuid, type Shape } from '../support/factories.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { findings } from '../support/soundness.ts';
import { HOLDER, Tale } from '../support/tale.ts';
import { waiting } from './scenarios/scenario.ts';

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(async () => {
  await ledger.close();
});

const ROUNDS = Number(process.env['CONCURRENCY_ROUNDS'] ?? 60);
const LANES = 5;
const FREE: Shape = { effects: 'none', probe: false, proof: { kind: 'record', requires: ['/url'] } };

/** Many rounds, a few at once. Any error of Postgres, a deadlock (40P01) above all, fails the test. */
async function rounds(play: (round: number) => Promise<void>, count = ROUNDS): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: LANES }, async () => {
      while (next < count) await play(next++);
    }),
  );
  expect(await findings(ledger)).toEqual({});
}

/** Starts the calls at almost the same moment, in any order. */
async function race<T extends readonly (() => Promise<unknown>)[]>(...calls: T): Promise<{ -readonly [K in keyof T]: Awaited<ReturnType<T[K]>> }> {
  const started = calls.map(async (call) => {
    const wait = randomInt(4);
    if (wait > 0) await delay(wait - 1);
    return call();
  });
  return (await Promise.all(started)) as { -readonly [K in keyof T]: Awaited<ReturnType<T[K]>> };
}

const cancelStep = (answer: Awaited<ReturnType<Tale['cancel']>>): { verdict: string; in_flight: readonly unknown[] } => {
  const [step] = answer.steps;
  if (step === undefined) throw new Error('no step');
  return step;
};
/** The verdict as it stands at the end. */
const finalVerdict = async (tale: Tale, id: string): Promise<string> => (await tale.cancel({ id })).verdict;

test('two claims: one wins, one attempt', async () => {
  await rounds(async () => {
    const tale = await Tale.of(ledger, FREE);
    const claim = (holder: string) => (): ReturnType<Ledger['door']['stepClaim']> => ledger.door.stepClaim(tale.task, tale.step, uuid(), holder);
    const answers = await race(claim('a'), claim('b'), claim('c'));
    expect(answers.map((answer) => ('claimed' in answer ? 'claimed' : answer.refused)).sort()).toEqual(['claimed', 'held', 'held']);
    expect(await tale.row()).toMatchObject({ attempt: 1, charged: 1 });
  });
});

test.each([['a first', async () => undefined], ['a further', async (tale: Tale) => { await (await tale.claim()).settle('release'); }]] as const)('cancel against %s claim: either nothing runs, or the holder is told', async (_which, arrange) => {
  await rounds(async () => {
    const tale = await Tale.of(ledger, FREE);
    await arrange(tale);
    const [answer, claim] = await race(() => tale.cancel({ id: 'c' }), () => tale.tryClaim());
    if ('claimed' in claim) {
      expect(cancelStep(answer).verdict).toBe('pending');
      await tale.settle('boundary');
      expect(await finalVerdict(tale, 'c')).toBe('stopped_at_boundary');
    } else {
      expect(claim.refused).toBe('no_rule');
      expect(cancelStep(answer).verdict).toBe('prevented');
    }
    expect(await tale.state()).toBe('cancelled');
  });
});

test('cancel against intent: the effect in flight is in the answer, or there is none', async () => {
  await rounds(async () => {
    const tale = await (await Tale.of(ledger, { keyed: false })).claim();
    const [answer, intent] = await race(() => tale.cancel({ id: 'c' }), () => tale.tryIntend());
    expect(cancelStep(answer).verdict).toBe('pending');
    if ('permitted' in intent) {
      expect(cancelStep(answer).in_flight).toMatchObject([{ effect: 'post', message_id: tale.message }]);
      await (await tale.outcome('confirmed')).settle('submitted');
      expect(await tale.state()).toBe('submitted');
    } else {
      expect(intent).toEqual({ refused: 'cancel' });
      expect(cancelStep(answer).in_flight).toEqual([]);
      await tale.settle('boundary');
      expect(await finalVerdict(tale, 'c')).toBe('stopped_at_boundary');
    }
  });
});

test('cancel against an attempt that fails: cancelled either way, and the verdict says which way', async () => {
  await rounds(async () => {
    const tale = await (await Tale.of(ledger, FREE)).claim();
    const [answer] = await race(() => tale.cancel({ id: 'c' }), () => tale.fail());
    const row = await tale.row();
    expect(row.state).toBe('cancelled');
    const prevented = cancelStep(answer).verdict === 'prevented';
    expect(row.reason).toBe(prevented ? 'cancelled_before_retry' : 'cancelled_after_failed_attempt');
    expect(await finalVerdict(tale, 'c')).toBe(prevented ? 'prevented' : 'stopped_at_boundary');
  });
});

test('cancel against a settled submission: it stands, and a later completion makes the cancel too late', async () => {
  await rounds(async () => {
    const tale = await (await (await Tale.of(ledger)).claim()).confirmed();
    const [answer] = await race(() => tale.cancel({ id: 'c' }), () => tale.settle('submitted'));
    expect(cancelStep(answer).verdict).toBe('pending');
    expect(await tale.state()).toBe('submitted');
    await tale.receives('completed');
    expect(await finalVerdict(tale, 'c')).toBe('too_late');
  });
});

test('cancel against a failed receipt: never queued again', async () => {
  await rounds(async () => {
    const tale = await Tale.of(ledger);
    await waiting(tale, 'submitted');
    const [answer] = await race(() => tale.cancel({ id: 'c' }), () => tale.receives('failed', { retryable: true }));
    const prevented = cancelStep(answer).verdict === 'prevented';
    expect(await tale.row()).toMatchObject({ state: 'cancelled', reason: prevented ? 'cancelled_before_retry' : 'cancelled_after_failed_attempt' });
    expect(await finalVerdict(tale, 'c')).toBe(prevented ? 'prevented' : 'stopped_at_boundary');
  });
});

test('cancel against a completing receipt: too late, at once or in the end', async () => {
  await rounds(async () => {
    const tale = await Tale.of(ledger);
    await waiting(tale, 'submitted');
    const [answer] = await race(() => tale.cancel({ id: 'c' }), () => tale.receives('completed'));
    expect(['pending', 'too_late']).toContain(cancelStep(answer).verdict);
    expect(await finalVerdict(tale, 'c')).toBe('too_late');
  });
});

test('settle against an early receipt: applied once, in either order', async () => {
  await rounds(async (round) => {
    const tale = await (await (await Tale.of(ledger)).claim()).intend();
    const answered = round % 2 === 0;
    if (answered) await tale.outcome('confirmed');
    await race(() => tale.settle(answered ? 'submitted' : 'lost'), () => tale.receives('completed'));
    expect(await tale.state()).toBe('completed');
    expect((await tale.timeline()).filter(({ rule }) => rule === 'receipt.completed')).toHaveLength(1);
  });
});

test('an outcome against an early receipt: confirmed once, with the result', async () => {
  await rounds(async () => {
    const tale = await (await (await Tale.of(ledger)).claim()).intend();
    await race(() => tale.tryOutcome('confirmed'), () => tale.receives('received'));
    expect(await tale.effects()).toMatchObject([{ status: 'confirmed', result: { url: 'https://example.org/1' } }]);
    await tale.settle('submitted');
    expect(await tale.row()).toMatchObject({ state: 'received', open_count: 0 });
  });
});

test('an outcome against the rescue: recorded, in time or late, and the step knows it', async () => {
  await rounds(async () => {
    const tale = await (await (await Tale.of(ledger)).claim()).intend();
    await tale.until('lease_expires_at');
    await race(() => tale.tryOutcome('confirmed'), () => tale.look());
    await tale.look();
    expect(await tale.row()).toMatchObject({ state: 'submitted', open_count: 0 });
  }, 60);
});

test('two needs of one step succeed at once: it is queued, once', async () => {
  await rounds(async () => {
    const tale = await Tale.of(ledger, [{ ...FREE, name: 'a' }, { ...FREE, name: 'b' }, { needs: ['a', 'b'] }]);
    const [a, b] = [await tale.about('a').claim(), await tale.about('b').claim()];
    await race(() => a.done(), () => b.done());
    expect(await tale.state()).toBe('queued');
    expect((await tale.timeline()).filter(({ rule }) => rule === 'upstream.succeeded')).toHaveLength(1);
    expect(await tale.taskRow()).toMatchObject({ status: 'queued', held_by: 'publish' });
  });
});

test('the last two steps end at once: the parent is right', async () => {
  await rounds(async (round) => {
    const tale = await Tale.of(ledger, [{ ...FREE, name: 'a' }, { ...FREE, name: 'b' }]);
    const [a, b] = [await tale.about('a').claim(), await tale.about('b').claim()];
    await race(() => a.done(), () => (round % 2 === 0 ? b.done() : b.fail(false)));
    expect(await tale.taskRow()).toMatchObject({ status: round % 2 === 0 ? 'succeeded' : 'dead', at_rest: true });
  });
});

test('a settle and four sweepers at the end of a lease: settled or rescued, never both', async () => {
  await rounds(async () => {
    const tale = await (await Tale.of(ledger, FREE)).claim();
    await tale.until('lease_expires_at');
    const sweep = (holder: string) => (): ReturnType<Ledger['door']['taskSweep']> => ledger.door.taskSweep(tale.task, holder, 1_000);
    const [settled] = await race(() => tale.trySettle('done', { result: { url: 'x' } }), sweep('a'), sweep('b'), sweep('c'), sweep('d'));
    const rescued = (await tale.timeline()).filter(({ rule }) => rule === 'expire.retry').length;
    expect(await tale.state()).toBe('settled' in settled ? 'succeeded' : 'queued');
    expect(rescued).toBe('settled' in settled ? 0 : 1);
  }, 60);
});

test('a renewal against the rescue: who was told that it holds the lease holds it', async () => {
  await rounds(async () => {
    const tale = await (await Tale.of(ledger, FREE)).claim();
    await tale.until('lease_expires_at');
    const [renewal] = await race(() => ledger.door.leaseRenew(tale.task, tale.step, tale.claimed.id, 600_000, false, HOLDER), () => tale.look(), () => tale.look());
    expect(await tale.state()).toBe('renewed' in renewal ? 'leased' : 'queued');
  }, 60);
});

test('Postgres counted no deadlock', async () => {
  await ledger.query('select pg_stat_force_next_flush()');
  await delay(1_100);
  expect(await ledger.query('select deadlocks::int as n from pg_stat_database where datname = current_database()')).toEqual([{ n: 0 }]);
});
