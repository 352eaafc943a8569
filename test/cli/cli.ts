/** Runs the command line as a process of its own, as a person or script does. */
import { afterAll } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { compiled } from '../support/compiled.ts';

/** In TypeScript, with a copy of this package of its own. */
export const TASKS = resolve('test/cli/fixtures/tasks.ts');
/** A command that has not ended by then is ended: its test fails with what it said. */
const HANGS_MS = 45_000;
/** Nothing listens there. */
export const TEMPORAL_AWAY = '127.0.0.1:1';

/** As it is in the repository, compiled on the way; the others are compiled before. */
export const FROM_SOURCE = ['--import', 'tsx', resolve('src/cli/main.ts')];
/** Compiled, as it is published: what a user runs is this. */
export const mainFile = (): string => compiled('src/cli/main.ts');

const running = new Set<ChildProcess>();

afterAll(async () => {
  // What a failed test left over, with everything that it started.
  for (const { pid } of running) {
    try {
      if (pid !== undefined) process.kill(-pid, 'SIGKILL');
    } catch {
      // It has gone in the meantime.
    }
  }
});

export interface Said {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly input?: string | Buffer;
  readonly cwd?: string;
}

/** Our own variables and those of colours are only what the test says. */
export function environment(env: RunOptions['env'] = {}): NodeJS.ProcessEnv {
  const ours = /^(THROUGHLINE_|TEMPORAL_|DATABASE_URL$|NO_COLOR$|FORCE_COLOR$|COLUMNS$|NODE_OPTIONS$|npm_)/;
  const rest = Object.fromEntries(Object.entries(process.env).filter(([name]) => !ours.test(name)));
  return { ...rest, ...env };
}

export const cli = (args: readonly string[], options: RunOptions = {}): Promise<Said> => runNode([mainFile(), ...args], options);

export async function runNode(args: readonly string[], { env, input, cwd = process.cwd() }: RunOptions = {}): Promise<Said> {
  const child = spawn(process.execPath, args, { cwd, env: environment(env), stdio: ['pipe', 'pipe', 'pipe'], timeout: HANGS_MS });
  const said = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said.stderr += text));
  // A program that refuses early does not read its input.
  child.stdin.on('error', () => undefined).end(input ?? '');
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...said };
}

/** The one document on stdout; fails if there is anything else. */
export function documentOf({ stdout, stderr }: Said): unknown {
  try {
    return JSON.parse(stdout);
  } catch {
    throw new Error(`not one JSON document: ${JSON.stringify({ stdout, stderr })}`);
  }
}

export interface Failure {
  readonly error: { readonly code: string; readonly message: string; readonly path?: string; readonly limit?: unknown; readonly paths?: readonly string[]; readonly facts?: Readonly<Record<string, unknown>> };
}

export interface Running {
  readonly child: ChildProcess;
  /** The next line on stdout. */
  readonly line: () => Promise<string>;
  readonly stderr: () => string;
  /** Exit code and signal. */
  readonly ended: Promise<readonly [code: number | null, signal: NodeJS.Signals | null]>;
}

/** Starts a program that stays; in a process group of its own, as a terminal does. */
export function start(command: string, args: readonly string[], { env, cwd = process.cwd() }: RunOptions = {}): Running {
  const child = spawn(command, args, { cwd, env: environment(env), stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  running.add(child);
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  void ended.then(() => running.delete(child));
  return {
    child,
    stderr: () => stderr,
    ended,
    line: async () => {
      const { value } = (await lines.next()) as { value: string | undefined };
      if (value === undefined) throw new Error(`ended without a word: ${stderr}`);
      return value;
    },
  };
}

export const startCli = (args: readonly string[], options: RunOptions): Running => start(process.execPath, [mainFile(), ...args], options);
