/** Author's schemas at the door: what they say about a value becomes a coded error with paths. */
import { z } from 'zod';
import { ThroughlineError, type ErrorCode } from '../errors.ts';
import { LIMITS } from '../state/index.ts';
import type { Json } from './json.ts';
import { pointerTo } from './pointer.ts';
import { storable, type StorableCodes } from './storable.ts';
import { clip, visible } from './text.ts';

const ISSUES_MAX = 10;
const ISSUE_CHARS_MAX = 300;

export interface SchemaDoor {
  /** The value's pointer: `/input` or `/result`. */
  readonly top: string;
  readonly invalid: ErrorCode;
  readonly storable: StorableCodes;
  readonly bytes: number;
}

export const INPUT_DOOR: SchemaDoor = {
  top: '/input',
  invalid: 'INPUT_INVALID',
  storable: { notStorable: 'INPUT_NOT_STORABLE', tooLarge: 'INPUT_TOO_LARGE' },
  bytes: LIMITS.input_bytes_max,
};

export const RESULT_DOOR: SchemaDoor = {
  top: '/result',
  invalid: 'RESULT_INVALID',
  storable: { notStorable: 'RESULT_INVALID', tooLarge: 'RESULT_TOO_LARGE' },
  bytes: LIMITS.result_bytes_max,
};

const line = (text: string): string => clip(visible(text).replace(/\s+/g, ' '), ISSUE_CHARS_MAX).text;

function invalid(door: SchemaDoor, subject: string, error: z.core.$ZodError): ThroughlineError {
  const issues = error.issues.map((issue) => ({
    path: issue.path.reduce<string>((pointer, key) => pointerTo(pointer, String(key)), door.top),
    message: line(issue.message),
  }));
  const told = issues.slice(0, ISSUES_MAX);
  const more = issues.length > told.length ? `; and ${issues.length - told.length} more` : '';
  return new ThroughlineError(door.invalid, {
    message: `${subject} does not fit its schema: ${told.map(({ path, message }) => `${path}: ${message}`).join('; ')}${more}`,
    path: told[0]?.path ?? door.top,
    paths: [...new Set(told.map(({ path }) => path))],
    facts: { issues: told },
  });
}

/**
 * What the schema makes of a value, as plain JSON within its limit. `subject` begins the sentence of an
 * error. Errors: the door's codes; DEFINITION_INVALID if the schema can only be asked asynchronously.
 */
export function parseBy(schema: z.ZodType, door: SchemaDoor, subject: string, value: unknown): Json {
  let parsed: z.ZodSafeParseResult<unknown>;
  try {
    parsed = schema.safeParse(value);
  } catch (error) {
    if (error instanceof z.core.$ZodAsyncError) {
      throw new ThroughlineError('DEFINITION_INVALID', { message: `${subject}: its schema has asynchronous parts, which can't be asked here.`, path: door.top });
    }
    // A refinement, a transform or a getter of the value threw, or the value nests too deep for the schema.
    throw new ThroughlineError(door.invalid, { message: `${subject} made its schema throw.`, path: door.top, cause: error });
  }
  if (!parsed.success) throw invalid(door, subject, parsed.error);
  return storable(parsed.data, door.top, door.bytes, door.storable);
}

/** Whether a value is a schema, from whichever copy of the library it comes. */
export const isSchema = (value: unknown): value is z.ZodType =>
  typeof value === 'object' && value !== null && typeof (value as { safeParse?: unknown }).safeParse === 'function';

/** What a schema accepts, as JSON Schema (2020-12); null if it can't be said or would be larger than its limit. What only code can check is left out. */
export function jsonSchemaOf(schema: z.ZodType): Json {
  try {
    const said = JSON.stringify(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }));
    return Buffer.byteLength(said) > LIMITS.input_bytes_max / 2 ? null : (JSON.parse(said) as Json);
  } catch {
    return null;
  }
}
