import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ReceiptRow } from '../../src/ledger/index.ts';
import type { ReceiptVerdict } from '../../src/state/index.ts';
import { uuid, type Shape } from '../support/factories.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { snapshot } from '../support/snapshot.ts';
import { Tale } from '../support/tale.ts';
import { unsent, waiting } from './scenarios/scenario.ts';

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger.close());

const submitted = async (shape: Shape = {}): Promise<Tale> => {
  const tale = await Tale.of(ledger, shape);
  await waiting(tale, 'submitted');
  return tale;
};

describe('verdicts', () => {
  const cases: Readonly<Record<ReceiptVerdict, () => Promise<{ verdict: string | null; tale: Tale; state: string }>>> = {
    matched: async () => {
      const tale = await submitted();
      return { ...(await tale.receipt('received')), tale, state: 'received' };
    },
    early: async () => {
      const tale = await (await (await Tale.of(ledger)).claim()).intend();
      return { ...(await tale.receipt('completed')), tale, state: 'leased' };
    },
    late_after_timeout: async () => {
      const tale = await (await submitted()).overdue();
      return { ...(await tale.receipt('completed')), tale, state: 'completed' };
    },
    duplicate: async () => {
      const tale = await (await submitted()).receives('received');
      return { ...(await tale.receipt('received')), tale, state: 'received' };
    },
    evidence: async () => {
      const tale = await submitted();
      return { ...(await tale.receipt('delivered')), tale, state: 'submitted' };
    },
    text_only: async () => {
      const tale = await submitted();
      return { ...(await tale.receipt('text', { body: { text: 'your post is live, congratulations' } })), tale, state: 'submitted' };
    },
    after_cancel: async () => {
      const tale = await submitted();
      await (await tale.withdraws()).withdrawalIs('confirmed');
      return { ...(await tale.receipt('completed')), tale, state: 'cancelled' };
    },
    after_end: async () => {
      const tale = await (await submitted()).abandons();
      return { ...(await tale.receipt('completed')), tale, state: 'dead' };
    },
    wrong_thread: async () => {
      const tale = await submitted();
      return { ...(await tale.receipt('completed', { thread_id: 'another' })), tale, state: 'submitted' };
    },
    wrong_message: async () => {
      const tale = await submitted();
      return { ...(await tale.receipt('completed', { in_reply_to: uuid() })), tale, state: 'submitted' };
    },
    wrong_step: async () => {
      const tale = await submitted();
      return { ...(await tale.receipt('completed', { step: 'render' })), tale, state: 'submitted' };
    },
    wrong_external_id: async () => {
      const tale = await submitted();
      return { ...(await tale.receipt('completed', { external_id: 'somebody-elses' })), tale, state: 'submitted' };
    },
    contradicts: async () => {
      const tale = await (await submitted()).receives('completed');
      await tale.accept();
      return { ...(await tale.receipt('failed')), tale, state: 'succeeded' };
    },
    unknown_task: async () => {
      const tale = await submitted();
      return { ...(await tale.receipt('completed', { task: uuid() })), tale, state: 'submitted' };
    },
    sender_not_allowed: async () => {
      const tale = await submitted({ senders: ['platform'] });
      return { ...(await tale.receipt('completed', { sender: 'stranger' })), tale, state: 'submitted' };
    },
  };

  test.each(Object.entries(cases))('%s', async (wanted, make) => {
    const { verdict, tale, state } = await make();
    expect(verdict).toBe(wanted);
    expect(await tale.state()).toBe(state);
    expect(await ledger.query('select count(*)::int as n from throughline.receipt where verdict is null')).toEqual([{ n: 0 }]);
  });

  test('a message of another task matches nothing here, even with the right thread', async () => {
    const [one, two] = [await submitted(), await submitted()];
    expect(await one.receipt('completed', { in_reply_to: two.message })).toMatchObject({ verdict: 'wrong_message', facts: { of_another_task: true } });
    expect([await one.state(), await two.state()]).toEqual(['submitted', 'submitted']);
  });

  test('a message of another step of the task matches nothing here', async () => {
    const tale = await Tale.of(ledger, [{ name: 'first' }, { name: 'second' }]);
    const first = tale.about('first');
    await waiting(first, 'submitted');
    expect(await tale.receipt('completed', { in_reply_to: first.message })).toMatchObject({ verdict: 'wrong_step', facts: { message_is_of: 'first' } });
    expect(await first.state()).toBe('submitted');
  });

  test('an earlier generation is answered in vain', async () => {
    const tale = await submitted();
    const first = tale.message;
    await tale.receives('failed', { retryable: true });
    await (await (await tale.claim()).confirmed()).settle('submitted');
    expect(await tale.receipt('received', { in_reply_to: first })).toMatchObject({ verdict: 'wrong_message', facts: { generation_ended: 1 } });
    expect(await tale.receipt('completed', { in_reply_to: first })).toMatchObject({ verdict: 'contradicts' });
    expect(await tale.state()).toBe('submitted');
  });

  test('the picture\'s message is not the submission', async () => {
    const tale = await Tale.of(ledger, { effects: 'picture+post' });
    await (await tale.claim()).confirmed('picture');
    expect(await tale.receipt('completed')).toMatchObject({ verdict: 'wrong_message', facts: { not_the_submission: 'picture' } });
  });

  test('the same delivery with other words contradicts itself', async () => {
    const tale = await submitted();
    await tale.receives('received', { delivery_id: 'd1' });
    expect(await tale.receipt('failed', { delivery_id: 'd1' })).toMatchObject({ verdict: 'contradicts' });
    expect(await tale.state()).toBe('received');
  });

  test.each(['------------------------------------', 'not a uuid', 'ffffffffffffffffffffffffffffffffffff', ''])('a receipt that replies to %j is judged like any other', async (in_reply_to) => {
    const tale = await submitted();
    expect(await tale.receipt('completed', { in_reply_to })).toMatchObject({ verdict: 'wrong_message' });
  });
});

