/** A storm of everything at once on a few tasks: not what happens is asserted, but what must never happen. */
import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { LEASE_MS, uuid, type Shape } from '../support/factories.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { findings } from '../support/soundness.ts';
import { Tale } from '../support/tale.ts';

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger.close());

const FREE: Shape = { effects: 'none', probe: false, proof: { kind: 'record', requires: ['/url'] } };
const STORM_MS = 8_000;

/** A short piece of a life, chosen at random: it may be refused at any point. */
async function one(tale: Tale): Promise<void> {
  const attempt = async (): Promise<void> => {
    const claim = await tale.tryClaim(`w${String(randomInt(4))}`);
    if (!('claimed' in claim)) return;
    const name = tale.step === 'b' && randomInt(2) === 0 ? 'picture' : tale.step === 'c' ? 'request' : 'post';
    if (tale.step !== 'a' && randomInt(5) > 0) {
      await tale.intend(name, name === 'picture' ? String(randomInt(2)) : '');
      if (randomInt(3) > 0) await tale.outcome((['confirmed', 'refused', 'not_sent'] as const)[randomInt(3)] ?? 'confirmed');
    }
    await tale.trySettle((['done', 'submitted', 'boundary', 'failed', 'lost', 'release', 'review'] as const)[randomInt(tale.step === 'c' ? 7 : 6)] ?? 'done', { result: { url: 'x' }, retryable: true, ...(tale.step === 'c' ? { review: {} } : {}) });
  };
  const answer = async (): Promise<void> => {
    const [request] = await ledger.query<{ id: string }>('select message_id as id from throughline.request where task_id = $1 and step = $2 order by random() limit 1', [tale.task, tale.step]);
    tale.message = request?.id ?? uuid();
    await tale.receipt((['received', 'progress', 'completed', 'failed'] as const)[randomInt(4)] ?? 'received', { retryable: true, ...(tale.step === 'c' ? { sender: 'reviewer:ann' } : {}) });
  };
  const acts: readonly (() => Promise<unknown>)[] = [
    attempt, attempt, attempt, answer, answer, () => tale.look(), () => ledger.door.taskSweep(tale.task, 's', 1_000),
    () => tale.tryCheck((['present', 'completed', 'absent', 'unknown'] as const)[randomInt(4)] ?? 'unknown'), () => tale.accept(randomInt(2) === 0),
    () => tale.replay({ step: tale.step }), () => tale.pass(randomInt(LEASE_MS)), () => tale.confirms(randomInt(2) === 0, tale.step === 'c' ? 'request' : 'post'),
    async () => (randomInt(8) === 0 ? tale.cancel({ step: tale.step }) : undefined), async () => (randomInt(6) === 0 ? tale.abandons() : undefined),
    async () => { if (randomInt(4) === 0) await (await tale.withdraws()).withdrawalIs((['confirmed', 'refused', 'lost'] as const)[randomInt(3)] ?? 'lost'); },
    async () => ledger.door.outboxSent(await ledger.door.outboxTake(3, 1)),
  ];
  await acts[randomInt(acts.length)]?.();
}

test('everything at once on a few tasks: no deadlock, and every promise holds', async () => {
  const shapes: readonly Shape[] = [{ ...FREE, name: 'a', attempts: 9 }, { name: 'b', effects: 'picture+post', attempts: 9, checks: 9 }, { name: 'c', review: true, attempts: 9 }, { name: 'd', needs: ['a', 'b'], attempts: 9 }];
  const tasks = await Promise.all(Array.from({ length: 6 }, () => Tale.of(ledger, shapes)));
  const expected = /refused|TRANSITION_REFUSED|WITHDRAW_UNDECLARED|REPLAY_|REVIEW_NOT_OPEN|EFFECT_UNKNOWN|EXTERNAL_ID_CONFLICT|no check|receipt is/;
  const until = performance.now() + STORM_MS;
  const lane = async (): Promise<void> => {
    while (performance.now() < until) {
      const place = randomInt(tasks.length);
      // Tasks come to rest: fresh ones take their place.
      if (randomInt(40) === 0) tasks[place] = await Tale.of(ledger, shapes);
      const story = tasks[place]?.about(['a', 'b', 'c', 'd'][randomInt(4)] ?? 'a');
      if (story === undefined) throw new Error('no task');
      await one(story).catch((error: unknown) => {
        const text = error instanceof Error ? `${'code' in error ? String(error.code) : ''} ${error.message}` : String(error);
        if (!expected.test(text)) throw error;
      });
    }
  };
  await Promise.all(Array.from({ length: 8 }, lane));
  expect(await findings(ledger)).toEqual({});
});

test('Postgres counted no deadlock', async () => {
  await ledger.query('select pg_stat_force_next_flush()');
  await delay(1_100);
  expect(await ledger.query('select deadlocks::int as n from pg_stat_database where datname = current_database()')).toEqual([{ n: 0 }]);
});
