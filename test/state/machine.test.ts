import { describe, expect, test } from '@jest/globals';
import {
  EVENT_NAMES, FACT_NAMES, REASONS, RULES, STEP_STATES, edgesOf, holds, isTerminal, next, rulesFor,
  type Fact, type Facts, type FromState, type ReasonCode, type Rule, type StepEvent,
} from '../../src/state/index.ts';
import { contract } from './contract.ts';

const NONE_TRUE = Object.fromEntries(FACT_NAMES.map((fact) => [fact, false])) as Facts;
const FROM: readonly FromState[] = ['none', ...STEP_STATES];
const PAIRS = EVENT_NAMES.flatMap((event) => FROM.map((from) => ({ event, from, rules: rulesFor(event, from) }))).filter(({ rules }) => rules.length > 0);

/** Every combination of the given facts; all others are false, since no rule of the pair asks for them. */
function* combinations(facts: readonly Fact[]): Generator<Facts> {
  for (let bits = 0; bits < 2 ** facts.length; bits += 1) {
    yield { ...NONE_TRUE, ...Object.fromEntries(facts.map((fact, index) => [fact, (bits & (2 ** index)) !== 0])) };
  }
}
/** The facts that an event's rules in a state ask for, and those that a test wants to vary as well. */
const asked = (rules: readonly Rule[], more: readonly Fact[] = []): readonly Fact[] =>
  FACT_NAMES.filter((fact) => more.includes(fact) || rules.some((rule) => rule.guard[fact] !== undefined));

/** The facts that decide an event in a state: those that its rules ask for and those that the contract reads. */
function deciding(event: StepEvent, from: FromState): readonly Fact[] {
  const read = new Set<Fact>(asked(rulesFor(event, from)));
  let known = -1;
  while (known < read.size) {
    known = read.size;
    for (const facts of combinations([...read])) {
      contract(event, from, new Proxy(facts, { get: (target, fact: Fact) => (read.add(fact), target[fact]) }));
    }
  }
  return [...read];
}

/** Each situation in which a rule decides, over the whole product of the facts asked for and of `more`. */
function* decided(more: readonly Fact[]): Generator<{ event: StepEvent; from: FromState; facts: Facts; rule: Rule }> {
  for (const { event, from, rules } of PAIRS) {
    for (const facts of combinations(asked(rules, more))) {
      const verdict = next(from, event, facts);
      if ('rule' in verdict) yield { event, from, facts, rule: verdict.rule };
    }
  }
}
/** "Itself" is not entering. */
const enters = (rule: Rule, ...states: readonly FromState[]): boolean => rule.to !== null && states.includes(rule.to);
const names = (found: readonly { event: string; from: string; rule: Rule }[]): readonly string[] => [...new Set(found.map(({ from, rule }) => `${rule.label} from ${from}`))];

const WAITS = ['submitted', 'received', 'in_progress'] as const;

describe('one row decides', () => {
  test('labels are unique, and each rule names at least one state', () => {
    expect(new Set(RULES.map(({ label }) => label)).size).toBe(RULES.length);
    for (const { label, from } of RULES) expect([label, from.length > 0, new Set(from).size]).toEqual([label, true, from.length]);
  });

  const ALL = EVENT_NAMES.flatMap((event) => FROM.map((from) => [event, from] as const));

  test.each(ALL)('%s in %s: at most one row matches, and it does what the contract says', (event, from) => {
    const rules = rulesFor(event, from);
    const used = new Set<string>();
    for (const facts of combinations(deciding(event, from))) {
      const matching = rules.filter((rule) => holds(rule.guard, facts));
      for (const { label } of matching) used.add(label);
      const told = contract(event, from, facts);
      // Compared by hand, since this runs a hundred thousand times; `expect` then shows what differs.
      const [rule, second] = matching;
      const found = rule === undefined ? 'refused' : { to: rule.to ?? from, reasons: rule.reasons };
      if (second !== undefined) expect({ facts, labels: [rule?.label, second.label] }).toBe('one row');
      if (told !== 'excluded' && JSON.stringify(found) !== JSON.stringify(told)) expect({ facts, found }).toEqual({ facts, found: told });
    }
    expect([...used].sort()).toEqual(rules.map(({ label }) => label).sort());
  });

  test('what the contract excludes is refused, not guessed', () => {
    const wrong = PAIRS.flatMap(({ event, from }) =>
      [...combinations(deciding(event, from))].filter((facts) => contract(event, from, facts) === 'excluded').flatMap((facts) => {
        const verdict = next(from, event, facts);
        return 'rule' in verdict ? [`${verdict.rule.label} from ${from}`] : [];
      }),
    );
    // Written for any state that may wait in our own inbox; in cancel_requested, a cancel is always set.
    expect([...new Set(wrong)].filter((label) => !/^stands\.cancel\.submitted\.\w+\.inbox from cancel_requested$/.test(label))).toEqual([]);
  });
});

