import pg from 'pg';
import { ERRORS, ThroughlineError } from '../errors.ts';
import type { ErrorCode, ErrorDetail } from '../errors.ts';

const NODE_CONNECTION_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH',
]);

/** pg reports these without a code; matched by the message since there is nothing else. */
const PG_CONNECTION_MESSAGES = [/^Connection terminated/, /^timeout exceeded when trying to connect/, /^Client has encountered a connection error/, /^Query read timeout/, /^Connection ended unexpectedly/];

const codeOf = (error: unknown): string => {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : '';
};

/** True if the ledger could not be reached or went away; whether the call took effect is then unknown. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof ThroughlineError) return error.code === 'LEDGER_UNAVAILABLE';
  if (error instanceof AggregateError) return error.errors.some(isUnavailable);
  const code = codeOf(error);
  if (NODE_CONNECTION_CODES.has(code)) return true;
  // Connection exceptions, shutdowns, too many connections, cannot connect now, read-only after failover.
  if (/^(08|57P0[1-5]|53|25006)/.test(code) && code.length === 5) return true;
  return !(error instanceof pg.DatabaseError) && error instanceof Error && PG_CONNECTION_MESSAGES.some((pattern) => pattern.test(error.message));
}

const isErrorCode = (value: unknown): value is ErrorCode => typeof value === 'string' && Object.hasOwn(ERRORS, value);

/** What is said of a task that is no longer there. */
const prunedSentence = ({ pruned_at: at, state, ended_at: ended }: Readonly<Record<string, unknown>>): string => `The task was pruned at ${String(at)}; it ended ${String(state)} at ${String(ended)}.`;

/** The coded error that an answer of the door carries; null: it carries none. */
export function refusalOf(answer: unknown): ThroughlineError | null {
  if (typeof answer !== 'object' || answer === null || !('error' in answer) || !isErrorCode(answer.error)) return null;
  const { error, path, limit, ...facts } = answer as { error: ErrorCode; path?: string; limit?: number };
  const message = error === 'TASK_PRUNED' ? prunedSentence(facts) : undefined;
  const detail: ErrorDetail = { facts, ...(message === undefined ? {} : { message }), ...(path === undefined ? {} : { path }), ...(limit === undefined ? {} : { limit }) };
  return new ThroughlineError(error, detail);
}

/** Throws the coded error that an answer of the door carries, if it carries one. */
export function throwIfRefused(answer: unknown): void {
  const refusal = refusalOf(answer);
  if (refusal !== null) throw refusal;
}

/** The coded form of anything that a query threw. */
export function codedFailure(error: unknown): unknown {
  if (error instanceof ThroughlineError) return error;
  if (isUnavailable(error)) return new ThroughlineError('LEDGER_UNAVAILABLE', { cause: error });
  const code = codeOf(error);
  // Wrong password, role or database: trying again would not help.
  if ((/^28...$/.test(code) || code === '3D000') && error instanceof pg.DatabaseError) return new ThroughlineError('CONFIG_INVALID', { path: 'DATABASE_URL', message: `Postgres refuses the connection: ${error.message}`, cause: error });
  // A deadlock's loser was rolled back whole, as one that met another transaction.
  if (code === '40001' || code === '40P01' || code === '55P03') return new ThroughlineError('SERIALIZATION', { cause: error });
  if (code === '22P05' || code === '22021') return new ThroughlineError('INPUT_NOT_STORABLE', { cause: error });
  if ((code === '23514' || code === '22001') && error instanceof pg.DatabaseError) return new ThroughlineError('INPUT_INVALID', { facts: { constraint: error.constraint }, cause: error });
  if (code === '42883' || code === '3F000' || code === '42P01') return new ThroughlineError('LEDGER_OUTDATED', { cause: error });
  if (code === 'TL001') return new ThroughlineError('INVARIANT_BROKEN', { message: error instanceof Error ? error.message : code, cause: error });
  if (code === 'TL010' && error instanceof pg.DatabaseError && error.detail !== undefined) {
    try {
      throwIfRefused(JSON.parse(error.detail));
    } catch (refusal) {
      return refusal;
    }
  }
  return error;
}
