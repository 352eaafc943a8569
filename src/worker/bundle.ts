/** The workflow code as one file. Bundling takes seconds, and a worker that starts anew is waited for: it is done once. */
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import type { Logger as SdkLogger, WorkflowBundleOption } from '@temporalio/worker';
import { createHash, randomUUID } from 'node:crypto';
import { access, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const require = createRequire(import.meta.url);
/** Beside the compiled workflows, in what is published. */
const builtFile = (traced: boolean): string => here(`../workflows/bundle${traced ? '-traced' : ''}.cjs`);
/** Elsewhere, by the digest of all that could be part of it. */
const KEPT = here('../../node_modules/.cache/throughline');
const UNUSED_MS = 7 * 24 * 3_600_000;

/** By whether it is traced; once for a process. */
const bundles = new Map<boolean, Promise<WorkflowBundleOption>>();

export function workflowBundle(logger: SdkLogger, traced: boolean): Promise<WorkflowBundleOption> {
  const present = bundles.get(traced) ?? find(logger, traced);
  bundles.set(traced, present);
  return present;
}

/** Both, beside the compiled workflows: the last step of the package's build. */
export async function buildBundles(): Promise<void> {
  const logger = new DefaultLogger('ERROR');
  for (const traced of [false, true]) await writeFile(builtFile(traced), await bundled(logger, traced));
}

async function find(logger: SdkLogger, traced: boolean): Promise<WorkflowBundleOption> {
  if (await isThere(builtFile(traced))) return { codePath: builtFile(traced) };
  const kept = join(KEPT, `${await digest(traced)}.cjs`);
  if (await isThere(kept)) return { codePath: kept };
  const code = await bundled(logger, traced);
  // Where nothing may be written, the next start bundles again.
  return keep(code, kept).then(() => ({ codePath: kept }), () => ({ code }));
}

const isThere = (file: string): Promise<boolean> => access(file).then(() => true, () => false);

async function bundled(logger: SdkLogger, traced: boolean): Promise<string> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: here(`../workflows/index.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`),
    logger,
    ...(traced ? { workflowInterceptorModules: [require.resolve('@temporalio/interceptors-opentelemetry/lib/workflow-interceptors')] } : {}),
  });
  return code;
}

/** Of every file of ours and of the versions of what else goes in. */
async function digest(traced: boolean): Promise<string> {
  const hash = createHash('sha256').update(String(traced));
  for (const name of ['workflow', 'worker', 'interceptors-opentelemetry']) hash.update((require(`@temporalio/${name}/package.json`) as { version: string }).version);
  const folder = here('..');
  for (const name of (await readdir(folder, { recursive: true })).filter((file) => /\.[jt]s$/.test(file)).sort()) hash.update(`\0${name}\0`).update(await readFile(join(folder, name)));
  return hash.digest('hex');
}

/** Whole or not at all; those that nobody has made for a week go. */
async function keep(code: string, file: string): Promise<void> {
  await mkdir(KEPT, { recursive: true });
  const part = join(KEPT, `${randomUUID()}.part`);
  await writeFile(part, code);
  await rename(part, file);
  for (const other of await readdir(KEPT)) {
    const path = join(KEPT, other);
    const made = await stat(path).catch(() => null);
    if (made !== null && made.mtimeMs < Date.now() - UNUSED_MS) await rm(path, { force: true });
  }
}
