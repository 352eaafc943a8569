/**
 * `stack.json`: what a stack leaves for the next start in the same folder, and the lock that lets only
 * one stack live there. The ports are remembered, so that addresses stay the same; the identities of
 * the servers let a later start find what a killed one left over.
 */
import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { ThroughlineError } from '../errors.ts';
import { identify, isAlive, type ProcessIdentity } from './identity.ts';

const Identity = z.object({ pid: z.int().positive(), started: z.string() });

const RecordShape = z.object({
  version: z.literal(1),
  /** By name of the server. */
  ports: z.record(z.string(), z.int().positive()),
  servers: z.object({ postgres: Identity.optional(), temporal: Identity.optional() }),
  /** Where the cluster lives; elsewhere than the folder if the postgres user could not reach it. */
  postgresDir: z.string().optional(),
});
export type StackRecord = z.infer<typeof RecordShape>;

const EMPTY: StackRecord = { version: 1, ports: {}, servers: {} };
const LOCK = 'stack.lock';
const RECORD = 'stack.json';
const TAKE_OVER_TRIES_MAX = 20;

/** The record; empty if there is none or it can't be read (written by another version, cut by a full disk). */
export async function readRecord(dir: string): Promise<StackRecord> {
  try {
    return RecordShape.parse(JSON.parse(await readFile(join(dir, RECORD), 'utf8')));
  } catch {
    return EMPTY;
  }
}

export async function writeRecord(dir: string, record: StackRecord): Promise<void> {
  const part = join(dir, `${RECORD}.${randomUUID()}`);
  await writeFile(part, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 });
  await rename(part, join(dir, RECORD));
}

/**
 * Takes the folder for this process; a lock whose holder no longer lives is taken over.
 * @returns what gives it back.
 * @throws STACK_BUSY if the holder lives, with its pid in `facts`.
 */
export async function lockFolder(dir: string): Promise<() => Promise<void>> {
  const own = await identify(process.pid);
  if (own === undefined) throw new ThroughlineError('STACK_FAILED', { message: 'Our own process could not be identified' });
  const mark = JSON.stringify({ ...own, nonce: randomUUID() });
  const lock = join(dir, LOCK);
  for (let tries = 0; tries < TAKE_OVER_TRIES_MAX; tries += 1) {
    if (await claim(dir, lock, mark)) {
      return async () => {
        if ((await readFile(lock, 'utf8').catch(() => '')) === mark) await rm(lock, { force: true });
      };
    }
    const found = await readFile(lock, 'utf8').catch(() => undefined);
    if (found === undefined) continue;
    const holder = parseHolder(found);
    if (holder !== undefined && (await isAlive(holder))) throw busy(dir, holder);
    await discard(dir, lock, found);
  }
  throw busy(dir, undefined);
}

/** A link is made at once or not at all, and its file is complete: nobody ever reads half a lock. */
async function claim(dir: string, lock: string, mark: string): Promise<boolean> {
  const part = join(dir, `${LOCK}.${randomUUID()}`);
  await writeFile(part, mark, { mode: 0o600 });
  try {
    await link(part, lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(part, { force: true });
  }
}

/**
 * Removes a dead lock. Two starts may both have judged it dead, and the slower one would then remove
 * the lock that the faster one has just taken: what was moved away is looked at again and put back.
 */
async function discard(dir: string, lock: string, dead: string): Promise<void> {
  const aside = join(dir, `${LOCK}.${randomUUID()}`);
  try {
    await rename(lock, aside);
  } catch {
    return;
  }
  if ((await readFile(aside, 'utf8').catch(() => dead)) !== dead) await link(aside, lock).catch(() => undefined);
  await rm(aside, { force: true });
}

function parseHolder(text: string): ProcessIdentity | undefined {
  try {
    return Identity.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function busy(dir: string, holder: ProcessIdentity | undefined): ThroughlineError {
  const who = holder === undefined ? '' : ` (process ${String(holder.pid)})`;
  return new ThroughlineError('STACK_BUSY', {
    message: `Another local stack is starting or running in ${dir}${who}: stop it first, or use its addresses`,
    facts: { dataDir: dir, ...(holder === undefined ? {} : { pid: holder.pid }) },
  });
}
