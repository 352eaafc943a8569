/**
 * The one error catalogue. Every error that leaves Throughline has a code of this list: stable for
 * ever, with the HTTP status that the API answers and the exit code that the CLI ends with. Codes only
 * ever get added.
 */

/** One entry: `status` is an HTTP status, `exit` a process exit code, `sentence` says what to do. */
interface Entry {
  readonly status: number;
  readonly exit: number;
  readonly sentence: string;
}

const entry = (status: number, exit: number, sentence: string): Entry => ({ status, exit, sentence });

export const ERRORS = {
  // Bad input: nothing was written.
  INPUT_INVALID: entry(422, 2, 'The input does not fit the schema of its type.'),
  INPUT_TOO_LARGE: entry(413, 2, 'The value is larger than its limit.'),
  BULK_TOO_LARGE: entry(413, 2, 'The filter finds more than one bulk may hold: narrow it, by time for example.'),
  INPUT_NOT_STORABLE: entry(422, 2, 'The value holds a character or number that the ledger cannot store.'),
  TIME_INVALID: entry(400, 2, 'The time cannot be read or has no zone.'),
  ID_INVALID: entry(400, 2, 'The id does not have the form of an id.'),
  CURSOR_INVALID: entry(400, 2, 'The cursor is not one that this list gave out.'),
  FILTER_INVALID: entry(400, 2, 'The filter or sort column is unknown.'),
  REASON_REQUIRED: entry(422, 2, 'Who acts and why must be said.'),
  EVIDENCE_REQUIRED: entry(422, 2, 'What was looked at outside, and what was seen, must be said.'),
  BODY_INVALID: entry(400, 2, 'The body is not JSON that can be read.'),
  MEDIA_TYPE_UNSUPPORTED: entry(415, 2, 'The body must be application/json.'),
  // Who calls: nothing was read or written.
  TOKEN_REQUIRED: entry(401, 4, 'A token is needed: `Authorization: Bearer tl_…`.'),
  TOKEN_INVALID: entry(401, 4, 'The token is not known, has expired or was revoked.'),
  ROLE_FORBIDDEN: entry(403, 4, 'The role of this token may not do that.'),
  TYPE_FORBIDDEN: entry(403, 4, 'This token is not for tasks of this type.'),
  FORM_EXPIRED: entry(403, 4, 'This form is not of your session any more: load the page again and repeat.'),
  SENDER_FORBIDDEN: entry(403, 4, 'This token or key is not for receipts of this sender.'),
  RATE_LIMITED: entry(429, 5, 'Too many requests: try again later.'),
  SIGNATURE_INVALID: entry(401, 4, 'The message is not signed with a secret that is known here, or too long ago.'),
  CONFIG_INVALID: entry(500, 2, 'The configuration cannot be used.'),
  // Unknown things.
  TASK_UNKNOWN: entry(404, 3, 'There is no task with this id.'),
  TASK_PRUNED: entry(410, 3, 'The task was pruned: what is left says how it ended.'),
  STEP_UNKNOWN: entry(404, 3, 'The task has no step of this name.'),
  TYPE_UNKNOWN: entry(404, 3, 'No worker has registered this task type.'),
  EFFECT_UNKNOWN: entry(404, 3, 'The step has no such effect.'),
  RECEIPT_UNKNOWN: entry(404, 3, 'There is no receipt with this id.'),
  ENTRY_UNKNOWN: entry(404, 3, 'There is no timeline entry with this id.'),
  WEBHOOK_UNKNOWN: entry(404, 3, 'There is no webhook with this id.'),
  BULK_UNKNOWN: entry(404, 3, 'There is no bulk replay or bulk cancel with this id.'),
  NOTIFICATION_UNKNOWN: entry(404, 3, 'There is no notification with this id.'),
  TOKEN_UNKNOWN: entry(404, 3, 'There is no token of this id or name in force.'),
  SENDER_KEY_UNKNOWN: entry(404, 3, 'There is no key of a sender with this id in force.'),
  ROUTE_UNKNOWN: entry(404, 3, 'There is nothing at this address.'),
  // Conflicts: the present state refuses.
  DEDUPE_CONFLICT: entry(409, 4, 'This key belongs to a task with another input.'),
  ID_CONFLICT: entry(409, 4, 'This id was used for another request.'),
  TRANSITION_REFUSED: entry(409, 4, 'The state machine has no row for this event in the present state.'),
  WITHDRAW_UNDECLARED: entry(409, 4, 'The step declares no way to take back what it submitted: cancel, or abandon the wait.'),
  CLAIM_FENCED: entry(409, 4, 'The claim is no longer the current one.'),
  REPLAY_EFFECT_OPEN: entry(409, 4, 'Something is still open outside: first say what became of it, `throughline confirm-effect` or `throughline confirm-absent`.'),
  REPLAY_CANCEL_SET: entry(409, 4, 'A cancel is set: publish again as a new task, `throughline enqueue --again`.'),
  REPLAY_PROOF_ARRIVED: entry(409, 4, 'A proof has arrived since: confirm the effect instead, `throughline confirm-effect`.'),
  REPLAY_NOT_DEAD: entry(409, 4, 'Only a dead step can be replayed.'),
  EXTERNAL_ID_CONFLICT: entry(409, 4, 'The effect is known under another external id.'),
  RECEIPT_NOT_REMATCHABLE: entry(409, 4, 'Only a receipt that matched nothing can be matched again, and only where it may be the answer to that request.'),
  RECEIPT_REMATCH_REFUSED: entry(409, 4, 'Under this address the receipt would be refused, too: its verdict stands.'),
  RECEIPT_AMBIGUOUS: entry(409, 4, "More than one receipt has this delivery id: name the sender, or the receipt's own id."),
  BULK_ENDED: entry(409, 4, 'The bulk has ended: nothing of it is left to do.'),
  BULK_ITEM_CHANGED: entry(409, 4, 'It died again after the bulk was made: look at it, then make another.'),
  REVIEW_NOT_OPEN: entry(409, 4, 'No review of this step waits for a verdict.'),
  NAME_TAKEN: entry(409, 4, 'This name is in use.'),
  AGAIN_TAKEN: entry(409, 4, 'The task already has a successor.'),
  SERIALIZATION: entry(409, 5, 'The transaction met another one: run it again from its start.'),
  // Definitions and handlers.
  DEFINITION_INVALID: entry(500, 2, 'The task definition cannot keep its promises.'),
  PLAN_CHANGED: entry(409, 2, 'The plan of this type and version differs from the registered one: raise the version.'),
  EFFECT_UNRESOLVED: entry(409, 4, 'An earlier request of this effect has no answer and cannot be repeated.'),
  EFFECT_REFUSED: entry(502, 4, 'The other side refused the request.'),
  EFFECT_NOT_SENT: entry(503, 5, 'The request was not sent.'),
  EFFECT_UNDECLARED: entry(500, 4, 'The step did not declare this effect.'),
  EFFECT_CONCURRENT: entry(500, 4, 'Another effect of this step is in progress.'),
  EFFECT_AFTER_SUBMISSION: entry(500, 4, 'No effect may follow the submission.'),
  EFFECT_REQUEST_CHANGED: entry(500, 4, 'The request differs from the one sent under the same key.'),
  RESULT_TOO_LARGE: entry(413, 4, 'The result is larger than its limit.'),
  RESULT_INVALID: entry(422, 4, 'The result does not fit its schema.'),
  ARTIFACT_UNKNOWN: entry(404, 3, 'The artifact is not in the store.'),
  ARTIFACT_UNREADABLE: entry(503, 5, 'The artifact store could not be read.'),
  ARTIFACT_DAMAGED: entry(500, 4, 'The artifact is damaged: its bytes are not the ones that were stored.'),
  ARTIFACT_STORE_DENIED: entry(503, 5, 'The artifact store may not be used: permission or credentials are missing.'),
  ARTIFACT_STORE_MISSING: entry(503, 5, 'The artifact store is not there: its folder or bucket is missing.'),
  ADDRESS_REFUSED: entry(403, 4, 'The address is not one that may be called: it is private, local or reserved.'),
  // Surroundings.
  LEDGER_UNAVAILABLE: entry(503, 5, 'Postgres cannot be reached.'),
  LEDGER_OUTDATED: entry(503, 5, 'The database schema is older than this program: run `throughline migrate`.'),
  LEDGER_NEWER: entry(503, 5, 'The database schema is newer than this program understands.'),
  MIGRATION_CHANGED: entry(500, 2, 'An applied migration differs from the file of the same number.'),
  TEMPORAL_UNAVAILABLE: entry(503, 5, 'Temporal cannot be reached.'),
  TEMPORAL_NOT_FOUND: entry(503, 2, 'No Temporal server was found.'),
  STACK_BUSY: entry(409, 4, 'Another local stack is starting or running in this folder.'),
  STACK_FAILED: entry(500, 5, 'The local stack did not start.'),
  API_UNAVAILABLE: entry(503, 5, 'The API cannot be reached.'),
  WAIT_TIMEOUT: entry(504, 6, 'The task did not come to rest within the time given.'),
  INVARIANT_BROKEN: entry(500, 70, 'A promise of the program was broken; please report it.'),
} as const satisfies Readonly<Record<string, Entry>>;

