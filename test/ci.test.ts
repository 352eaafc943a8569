/** The count that CI ends with is the runner's real one. */
import { describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

type Run = readonly [result: object | undefined, exit?: string];

/** Runs the counter on result files (undefined: none). */
function count(runs: readonly Run[], check = '0'): { last: string | undefined; code: number | null } {
  const folder = mkdtempSync(join(tmpdir(), 'throughline-ci-'));
  try {
    const args = runs.flatMap(([result, exit = '0'], n) => {
      const file = join(folder, `${String(n)}.json`);
      if (result !== undefined) writeFileSync(file, JSON.stringify(result));
      return [file, exit];
    });
    const { stdout, status } = spawnSync(process.execPath, ['.ci/count.mjs', check, ...args], { encoding: 'utf8' });
    return { last: stdout.trimEnd().split('\n').at(-1), code: status };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const result = (passed: number, failed: number, suites = 0): object => ({
  numPassedTests: passed,
  numFailedTests: failed,
  numRuntimeErrorTestSuites: suites,
  testResults: [],
});

describe("CI's last line", () => {
  test.each([
    ['all passed', count([[result(12, 0)]]), '12 passed, 0 failed', 0],
    ['two runs', count([[result(12, 0)], [result(3, 0)]]), '15 passed, 0 failed', 0],
    ['failed tests', count([[result(12, 3), '1'], [result(3, 0)]]), '15 passed, 3 failed', 1],
    ['failed tests of the second run', count([[result(12, 0)], [result(3, 1), '1']]), '15 passed, 1 failed', 1],
    ['suites that could not run', count([[result(12, 1, 2), '1']]), '12 passed, 3 failed', 1],
    ['a failed check', count([[result(12, 0)]], '2'), '12 passed, 1 failed', 1],
    ['a runner that crashed at its end', count([[result(12, 0)], [result(3, 0), '137']]), '15 passed, 1 failed', 1],
    ['a run with no test at all', count([[result(12, 0)], [result(0, 0)]]), '12 passed, 1 failed', 1],
    ['no result', count([[result(12, 0)], [undefined, '1']]), '', 1],
    ['no run', count([]), '', 1],
    ['a foreign result', count([[{ testResults: [] }]]), '', 1],
  ])('%s', (_, said, last, code) => {
    expect(said).toEqual({ last, code });
  });
});
