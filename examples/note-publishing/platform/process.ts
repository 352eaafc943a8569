/** Starts the publishing platform as a process of its own: for the demo, the tests and fault campaigns. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { PlatformAdmin } from './admin-client.ts';

export interface PlatformProcessOptions {
  /** Folder of its journal; give the same one again to start it on what it knew. */
  readonly data: string;
  /** Default 0: a free one. A restart under the same address needs a number. */
  readonly port?: number;
  /** Further flags of `main.ts`, for example `['--no-keys']`. */
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** How long it may take to be ready; default 20,000 ms. */
  readonly readyWithinMs?: number;
  /** A compiled `main.js` to run; default: the program beside this file. */
  readonly program?: string;
}

export interface PlatformProcess {
  readonly address: string;
  readonly port: number;
  readonly pid: number;
  readonly admin: PlatformAdmin;
  /** SIGTERM; resolves with the exit code (null: ended by a signal). */
  stop(): Promise<number | null>;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
}

/** Resolves when it is ready. Rejects with what it wrote to stderr when it ends before, or is not ready in time. */
export async function startPlatformProcess(options: PlatformProcessOptions): Promise<PlatformProcess> {
  const main = options.program ?? fileURLToPath(new URL('main.ts', import.meta.url));
  const env = { ...process.env, ...options.env };
  // A test runner's own flags are none of the platform's business.
  delete env['NODE_OPTIONS'];
  const args = [...(main.endsWith('.ts') ? ['--import', 'tsx'] : []), main, '--data', options.data, '--port', String(options.port ?? 0)];
  const child = spawn(process.execPath, [...args, '--stop-on-stdin-end', ...(options.flags ?? [])], {
    env,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let complaint = '';
  child.stderr.on('data', (chunk: Buffer) => {
    complaint = (complaint + chunk.toString('utf8')).slice(-4_000);
  });
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  const lines = createInterface({ input: child.stdout });
  const late = AbortSignal.timeout(options.readyWithinMs ?? 20_000);
  try {
    const first = once(lines, 'line', { signal: late }).then(([line]) => String(line));
    const line = await Promise.race([first, ended.then(() => null)]);
    first.catch(() => undefined);
    if (line === null) throw new Error('the platform ended before it was ready');
    const ready = JSON.parse(line) as { address: string; pid: number };
    return {
      address: ready.address,
      port: Number(new URL(ready.address).port),
      pid: ready.pid,
      admin: new PlatformAdmin(ready.address),
      stop: async () => {
        child.kill('SIGTERM');
        return ended;
      },
      kill: async () => {
        child.kill('SIGKILL');
        await ended;
      },
    };
  } catch (error) {
    child.kill('SIGKILL');
    throw new Error(`the platform did not start: ${complaint}`, { cause: error });
  }
}
