import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { Tale } from '../support/tale.ts';

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger.close());

test('a step without effects goes straight to succeeded when its record holds what its proof requires', async () => {
  const tale = await Tale.of(ledger, { effects: 'none', probe: false, proof: { kind: 'record', requires: ['/url'] } });
  await tale.claim();
  await tale.done();
  expect(await tale.state()).toBe('succeeded');
  expect(await tale.taskRow()).toMatchObject({ status: 'succeeded', at_rest: true, held_by: null });
});

test('a submission with a receipt goes straight to succeeded when its proof is accepted', async () => {
  const tale = await Tale.of(ledger);
  await tale.claim();
  await tale.confirmed();
  await tale.settle('submitted');
  expect(await tale.state()).toBe('submitted');
  await tale.receives('completed');
  expect(await tale.state()).toBe('completed');
  await tale.accept();
  expect(await tale.state()).toBe('succeeded');
});
