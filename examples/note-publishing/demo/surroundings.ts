/** What the demo runs in: the local stack, the platform, a worker, each a process of its own; and the receipt intake. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createClient, Database, migrate } from '../../../src/index.ts';
import type { ThroughlineClient } from '../../../src/index.ts';
import { startStack } from '../../../src/dev/index.ts';
import type { Stack } from '../../../src/dev/index.ts';
import { startIntake } from '../intake.ts';
import type { RunningIntake } from '../intake.ts';
import { startPlatformProcess } from '../platform/process.ts';
import type { PlatformProcess } from '../platform/process.ts';

/** Short times, so that the stories fit into a minute. */
export const TIMES = { CALL_TIMEOUT_MS: '1500', VISIBLE_WITHIN_MS: '500', RECEIPT_WITHIN_MS: '60000', RETRY_MS: '2500', LOOK_MS: '300', LEASE_MS: '5000' } as const;

export interface Surroundings {
  readonly stack: Stack;
  readonly platform: PlatformProcess;
  readonly client: ThroughlineClient;
  /** A second one, which takes every request as new. */
  readonly keyless: PlatformProcess;
  /** Ends the worker process as a crash would (SIGKILL), and starts another; resolves when that one is ready. */
  readonly replaceWorker: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

type Stop = () => Promise<unknown>;

/** Starts everything in order; what was started is stopped again if a later part fails. */
export async function startSurroundings(log: (line: string) => void): Promise<Surroundings> {
  const stops: Stop[] = [];
  const stop = async (): Promise<void> => {
    for (const part of stops.splice(0).reverse()) await part().catch((error: unknown) => { log(`stopping: ${String(error)}`); });
  };
  try {
    const stack = await startStack({ dataDir: '.throughline/demo', temporalStorage: 'memory', temporary: true, log });
    stops.push(() => stack.stop());
    const database = new Database({ url: stack.databaseUrl });
    await migrate(database);
    await database.end();
    const client = createClient({ databaseUrl: stack.databaseUrl, temporal: { address: stack.temporalAddress, namespace: stack.temporalNamespace }, by: 'demo' });
    stops.push(() => client.close());
    const intake = await startReceipts(client, log);
    stops.push(() => intake.close());
    const platform = await startPlatformProcess({ data: join(stack.dataDir, 'platform') });
    stops.push(() => platform.stop());
    const keyless = await startPlatformProcess({ data: join(stack.dataDir, 'keyless'), flags: ['--no-keys'] });
    stops.push(() => keyless.stop());
    const settings = {
      ...TIMES,
      THROUGHLINE_DATABASE_URL: stack.databaseUrl,
      TEMPORAL_ADDRESS: stack.temporalAddress,
      TEMPORAL_NAMESPACE: stack.temporalNamespace,
      THROUGHLINE_ARTIFACT_DIR: join(stack.dataDir, 'artifacts'),
      PLATFORM_ADDRESS: platform.address,
      KEYLESS_PLATFORM_ADDRESS: keyless.address,
      RECEIPTS_URL: intake.url,
    };
    let worker = await startWorker(settings);
    stops.push(() => endProcess(worker));
    const replaceWorker = async (): Promise<void> => {
      const gone = once(worker, 'exit');
      worker.kill('SIGKILL');
      await gone;
      worker = await startWorker(settings);
    };
    return { stack, platform, keyless, client, replaceWorker, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The platform's receipts go to the ledger under its name; they are stored even while Temporal is down. */
export function startReceipts(client: ThroughlineClient, log: (line: string) => void): Promise<RunningIntake> {
  return startIntake({
    deliver: ({ deliveryId, taskId, step, threadId, inReplyTo, kind, externalId, code, artifact, text }) =>
      client.deliverReceipt({
        deliveryId, sender: 'platform', task: taskId ?? 'none', step: step ?? 'none', threadId, inReplyTo, kind, externalId, code,
        ...(artifact === null ? {} : { artifact: { ...artifact } }), text,
      }),
    onError: (error) => { log(`a receipt could not be stored: ${String(error)}`); },
  });
}

/** The example's worker as a process; resolves when it is ready. */
export async function startWorker(env: Readonly<Record<string, string>>): Promise<ChildProcess> {
  const inherited: NodeJS.ProcessEnv = { ...process.env };
  // A test runner's own flags are none of the worker's business.
  delete inherited['NODE_OPTIONS'];
  const child = spawn(process.execPath, ['--import', 'tsx', fileURLToPath(new URL('../worker.ts', import.meta.url))], {
    env: { ...inherited, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit').then(() => null);
  const ready = once(createInterface({ input: child.stdout }), 'line');
  if ((await Promise.race([ready, ended])) === null) throw new Error('the worker ended before it was ready');
  return child;
}

async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}
