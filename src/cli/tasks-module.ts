/** Loads task definitions from a module of the user's. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { AnyTaskDefinition } from '../define/definition.ts';
import { ThroughlineError } from '../errors.ts';
import { codedError, usageError } from './failure.ts';

export const TASKS_HELP = `The module exports what defineTask(...) returned: by name, as default, or in an array.
  export const publishNote = defineTask({ type: 'publish-note', version: 1, ... });`;

const PATH = '--tasks';
const SAID_CHARS_MAX = 1_000;

/** Each definition that the module exports, once. Throws INPUT_INVALID for a module without any or one that can't be loaded. */
export async function loadTasks(module: string): Promise<readonly AnyTaskDefinition[]> {
  const file = resolve(module);
  const exported = await load(file);
  const found = [...new Set(Object.values(exported).flatMap((value) => (Array.isArray(value) ? (value as unknown[]) : [value])))].filter(isDefinition);
  if (found.length === 0) throw usageError(`The module exports no task definition. ${TASKS_HELP.replaceAll('\n', ' ')}`, PATH);
  const names = found.map(({ type, version }) => `${type} v${String(version)}`);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw usageError(`The module defines ${twice} twice.`, PATH);
  return found;
}

/** By its shape: the user's copy of this package need not be the one that runs. */
function isDefinition(value: unknown): value is AnyTaskDefinition {
  if (typeof value !== 'object' || value === null) return false;
  const { type, version, plan, planDigest, steps, parseInput } = value as Partial<Record<keyof AnyTaskDefinition, unknown>>;
  return typeof type === 'string' && typeof version === 'number' && typeof plan === 'object' && typeof planDigest === 'string' && steps instanceof Map && typeof parseInput === 'function';
}

async function load(file: string): Promise<Record<string, unknown>> {
  const url = pathToFileURL(file).href;
  try {
    return await importModule(url);
  } catch (error) {
    if (codeOf(error) === 'ERR_UNKNOWN_FILE_EXTENSION') return await loadTypeScript(file, url);
    throw unloadable(error);
  }
}

const importModule = async (url: string): Promise<Record<string, unknown>> => (await import(url)) as Record<string, unknown>;

/** With the tsx that the user's project has; this package brings none. */
async function loadTypeScript(file: string, url: string): Promise<Record<string, unknown>> {
  try {
    await importModule(tsxLoader(file));
  } catch (cause) {
    throw new ThroughlineError('INPUT_INVALID', { path: PATH, message: 'This Node cannot load TypeScript: `npm install tsx`, use Node 22.18 or later, or give the compiled .js.', cause });
  }
  try {
    // Node remembers that it could not load this address; with a query it is another one.
    return await importModule(`${url}?typescript`);
  } catch (error) {
    throw unloadable(error);
  }
}

/** What `node --import tsx` loads; of the module's project, else of the working folder's. */
function tsxLoader(file: string): string {
  const manifest = createRequire(file).resolve('tsx/package.json', { paths: [dirname(file), process.cwd()] });
  const { exports } = JSON.parse(readFileSync(manifest, 'utf8')) as { exports: { '.': string } };
  return new URL(exports['.'], pathToFileURL(manifest)).href;
}

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');

/** A refusal of defineTask keeps its code; everything else is the module's own trouble. */
function unloadable(error: unknown): ThroughlineError {
  const coded = codedError(error);
  if (coded.code !== 'INVARIANT_BROKEN') return coded;
  const said = (error instanceof Error ? error.message : String(error)).replace(/ imported from .*/s, '');
  return new ThroughlineError('INPUT_INVALID', { path: PATH, message: `The module cannot be loaded: ${said.slice(0, SAID_CHARS_MAX)}`, cause: error });
}
