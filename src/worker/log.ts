import { pino } from 'pino';
import type { Logger } from 'pino';

/** Fields that may hold what callers sent; never written. */
const REDACTED = ['input', '*.input', 'result', '*.result', 'databaseUrl', '*.databaseUrl', 'token', '*.token', 'authorization', '*.authorization'];

/** JSON lines on stderr, so that stdout stays the program's answer. */
export function createLogger(level: string): Logger {
  return pino({ level, base: null, redact: REDACTED, timestamp: pino.stdTimeFunctions.isoTime }, pino.destination(2));
}

/** Warnings and errors only. */
export const quietLogger = (): Logger => createLogger('warn');
