/**
 * A server that is started by this program and never outlives it. The server leads a process group of
 * its own, so that Ctrl-C in the terminal reaches us first and we stop things in order. Beside it a
 * one-line watcher holds a pipe to us: when we are gone, however we went (SIGKILL included), the pipe
 * ends and the watcher asks the server to stop.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { open, readFile } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { ThroughlineError } from '../errors.ts';
import { endProcess, identify, type ProcessIdentity } from './identity.ts';

/**
 * `$$` is the shell that becomes the server by `exec`, so the pid we know is the server's own. The
 * watcher is started from a subshell that ends at once: as a child of the server it would be reported
 * to it. A line on the pipe means "stopped in order", only its bare end means "gone".
 */
const SCRIPT =
  '( ( read -r _ <&3 || kill -s INT $$ ) </dev/null >/dev/null 2>&1 & ) ; exec 3<&- ; exec "$@"';

/** How a server is stopped: each signal in turn, with the milliseconds that it is given. */
export type StopLadder = readonly (readonly [signal: NodeJS.Signals, wait_ms: number])[];

/** Fast shutdown, then immediate shutdown (recovers at the next start), then the hard end. */
export const POSTGRES_STOP: StopLadder = [
  ['SIGINT', 20_000],
  ['SIGQUIT', 5_000],
  ['SIGKILL', 5_000],
];

export const TEMPORAL_STOP: StopLadder = [
  ['SIGINT', 10_000],
  ['SIGKILL', 5_000],
];

/** The lines of a log that an error shows. */
const TAIL_LINES_MAX = 12;

export interface ServerProcessOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Appended to; both outputs. */
  readonly logFile: string;
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
}

export class ServerProcess {
  readonly identity: ProcessIdentity;
  readonly logFile: string;
  readonly #child: ChildProcess;
  readonly #watcher: Writable;

  private constructor(child: ChildProcess, identity: ProcessIdentity, logFile: string) {
    this.#child = child;
    this.#watcher = child.stdio[3] as Writable;
    // The watcher may be gone already; there is nobody to tell then.
    this.#watcher.on('error', () => undefined);
    this.identity = identity;
    this.logFile = logFile;
  }

  /** @throws STACK_FAILED if the process can't be started at all. */
  static async start(options: ServerProcessOptions): Promise<ServerProcess> {
    const log = await open(options.logFile, 'a', 0o600);
    try {
      const child = spawn('/bin/sh', ['-c', SCRIPT, 'sh', options.command, ...options.args], {
        cwd: options.cwd,
        env: options.env,
        detached: true,
        stdio: ['ignore', log.fd, log.fd, 'pipe'],
        ...options.user,
      });
      await new Promise<void>((resolve, reject) => {
        child.once('spawn', resolve);
        child.once('error', reject);
      });
      const identity = child.pid === undefined ? undefined : await identify(child.pid);
      if (identity === undefined) throw new Error(await tail(options.logFile));
      // A forgotten stop must not keep the program alive: the watcher ends the server then.
      child.unref();
      const server = new ServerProcess(child, identity, options.logFile);
      (server.#watcher as Writable & { unref?: () => void }).unref?.();
      return server;
    } catch (cause) {
      throw new ThroughlineError('STACK_FAILED', {
        message: `${options.command} could not be started: ${cause instanceof Error ? cause.message : String(cause)}`,
        cause,
      });
    } finally {
      await log.close();
    }
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Calls `listener` once when the server ends by itself or is stopped. */
  onEnd(listener: () => void): void {
    if (this.hasEnded) listener();
    else this.#child.once('exit', listener);
  }

  /** The last lines of the server's log, for errors. */
  async logTail(): Promise<string> {
    return await tail(this.logFile);
  }

  /** Stops by the ladder of signals and waiting times; idempotent. Resolves when the process is gone. */
  async stop(ladder: StopLadder): Promise<void> {
    await endProcess(this.identity, ladder);
    this.#watcher.end('stopped\n');
  }
}

async function tail(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.trimEnd().split('\n').slice(-TAIL_LINES_MAX).join('\n');
}
