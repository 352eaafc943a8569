/** Free ports on the loopback address. */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { ThroughlineError } from '../errors.ts';

/** Below the range from which the systems take ports for outgoing connections, so that none of those gets in between. */
const RANGE = [20_000, 32_000] as const;
const TRIES_MAX = 200;

/** True if nothing listens on 127.0.0.1:port at this moment. */
export async function isFree(port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => {
      resolve(false);
    });
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      probe.close(() => {
        resolve(true);
      });
    });
  });
}

/**
 * A port to listen on. `demanded` must be free; `remembered` is taken if it still is; else a random
 * one. Two programs may choose the same one: whoever starts the server tries again.
 * @throws STACK_FAILED if a demanded port is taken, with the port in `facts`.
 */
export async function choosePort(wish: {
  readonly demanded?: number | undefined;
  readonly remembered?: number | undefined;
  readonly taken: Set<number>;
}): Promise<number> {
  const { demanded, remembered, taken } = wish;
  if (demanded !== undefined) {
    if (taken.has(demanded) || !(await isFree(demanded))) {
      throw new ThroughlineError('STACK_FAILED', {
        message: `Port ${String(demanded)} on 127.0.0.1 is in use: free it or choose another one`,
        facts: { port: demanded },
      });
    }
    taken.add(demanded);
    return demanded;
  }
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const port = tries === 0 && remembered !== undefined ? remembered : randomInt(...RANGE);
    if (taken.has(port)) continue;
    // Reserved before the look: the servers of a stack choose at the same time.
    taken.add(port);
    if (await isFree(port)) return port;
  }
  throw new ThroughlineError('STACK_FAILED', { message: `No free port on 127.0.0.1 after ${String(TRIES_MAX)} tries` });
}
