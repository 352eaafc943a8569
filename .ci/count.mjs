/**
 * Prints "N passed, N failed" from the result files of jest's runs: `count.mjs CHECK FILE EXIT [FILE EXIT ...]`. A suite
 * that could not run counts as one failure, so do a failed check and a runner that ended badly although every test
 * passed. A run without a file: no count, exit code 1.
 */
import console from 'node:console';
import { readFileSync } from 'node:fs';
import process from 'node:process';

const [check = '1', ...runs] = process.argv.slice(2);

function resultOf(file, exit) {
  let result;
  try {
    result = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    console.error(`ci: the test runner left no result (${error.message}); it ended with ${exit}`);
    process.exit(1);
  }
  const { numPassedTests, numFailedTests, numRuntimeErrorTestSuites } = result;
  if (![numPassedTests, numFailedTests, numRuntimeErrorTestSuites].every(Number.isInteger)) {
    console.error("ci: the result file is not one of jest's");
    process.exit(1);
  }
  let failed = numFailedTests + numRuntimeErrorTestSuites;
  if (exit !== '0' && failed === 0) {
    console.error(`ci: the test runner ended with ${exit} although no test failed`);
    failed += 1;
  }
  if (numPassedTests === 0) {
    console.error('ci: no test passed');
    failed = Math.max(failed, 1);
  }
  for (const suite of result.testResults.filter(({ status }) => status === 'failed')) console.error(`ci: failed: ${suite.name}`);
  return { passed: numPassedTests, failed };
}

let [passed, failed] = [0, 0];
if (runs.length === 0) {
  console.error('ci: nothing ran');
  process.exit(1);
}
for (let n = 0; n < runs.length; n += 2) {
  const one = resultOf(runs[n], runs[n + 1] ?? '1');
  passed += one.passed;
  failed += one.failed;
}
if (check !== '0') {
  console.error('ci: `npm run check` failed');
  failed += 1;
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
