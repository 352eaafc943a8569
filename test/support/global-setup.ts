/**
 * One Postgres and one Temporal for the whole run, in a folder of their own, so that a `npm run dev`
 * beside it is never met. Servers named by THROUGHLINE_TEST_DATABASE_URL and TEMPORAL_ADDRESS are used
 * as they are.
 */
import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startStack, type Stack } from '../../src/dev/stack.ts';
import { compile } from './compiled.ts';
import { publishStack } from './stack.ts';

declare global {
  /** Handed from global setup to global teardown, which jest runs in the same process. */
  var throughlineTestStack: Stack | undefined;
  var throughlineTestBuild: string | undefined;
}

const POSTGRES_SETTINGS = {
  // Many databases with pools of their own, in two jest workers and the processes that they start.
  max_connections: '300',
  // The data are thrown away after the run, and no test pulls the plug of the machine: waiting for the disk
  // would prove nothing. A crash of the server itself loses nothing without fsync.
  fsync: 'off',
  synchronous_commit: 'on',
  full_page_writes: 'off',
};

export default async function globalSetup(): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'throughline-test-'));
  // For the postgres user, where the tests run as root.
  await chmod(dataDir, 0o755);
  const starting = startStack({
    dataDir,
    databaseUrl: process.env['THROUGHLINE_TEST_DATABASE_URL'],
    temporalStorage: 'memory',
    temporary: true,
    postgresSettings: POSTGRES_SETTINGS,
    log: (line) => process.stderr.write(`${line}\n`),
  });
  const built = await mkdtemp(join(tmpdir(), 'throughline-build-'));
  await chmod(built, 0o755);
  const [stack] = await Promise.all([starting, compile(built)]);
  globalThis.throughlineTestStack = stack;
  globalThis.throughlineTestBuild = built;
  const { databaseUrl, temporalAddress, temporalNamespace } = stack;
  publishStack({ databaseUrl, temporalAddress, temporalNamespace });
}
