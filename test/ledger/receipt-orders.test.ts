/**
 * Any set of receipts, ours and foreign, in any order, repeated and late: each has one verdict, none answers for
 * another, and the end is the same. A failing run is shrunk and printed as its list of receipts with its seed.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ReceiptRow } from '../../src/ledger/index.ts';
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

const WORDS = ['delivered', 'received', 'progress', 'completed', 'failed', 'text'] as const;
type Word = (typeof WORDS)[number];
/** Whom it is about: our first or last request, or something that must not count. */
const OURS = ['first message', 'last message'] as const;
const FOREIGN = ['another task', 'another step', 'another thread', 'another message', 'another external id', 'nobody'] as const;
type About = (typeof OURS)[number] | (typeof FOREIGN)[number];

interface Spec {
  readonly word: Word;
  readonly about: About;
  readonly times: number;
}
/** When a receipt comes: after the intent, after the answer (or its loss), after the settle, after the wait ran out. */
const MOMENTS = ['asked', 'answered', 'settled', 'waited'] as const;
interface Placed {
  readonly moment: number;
  readonly rank: number;
}

const MOVING = ['matched', 'early', 'late_after_timeout'];
const wordOf = fc.constantFrom(...WORDS);
const specOf: fc.Arbitrary<Spec> = fc.record({
  word: wordOf,
  about: fc.oneof({ weight: 2, arbitrary: fc.constantFrom<About>(...OURS) }, { weight: 1, arbitrary: fc.constantFrom<About>(...FOREIGN) }),
  times: fc.integer({ min: 1, max: 3 }),
});
const placedOf: fc.Arbitrary<Placed> = fc.record({ moment: fc.nat(MOMENTS.length - 1), rank: fc.nat(1_000) });
const shapeOf = fc.record({
  keyed: fc.boolean(), effects: fc.constantFrom<'post' | 'picture+post'>('post', 'picture+post'), life: fc.constantFrom('answered', 'lost', 'resent'), overdue: fc.boolean(), retryable: fc.boolean(),
});
interface Life {
  readonly keyed: boolean;
  readonly effects: 'post' | 'picture+post';
  readonly life: string;
  readonly overdue: boolean;
  readonly retryable: boolean;
}

const ofLife = ({ keyed, effects }: Life): readonly Shape[] => [{ name: 'sibling', effects: 'none' }, { name: 'publish', keyed, effects, probe: true }];

class Run {
  readonly story: string[] = [];
  readonly life: Life;
  readonly tale: Tale;
  readonly bystander: Tale;
  deliveries = 0;
  /** Of the first request of the submission. */
  firstMessage = '';

  constructor(life: Life, tale: Tale, bystander: Tale) {
    this.life = life;
    this.tale = tale;
    this.bystander = bystander;
  }

  static async of(life: Life): Promise<Run> {
    const [tale, bystander] = [await Tale.of(ledger, ofLife(life)), await Tale.of(ledger, ofLife(life))];
    await (await (await bystander.claim()).confirmed()).settle('submitted');
    return new Run(life, tale, bystander);
  }

  async deliver({ word, about, times }: Spec): Promise<void> {
    const { tale, bystander } = this;
    const more: Readonly<Record<About, Partial<ReceiptRow>>> = {
      'first message': { in_reply_to: this.firstMessage }, 'last message': { in_reply_to: tale.message },
      'another task': { in_reply_to: bystander.message }, 'another step': { step: 'sibling' }, 'another thread': { thread_id: `${bystander.task}/publish` },
      'another message': { in_reply_to: uuid() }, 'another external id': { external_id: 'ext-of-another' }, nobody: { task: uuid() },
    };
    const row: Partial<ReceiptRow> = { delivery_id: uuid(), ...(word === 'failed' ? { retryable: this.life.retryable, code: 'no' } : {}), ...more[about] };
    // The other side's id is known from its answer on; before, nothing could tell that this one is not ours.
    if (about === 'another external id' && !(await this.externalIdKnown())) return;
    const before = await tale.row();
    const verdicts: string[] = [];
    for (let n = 0; n < times; n += 1) verdicts.push(String((await tale.receipt(word, row)).verdict));
    this.deliveries += 1;
    const after = await tale.row();
    this.story.push(`${word} about ${about}: ${verdicts.join()}; ${before.state} → ${after.state}`);
    if (new Set(verdicts).size !== 1) throw broken('one verdict each', this.story);
    const mayMove = OURS.some((ours) => ours === about) && word !== 'text' && word !== 'delivered';
    if (!mayMove && (MOVING.includes(verdicts[0] ?? '') || after.seq !== before.seq)) throw broken('nothing foreign counts', this.story);
    if (!MOVING.includes(verdicts[0] ?? '') && after.seq !== before.seq) throw broken('only what matches moves', this.story);
    if (['succeeded', 'cancelled', 'dead'].includes(before.state) && after.seq !== before.seq) throw broken('nothing terminal moves', this.story);
  }

  async externalIdKnown(): Promise<boolean> {
    return (await this.tale.effects()).some((effect) => effect['name'] === 'post' && effect['live'] === true && effect['external_id'] !== null);
  }

