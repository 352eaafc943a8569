/** Runs a program for a handler, and reads how it ended: exit code, signal, and the last of what it said. */
import { spawn, type ChildProcess, type ChildProcessByStdio, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { accessSync, constants as modes, statSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { constants } from 'node:os';
import { durationMs } from '../define/duration.ts';
import { TaskError } from '../define/failures.ts';
import { at, refuse, type Place } from '../define/place.ts';
import type { Duration } from '../define/types.ts';
import { LIMITS } from '../state/index.ts';
import type { Category } from '../state/index.ts';
import { Tail } from './tail.ts';
import type { Captured } from './tail.ts';

export interface ProgramOptions {
  /** A path, or a name that is looked up in PATH. No shell is involved: arguments are never split or expanded. */
  readonly program: string;
  readonly args?: readonly string[];
  readonly cwd?: string;
  /** Beside PATH, HOME, TMPDIR, LANG, LC_ALL and TZ, the only ones that are passed on: a worker's environment holds secrets. */
  readonly env?: Readonly<Record<string, string>>;
  /** Written to its standard input, which is then closed. Default: empty. */
  readonly input?: string | Uint8Array;
  /** The longest that it may run; then it is stopped. Default 10 min. */
  readonly timeout?: Duration;
  /** Between SIGTERM and SIGKILL. Default 750 ms: an attempt that is over waits a second for its handler. */
  readonly grace?: Duration;
  /** Kept of each output, from its end. Default 16 KiB, at most 1 MiB. */
  readonly keepBytes?: number;
  /** Exit codes that are no failure. Default: 0 alone. */
  readonly success?: readonly number[];
  /** What other exit codes mean; goes before `EXIT_CATEGORIES`. */
  readonly exits?: Readonly<Record<number, Category>>;
  /** What signals mean that were not sent from here; goes before `SIGNAL_CATEGORIES`. */
  readonly signals?: Readonly<Partial<Record<NodeJS.Signals, Category>>>;
}

/** It ended by itself with one of the codes of `success`. That is no proof that it did what it should: check what it made. */
export interface ProgramResult {
  readonly exitCode: number;
  readonly stdout: Captured;
  readonly stderr: Captured;
  readonly durationMs: number;
}

export interface ProgramEnd {
  /** null: a signal ended it, or it was never started. */
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: Captured;
  readonly stderr: Captured;
  readonly durationMs: number;
}

/**
 * The program failed. `code` is EXIT_n, a signal's name, TIMED_OUT or NOT_STARTED; the category decides whether the
 * attempt is repeated. The message, which the ledger keeps, ends with the last of stderr.
 */
export class ProgramError extends TaskError {
  readonly end: ProgramEnd;

  constructor(category: Category, message: string, code: string, end: ProgramEnd, cause?: unknown) {
    super(category, message, cause === undefined ? { code } : { code, cause });
    this.end = end;
  }
}

/** Codes with a meaning of their own: sysexits.h, `timeout`, shells. Every other one is `programming_error`: it would come again. */
export const EXIT_CATEGORIES: Readonly<Record<number, Category>> = {
  65: 'invalid_input', 66: 'invalid_input', 69: 'unavailable', 71: 'unavailable', 73: 'unavailable', 74: 'unavailable', 75: 'unavailable', 77: 'authorization_revoked', 124: 'timeout',
};
/** SIGKILL is what the kernel sends when memory is short, and what ends a whole worker; a crash would come again. */
export const SIGNAL_CATEGORIES: Readonly<Partial<Record<NodeJS.Signals, Category>>> = {
  SIGSEGV: 'programming_error', SIGABRT: 'programming_error', SIGBUS: 'programming_error', SIGFPE: 'programming_error', SIGILL: 'programming_error', SIGSYS: 'programming_error',
  SIGTRAP: 'programming_error', SIGXCPU: 'timeout',
};
const SIGNAL_CATEGORY: Category = 'worker_lost';
/** A shell says with 128 + n that signal n ended its command. */
const SHELL_SIGNALS = 128;

const PASSED_ON = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'LC_ALL', 'TZ'] as const;
const KEEP_BYTES_DEFAULT = 16 * 1024;
const KEEP_BYTES_MAX = 1024 * 1024;
/** Of stderr, in the message. */
const SAID_CHARS_MAX = 1_000;
/** After its end, what the program started may hold its outputs open this much longer. */
const DRAIN_MS = 500;
/** Beside the program: told the group, it kills it when the pipe to us ends without another word, however we went. */
const WATCHER = 'read -r group && { read -r _ || kill -s KILL -- "-$group"; }';
/** What is started: it becomes the program ($0) at the word that the watcher knows its group, and nothing if we are gone before. */
const gate = (env: NodeJS.ProcessEnv): string => `read -r _ <&3 || exit 1; exec 3<&-; unset ${SHELLS_OWN.filter((name) => !(name in env)).join(' ')}; exec "$0" "$@"`;
/** What shells add to the environment by themselves. */
const SHELLS_OWN = ['PWD', 'OLDPWD', 'SHLVL'];
const PLACE: Place = { label: 'A program', path: '' };

/**
 * Runs it in a process group of its own. When it takes too long or `signal` aborts (a cancel, a lost lease, a
 * shutdown: `ctx.signal`), the group gets SIGTERM, then SIGKILL; what it started and left behind is killed after its
 * end, too, and all of it if this process dies. Throws ProgramError, or the reason of `signal` once the group is gone.
 * Errors: DEFINITION_INVALID for bad options.
 */
export async function runProgram({ signal }: { readonly signal: AbortSignal }, options: ProgramOptions): Promise<ProgramResult> {
  const settings = checked(options);
  signal.throwIfAborted();
  const run = started(options, settings);
  const stopForAbort = (): void => { run.stop('aborted'); };
  signal.addEventListener('abort', stopForAbort, { once: true });
  try {
    const end = await run.ended;
    if (run.stopped === 'aborted') throw signal.reason;
    if (run.stopped === 'timeout') throw new ProgramError('timeout', said(options, `took longer than ${String(settings.timeoutMs)} ms and was stopped`, end), 'TIMED_OUT', end);
    if (end.exitCode !== null && settings.success.has(end.exitCode)) return { exitCode: end.exitCode, stdout: end.stdout, stderr: end.stderr, durationMs: end.durationMs };
    throw failed(options, end);
  } finally {
    signal.removeEventListener('abort', stopForAbort);
  }
}

/** Some errors of starting are thrown at once, others are told later. */
function started(options: ProgramOptions, settings: Settings): Run {
  try {
    return new Run(options, settings);
  } catch (error) {
    const none: Captured = { text: '', bytes: 0, cut: 0 };
    throw notStarted(options, error as NodeJS.ErrnoException, { exitCode: null, signal: null, stdout: none, stderr: none, durationMs: 0 });
  }
}

interface Settings {
  readonly timeoutMs: number;
  readonly graceMs: number;
  readonly keepBytes: number;
  readonly success: ReadonlySet<number>;
}

function checked({ program, timeout, grace, keepBytes = KEEP_BYTES_DEFAULT, success = [0] }: ProgramOptions): Settings {
  if (typeof program !== 'string' || program === '' || program.includes('\0')) refuse(at(PLACE, 'program'), 'program must be a path or a name');
  if (!Number.isInteger(keepBytes) || keepBytes < 1 || keepBytes > KEEP_BYTES_MAX) refuse(at(PLACE, 'keepBytes'), `keepBytes is ${String(keepBytes)}, but must be a whole number`, `1 to ${String(KEEP_BYTES_MAX)}`);
  const ms = (key: string, value: Duration, min: number): number => durationMs(PLACE, [key], value, { min, max: LIMITS.attempt_timeout_ms_max });
  return { timeoutMs: ms('timeout', timeout ?? LIMITS.attempt_timeout_ms_default, 1), graceMs: ms('grace', grace ?? 750, 0), keepBytes, success: new Set(success) };
}

type Watcher = ChildProcessByStdio<Writable, null, null>;

class Run {
  readonly ended: Promise<ProgramEnd>;
  #stopped: 'timeout' | 'aborted' | null = null;
  readonly #child: ChildProcess;
  readonly #graceMs: number;
  #killing: NodeJS.Timeout | undefined;

  constructor(options: ProgramOptions, { timeoutMs, graceMs, keepBytes }: Settings) {
    this.#graceMs = graceMs;
    const startedAt = performance.now();
    const watcher = startWatcher();
    const child = startProgram(options, watcher);
    this.#child = child;
    const [stdout, stderr] = [new Tail(keepBytes), new Tail(keepBytes)];
    child.stdout.on('data', (chunk: Buffer) => { stdout.add(chunk); });
    child.stderr.on('data', (chunk: Buffer) => { stderr.add(chunk); });
    // A program need not read its input.
    child.stdin.on('error', () => undefined).end(options.input ?? '');
    const deadline = setTimeout(() => { this.stop('timeout'); }, timeoutMs);
    this.ended = new Promise<ProgramEnd>((resolve, reject) => {
      let drain: NodeJS.Timeout | undefined;
      const endOf = (exitCode: number | null, signal: NodeJS.Signals | null): ProgramEnd => ({ exitCode, signal, stdout: stdout.captured(), stderr: stderr.captured(), durationMs: Math.round(performance.now() - startedAt) });
      child.on('error', (error: NodeJS.ErrnoException) => {
        // After the start, only a signal that could not be sent is reported here.
        if (child.pid === undefined) reject(notStarted(options, error, endOf(null, null)));
      });
      child.on('exit', () => {
        drain = setTimeout(() => {
          this.#kill('SIGKILL');
          child.stdout.destroy();
          child.stderr.destroy();
        }, DRAIN_MS);
      });
      child.on('close', (exitCode, signal) => {
        clearTimeout(drain);
        resolve(endOf(exitCode, signal));
      });
    }).finally(() => {
      clearTimeout(deadline);
      clearTimeout(this.#killing);
      this.#kill('SIGKILL');
      watcher.stdin.end('\n');
    });
  }

  /** Why it was stopped from here; null: it was not. */
  get stopped(): 'timeout' | 'aborted' | null {
    return this.#stopped;
  }

  stop(why: 'timeout' | 'aborted'): void {
    if (this.#stopped !== null) return;
    this.#stopped = why;
    this.#kill('SIGTERM');
    this.#killing = setTimeout(() => { this.#kill('SIGKILL'); }, this.#graceMs);
  }

  /** The whole group; there may be nobody left in it. */
  #kill(signal: NodeJS.Signals): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch {
      // Gone.
    }
  }
}

function startProgram(options: ProgramOptions, watcher: Watcher): ChildProcessWithoutNullStreams {
  try {
    const env = environment(options.env);
    const child = spawn('/bin/sh', ['-c', gate(env), located(options, env['PATH']), ...(options.args ?? [])], {
      env, detached: true, stdio: ['pipe', 'pipe', 'pipe', 'pipe'], ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    const word = child.stdio[3] as Writable;
    word.on('error', () => undefined);
    if (child.pid !== undefined) {
      watcher.stdin.write(`${String(child.pid)}\n`);
      word.end('\n');
    }
    return child;
  } catch (error) {
    watcher.stdin.end();
    throw error;
  }
}

/** Where the program is, as `execvp` would find it. Throws ENOENT or EACCES. */
function located({ program, cwd = '.' }: ProgramOptions, path = '/usr/bin:/bin'): string {
  let refused: unknown;
  for (const folder of program.includes('/') ? [''] : path.split(delimiter)) {
    const file = resolve(cwd, folder, program);
    try {
      accessSync(file, modes.X_OK);
      if (statSync(file).isFile()) return file;
      refused = Object.assign(new Error(`${file} is no file`), { code: 'EACCES' });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (refused === undefined || code === 'EACCES') refused = error;
    }
  }
  throw refused;
}

function startWatcher(): Watcher {
  const watcher = spawn('/bin/sh', ['-c', WATCHER], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  // Where there is no shell, a worker that is killed leaves its programs running.
  watcher.on('error', () => undefined);
  watcher.stdin.on('error', () => undefined);
  return watcher;
}

function environment(env: ProgramOptions['env']): NodeJS.ProcessEnv {
  const passed = PASSED_ON.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
  return { ...(Object.fromEntries(passed) as NodeJS.ProcessEnv), ...env };
}

function notStarted(options: ProgramOptions, error: NodeJS.ErrnoException, end: ProgramEnd): ProgramError {
  const short = error.code === 'EAGAIN' || error.code === 'ENOMEM' || error.code === 'EMFILE' || error.code === 'ENFILE';
  // ENOENT is also said of a working directory that is not there.
  return new ProgramError(short ? 'unavailable' : 'programming_error', said(options, `could not be started (${error.code ?? error.name})`, end), 'NOT_STARTED', end, error);
}

function failed(options: ProgramOptions, end: ProgramEnd): ProgramError {
  const { exitCode, signal } = end;
  const bySignal = (name: NodeJS.Signals): Category => options.signals?.[name] ?? SIGNAL_CATEGORIES[name] ?? SIGNAL_CATEGORY;
  if (exitCode === null) {
    const name = signal ?? 'SIGKILL';
    return new ProgramError(bySignal(name), said(options, `was ended by ${name}`, end), name, end);
  }
  const shells = Object.entries(constants.signals).find(([, number]) => number === exitCode - SHELL_SIGNALS)?.[0] as NodeJS.Signals | undefined;
  const category = options.exits?.[exitCode] ?? EXIT_CATEGORIES[exitCode] ?? (shells === undefined ? 'programming_error' : bySignal(shells));
  return new ProgramError(category, said(options, `ended with exit code ${String(exitCode)}${shells === undefined ? '' : ` (${shells} in a shell)`}`, end), `EXIT_${String(exitCode)}`, end);
}

function said({ program }: ProgramOptions, what: string, { stderr }: ProgramEnd): string {
  const last = stderr.text.trimEnd().slice(-SAID_CHARS_MAX);
  const before = stderr.cut === 0 && last.length === stderr.text.trimEnd().length ? '' : `… (${String(stderr.bytes)} bytes in all) `;
  return `${program} ${what}${last === '' ? '' : `; stderr: ${before}${last}`}`;
}
