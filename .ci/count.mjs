/**
 * Prints "N passed, N failed" from jest's result file. A suite that could not run counts as one failure, so do
 * a failed check and a runner that ended badly although every test passed. No file: no count, exit code 1.
 */
import console from 'node:console';
import { readFileSync } from 'node:fs';
import process from 'node:process';

const [file = '', check = '1', runner = '1'] = process.argv.slice(2);

let result;
try {
  result = JSON.parse(readFileSync(file, 'utf8'));
} catch (error) {
  console.error(`ci: the test runner left no result (${error.message}); it ended with ${runner}`);
  process.exit(1);
}

const { numPassedTests, numFailedTests, numRuntimeErrorTestSuites } = result;
if (![numPassedTests, numFailedTests, numRuntimeErrorTestSuites].every(Number.isInteger)) {
  console.error("ci: the result file is not one of jest's");
  process.exit(1);
}

let failed = numFailedTests + numRuntimeErrorTestSuites;
if (check !== '0') {
  console.error('ci: `npm run check` failed');
  failed += 1;
}
if (runner !== '0' && failed === 0) {
  console.error(`ci: the test runner ended with ${runner} although no test failed`);
  failed += 1;
}
if (numPassedTests === 0) {
  console.error('ci: no test passed');
  failed = Math.max(failed, 1);
}
for (const suite of result.testResults.filter(({ status }) => status === 'failed')) console.error(`ci: failed: ${suite.name}`);
console.log(`${numPassedTests} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
