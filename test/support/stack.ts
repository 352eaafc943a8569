/** The one stack of a test run: where it is, for tests and for global setup. */

/** Addresses of the servers that the whole run shares. Tests isolate themselves by database and task queue. */
export interface StackAddresses {
  /** A superuser's URL: tests make databases of their own from it. */
  readonly databaseUrl: string;
  /** host:port. */
  readonly temporalAddress: string;
  readonly temporalNamespace: string;
}

const VARIABLE = 'THROUGHLINE_TEST_STACK';

/** For global setup: jest's workers inherit the environment. */
export function publishStack(addresses: StackAddresses): void {
  process.env[VARIABLE] = JSON.stringify(addresses);
}

/** The addresses of this run's servers. @throws if global setup did not run. */
export function stackAddresses(): StackAddresses {
  const text = process.env[VARIABLE];
  if (text === undefined) throw new Error('No test stack: run the tests with `npm test`');
  return JSON.parse(text) as StackAddresses;
}