describe('the rules above all rows', () => {
  /**
   * States in which no cancel can be set. A cancel leaves them at once (the first test), nothing enters
   * them with one (rule 1), so by induction the guards of rules that start here need not ask.
   */
  const WITHOUT_CANCEL: readonly FromState[] = ['none', 'waiting', 'queued', 'leased'];

  test('a cancel leaves waiting, queued and leased at once, whatever the facts', () => {
    for (const from of ['waiting', 'queued', 'leased'] as const) {
      for (const facts of combinations(asked(rulesFor('cancel', from)))) {
        expect(next(from, 'cancel', facts)).toMatchObject({ to: from === 'leased' ? 'cancel_requested' : 'cancelled' });
      }
    }
  });

  test('1: no edge enters queued or leased while a cancel is set', () => {
    const wrong = [...decided(['cancel'])].filter(({ from, facts, rule }) => facts.cancel && enters(rule, 'queued', 'leased', 'waiting') && !WITHOUT_CANCEL.includes(from));
    // A repeat under the same key: the fact `resendable` itself says that no cancel is set.
    expect(names(wrong)).toEqual(['claim.resend from unconfirmed']);
    expect(RULES.find(({ label }) => label === 'claim.resend')?.guard.resendable).toBe(true);
  });

  test('2: none enters queued, submitted, completed or cancelled while an effect is open', () => {
    // Nothing is open where no attempt was made since the last entry: rule 2 itself guards queued.
    const NOTHING_OPEN: readonly FromState[] = ['none', 'waiting', 'queued'];
    const wrong = [...decided(['open'])].filter(({ from, facts, rule }) => facts.open && enters(rule, 'queued', 'submitted', 'completed', 'cancelled') && !NOTHING_OPEN.includes(from));
    // In our own inbox nothing but a withdrawal could be open, and `withdraw` is for what waits outside.
    expect(names(wrong)).toEqual(WAITS.map((from) => `cancel.inbox from ${from}`));
    expect(RULES.find(({ label }) => label === 'cancel.inbox')?.guard.inbox).toBe(true);
    expect(RULES.find(({ event }) => event === 'withdraw')?.guard.inbox).toBe(false);
  });

  test('3: none enters queued or cancelled while the submitting effect stands confirmed', () => {
    /** With these the generation ends first, in the same call: what was confirmed no longer stands. */
    const ENDS_GENERATION: readonly ReasonCode[] = ['receipt_failed', 'withdrawal_confirmed', 'wait_withdrawn'];
    // Rule 3 itself guards queued, and before the first attempt nothing can be confirmed.
    const NOT_CONFIRMED: readonly FromState[] = ['none', 'waiting', 'queued'];
    const wrong = [...decided(['confirmed'])].filter(
      ({ from, facts, rule }) => facts.confirmed && enters(rule, 'queued', 'cancelled') && !NOT_CONFIRMED.includes(from) && !rule.reasons.some((reason) => ENDS_GENERATION.includes(reason)),
    );
    expect(names(wrong)).toEqual([]);
  });

  // Rule 4 (the submitting effect is the last) is about intents, which change no state: it is kept by the door.

  test('5: own inbox, cancel set, no verdict: what would wait is cancelled instead', () => {
    const situations = [...decided(['inbox', 'cancel', 'verdict'])].filter(({ facts }) => facts.inbox && facts.cancel && !facts.verdict);
    expect(names(situations.filter(({ from, rule }) => enters(rule, ...WAITS) && !WITHOUT_CANCEL.includes(from)))).toEqual([]);
    // Each rule towards waiting has its counterpart.
    const withdrawn = new Set(RULES.filter(({ reasons }) => reasons.includes('wait_withdrawn')).map(({ event }) => event));
    const towards = new Set(RULES.filter((rule) => enters(rule, ...WAITS) && rule.from.some((from) => !WITHOUT_CANCEL.includes(from)) && rule.event !== 'replay').map(({ event }) => event));
    expect([...towards].filter((event) => !withdrawn.has(event))).toEqual([]);
  });
});