describe('evidence', () => {
  test('the receipt that names the first message of a keyed generation still matches', async () => {
    const tale = await Tale.of(ledger);
    await (await (await tale.claim()).intend()).settle('lost');
    await (await (await tale.claim()).confirmed()).settle('submitted');
    expect(tale.messages).toHaveLength(2);
    expect(await tale.receipt('completed', { in_reply_to: tale.messages[0] ?? '' })).toMatchObject({ verdict: 'matched', state: 'completed' });
  });

  test('without a key, a receipt for an earlier request is evidence unless it completes', async () => {
    const tale = await Tale.of(ledger, { keyed: false });
    await (await (await tale.claim()).intend()).settle('lost');
    await tale.probe('absent', 'absent');
    await (await (await tale.claim()).confirmed()).settle('submitted');
    const [first = ''] = tale.messages;
    expect(await tale.receipt('received', { in_reply_to: first })).toMatchObject({ verdict: 'evidence' });
    expect(await tale.receipt('failed', { in_reply_to: first })).toMatchObject({ verdict: 'evidence' });
    expect(await tale.state()).toBe('submitted');
    expect(await tale.receipt('completed', { in_reply_to: first })).toMatchObject({ verdict: 'matched', state: 'completed' });
  });

  test('an early receipt is applied when the submission appears', async () => {
    const tale = await (await (await Tale.of(ledger)).claim()).intend();
    await tale.receives('completed');
    await tale.outcome('confirmed');
    await tale.settle('submitted');
    expect((await tale.timeline()).filter(({ kind }) => kind === 'transition').map(({ to_state }) => to_state)).toEqual(['queued', 'leased', 'submitted', 'completed']);
  });

  test('an early failure is applied after the settle, whatever the handler says', async () => {
    const tale = await (await (await Tale.of(ledger)).claim()).confirmed();
    await tale.receives('failed', { retryable: true });
    await tale.settle('submitted');
    expect(await tale.row()).toMatchObject({ state: 'queued', reason: 'retry_scheduled' });
  });

  test('a failed receipt also ends an open withdrawal', async () => {
    const tale = await (await submitted()).withdraws();
    await tale.receives('failed');
    expect(await tale.row()).toMatchObject({ state: 'cancelled', reason: 'cancelled_after_failed_attempt', open_count: 0 });
    expect((await tale.effects()).map((row) => [row['name'], row['live']])).toEqual([['post', false], ['withdraw', false]]);
  });

  test('a held receipt is applied when the withdrawal is refused', async () => {
    const tale = await (await submitted()).withdraws();
    await tale.receives('completed');
    expect(await tale.row()).toMatchObject({ state: 'submitted', reason: 'receipt_held' });
    await tale.withdrawalIs('refused');
    expect(await tale.state()).toBe('completed');
  });

  test('a failed receipt for a queued step opens the next generation and leaves it queued', async () => {
    const tale = await Tale.of(ledger);
    await unsent(tale);
    await tale.receives('failed', { retryable: true });
    expect(await tale.state()).toBe('queued');
    await tale.claim();
    expect(await tale.tryIntend()).toMatchObject({ generation: 2 });
  });

  test('a proof for a dead step makes replay refuse and lets a person confirm the effect', async () => {
    const tale = await (await submitted()).abandons();
    await tale.receipt('completed');
    await expect(tale.replay()).rejects.toMatchObject({ code: 'REPLAY_PROOF_ARRIVED' });
    await tale.confirms(true);
    expect(await tale.row()).toMatchObject({ state: 'completed', reason: 'operator_confirmed_effect' });
  });
});

