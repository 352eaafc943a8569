/** Ctrl-C and SIGTERM as a promise, so that a program stops its parts in its own order. */

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * `npm run` passes on what the terminal or service manager has sent to the whole group already: the same wish
 * arrives twice within milliseconds. Nobody presses Ctrl-C twice that fast.
 */
const ECHO_MS = 500;
/** How soon a program under `npm run` sees that the shell above it has gone. It also keeps the program alive. */
const LOOK_MS = 500;

/**
 * `npm run` passes SIGTERM to the shell that it started, which ends without passing it on: the program below would
 * run on with nobody to stop it. (A script that begins with `exec` has no shell.) Elsewhere a parent that goes says
 * nothing: programs are put into the background that way.
 */
function npmShellOf(env: NodeJS.ProcessEnv): { gone(): boolean } {
  const parent = process.ppid;
  const underNpm = (env['npm_lifecycle_event'] ?? '') !== '';
  return { gone: () => underNpm && process.ppid !== parent };
}

/**
 * Resolves at the first of them and keeps the program alive until then. A second one, if it is no echo of the
 * first, ends it at once, with the usual exit code.
 */
export async function nextStopSignal(): Promise<NodeJS.Signals> {
  return await new Promise((resolve) => {
    const shell = npmShellOf(process.env);
    const look = setInterval(() => {
      if (shell.gone()) onSignal('SIGTERM');
    }, LOOK_MS);
    const onSignal = (signal: NodeJS.Signals): void => {
      clearInterval(look);
      const first_ms = performance.now();
      for (const name of STOP_SIGNALS) {
        process.off(name, onSignal);
        process.on(name, () => {
          if (performance.now() - first_ms < ECHO_MS) return;
          process.exit(name === 'SIGINT' ? 130 : name === 'SIGTERM' ? 143 : 129);
        });
      }
      resolve(signal);
    };
    for (const name of STOP_SIGNALS) process.on(name, onSignal);
  });
}
