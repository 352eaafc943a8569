/** Processes killed at each named failpoint; `npm run kill` is the long form, and docs/reliability.md has its figures. */
import { expect, test } from '@jest/globals';
import { FAILPOINTS } from '../../src/failpoint.ts';
import { campaign, killedInEveryAttempt } from './campaign.ts';

test('a process killed at each named failpoint: nothing is sent twice, nothing is lost, and the platform\'s own log equals the effects table', async () => {
  // Renewals and checkpoints come late in a life: their points are left to the long form.
  const points = FAILPOINTS.filter((name) => !/^(lease_renew|checkpoint_put|task_look)/.test(name));
  const report = await campaign({ seed: 7, kills: points.length, points });
  expect(Object.keys(report.at).sort()).toEqual([...points].sort());
  expect(report).toMatchObject({ duplicates: [], disagreements: [], findings: {}, undriven: 0, ends: { succeeded: report.tasks } });
  expect(report.counts.rescues).toBeGreaterThan(0);
}, 600_000);

test('a process killed in every attempt of one task: each is counted, it is dead after its limit, and the others flow', async () => {
  const { hopeless, others } = await killedInEveryAttempt(1);
  expect(hopeless).toMatchObject({ status: 'dead', reason: 'attempts_exhausted', steps: [expect.objectContaining({ attempt: 3 })] });
  expect(others.map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
}, 300_000);