describe('a platform that contradicts itself', () => {
  test('done after failed, before anything was sent again: believed and then proven, and never sent a second time', async () => {
    const tale = await submitted();
    await tale.receives('failed', { retryable: true });
    expect(await tale.receipt('completed')).toMatchObject({ verdict: 'matched', facts: { after: 'failed' }, state: 'completed' });
    expect(await tale.tryClaim()).toMatchObject({ refused: 'no_rule' });
    await tale.accept();
    expect(await tale.state()).toBe('succeeded');
  });

  test('done after failed, while the next attempt runs: its intent reuses the answer instead of sending', async () => {
    const tale = await submitted();
    await tale.receives('failed', { retryable: true });
    await tale.claim();
    expect(await tale.receipt('completed')).toMatchObject({ verdict: 'early', facts: { after: 'failed' } });
    expect(await tale.tryIntend()).toMatchObject({ reuse: true, generation: 1, external_id: 'ext-1' });
    await tale.settle('submitted');
    expect(await tale.state()).toBe('completed');
  });

  test('done after failed, when it was sent again: kept, and moves nothing', async () => {
    const tale = await submitted();
    const first = tale.message;
    await tale.receives('failed', { retryable: true });
    await (await tale.claim()).intend();
    expect(await tale.receipt('completed', { in_reply_to: first })).toMatchObject({ verdict: 'contradicts', state: 'leased' });
  });

  test('done after a failure that ended the step: dead it stays, a replay is refused, a person confirms it', async () => {
    const tale = await submitted();
    await tale.receives('failed');
    expect(await tale.receipt('completed')).toMatchObject({ verdict: 'after_end', facts: { after: 'failed' }, state: 'dead' });
    // Repeating the failure does not take it back.
    expect(await tale.receipt('failed', { code: 'again', external_id: 'ext-1' })).toMatchObject({ verdict: 'contradicts', state: 'dead' });
    await expect(tale.replay()).rejects.toMatchObject({ code: 'REPLAY_PROOF_ARRIVED' });
    await tale.confirms(true);
    expect(await tale.state()).toBe('completed');
  });

  test('done after failed, under an id of another: not ours', async () => {
    const tale = await submitted();
    await tale.receives('failed', { retryable: true });
    expect(await tale.receipt('completed', { external_id: 'somebody-elses' })).toMatchObject({ verdict: 'contradicts', state: 'queued' });
  });

  test('failed after done, while that is held: done stands', async () => {
    const tale = await (await submitted()).withdraws();
    await tale.receives('completed');
    expect(await tale.receipt('failed', { retryable: true })).toMatchObject({ verdict: 'contradicts', state: 'submitted' });
    await tale.withdrawalIs('refused');
    expect(await tale.state()).toBe('completed');
  });
});

