/** Worker processes of the end-to-end tests. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { compiled } from './compiled.ts';
import type { E2eWorkerSettings } from './e2e-worker.ts';
import { within } from './waiting.ts';

export interface WorkerProcess {
  readonly holder: string;
  readonly pid: number;
  /** What it wrote to stderr so far. */
  log(): string;
  signal(name: NodeJS.Signals): void;
  /** How it ended: the exit code, or null with the signal. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

/** Resolves when it is ready. `more`: further environment, and flags of Node's. */
export async function spawnWorker(settings: E2eWorkerSettings, more: { readonly env?: Readonly<Record<string, string>>; readonly flags?: readonly string[] } = {}): Promise<WorkerProcess> {
  const env: NodeJS.ProcessEnv = { ...process.env, ...more.env, E2E_WORKER: JSON.stringify(settings) };
  // A test runner's own flags are none of the worker's business.
  delete env['NODE_OPTIONS'];
  const child: ChildProcess = spawn(process.execPath, [...(more.flags ?? []), compiled('test/support/e2e-worker.ts')], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'exit').then(([code, signal]) => ({ code: code as number | null, signal: signal as NodeJS.Signals | null }));
  let log = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    log = (log + chunk.toString('utf8')).slice(-200_000);
    if (process.env['E2E_LOG'] !== undefined) process.stderr.write(chunk);
  });
  if (child.stdout === null) throw new Error('the worker has no stdout');
  const ready = once(createInterface({ input: child.stdout }), 'line').then(([line]) => JSON.parse(String(line)) as { holder: string });
  const first = await within('a worker is ready', Promise.race([ready, ended])).catch((error: unknown) => {
    child.kill('SIGKILL');
    throw error;
  });
  if (!('holder' in first)) throw new Error(`the worker ended before it was ready: ${log}`);
  return { holder: first.holder, pid: child.pid ?? 0, log: () => log, signal: (name) => child.kill(name), ended };
}
