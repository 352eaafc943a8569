/** A program with a stack, for tests that kill it: prints one line of JSON when the stack is up, or its error's code. */
import { startStack } from '../../src/dev/index.ts';
import { ThroughlineError } from '../../src/errors.ts';
import { nextStopSignal } from '../../src/dev/stop-signal.ts';

const [dataDir = '', cacheDir = '', temporal = 'with'] = process.argv.slice(2);
const say = (what: unknown): void => {
  process.stdout.write(`${JSON.stringify(what)}\n`);
};
// Heard before anything is said: whoever reads the line may send the signal at once.
const stop = nextStopSignal();
const logged: string[] = [];
const options = {
  dataDir,
  cacheDir,
  log: (line: string): void => {
    logged.push(line);
  },
};

try {
  const stack = temporal === 'with' ? await startStack(options) : await startStack({ ...options, temporal: false });
  say({ ...stack, logged });
  await stop;
  await stack.stop();
  say({ stopped: true });
} catch (error) {
  say(error instanceof ThroughlineError ? error : { code: String(error) });
  process.exit(1);
}
