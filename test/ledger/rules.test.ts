import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EVENT_NAMES, FACT_NAMES, next, REASONS, rulesFor, RULES, STEP_STATES, type Fact, type Facts, type FromState, type StepEvent } from '../../src/state/index.ts';
import { openLedger, type Ledger, type Row } from '../support/ledger.ts';

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger.close());

interface Question {
  readonly event: StepEvent;
  readonly from: FromState;
  readonly facts: Facts;
}

const FROM_STATES: readonly FromState[] = ['none', ...STEP_STATES];
const BATCH_ROWS = 4_000;

/** A fixed sequence: a failure must come again. */
function randomBits(seed: number): () => boolean {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state >= 2 ** 31;
  };
}

const factsOf = (value: (fact: Fact) => boolean): Facts => Object.fromEntries(FACT_NAMES.map((fact) => [fact, value(fact)])) as Facts;

/** The label that the pure machine and the database give; null: refused. Both throw if two rows match. */
async function expectSameAnswers(questions: readonly Question[]): Promise<void> {
  for (let start = 0; start < questions.length; start += BATCH_ROWS) {
    const batch = questions.slice(start, start + BATCH_ROWS);
    const answers = await ledger.query<Row & { label: string | null; to_state: string | null }>(
      `select (r).label, (r).to_state from (
         select n, throughline._rule(q ->> 'event', q ->> 'from', jsonb_populate_record(null::throughline.facts, q -> 'facts')) as r
         from jsonb_array_elements($1::jsonb) with ordinality u(q, n) offset 0) x order by n`,
      [JSON.stringify(batch)],
    );
    const wrong = batch.flatMap(({ event, from, facts }, index) => {
      const verdict = next(from, event, facts);
      const wanted = 'refused' in verdict ? { label: null, to_state: null } : { label: verdict.rule.label, to_state: verdict.to };
      const found = answers[index];
      return found?.label === wanted.label && found.to_state === wanted.to_state ? [] : [{ event, from, facts, wanted, found }];
    });
    expect(wrong).toEqual([]);
  }
}

test('the database and the pure machine agree on every combination of the facts that the rows of an event and state mention', async () => {
  const other = randomBits(7);
  const questions: Question[] = [];
  for (const event of EVENT_NAMES) {
    for (const from of FROM_STATES) {
      const mentioned = FACT_NAMES.filter((fact) => rulesFor(event, from).some(({ guard }) => guard[fact] !== undefined));
      for (let bits = 0; bits < 2 ** mentioned.length; bits += 1) {
        questions.push({ event, from, facts: factsOf((fact) => (mentioned.includes(fact) ? ((bits >> mentioned.indexOf(fact)) & 1) === 1 : other())) });
      }
    }
  }
  expect(questions.length).toBeGreaterThan(3_000);
  await expectSameAnswers(questions);
});

test('the database and the pure machine agree on 20,000 random questions', async () => {
  const bit = randomBits(11);
  const pick = <T>(list: readonly T[]): T => {
    let index = 0;
    for (let i = 0; i < 10; i += 1) index = index * 2 + (bit() ? 1 : 0);
    const value = list[index % list.length];
    if (value === undefined) throw new Error('nothing to pick from');
    return value;
  };
  await expectSameAnswers(Array.from({ length: 20_000 }, () => ({ event: pick(EVENT_NAMES), from: pick(FROM_STATES), facts: factsOf(bit) })));
});

test('the rules, reasons and edges in the database are those of the table, no more', async () => {
  const labels = await ledger.query("select label || ' < ' || from_state as key from throughline.transition_rule order by 1");
  expect(labels.map(({ key }) => key).sort()).toEqual(RULES.flatMap(({ label, from }) => from.map((state) => `${label} < ${state}`)).sort());
  const reasons = await ledger.query('select code from throughline.reason');
  expect(reasons.map(({ code }) => code).sort()).toEqual(Object.keys(REASONS).sort());
});
