/**
 * Where Postgres may live. It refuses to run as root, so as root it runs as the user `postgres`, and
 * that user must be able to reach its data and its binaries: below a folder of mode 700 (`/root`, a
 * private temporary folder) it can't, and then both move to a readable place, keyed by the folder
 * that they belong to.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ThroughlineError } from '../errors.ts';

const run = promisify(execFile);

export interface SystemUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** Owned by root, so that nobody else can lay a trap there; /var/lib outlives a restart, /var/tmp mostly. */
const READABLE_PLACES = ['/var/lib/throughline', '/var/tmp/throughline'];

/**
 * The user that Postgres runs as: undefined (our own) unless we are root. Makes the user `postgres`
 * where it is missing; takes `nobody` where no user can be made.
 * @throws STACK_FAILED if there is neither.
 */
export async function postgresUser(): Promise<SystemUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const existing = await lookUp('postgres');
  if (existing !== undefined) return existing;
  await run('groupadd', ['--system', 'postgres']).catch(() => undefined);
  await run('useradd', ['--system', '--gid', 'postgres', '--no-create-home', 'postgres']).catch(() => undefined);
  const user = (await lookUp('postgres')) ?? (await lookUp('nobody'));
  if (user !== undefined) return user;
  throw new ThroughlineError('STACK_FAILED', {
    message: 'Postgres refuses to run as root, and there is no user `postgres` or `nobody` to run it as: add one',
  });
}

/** True if `user` (undefined: ourselves) can enter the folder; tried for real, as modes are only half of it. */
export async function canEnter(folder: string, user: SystemUser | undefined): Promise<boolean> {
  return await succeeds('/bin/sh', ['-c', 'cd -- "$0"', folder], user);
}

/** True if `user` can run `program --version`. */
export async function canRun(program: string, user: SystemUser | undefined): Promise<boolean> {
  return await succeeds(program, ['--version'], user);
}

/**
 * A folder that `user` can enter, the same one each time for the same `folder`.
 * @throws STACK_FAILED if no such place can be made.
 */
export async function readablePlace(folder: string, user: SystemUser): Promise<string> {
  const key = createHash('sha256').update(folder).digest('hex').slice(0, 16);
  for (const parent of READABLE_PLACES) {
    const place = join(parent, key);
    if ((await makeOwned(parent)) && (await makeOwned(place)) && (await canEnter(place, user))) return place;
  }
  throw new ThroughlineError('STACK_FAILED', {
    message: `The user ${user.name}, who runs Postgres as we are root, can reach neither ${folder} nor ${READABLE_PLACES.join(' nor ')}`,
    facts: { user: user.name, folder },
  });
}

/** Makes the folder for all to enter; refuses one that somebody else owns or that is a link. */
async function makeOwned(folder: string): Promise<boolean> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o755 });
    const found = await lstat(folder);
    if (!found.isDirectory() || found.uid !== process.getuid?.()) return false;
    // The umask may have taken away what the user needs.
    await chmod(folder, 0o755);
    return true;
  } catch {
    return false;
  }
}

async function lookUp(name: string): Promise<SystemUser | undefined> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]);
    return { name, uid: Number(uid.stdout.trim()), gid: Number(gid.stdout.trim()) };
  } catch {
    return undefined;
  }
}

async function succeeds(command: string, args: readonly string[], user: SystemUser | undefined): Promise<boolean> {
  try {
    await run(command, [...args], { cwd: '/', timeout: 10_000, ...(user && { uid: user.uid, gid: user.gid }) });
    return true;
  } catch {
    return false;
  }
}
