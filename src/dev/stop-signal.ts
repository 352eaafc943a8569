/** Ctrl-C and SIGTERM as a promise, so that a program stops its parts in its own order. */

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** The longest delay that a timer takes. */
const FOR_EVER_MS = 2 ** 31 - 1;

/**
 * `npm run` passes on what the terminal or service manager has sent to the whole group already: the same wish
 * arrives twice within milliseconds. Nobody presses Ctrl-C twice that fast.
 */
const ECHO_MS = 500;

/**
 * Resolves at the first of them and keeps the program alive until then. A second one, if it is no echo of the
 * first, ends it at once, with the usual exit code.
 */
export async function nextStopSignal(): Promise<NodeJS.Signals> {
  return await new Promise((resolve) => {
    const alive = setInterval(() => undefined, FOR_EVER_MS);
    const onSignal = (signal: NodeJS.Signals): void => {
      clearInterval(alive);
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
