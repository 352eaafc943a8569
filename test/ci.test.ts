/** The count that CI ends with is the runner's real one. */
import { describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Runs the counter on a result file (undefined: none). */
function count(result: object | undefined, check = '0', runner = '0'): { last: string | undefined; code: number | null } {
  const folder = mkdtempSync(join(tmpdir(), 'throughline-ci-'));
  try {
    const file = join(folder, 'result.json');
    if (result !== undefined) writeFileSync(file, JSON.stringify(result));
    const { stdout, status } = spawnSync(process.execPath, ['.ci/count.mjs', file, check, runner], { encoding: 'utf8' });
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
    ['all passed', count(result(12, 0)), '12 passed, 0 failed', 0],
    ['failed tests', count(result(12, 3), '0', '1'), '12 passed, 3 failed', 1],
    ['suites that could not run', count(result(12, 1, 2), '0', '1'), '12 passed, 3 failed', 1],
    ['a failed check', count(result(12, 0), '2'), '12 passed, 1 failed', 1],
    ['a runner that crashed at its end', count(result(12, 0), '0', '137'), '12 passed, 1 failed', 1],
    ['no test at all', count(result(0, 0)), '0 passed, 1 failed', 1],
    ['no result', count(undefined, '0', '1'), '', 1],
    ['a foreign result', count({ testResults: [] }), '', 1],
  ])('%s', (_, said, last, code) => {
    expect(said).toEqual({ last, code });
  });
});
