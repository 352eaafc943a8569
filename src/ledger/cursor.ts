/** Places in lists as callers keep them. What comes back is read strictly: anything else than a place that a list could have given out never reaches the database. */
import { ThroughlineError } from '../errors.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Microseconds since 1970, until 2255: exact as numbers of JavaScript and as double precision of Postgres. */
const PLACE = /^([1-8]?\d{1,15})\/([0-9a-f-]{36})$/;

export const isUuid = (text: string): boolean => UUID.test(text);

const refused = (): ThroughlineError => new ThroughlineError('CURSOR_INVALID', { path: '/cursor' });

/** A row by its id. */
export const idCursor = (id: string): string => Buffer.from(id).toString('base64url');

/** null: the first page. Throws CURSOR_INVALID. */
export function readIdCursor(cursor: string | undefined): string | null {
  if (cursor === undefined) return null;
  const id = Buffer.from(cursor, 'base64url').toString('utf8');
  if (!isUuid(id)) throw refused();
  return id;
}

/** A row by its time in microseconds and its id. */
export const placeCursor = (micros: string, id: string): string => Buffer.from(`${micros}/${id}`).toString('base64url');

/** [null, null]: the first page. Throws CURSOR_INVALID. */
export function readPlaceCursor(cursor: string | undefined): readonly [micros: string, id: string] | readonly [null, null] {
  if (cursor === undefined) return [null, null];
  const [, micros, id] = PLACE.exec(Buffer.from(cursor, 'base64url').toString('utf8')) ?? [];
  if (micros === undefined || id === undefined || !isUuid(id)) throw refused();
  return [micros, id];
}
