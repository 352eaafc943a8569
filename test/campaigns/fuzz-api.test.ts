/** A short form of `npm run fuzz:api`, at a fixed seed, for CI alone, since it installs a program: nothing that the description allows or forbids makes a 500 or an undocumented answer. */
import { expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { schemathesisProgram } from '../../scripts/fuzz-program.ts';

const lacksFuzzer = ((): boolean => {
  if (process.env['CI'] === undefined) return true;
  try {
    schemathesisProgram();
    return false;
  } catch {
    return true;
  }
})();

(lacksFuzzer ? test.skip : test)('the API keeps its description', async () => {
  const env = { ...process.env, NODE_OPTIONS: '' };
  const run = promisify(execFile)(process.execPath, ['--import', 'tsx', 'scripts/fuzz-api.ts', '--seed', '7', '--max-examples', '4', '--phases', 'fuzzing'], { env, maxBuffer: 32 * 1024 * 1024 });
  const { stdout } = await run.catch((error: unknown) => { throw new Error(String((error as { stdout?: string }).stdout)); });
  const [, generated, passed] = /(\d+) generated, (\d+) passed/.exec(stdout) ?? [];
  expect(Number(generated)).toBeGreaterThan(100);
  expect(passed).toBe(generated);
}, 180_000);
