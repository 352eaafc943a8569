/** Starts `stack-program.ts` and looks at the processes and servers around it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { compiled } from '../support/compiled.ts';

/** The installed Temporal CLI is shared with the run's own stack. */
export const CACHE_DIR = resolve('.throughline/temporal');

/** What the program said: a stack, or an error's `code`. */
export interface Said {
  readonly code?: string;
  readonly facts?: Readonly<Record<string, unknown>>;
  readonly databaseUrl: string;
  readonly temporalAddress: string;
  readonly temporalUiUrl: string;
  readonly postgresDir: string;
  readonly dataDir: string;
  readonly logged: readonly string[];
}

export interface Program {
  readonly child: ChildProcess;
  /** The next line of the program. */
  readonly say: () => Promise<Said>;
  /** Sends a signal and waits for the end; the exit code, null after a kill. */
  readonly end: (signal: NodeJS.Signals) => Promise<number | null>;
}

const running = new Set<ChildProcess>();
const folders = new Set<string>();

/** Ours, compiled, or another checkout's from source; `temporal: 'without'` starts Postgres only. */
export function startProgram(
  dataDir: string,
  { temporal = 'with', checkout }: { temporal?: 'with' | 'without'; checkout?: string } = {},
): Program {
  const program = checkout === undefined ? [compiled('test/dev/stack-program.ts')] : ['--import', 'tsx', join(checkout, 'test/dev/stack-program.ts')];
  const child = spawn(process.execPath, [...program, dataDir, CACHE_DIR, temporal], { cwd: checkout, stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, NODE_OPTIONS: '' } });
  running.add(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = once(child, 'exit') as Promise<[number | null]>;
  return {
    child,
    say: async () => {
      const { value } = (await lines.next()) as { value: string | undefined };
      if (value === undefined) throw new Error('the program ended without a word');
      return JSON.parse(value) as Said;
    },
    end: async (signal) => {
      child.kill(signal);
      const [code] = await ended;
      running.delete(child);
      return code;
    },
  };
}

/** A folder that is gone after the test; `mode` as for chmod. */
export async function makeFolder(mode = 0o755): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'throughline-dev-'));
  await chmod(folder, mode);
  folders.add(folder);
  return folder;
}

/** For `afterEach`: ends what a failed test left over. */
export async function cleanUp(): Promise<void> {
  for (const child of running) {
    child.kill('SIGTERM');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
  running.clear();
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
  folders.clear();
}

/** Runs one statement. */
export async function query(databaseUrl: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Waits until the check holds. */
export async function eventually(check: () => Promise<boolean>, within_ms = 30_000): Promise<void> {
  const deadline = performance.now() + within_ms;
  while (!(await check())) {
    if (performance.now() > deadline) throw new Error(`not within ${String(within_ms)} ms`);
    await delay(50);
  }
}
