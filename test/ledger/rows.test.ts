import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { atRest, edgesOf, RULES, rollUp, type Cause, type FromState, type RestState, type Rule } from '../../src/state/index.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import type { Entry, Tale } from '../support/tale.ts';
import { SCENARIOS } from './scenarios/index.ts';
import type { Scenario } from './scenarios/scenario.ts';

let ledger: Ledger;
/** For states that the door alone does not bring about. */
let prepared: Ledger;
beforeAll(async () => {
  [ledger, prepared] = [await openLedger(), await openLedger()];
});
afterAll(async () => {
  await prepared.close({ unaudited: 'states are prepared past the door' });
  await ledger.close();
});

/** Who writes an edge of this cause. Checks are asked for by the driver and answered by a worker. */
const ACTOR: Readonly<Record<Cause, RegExp>> = {
  client: /^(user|service):/,
  worker: /^worker:/,
  platform: /^(platform|worker):/,
  reviewer: /^platform:reviewer:/,
  driver: /^(driver$|sweeper:|worker:|ledger$)/,
  operator: /^(operator|user):/,
};

async function expectAgreement(tale: Tale, moves: readonly Entry[]): Promise<void> {
  const row = await tale.row();
  const last = moves.at(-1);
  expect({ state: row.state, seq: row.seq, reason: row.reason }).toEqual({ state: last?.to_state, seq: last?.id, reason: last?.reason });
  const steps = await tale.ledger.query<{ state: RestState }>('select state from throughline.step where task_id = $1 order by ordinal', [tale.task]);
  const states = steps.map(({ state }) => state);
  expect(await tale.taskRow()).toMatchObject({ status: rollUp(states), at_rest: atRest(states) });
}

async function fires(rule: Rule, from: FromState, scenario: Scenario): Promise<void> {
  const tale = await scenario.begin(scenario.prepared === undefined ? ledger : prepared);
  const created = from === 'none';
  const before = await tale.row();
  if (!created) expect(before.state).toBe(from);
  const mark = created ? '0' : ((await tale.timeline()).at(-1)?.id ?? '0');
  await scenario.act(tale);
  const moves = (await tale.timeline(mark)).filter(({ kind, step }) => kind === 'transition' && step === tale.step);
  const written = moves.filter((entry) => entry.rule === rule.label);
  const wanted = edgesOf(rule, from);
  expect(written.map(({ from_state, to_state, reason, part }) => ({ from: from_state, to: to_state, reason, part }))).toEqual(
    wanted.map((edge, index) => ({ ...edge, part: index + 1 })),
  );
  const attempt = created ? 0 : before.attempt + (rule.event === 'claim' ? 1 : 0);
  const epoch = created ? 0 : Number(before.epoch) + (rule.event === 'claim' || rule.event === 'expire' ? 1 : 0);
  for (const entry of written) {
    expect(entry).toMatchObject({ event: rule.event, attempt });
    expect(Number(entry.epoch)).toBe(epoch);
    if (scenario.prepared === undefined) expect(entry.actor).toMatch(ACTOR[rule.by]);
  }
  // A move past the door has no roll-up; everything else agrees at once.
  if (moves[0]?.actor !== 'test') await expectAgreement(tale, moves);
}

const rows = RULES.flatMap((rule) => rule.from.map((from) => ({ rule, from, key: `${rule.label} < ${from}` })));

test('every row of the table has a scenario, and every scenario a row', () => {
  expect([...SCENARIOS.keys()].sort()).toEqual(rows.map(({ key }) => key).sort());
});

describe.each(rows)('$key', ({ rule, from, key }) => {
  const reach = SCENARIOS.get(key);
  if (reach === undefined) return;
  if ('excluded' in reach) {
    test(`is unreachable: ${reach.excluded}`, async () => {
      const tale = await reach.begin(prepared);
      await expect(reach.attempt(tale)).rejects.toMatchObject({ code: '23514' });
    });
    return;
  }
  const how = reach.prepared === undefined ? 'through the door' : `in a prepared state (${reach.prepared})`;
  test(`is reached ${how} and writes ${rule.reasons.join(', ')}`, () => fires(rule, from, reach));
});
