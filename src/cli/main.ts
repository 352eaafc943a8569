#!/usr/bin/env node
import { sayFailure } from './failure.ts';
import { runProgram } from './program.ts';
import { write } from './terminal.ts';

const argv = process.argv.slice(2);

/** Also where the command line can't be read: `--json` before any `--`. */
function wantsJson(): boolean {
  const end = argv.indexOf('--');
  return (end === -1 ? argv : argv.slice(0, end)).includes('--json');
}

/** A reader that went away (`| head`) is no failure of ours. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? 0 : 74);
});

async function main(): Promise<number> {
  try {
    await runProgram(argv);
    // A command whose answer is more than done says so itself.
    return Number(process.exitCode ?? 0);
  } catch (error) {
    return await sayFailure(error, wantsJson());
  }
}

const exit = await main();
// What libraries keep open (handles of Temporal's core) must not keep a finished command alive.
await write(process.stdout, '');
process.exit(exit);