describe('any order, any number', () => {
  const orders = [['received', 'progress', 'completed'], ['received', 'completed', 'progress'], ['progress', 'received', 'completed'], ['progress', 'completed', 'received'], ['completed', 'received', 'progress'], ['completed', 'progress', 'received']] as const;
  const moments = {
    'before the answer': (tale: Tale) => tale.intend(),
    'after the answer, before the settle': (tale: Tale) => tale.confirmed(),
    'after the settle': async (tale: Tale) => (await tale.confirmed()).settle('submitted'),
    'after the answer was lost': async (tale: Tale) => (await tale.intend()).settle('lost'),
    'after the wait ran out': async (tale: Tale) => (await (await tale.confirmed()).settle('submitted')).overdue(),
  } as const;

  test.each(Object.entries(moments).flatMap(([moment, arrange]) => orders.map((order) => ({ moment, order, arrange }))))('$order twice, $moment: completed, once', async ({ order, arrange }) => {
    const tale = await (await Tale.of(ledger)).claim();
    await arrange(tale);
    for (const kind of order) {
      const row: Partial<ReceiptRow> = { delivery_id: uuid() };
      await tale.receipt(kind, row);
      await tale.receipt(kind, row);
      await tale.receipt(kind);
    }
    if ((await tale.state()) === 'leased') await tale.settle('lost');
    expect(await tale.state()).toBe('completed');
    expect((await tale.timeline()).filter(({ rule }) => rule === 'receipt.completed')).toHaveLength(1);
    expect((await tale.row()).open_count).toBe(0);
    const rows = await ledger.query<{ n: number }>('select count(*)::int as n from throughline.receipt where task_id = $1', [tale.task]);
    expect(rows).toEqual([{ n: 6 }]);
  });

  const ends = {
    succeeded: async () => (await (await submitted()).receives('completed')).accept(),
    cancelled: async () => (await (await submitted()).withdraws()).withdrawalIs('confirmed'),
    dead: async () => (await submitted()).abandons(),
  } as const;
  const kinds = ['delivered', 'received', 'progress', 'completed', 'failed', 'text'] as const;
  test.each(Object.entries(ends).flatMap(([state, arrange]) => kinds.map((kind) => ({ state, kind, arrange }))))('a $kind receipt never moves a $state step', async ({ state, kind, arrange }) => {
    const tale = await arrange();
    const { seq } = await tale.row();
    expect((await tale.receipt(kind)).verdict).not.toBeNull();
    expect(await tale.row()).toMatchObject({ state, seq });
  });

  test('a receipt sent again is counted, not judged again', async () => {
    const tale = await submitted();
    const row: Partial<ReceiptRow> = { delivery_id: 'same' };
    await tale.receipt('received', row);
    const before = await snapshot(ledger, tale.task);
    expect(await tale.receipt('received', row)).toMatchObject({ verdict: 'matched', repeated: true, deliveries: 2 });
    expect(await snapshot(ledger, tale.task)).toEqual(before);
  });
});

test('a receipt that could not be judged is kept and judged by the sweeper', async () => {
  const tale = await submitted();
  await ledger.query("create or replace function throughline._no() returns trigger language plpgsql as 'begin raise exception ''broken''; end'");
  await ledger.query('create trigger no before insert on throughline.timeline for each row execute function throughline._no()');
  expect(await tale.receipt('completed')).toMatchObject({ verdict: null, facts: { judging_failed: 'broken' } });
  await ledger.query('drop trigger no on throughline.timeline');
  expect(await tale.state()).toBe('submitted');
  await tale.pass(60_000);
  expect(await ledger.door.sweepDue(200, 1_000)).toContain(tale.task);
  expect(await ledger.door.taskSweep(tale.task, 'sweeper', 1_000)).toMatchObject({ judged: 1 });
  expect(await tale.state()).toBe('completed');
});
