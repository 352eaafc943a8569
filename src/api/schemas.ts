/** What comes in and goes out, for checking and for the description. Limits that the client checks with codes of their own are only told here. */
import { z } from 'zod';
import { CATEGORIES, LIMITS, PARENT_STATUSES, REASON_CODES } from '../state/index.ts';
import { BULK_RESULTS } from '../client/bulk.ts';
import { BEHALF_CHARS_MAX } from './caller.ts';

/** Checked by the client, which has a better code for it; told here. */
const text = (maxLength: number, description: string) => z.string().meta({ minLength: 1, maxLength, description });
const moment = z.string().meta({ format: 'date-time' });

export const json = z.unknown().meta({ description: 'any JSON' });
export const TaskParams = z.object({ task: z.string().meta({ format: 'uuid' }) });
export const Status = z.enum(PARENT_STATUSES as unknown as readonly [string, ...string[]]);

export const by = z.string().min(1).max(BEHALF_CHARS_MAX).optional().describe('for whom the token acts; recorded as `token:NAME/BY`');
const why = text(LIMITS.why_chars_max, 'why, for the timeline');
const actionId = z.string().optional().meta({ minLength: 1, maxLength: 200, description: 'makes the action idempotent; the Idempotency-Key header does the same' });
const step = z.string().optional().meta({ minLength: 1, maxLength: LIMITS.name_chars_max });
const named = z.string().meta({ minLength: 1, maxLength: LIMITS.name_chars_max });

const action = { why, id: actionId, by };
export const ActionBody = z.strictObject({ ...action, step });
export const StepActionBody = z.strictObject({ ...action, step: named });
export const DecideBody = z.strictObject({ step: named, verdict: z.enum(['opened', 'approved', 'rejected']), why: z.string().optional().meta({ maxLength: LIMITS.why_chars_max }), id: actionId, by });
export const ReplayBody = z.strictObject({
  ...action, step, dropCheckpoints: z.boolean().optional(),
  void: z.array(z.strictObject({ effect: z.string().max(LIMITS.name_chars_max), item: z.string().max(LIMITS.item_chars_max).optional() })).max(LIMITS.replay_void_max).optional(),
});

const effect = { effect: z.string().meta({ minLength: 1, maxLength: LIMITS.name_chars_max }), item: z.string().optional().meta({ maxLength: LIMITS.item_chars_max }) };
const seen = { ...action, step: named, ...effect, evidence: text(LIMITS.evidence_chars_max, 'where somebody looked, and what was there') };
export const AbsenceBody = z.strictObject(seen);
export const PresenceBody = z.strictObject({ ...seen, externalId: z.string().optional().meta({ maxLength: LIMITS.external_id_chars_max, description: "the other side's id of it" }), result: json.optional() });
export const CorrectBody = z.strictObject({
  ...action, entry: z.union([z.int(), z.string()]).meta({ description: 'the id of the timeline entry that is wrong' }),
  reason: z.enum(REASON_CODES as unknown as readonly [string, ...string[]]).optional().meta({ description: 'the code that it should have had' }),
});
export const UnparkBody = z.strictObject(action);
export const RematchBody = z.strictObject({
  ...action, task: z.string().meta({ format: 'uuid' }), step: named,
  message: z.string().optional().meta({ format: 'uuid', description: "the message that it answers; default: the submission's last request before it came" }),
  sender: z.string().optional().meta({ maxLength: 200, description: 'whose delivery, where two senders use the same delivery id' }),
});

const bulkFilter = z.strictObject({
  reason: z.enum(REASON_CODES as unknown as readonly [string, ...string[]]).optional(), category: z.enum(Object.keys(CATEGORIES) as [string, ...string[]]).optional(),
  type: z.string().optional().meta({ minLength: 1, maxLength: LIMITS.name_chars_max }), step, status: z.enum(PARENT_STATUSES as unknown as readonly [string, ...string[]]).optional(),
  from: moment.optional(), to: moment.optional(), tasks: z.array(z.string().meta({ format: 'uuid' })).optional().meta({ minItems: 1, maxItems: LIMITS.page_rows_max, description: 'only these' }),
}).meta({ description: 'at least one part; each narrows it' });
const bulk = {
  filter: bulkFilter, why, by, id: z.string().optional().meta({ format: 'uuid', description: 'makes it idempotent; the Idempotency-Key header does the same' }),
  ratePerSecond: z.number().optional().meta({ minimum: 0.01, maximum: LIMITS.bulk_rate_per_s_max, description: `items in a second; default ${String(LIMITS.bulk_rate_per_s_default)}` }),
};
export const BulkCancelBody = z.strictObject(bulk);
export const BulkReplayBody = z.strictObject({ ...bulk, dropCheckpoints: z.boolean().optional(), void: z.array(z.strictObject(effect)).max(LIMITS.bulk_voids_max).optional() });
export const BulkApplyBody = z.strictObject({ by });
export const BulkAbortBody = z.strictObject({ why, by });
export const BulkParams = z.object({ bulk: z.string().meta({ format: 'uuid' }) });

