/** What a notification says: ids, codes and one sentence. */
import { explain } from '../client/explain/index.ts';
import type { TakenNotification, TaskRecord } from '../ledger/index.ts';
import { LIMITS } from '../state/index.ts';

/** The same task without what people and programs wrote into it: an error's text or a reason may quote the input. */
const withoutWords = (record: TaskRecord): TaskRecord => ({
  ...record,
  steps: record.steps.map((step) => (step.error === null ? step : { ...step, error: { ...step.error, message: '' } })),
  receipts: record.receipts.map((receipt) => ({ ...receipt, body: { by: receipt.body['by'] ?? null } })),
  outbox: record.outbox === null ? null : { ...record.outbox, last_error: null },
});

/** The body that is signed. `record`: the task as it is now; null: the notification is about none, or the task was pruned. */
export function noticeBody(row: TakenNotification, record: TaskRecord | null): string {
  const headline = record === null ? null : explain(withoutWords(record), { lang: 'en' }).headline.slice(0, LIMITS.webhook_headline_chars_max);
  return JSON.stringify({ type: row.event, timestamp: row.at, data: { task: row.task, step: row.step, ...row.facts, headline } });
}
