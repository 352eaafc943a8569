/** `npm run kill -- --points 200 --seed N`: the long form of test/campaigns/kill-points.test.ts, on a stack of its own. Prints its counts as JSON; exits with 1 where a promise was broken. */
import { parseArgs } from 'node:util';
import globalSetup from '../support/global-setup.ts';
import globalTeardown from '../support/global-teardown.ts';
import { campaign } from './campaign.ts';

const { values } = parseArgs({ options: { points: { type: 'string', default: '200' }, seed: { type: 'string', default: '1' }, help: { type: 'boolean', default: false } } });
if (values.help) {
  process.stdout.write('npm run kill -- [--points 200] [--seed 1]\n');
  process.exit(0);
}
await globalSetup();
try {
  const report = await campaign({ seed: Number(values.seed), kills: Number(values.points), log: (line) => process.stderr.write(`${line}\n`) });
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  const broken = report.duplicates.length + report.disagreements.length + Object.keys(report.findings).length + report.undriven;
  process.exitCode = broken > 0 || report.ends['succeeded'] !== report.tasks ? 1 : 0;
} finally {
  await globalTeardown();
}
