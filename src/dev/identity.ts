/**
 * Which process is this, really? A pid alone is reused; with its start time it names one process for
 * ever. The local stack writes identities into `stack.json`, so that a later start stops what is left
 * over and never a stranger that got the same pid.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** `started` is opaque: boot id and clock ticks on Linux, the text of `ps` elsewhere. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly started: string;
}

/** The identity of a living process, or undefined if there is none (a zombie counts as none). */
export async function identify(pid: number): Promise<ProcessIdentity | undefined> {
  const started = process.platform === 'linux' ? await startedOnLinux(pid) : await startedByPs(pid);
  return started === undefined ? undefined : { pid, started };
}

/** True while this very process lives. */
export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  return (await identify(identity.pid))?.started === identity.started;
}

/**
 * Sends each signal in turn, waiting its time in milliseconds for the end, until the process is gone.
 * @returns whether it is gone.
 */
export async function endProcess(
  identity: ProcessIdentity,
  ladder: readonly (readonly [signal: NodeJS.Signals, wait_ms: number])[],
): Promise<boolean> {
  for (const [signal, wait_ms] of ladder) {
    if (!(await isAlive(identity))) return true;
    try {
      process.kill(identity.pid, signal);
    } catch {
      // Gone between look and signal, or not ours to signal: the next look tells.
    }
    const deadline = performance.now() + wait_ms;
    while (performance.now() < deadline) {
      if (!(await isAlive(identity))) return true;
      await delay(25);
    }
  }
  return !(await isAlive(identity));
}

async function startedOnLinux(pid: number): Promise<string | undefined> {
  try {
    const [stat, boot] = await Promise.all([
      readFile(`/proc/${String(pid)}/stat`, 'utf8'),
      readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => ''),
    ]);
    // The command's name stands in brackets and may hold blanks: count from the last bracket.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, ticks] = [fields[0], fields[19]];
    return state === 'Z' || state === 'X' || ticks === undefined ? undefined : `${boot.trim()}/${ticks}`;
  } catch {
    return undefined;
  }
}

async function startedByPs(pid: number): Promise<string | undefined> {
  try {
    const { stdout } = await run('ps', ['-o', 'stat=,lstart=', '-p', String(pid)]);
    const [state = 'Z', ...started] = stdout.trim().split(/\s+/);
    return state.startsWith('Z') ? undefined : started.join(' ');
  } catch {
    return undefined;
  }
}
