/** Processes killed at named failpoints; `npm run kill` is the long form, and docs/reliability.md has its figures. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { FAILPOINTS } from '../../src/failpoint.ts';
import { campaign, killedInEveryAttempt } from '../kill/campaign.ts';

test('a process killed at named failpoints: nothing is sent twice, nothing is lost, and the platform\'s own log equals the effects table', async () => {
  // What lies between the end of one call and the beginning of the next is one point here, two in the long form.
  const points = ['step_claim', 'effect_intend', 'effect_call', 'effect_outcome', 'step_settle', 'check_claim', 'probe_result', 'accept_result', 'outbox_take', 'signal'].map((name) => `${name}.after`);
  expect(FAILPOINTS).toEqual(expect.arrayContaining(points));
  const report = await campaign({ seed: 7, kills: points.length, points });
  expect(Object.keys(report.at).sort()).toEqual([...points].sort());
  expect(report).toMatchObject({ duplicates: [], disagreements: [], findings: {}, undriven: 0, ends: { succeeded: report.tasks } });
  expect(report.counts.rescues).toBeGreaterThan(0);
}, 900_000);

test('a process killed in every attempt of one task: each is counted, it is dead after its limit, and the others flow', async () => {
  const { hopeless, others } = await killedInEveryAttempt(1);
  expect(hopeless).toMatchObject({ status: 'dead', reason: 'attempts_exhausted', steps: [expect.objectContaining({ attempt: 3 })] });
  expect(others.map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
}, 300_000);

test('the long form loads without the test runner', async () => {
  const env = { ...process.env, NODE_OPTIONS: '' };
  expect((await promisify(execFile)(process.execPath, ['--import', 'tsx', 'test/kill/run.ts', '--help'], { env })).stdout).toContain('--points');
}, 60_000);