describe('ends', () => {
  test('nothing leaves succeeded and cancelled; only a named person leaves dead', () => {
    for (const event of EVENT_NAMES) {
      expect(rulesFor(event, 'succeeded')).toEqual([]);
      expect(rulesFor(event, 'cancelled')).toEqual([]);
      for (const rule of rulesFor(event, 'dead')) expect([rule.label, rule.to === null || rule.by === 'operator']).toEqual([rule.label, true]);
    }
  });

  test('succeeded has one way in: an accepted proof', () => {
    expect(RULES.filter((rule) => enters(rule, 'succeeded')).map(({ event, from }) => [event, from])).toEqual([['accepted', ['completed']]]);
  });

  test('each end says who ended it, and answers a cancel that is open', () => {
    for (const rule of RULES.filter(({ to }) => to !== null && isTerminal(to))) {
      const reason = REASONS[rule.reasons.at(-1) ?? rule.reasons[0]] as { ended_by?: string; verdict?: string };
      expect([rule.label, reason.ended_by, reason.verdict]).toEqual([rule.label, expect.stringMatching(/^(user|protection|success)$/), expect.stringMatching(/^(prevented|stopped_at_boundary|too_late|withdrawn|needs_person)$/)]);
      expect([rule.label, reason.ended_by === 'success']).toEqual([rule.label, rule.to === 'succeeded']);
    }
  });

  test('each state but succeeded and cancelled has a way on, and each is reached', () => {
    for (const from of FROM.filter((state) => !['succeeded', 'cancelled', 'failed'].includes(state))) {
      expect([from, RULES.some((rule) => rule.from.includes(from) && rule.to !== null && rule.to !== from)]).toEqual([from, true]);
    }
    const reached = new Set(RULES.flatMap((rule) => rule.from.flatMap((from) => edgesOf(rule, from).map(({ to }) => to))));
    expect([...reached].sort()).toEqual([...STEP_STATES].sort());
  });
});

describe('edges', () => {
  const all = RULES.flatMap((rule) => rule.from.map((from) => ({ rule, from, edges: edgesOf(rule, from) })));

  test('form a chain from the state before to the state after, one for each reason', () => {
    for (const { rule, from, edges } of all) {
      expect(edges.map(({ reason }) => reason)).toEqual(rule.reasons);
      expect(edges[0]?.from).toBe(from);
      expect(edges.at(-1)?.to).toBe(rule.to ?? from);
      if (edges.length === 2) expect(edges[0]?.to).toBe(edges[1]?.from);
    }
  });

  test('pass through failed exactly when an attempt or a receipt failed and the step moves on', () => {
    for (const { rule, edges } of all) {
      const failed = rule.reasons.length === 2 && ['attempt_failed', 'receipt_failed'].includes(rule.reasons[0]);
      expect([rule.label, edges.some(({ to }) => to === 'failed')]).toEqual([rule.label, failed]);
    }
  });

  test('no rule starts or ends in failed', () => {
    expect(RULES.filter(({ from, to }) => from.includes('failed') || (to as string | null) === 'failed')).toEqual([]);
  });
});

describe('next', () => {
  test('refuses by name what has no row', () => {
    expect(next('succeeded', 'claim', NONE_TRUE)).toEqual({ refused: 'no_rule' });
    expect(next('queued', 'claim', NONE_TRUE)).toEqual({ refused: 'no_rule' });
  });

  test.each<[string, FromState, StepEvent, Partial<Facts>, string, readonly ReasonCode[]]>([
    ['the straight path: claim', 'queued', 'claim', { due: true, left: true }, 'leased', ['claimed']],
    ['the straight path: done', 'leased', 'settle_done', {}, 'completed', ['attempt_completed']],
    ['the straight path: accepted', 'completed', 'accepted', {}, 'succeeded', ['proof_accepted']],
    ['the retry', 'leased', 'settle_failed', { retryable: true, left: true }, 'queued', ['attempt_failed', 'retry_scheduled']],
    ['the last attempt failed', 'leased', 'settle_failed', { retryable: true }, 'dead', ['attempt_failed', 'attempts_exhausted']],
    ['open before everything', 'cancel_requested', 'settle_done', { open: true, resolvable: true, confirmed: true, cancel: true }, 'unconfirmed', ['answer_lost']],
    ['failed, but the submission stands', 'leased', 'settle_failed', { confirmed: true, receipt: true, left: true, retryable: true }, 'submitted', ['attempt_failed', 'submission_accepted']],
    ['cancel against the submission', 'cancel_requested', 'settle_submitted', { confirmed: true, receipt: true, cancel: true }, 'submitted', ['cancel_after_submit']],
    ['cancel, proven absent', 'unconfirmed', 'absent', { counts: true, cancel: true, left: true }, 'cancelled', ['probe_absent_after_cancel']],
    ['no cancel, proven absent', 'unconfirmed', 'absent', { counts: true, left: true }, 'queued', ['probe_absent']],
    ['confirmed before, now absent', 'unconfirmed', 'absent', { counts: false, confirmed: true }, 'dead', ['effect_uncertain']],
    ['a reviewer decides against it', 'received', 'receipt_failed', { inbox: true, receipt: true }, 'dead', ['receipt_failed', 'review_rejected']],
    ['a cancelled review', 'received', 'cancel', { inbox: true, receipt: true }, 'cancelled', ['wait_withdrawn']],
    ['another effect is still open', 'submitted', 'receipt_completed', { open: true, receipt: true }, 'submitted', ['receipt_held']],
  ])('%s', (_, from, event, facts, to, reasons) => {
    const verdict = next(from, event, { ...NONE_TRUE, ...facts });
    expect('rule' in verdict && { to: verdict.to, reasons: verdict.rule.reasons }).toEqual({ to, reasons });
  });
});