export type ErrorCode = keyof typeof ERRORS;

/** What an error may say beside its code. All values are safe to show; never put secrets here. */
export interface ErrorDetail {
  /** Replaces the catalogue's sentence. */
  readonly message?: string;
  /** Where in the input: a JSON pointer such as `/input/note`, or an option's name. */
  readonly path?: string;
  /** The limit that was met; the unit stands in the text. */
  readonly limit?: string | number;
  /** Further paths, for example the ones that differ in a conflict. */
  readonly paths?: readonly string[];
  /** Ids, states and epochs that help the reader. */
  readonly facts?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** An expected failure. `code` is stable, `status` and `exit` come from the catalogue. */
export class ThroughlineError extends Error {
  override readonly name = 'ThroughlineError';
  readonly code: ErrorCode;
  readonly status: number;
  readonly exit: number;
  readonly detail: ErrorDetail;

  constructor(code: ErrorCode, detail: ErrorDetail = {}) {
    const text = detail.message ?? ERRORS[code].sentence;
    const where = detail.path === undefined ? '' : ` (at ${detail.path})`;
    const limit = detail.limit === undefined ? '' : ` (limit: ${String(detail.limit)})`;
    super(`${text}${where}${limit}`, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.code = code;
    this.status = ERRORS[code].status;
    this.exit = ERRORS[code].exit;
    this.detail = detail;
  }

  /** The error as data, for JSON answers and logs. */
  toJSON(): Record<string, unknown> {
    const { path, limit, paths, facts } = this.detail;
    return {
      code: this.code,
      message: this.message,
      ...(path === undefined ? {} : { path }),
      ...(limit === undefined ? {} : { limit }),
      ...(paths === undefined ? {} : { paths }),
      ...(facts === undefined ? {} : { facts }),
    };
  }
}

/** Fails with the name of the broken promise; for what can't happen, not for operating errors. */
export function invariant(condition: unknown, promise: string): asserts condition {
  if (!condition) throw new ThroughlineError('INVARIANT_BROKEN', { message: `Broken promise: ${promise}` });
}

/** The end of a `switch` over a closed list. */
export function unreachable(value: never): never {
  throw new ThroughlineError('INVARIANT_BROKEN', { message: `Unexpected value: ${String(value)}` });
}
