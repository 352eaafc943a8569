/** Ctrl-C and SIGTERM as a promise, so that a program stops its parts in its own order. */

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** The longest delay that a timer takes. */
const FOR_EVER_MS = 2 ** 31 - 1;

/** Resolves at the first of them and keeps the program alive until then. A second one ends it at once, with the usual exit code. */
export async function nextStopSignal(): Promise<NodeJS.Signals> {
  return await new Promise((resolve) => {
    const alive = setInterval(() => undefined, FOR_EVER_MS);
    const onSignal = (signal: NodeJS.Signals): void => {
      clearInterval(alive);
      for (const name of STOP_SIGNALS) {
        process.off(name, onSignal);
        process.once(name, () => {
          process.exit(name === 'SIGINT' ? 130 : name === 'SIGTERM' ? 143 : 129);
        });
      }
      resolve(signal);
    };
    for (const name of STOP_SIGNALS) process.on(name, onSignal);
  });
}