const duration = z.union([z.number(), z.string()]).meta({ description: 'milliseconds, or text such as 90s, 10m, 2h, 7d' });
const enqueueFields = {
  key: z.string().optional().meta({ minLength: 1, maxLength: LIMITS.key_chars_max, description: 'unique per type, for ever; the Idempotency-Key header does the same' }),
  runAt: moment.optional(), delay: duration.optional(), deadline: moment.optional(),
  again: z.string().optional().meta({ format: 'uuid', description: 'the task that this one repeats' }),
  id: z.string().optional().meta({ format: 'uuid', description: "the new task's id, so that the same call again is the same task" }),
  priority: z.number().optional().meta({ minimum: 1, maximum: LIMITS.priority_max }),
  fairnessKey: z.string().optional().meta({ maxLength: LIMITS.fairness_key_bytes_max }), fairnessWeight: z.number().optional(),
  by,
};
const type = z.string().meta({ minLength: 1, maxLength: LIMITS.name_chars_max });
const version = z.int().min(1).max(2_147_483_647).optional();
export const EnqueueBody = z.strictObject({ type, version, input: json, ...enqueueFields });
const { key: _key, again: _again, id: _id, ...sharedFields } = enqueueFields;
export const BatchBody = z.strictObject({ type, version, ...sharedFields, items: z.array(z.strictObject({ input: json, ...enqueueFields })).meta({ maxItems: LIMITS.batch_max }) });

const optionalText = (max: number) => z.string().nullable().optional().meta({ maxLength: max });
export const ReceiptBody = z.strictObject({
  deliveryId: z.string().optional().meta({ minLength: 1, maxLength: 200, description: 'default: the webhook-id header' }),
  sender: z.string().meta({ minLength: 1, maxLength: LIMITS.actor_chars_max }),
  task: z.string().meta({ minLength: 1, maxLength: 200 }), step: z.string().meta({ minLength: 1, maxLength: 200 }),
  kind: z.string().meta({ description: 'delivered, received, progress, completed, failed or text' }),
  threadId: optionalText(200), inReplyTo: optionalText(200), externalId: optionalText(LIMITS.external_id_chars_max), code: optionalText(200),
  retryable: z.boolean().optional(), artifact: json.optional(), text: z.string().nullable().optional(),
});

export const ListQuery = z.strictObject({
  status: Status.optional(), type: z.string().optional(), reason: z.enum(REASON_CODES as unknown as readonly [string, ...string[]]).optional(), atRest: z.enum(['true', 'false']).optional(),
  createdFrom: moment.optional(), createdTo: moment.optional(), key: z.string().optional(), text: z.string().optional().describe('the beginning of an id (at least 8 characters), of a key, or of the subject in it'),
  limit: z.coerce.number().int().min(1).max(LIMITS.page_rows_max).optional(), cursor: z.string().max(200).optional(),
});
const page = { limit: z.coerce.number().int().min(1).max(LIMITS.page_rows_max).optional(), cursor: z.string().max(200).optional() };
export const PageQuery = z.strictObject(page);
export const ReceiptQuery = z.strictObject({ ...page, task: z.string().optional().meta({ format: 'uuid' }), unmatched: z.enum(['true', 'false']).optional().describe('only those that match nothing') });
export const BulkItemQuery = z.strictObject({ ...page, result: z.enum(BULK_RESULTS as unknown as readonly [string, ...string[]]).optional(), code: z.string().max(LIMITS.name_chars_max).optional().describe('of refusals') });
export const AuditQuery = z.strictObject({
  task: z.string().optional().meta({ format: 'uuid' }), since: moment.optional().describe('tasks that were open at some moment since then'),
  rows: z.coerce.number().int().min(1).max(1_000).optional().describe('rows shown of each finding; default 20'),
});
export const ReceiptParams = z.object({ receipt: z.string().meta({ minLength: 1, maxLength: 200, description: "its delivery id, or the receipt's own id" }) });
export const WaitQuery = z.strictObject({ wait: z.coerce.number().min(0).max(LIMITS.api_wait_seconds_max).optional().describe('answer when the task is at rest, or after so many seconds as it then is') });
export const NoQuery = z.strictObject({});
export const IdempotencyHeader = z.object({ 'idempotency-key': z.string().max(LIMITS.key_chars_max).optional() });

