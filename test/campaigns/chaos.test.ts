/** Everything around the ledger is broken at a fixed seed; `npm run chaos` is the long form, and docs/reliability.md has its figures. */
import { expect, test } from '@jest/globals';
import { broken, chaos } from '../chaos/campaign.ts';

test('workers, APIs, Postgres, Temporal and the platforms break under users who start, cancel and replay: nothing is lost, sent twice, cancelled in vain or succeeds without evidence', async () => {
  const report = await chaos({ seed: 7, minutes: 1, tasks: 150, kills: 2 });
  expect(broken(report)).toEqual([]);
  expect(report.tasks).toBe(150);
  expect(report.faults.total).toBeGreaterThan(20);
  expect(report.rescues.n).toBeGreaterThan(0);
  expect(report.ends['succeeded']).toBeGreaterThan(75);
}, 900_000);
