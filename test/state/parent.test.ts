import { describe, expect, test } from '@jest/globals';
import { PARENT_RULES, PARENT_STATUSES, STEP_STATES, atRest, rollUp, type ParentStatus, type RestState } from '../../src/state/index.ts';

const REST: readonly RestState[] = STEP_STATES.filter((state): state is RestState => state !== 'failed');

/** Every list of `length` states, in every order. */
function* lists(length: number): Generator<readonly RestState[]> {
  if (length === 0) {
    yield [];
    return;
  }
  for (const rest of lists(length - 1)) for (const state of REST) yield [...rest, state];
}
function* upTo(length: number): Generator<readonly RestState[]> {
  for (let count = 1; count <= length; count += 1) yield* lists(count);
}

/** The rule told again: how urgent each state is for whoever looks at the task, and the most urgent one names it. */
const URGENCY: Readonly<Record<RestState, number>> = {
  dead: 7, unconfirmed: 6, cancel_requested: 5, leased: 4, completed: 4, submitted: 3, received: 3, in_progress: 3, queued: 2, waiting: 2, cancelled: 1, succeeded: 0,
};
const NAMES: readonly ParentStatus[] = ['succeeded', 'cancelled', 'queued', 'awaiting_receipt', 'running', 'cancelling', 'unconfirmed', 'dead'];

describe('the status of a task', () => {
  test('follows from its steps by one rule, over every combination of up to four', () => {
    let count = 0;
    for (const states of upTo(4)) {
      count += 1;
      const expected = NAMES[Math.max(...states.map((state) => URGENCY[state]))];
      if (rollUp(states) !== expected) expect({ states, status: rollUp(states) }).toEqual({ states, status: expected });
    }
    expect(count).toBe(12 + 12 ** 2 + 12 ** 3 + 12 ** 4);
  });

  test('is the state of its only step, where that has the same name', () => {
    for (const state of REST) if ((PARENT_STATUSES as readonly string[]).includes(state)) expect(rollUp([state])).toBe(state);
  });

  test('is succeeded only if every step is, and cancelled only if nothing can still happen', () => {
    for (const states of upTo(4)) {
      const status = rollUp(states);
      if ((status === 'succeeded') !== states.every((state) => state === 'succeeded')) expect({ states, status }).toBeNull();
      if (status === 'cancelled' && !states.every((state) => state === 'succeeded' || state === 'cancelled')) expect({ states, status }).toBeNull();
    }
  });

  test('never hides a dead step', () => {
    for (const states of upTo(3)) if (states.includes('dead') && rollUp(states) !== 'dead') expect(states).toBeNull();
  });

  test('has one rule for each status, in the order in which they are asked', () => {
    expect(PARENT_RULES.map(({ status }) => status)).toEqual(PARENT_STATUSES);
    const spoken = PARENT_RULES.flatMap(({ states }) => states);
    expect(new Set(spoken).size).toBe(spoken.length);
  });
});

describe('at rest', () => {
  const FINAL: readonly RestState[] = ['succeeded', 'cancelled', 'dead'];

  /** Every way in which up to four steps can need earlier ones, as a list of needs for each step. */
  function* graphs(steps: number): Generator<readonly (readonly number[])[]> {
    if (steps === 0) {
      yield [];
      return;
    }
    for (const earlier of graphs(steps - 1)) {
      for (let bits = 0; bits < 2 ** (steps - 1); bits += 1) yield [...earlier, earlier.map((_, index) => index).filter((index) => (bits & (2 ** index)) !== 0)];
    }
  }
  /** A step waits exactly while a need has not succeeded and none was cancelled (that cancels it in the same call). */
  const possible = (states: readonly RestState[], needs: readonly (readonly number[])[]): boolean =>
    states.every((state, step) => {
      const of = (needs[step] ?? []).map((need) => states[need]);
      if (state === 'waiting') return of.some((need) => need !== 'succeeded') && !of.includes('cancelled');
      return state === 'cancelled' || of.every((need) => need === 'succeeded');
    });

  test('means: each step succeeded, cancelled, dead, or waiting on a dead one, directly or through others', () => {
    let count = 0;
    for (const needs of graphs(4)) {
      const waitsOnDead = (states: readonly RestState[], step: number): boolean =>
        (needs[step] ?? []).some((need) => states[need] === 'dead' || (states[need] === 'waiting' && waitsOnDead(states, need)));
      for (const states of lists(4)) {
        if (!possible(states, needs)) continue;
        count += 1;
        const expected = states.every((state, step) => FINAL.includes(state) || (state === 'waiting' && waitsOnDead(states, step)));
        if (atRest(states) !== expected) expect({ needs, states, atRest: atRest(states) }).toEqual({ needs, states, atRest: expected });
      }
    }
    expect(count).toBeGreaterThan(10_000);
  });

  test('a wait for a receipt, for a reviewer or for a worker is no rest', () => {
    for (const state of REST.filter((each) => !FINAL.includes(each) && each !== 'waiting')) {
      expect(atRest([state])).toBe(false);
      expect(atRest(['dead', state])).toBe(false);
    }
    expect(atRest(['waiting'])).toBe(false);
    expect(atRest(['dead', 'waiting'])).toBe(true);
  });

  test('and then the status is one that a task ends with', () => {
    for (const states of upTo(4)) if (atRest(states) && !['succeeded', 'cancelled', 'dead'].includes(rollUp(states))) expect(states).toBeNull();
  });
});
