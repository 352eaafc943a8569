/** Errors as the command line says them: one JSON document on stdout, or lines on stderr; the exit code is the catalogue's. */
import { CommanderError } from 'commander';
import { ERRORS, ThroughlineError } from '../errors.ts';
import type { ErrorDetail } from '../errors.ts';
import { safeJson, visible } from './neutral.ts';
import { terminalOf, write } from './terminal.ts';

/** A command line that can't be read. `path` is the option. */
export const usageError = (message: string, path: string): ThroughlineError => new ThroughlineError('INPUT_INVALID', { message, path });

const HINT = '`throughline help` lists the commands, `throughline COMMAND --help` their options.';

/** Thrown by another copy of this package: the one that a module of task definitions imports. */
function isForeign(error: unknown): error is Error & { readonly code: keyof typeof ERRORS; readonly detail: ErrorDetail } {
  return error instanceof Error && error.name === 'ThroughlineError' && 'code' in error && typeof error.code === 'string' && Object.hasOwn(ERRORS, error.code) && 'detail' in error;
}

/** The coded form of anything thrown. What no code was made for is a broken promise: the stack is kept as its cause. */
export function codedError(error: unknown): ThroughlineError {
  if (error instanceof ThroughlineError) return error;
  if (isForeign(error)) return new ThroughlineError(error.code, error.detail);
  if (error instanceof CommanderError) {
    const message = `${error.message.replace(/^error: /, '').replace(/\n+/g, ' ')}.`;
    const [, long, short] = /'(?:-\w, )?(--[a-z-]+)|'(-[^ ']+)'/.exec(error.message) ?? [];
    const path = long ?? short;
    return new ThroughlineError('INPUT_INVALID', { message, cause: error, ...(path === undefined ? {} : { path }) });
  }
  const said = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return new ThroughlineError('INVARIANT_BROKEN', { message: `Unexpected failure: ${said}`, cause: error });
}

/** Says the error; the exit code to end with. */
export async function sayFailure(error: unknown, json: boolean): Promise<number> {
  const coded = codedError(error);
  if (json) await write(process.stdout, `${safeJson({ error: coded.toJSON() })}\n`);
  else await write(process.stderr, failureText(coded));
  if (coded.code === 'INVARIANT_BROKEN' && coded.cause instanceof Error) await write(process.stderr, `${(coded.cause.stack ?? '').split('\n').map(visible).join('\n')}\n`);
  return coded.exit;
}

function failureText(error: ThroughlineError): string {
  const { colours } = terminalOf(process.stderr, process.env);
  const { paths, facts } = error.detail;
  const more = [...(error.cause instanceof CommanderError ? [HINT] : []), ...(paths ?? []).map((path) => `  at ${path}`), ...Object.entries(facts ?? {}).map(([name, value]) => `  ${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)];
  return `${colours.red(colours.bold(error.code))} ${visible(error.message)}\n${more.map((line) => `${colours.dim(visible(line))}\n`).join('')}`;
}
