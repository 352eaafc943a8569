/** `npm run chaos -- --seed N --minutes M`: the long form of test/campaigns/chaos.test.ts. Prints its report as JSON; exits with 1 where a promise was broken. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { compile } from '../support/compiled.ts';
import { broken, chaos } from './campaign.ts';

const { values } = parseArgs({ options: { seed: { type: 'string', default: '1' }, minutes: { type: 'string', default: '30' }, tasks: { type: 'string' }, kills: { type: 'string', default: '20' }, help: { type: 'boolean', default: false } } });
if (values.help) {
  process.stdout.write('npm run chaos -- [--seed 1] [--minutes 30] [--tasks 170 a minute] [--kills 20]\n');
  process.exit(0);
}
const minutes = Number(values.minutes);
const began = performance.now();
const built = await mkdtemp(join(tmpdir(), 'throughline-build-'));
try {
  await compile(built);
  const report = await chaos({ seed: Number(values.seed), minutes, tasks: Number(values.tasks ?? Math.ceil(170 * minutes)), kills: Number(values.kills), log: (line) => process.stderr.write(`${((performance.now() - began) / 1_000).toFixed(1)} s  ${line}\n`) });
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  const wrong = broken(report);
  for (const line of wrong) process.stderr.write(`BROKEN ${line}\n`);
  process.exitCode = wrong.length > 0 ? 1 : 0;
} finally {
  await rm(built, { recursive: true, force: true });
}
// Whatever a broken connection left open must not keep a finished run alive.
process.exit();