  private async moment(n: number): Promise<void> {
    const { tale, life } = this;
    const { state } = n === 0 ? { state: 'queued' } : await tale.row();
    this.story.push(`-- ${MOMENTS[n] ?? ''} (${state})`);
    if (n === 0) {
      await tale.claim();
      if (life.effects === 'picture+post') await tale.confirmed('picture');
      await tale.intend();
      this.firstMessage = tale.message;
    } else if (n === 1 && life.life !== 'lost') {
      if (life.life === 'resent' && life.keyed) {
        await tale.settle('lost');
        if ((await tale.state()) !== 'unconfirmed') return;
        await tale.claim();
        const answer = await tale.tryIntend();
        if (!('permitted' in answer)) return;
      }
      await tale.outcome('confirmed');
    } else if (n === 2 && state === 'leased') {
      await tale.trySettle(life.life === 'lost' ? 'lost' : 'submitted');
    } else if (n === 3 && life.overdue && ['submitted', 'received', 'in_progress'].includes(state)) {
      await tale.overdue();
    }
  }

  async live(specs: readonly Spec[], places: readonly Placed[]): Promise<string> {
    for (let n = 0; n < MOMENTS.length; n += 1) {
      await this.moment(n);
      const now = specs.map((spec, index) => ({ spec, place: places[index] ?? { moment: 0, rank: 0 } })).filter(({ place }) => place.moment === n);
      for (const { spec } of now.sort((a, b) => a.place.rank - b.place.rank)) await this.deliver(spec);
    }
    return this.tale.state();
  }

  /** Brings it to a terminal state, in one of the ways that there are from where it stands. */
  async finish(way: number): Promise<string> {
    const { tale } = this;
    const { state } = await tale.row();
    if (state === 'completed') await tale.accept(way % 2 === 0, way % 2 === 0 ? true : null);
    else if (state === 'queued') await tale.cancels();
    else if (state !== 'dead' && way % 3 === 0) await tale.abandons();
    else if (state !== 'dead') await (await tale.withdraws()).withdrawalIs('confirmed');
    const end = await tale.state();
    this.story.push(`-- finished: ${state} → ${end}`);
    return end;
  }

  /** What must be so whatever came. */
  async sound(): Promise<void> {
    const rows = await ledger.query<{ verdict: string | null; logged: number }>(
      "select r.verdict, (select count(*)::int from throughline.timeline l where l.kind = 'receipt' and (l.facts ->> 'receipt')::uuid = r.id) as logged from throughline.receipt r where task_id = $1 or thread_id like $1 || '%'", [this.tale.task]);
    if (rows.length !== this.deliveries || rows.some(({ verdict }) => verdict === null)) throw broken(`${String(this.deliveries)} deliveries, kept are ${JSON.stringify(rows)}`, this.story);
    if (rows.some(({ logged, verdict }) => logged !== (verdict === 'unknown_task' ? 0 : 1))) throw broken('one entry of the timeline for each', this.story);
    if ((await this.bystander.state()) !== 'submitted') throw broken('the bystander is where it was', this.story);
  }
}

/** The end that the words which are ours come to; null: it depends on what else happened meanwhile. */
function endOf(specs: readonly Spec[], life: Life): readonly string[] | null {
  const ours = new Set(specs.filter(({ about }) => OURS.some((one) => one === about)).map(({ word }) => word));
  // The platform contradicts itself: done is believed and then proven; only an end that was reached before stays.
  if (ours.has('completed')) return ours.has('failed') && !life.retryable ? ['completed', 'dead'] : ['completed'];
  if (ours.has('failed')) return [life.retryable ? 'queued' : 'dead'];
  if (life.overdue) return null;
  const nothing = life.life === 'lost' ? 'unconfirmed' : 'submitted';
  return [ours.has('progress') ? 'in_progress' : ours.has('received') ? 'received' : nothing];
}

const setOf = fc.array(fc.record({ spec: specOf, one: placedOf, other: placedOf }), { minLength: 1, maxLength: 8 });

test('a set of receipts in any two orders: one verdict each, no cross-match, the same end', async () => {
  await fc.assert(
    fc.asyncProperty(shapeOf, setOf, async (life, set) => {
      const specs = set.map(({ spec }) => spec);
      const ends: string[] = [];
      for (const order of ['one', 'other'] as const) {
        const run = await Run.of(life);
        const end = await run.live(specs, set.map((entry) => entry[order]));
        await run.sound();
        const wanted = endOf(specs, life);
        if (wanted !== null && !wanted.includes(end)) throw broken(`the end is ${end}, not ${wanted.join(' or ')}`, run.story);
        ends.push(end);
      }
      if (endOf(specs, life)?.length === 1 && new Set(ends).size !== 1) throw new Error(`two ends: ${ends.join(' and ')}`);
    }),
    settings(24),
  );
  expect(await findings(ledger)).toEqual({});
});

test('after a cancel and after the end: one verdict each, and nothing terminal moves', async () => {
  await fc.assert(
    fc.asyncProperty(shapeOf, fc.array(specOf, { maxLength: 3 }), fc.nat(5), fc.array(specOf, { minLength: 1, maxLength: 6 }), async (life, before, way, after) => {
      const run = await Run.of(life);
      await run.live(before, before.map((_, index) => ({ moment: index % 3, rank: index })));
      const end = await run.finish(way);
      for (const spec of after) await run.deliver(spec);
      await run.sound();
      if ((await run.tale.state()) !== end) throw broken(`${end} stays`, run.story);
      // A word of success that came for a dead step: nobody may send again over it.
      const proof = after.some(({ word, about }) => word === 'completed' && OURS.some((one) => one === about));
      const answer = end === 'dead' && proof ? await run.tale.replay().then(() => 'replayed', (error: unknown) => (error as { code?: string }).code) : 'REPLAY_PROOF_ARRIVED';
      if (answer !== 'REPLAY_PROOF_ARRIVED' && answer !== 'REPLAY_EFFECT_OPEN') throw broken(`a proof has arrived, and a replay is answered ${String(answer)}`, run.story);
    }),
    settings(14),
  );
  expect(await findings(ledger)).toEqual({});
});
