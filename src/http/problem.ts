/** An answer of the API that is no success, as the error that the direct client would have thrown. */
import { ERRORS, ThroughlineError } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';

interface Said {
  readonly code?: unknown;
  readonly detail?: unknown;
  readonly message?: unknown;
  readonly path?: unknown;
  readonly limit?: unknown;
  readonly paths?: unknown;
  readonly facts?: unknown;
}

const isCode = (code: unknown): code is ErrorCode => typeof code === 'string' && Object.hasOwn(ERRORS, code);

/** A problem, or a batch item's error, with the code that it names. null: it names none that is known here. */
export function errorOf(said: unknown, cause?: unknown): ThroughlineError | null {
  if (typeof said !== 'object' || said === null) return null;
  const { code, detail, message, path, limit, paths, facts } = said as Said;
  if (!isCode(code)) return null;
  const text = typeof detail === 'string' ? detail : typeof message === 'string' ? message : undefined;
  const parts = {
    ...(typeof path === 'string' ? { path } : {}),
    ...(typeof limit === 'string' || typeof limit === 'number' ? { limit } : {}),
    ...(Array.isArray(paths) ? { paths: paths.map(String) } : {}),
    ...(typeof facts === 'object' && facts !== null ? { facts: facts as Readonly<Record<string, unknown>> } : {}),
    ...(cause === undefined ? {} : { cause }),
  };
  // Path and limit stand at the end of the text already; the error puts them there itself.
  const suffix = new ThroughlineError(code, { ...parts, message: '' }).message;
  const own = text !== undefined && suffix !== '' && text.endsWith(suffix) ? text.slice(0, -suffix.length) : text;
  return new ThroughlineError(code, { ...parts, ...(own === undefined ? {} : { message: own }) });
}

/** API_UNAVAILABLE for what no API of ours said: a proxy's page, or a code of a newer version. */
export function errorOfAnswer(status: number, text: string): ThroughlineError {
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    said = null;
  }
  return errorOf(said) ?? new ThroughlineError('API_UNAVAILABLE', { message: `The address answered with status ${String(status)} and no problem that is known here.`, facts: { status } });
}