// ---- Answers. More fields may be added: readers ignore what they don't know.
const nullable = z.string().nullable();
export const Enqueued = z.looseObject({ id: z.string(), state: Status, created: z.boolean() }).meta({ id: 'Enqueued' });
export const Batch = z.looseObject({ results: z.array(z.looseObject({ index: z.int(), id: z.string().optional(), state: z.string().optional(), created: z.boolean().optional(), error: z.looseObject({ code: z.string(), message: z.string() }).optional() })) }).meta({ id: 'BatchAnswer' });
export const View = z
  .looseObject({
    task: z.string(), type: z.string(), version: z.int(), seq: z.int(), status: Status, at_rest: z.boolean(), reason: z.string(), held_by: nullable, as_of: moment,
    steps: z.array(z.looseObject({ name: z.string(), state: z.string(), reason: z.string(), attempt: z.int(), epoch: z.int(), seq: z.int() })),
  })
  .meta({ id: 'View' });
export const Row = z.looseObject({});
export const rowsOf = (name: string) => z.looseObject({ as_of: moment, [name]: z.array(Row) });
export const TaskRow = z.looseObject({ id: z.string(), type: z.string(), version: z.int(), key: nullable, status: Status, at_rest: z.boolean(), reason: z.string(), since: moment, created_at: moment, created_by: z.string() }).meta({ id: 'TaskRow' });
export const TaskPage = z.looseObject({ rows: z.array(TaskRow), cursor: nullable, as_of: moment }).meta({ id: 'TaskPage' });
export const TaskRecord = z.looseObject({ as_of: moment, task: Row, steps: z.array(Row), timeline: z.array(Row), touches: z.array(Row), receipts: z.array(Row), cancels: z.array(Row), artifacts: z.array(Row) }).meta({ id: 'TaskRecord' });
export const CancelAnswer = z.looseObject({ id: z.string(), task: z.string(), verb: z.string(), verdict: z.string(), status: Status, steps: z.array(Row) }).meta({ id: 'CancelAnswer' });
export const ConfirmAnswer = z.looseObject({ task: z.string(), id: z.string(), step: z.string(), rule: z.string(), state: z.string() }).meta({ id: 'ConfirmAnswer' });
export const CorrectAnswer = z.looseObject({ entry: z.int(), corrects: z.int() }).meta({ id: 'CorrectAnswer' });
export const UnparkAnswer = z.looseObject({ unparked: z.boolean() }).meta({ id: 'UnparkAnswer' });
export const RematchAnswer = z.looseObject({ task: z.string(), id: z.string(), receipt: z.string(), was: z.string(), verdict: z.string(), applied: z.boolean(), state: nullable }).meta({ id: 'RematchAnswer' });
export const Rows = z.looseObject({ rows: z.array(Row), cursor: nullable });
export const Bulk = z.looseObject({ id: z.string(), kind: z.string(), status: z.string(), items: z.int(), counts: z.record(z.string(), z.int()), by: z.string(), why: z.string() }).meta({ id: 'Bulk' });
export const BulkPage = z.looseObject({ rows: z.array(Bulk), cursor: nullable });
export const AuditReport = z.looseObject({ as_of: moment, tasks: z.int(), checks: z.int(), ok: z.boolean(), findings: z.array(z.looseObject({ code: z.string(), kind: z.string(), count: z.int(), rows: z.array(Row) })) }).meta({ id: 'AuditReport' });
export const Evidence = z.looseObject({ task: z.string(), text: z.string(), lines: z.int(), timeline: z.looseObject({ entries: z.int(), head: z.string() }), seal: z.string() }).meta({ id: 'Evidence' });
export const ReceiptAnswer = z.looseObject({ id: z.string(), verdict: nullable }).meta({ id: 'ReceiptAnswer' });
export const ReplayAnswer = z.looseObject({ task: z.string(), id: z.string(), steps: z.array(Row) }).meta({ id: 'ReplayAnswer' });
export const Explanation = z.looseObject({ headline: z.string(), will_run_again: Row }).meta({ id: 'Explanation' });
