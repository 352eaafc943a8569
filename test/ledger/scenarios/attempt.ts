/** Begin, claim, and every end of an attempt. */
import type { Shape } from '../../support/factories.ts';
import { FAILURE, Tale } from '../../support/tale.ts';
import { REVIEWER, setCancel, setState, type Scenarios } from './scenario.ts';

const FREE: Shape = { effects: 'none', probe: false };
const TWO: readonly Shape[] = [{ ...FREE, name: 'render', proof: { kind: 'record', requires: ['/url'] } }, { ...FREE, needs: ['render'] }];

function begin(s: Scenarios): void {
  s.set('enqueue.free', 'none', { begin: (ledger) => Tale.of(ledger), act: async () => undefined });
  s.set('enqueue.needs', 'none', { begin: (ledger) => Tale.of(ledger, TWO), act: async () => undefined });
  s.add('upstream.succeeded', 'waiting', TWO, async () => undefined, async (tale) => (await tale.about('render').claim()).done());
  s.add('upstream.cancelled', 'waiting', TWO, async () => undefined, (tale) => tale.cancel({ step: 'render' }));
  s.add('cancel.first', 'waiting', TWO, async () => undefined, (tale) => tale.cancel({ step: tale.step }));
  s.add('cancel.first', 'queued', FREE, async () => undefined, (tale) => tale.cancel());
  s.add('cancel.retry', 'queued', FREE, async (tale) => (await tale.claim()).fail(), (tale) => tale.cancel());
  s.add('cancel.retry', 'waiting', TWO, async (tale) => {
    await (await tale.about('render').claim()).done();
    await (await tale.claim()).fail();
    await setState(tale.about('render'), 'queued');
    await setState(tale, 'waiting');
  }, (tale) => tale.cancel({ step: tale.step }), 'nothing leads back to waiting but an edit by hand');
  for (const [from, shapes] of [['waiting', TWO], ['queued', [FREE]]] as const) {
    s.set('deadline', from, {
      begin: async (ledger) => {
        const [row] = await ledger.query<{ at: Date }>("select throughline.now() + interval '1 hour' as at");
        return Tale.of(ledger, shapes, { deadline_at: row?.at.toISOString() ?? '' });
      },
      act: async (tale) => {
        await tale.pass(3_600_001);
        await tale.look();
      },
    });
  }
  s.add('claim', 'queued', FREE, async () => undefined, (tale) => tale.claim());
  s.add('claim.resume', 'queued', { effects: 'picture', attempts: 1 }, async (tale) => {
    await tale.claim();
    await tale.intend('picture');
    await tale.settle('lost');
    await tale.probe('present');
  }, (tale) => tale.claim());
  s.add('claim.resend', 'unconfirmed', { probe: false }, async (tale) => {
    await tale.claim();
    await tale.intend();
    await tale.settle('lost');
  }, (tale) => tale.claim());
  s.add('cancel.leased', 'leased', FREE, (tale) => tale.claim(), (tale) => tale.cancel());
}

const HELD = ['leased', 'cancel_requested'] as const;
export const ENDS: Readonly<Record<string, (tale: Tale) => Promise<unknown>>> = {
  settle_done: (tale) => tale.done(),
  settle_submitted: (tale) => tale.settle('submitted'),
  settle_boundary: (tale) => tale.settle('boundary'),
  settle_failed: (tale) => tale.fail(),
  settle_lost: (tale) => tale.settle('lost', { error: { ...FAILURE, category: 'timeout' } }),
  release: (tale) => tale.settle('release'),
  expire: (tale) => tale.expire(),
};

