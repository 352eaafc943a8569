/** Receipts as they are stored, and matching one again by hand. */
import { randomUUID } from 'node:crypto';
import { boundedText, checkedAction } from '../ledger/index.ts';
import type { Door, Reader, ReceiptPage, RematchAnswer } from '../ledger/index.ts';
import { checkedTaskId, checkedUuid, checkPageLimit } from './checks.ts';
import type { Deed } from './operator.ts';

export interface ReceiptFilter {
  /** Only those of this task. */
  readonly task?: string;
  /** Only those that match nothing: not judged yet, or wrong by whom they are for. */
  readonly unmatched?: boolean;
  /** Rows at most, 1 to 500. Default 50. */
  readonly limit?: number;
  /** As given with the page before. */
  readonly cursor?: string;
}

export interface Rematch extends Deed {
  /** The task and step that it is for. */
  readonly task: string;
  readonly step: string;
  /** The message id that it answers, where it names none of ours; default: the submission's last request before it came. */
  readonly message?: string;
  /** Whose delivery it is, where two senders use the same delivery id. */
  readonly sender?: string;
}

const CHARS_MAX = 200;

export async function listReceipts(reader: Reader, { task, unmatched, limit, cursor }: ReceiptFilter): Promise<ReceiptPage> {
  if (limit !== undefined) checkPageLimit(limit);
  const id = task === undefined ? undefined : checkedTaskId(task);
  if (id !== undefined && (await reader.taskView(id)) === null) throw await reader.whyAbsent(id);
  return reader.receiptList({ ...(id === undefined ? {} : { task: id }), unmatched: unmatched === true, ...(limit === undefined ? {} : { limit }), ...(cursor === undefined ? {} : { cursor }) });
}

export async function rematchReceipt(door: Door, who: string, delivery: string, rematch: Rematch): Promise<RematchAnswer> {
  const { task, step, message, sender, id, by, why } = rematch;
  const row = checkedAction({ id: id ?? randomUUID(), by: by ?? who, why, step });
  return door.receiptRematch(checkedTaskId(task), {
    ...row, receipt: boundedText(delivery, '/receipt', CHARS_MAX),
    ...(message === undefined ? {} : { message_id: checkedUuid(message, '/message') }),
    ...(sender === undefined ? {} : { sender: boundedText(sender, '/sender', CHARS_MAX) }),
  });
}
