/** Loads task definitions from a module of the user's. */
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { AnyTaskDefinition } from '../define/definition.ts';
import { ERRORS, ThroughlineError } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';
import { usageError } from './failure.ts';

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
  let api: string;
  try {
    api = createRequire(pathToFileURL(file)).resolve('tsx/esm/api');
  } catch {
    throw usageError('This Node cannot load TypeScript: `npm install tsx`, use Node 22.18 or later, or give the compiled .js.', PATH);
  }
  try {
    const { register } = (await importModule(pathToFileURL(api).href)) as { register: () => unknown };
    register();
    return await importModule(url);
  } catch (error) {
    throw unloadable(error);
  }
}

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');

/** A refusal of defineTask keeps its code, whichever copy of this package made it; everything else is the module's own trouble. */
function unloadable(error: unknown): ThroughlineError {
  if (error instanceof ThroughlineError) return error;
  const said = (error instanceof Error ? error.message : String(error)).replace(/ imported from .*/s, '');
  const code = codeOf(error);
  const message = Object.hasOwn(ERRORS, code) ? said : `The module cannot be loaded: ${said.slice(0, SAID_CHARS_MAX)}`;
  return new ThroughlineError(Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : 'INPUT_INVALID', { path: PATH, message, cause: error });
}