function ends(s: Scenarios): void {
  const cancelled = (arrange: (tale: Tale) => Promise<unknown>) => async (tale: Tale, from = 'cancel_requested'): Promise<void> => {
    await tale.claim();
    await arrange(tale);
    if (from === 'cancel_requested') await tale.cancel();
  };
  for (const [event, act] of Object.entries(ENDS)) {
    s.add(`open.resolvable.${event}`, HELD, {}, cancelled((tale) => tale.intend()), act);
    s.add(`open.stuck.${event}`, HELD, { keyed: false, probe: false }, cancelled((tale) => tale.intend()), act);
    const confirmed = (tale: Tale): Promise<unknown> => tale.confirmed();
    if (event !== 'settle_boundary') {
      s.add(`stands.submitted.${event}`, 'leased', {}, cancelled(confirmed), act);
      s.add(`stands.completed.${event}`, 'leased', { receipt: false }, cancelled(confirmed), act);
    }
    s.add(`stands.cancel.submitted.${event}`, 'cancel_requested', {}, cancelled(confirmed), act);
    s.add(`stands.cancel.completed.${event}`, 'cancel_requested', { receipt: false }, cancelled(confirmed), act);
    const asked = (tale: Tale): Promise<unknown> => tale.confirmed('request');
    s.add(`stands.cancel.submitted.${event}.withdrawn`, 'cancel_requested', { review: true }, cancelled(asked), act);
    s.add(`stands.cancel.submitted.${event}.verdict`, 'cancel_requested', { review: true }, cancelled(async (tale) => {
      await asked(tale);
      await tale.receives('completed', REVIEWER);
    }), act);
    s.set(`stands.cancel.submitted.${event}.inbox`, 'cancel_requested', {
      excluded: 'cancel_requested without a cancel is refused by a CHECK',
      begin: async (ledger) => {
        const tale = await Tale.of(ledger, { review: true });
        await cancelled(asked)(tale);
        return tale;
      },
      attempt: (tale) => tale.ledger.query('update throughline.step set cancel_id = null where task_id = $1 and name = $2', [tale.task, tale.step]),
    });
    if (event !== 'settle_failed' && event !== 'expire') s.add(`boundary.${event}`, 'cancel_requested', FREE, cancelled(async () => undefined), act);
  }
}

function free(s: Scenarios): void {
  const claim = (tale: Tale): Promise<unknown> => tale.claim();
  const cancelRequested = async (tale: Tale): Promise<unknown> => (await tale.claim()).cancel();
  const { settle_done: done, settle_submitted: submitted, settle_lost: lost, release, expire, settle_failed: fail } = ENDS as Record<'settle_done' | 'settle_submitted' | 'settle_lost' | 'release' | 'expire' | 'settle_failed', (tale: Tale) => Promise<unknown>>;
  s.add('done', 'leased', FREE, claim, done);
  s.add('done.unsubmitted', 'leased', {}, claim, done);
  s.add('submitted.unsubmitted', 'leased', {}, claim, submitted);
  s.add('failed.retry', 'leased', FREE, claim, fail);
  s.add('failed.exhausted', 'leased', { ...FREE, attempts: 1 }, claim, fail);
  s.add('failed.final', 'leased', FREE, claim, (tale) => tale.fail(false));
  s.add('lost.closed', 'leased', {}, claim, lost);
  s.add('lost.exhausted', 'leased', { attempts: 1 }, claim, lost);
  s.add('failed.cancel', 'cancel_requested', FREE, cancelRequested, fail);
  s.add('release', 'leased', FREE, claim, release);
  s.add('expire.retry', 'leased', FREE, claim, expire);
  s.add('expire.exhausted', 'leased', { ...FREE, attempts: 1 }, claim, expire);
  s.add('expire.uncertain', 'leased', { ...FREE, reentrant: false }, claim, expire);
  s.add('expire.cancel', 'cancel_requested', FREE, cancelRequested, expire);
}

export function attemptScenarios(s: Scenarios): void {
  begin(s);
  ends(s);
  free(s);
}

/** For rows whose facts include a cancel on a queued step. */
export const cancelOnQueued = (begin: (tale: Tale) => Promise<unknown>, shape: Shape): { excluded: string; begin: (ledger: Parameters<typeof Tale.of>[0]) => Promise<Tale>; attempt: (tale: Tale) => Promise<unknown> } => ({
  excluded: 'queued with a cancel set is refused by a CHECK (rule 1)',
  begin: async (ledger) => {
    const tale = await Tale.of(ledger, shape);
    await begin(tale);
    return tale;
  },
  attempt: setCancel,
});
