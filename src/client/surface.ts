/** What a service may do, whichever way it comes in: `createClient` (Postgres) and `createHttpClient` (the API) both are one. */
import type { BulkRow, CancelAnswer, ConfirmAnswer, CorrectAnswer, Enqueued, ListFilter, Page, ReceiptAnswer, ReceiptPage, RematchAnswer, ReplayAnswer, TaskRecord, TaskTypeRow, TimelineRow, UnparkAnswer } from '../ledger/index.ts';
import type { View } from '../state/index.ts';
import type { AuditOptions, AuditReport } from './audit.ts';
import type { BulkActions, BulkInput, BulkReplayInput } from './bulk.ts';
import type { Action, ReceiptInput } from './client.ts';
import type { BatchItem, BatchOptions, BatchResult, Definition, EnqueueOptions } from './enqueue.ts';
import type { Evidence } from './evidence.ts';
import type { Explanation, ExplainLanguage } from './explain/index.ts';
import type { Health } from './health.ts';
import type { Absence, Correction, Deed, Presence } from './operator.ts';
import type { ReceiptFilter, Rematch } from './receipts.ts';
import type { Rest, WaitOptions } from './wait.ts';

export interface Decision {
  readonly step: string;
  readonly verdict: 'opened' | 'approved' | 'rejected';
  readonly by: string;
  readonly why?: string;
  readonly id?: string;
}

export interface ReplayAction extends Action {
  readonly void?: readonly { readonly effect: string; readonly item?: string }[];
  readonly dropCheckpoints?: boolean;
}

/** Actions on many; `drive` is the direct client's alone: elsewhere workers do it. */
export interface BulkSurface<Input> extends Pick<BulkActions, 'get' | 'list' | 'items' | 'apply' | 'abort'> {
  create(input: Input): Promise<BulkRow>;
}

/** The same answers and the same codes (ThroughlineError) through each. What only one can do, a caller's own transaction above all, is not here. */
export interface ThroughlineSurface {
  enqueue<Accepts>(task: Definition<Accepts> | string, input: NoInfer<Accepts>, options?: Omit<EnqueueOptions, 'tx'>): Promise<Enqueued>;
  enqueueBatch<Accepts>(task: Definition<Accepts> | string, items: readonly BatchItem<NoInfer<Accepts>>[], options?: Omit<BatchOptions, 'tx'>): Promise<readonly BatchResult[]>;
  cancel(task: string, action: Action): Promise<CancelAnswer>;
  withdraw(task: string, action: Action): Promise<CancelAnswer>;
  abandonWait(task: string, action: Action): Promise<CancelAnswer>;
  decide(task: string, decision: Decision): Promise<ReceiptAnswer>;
  deliverReceipt(receipt: ReceiptInput): Promise<ReceiptAnswer>;
  rematchReceipt(delivery: string, rematch: Rematch): Promise<RematchAnswer>;
  replay(task: string, action: ReplayAction): Promise<ReplayAnswer>;
  confirmEffect(task: string, seen: Presence): Promise<ConfirmAnswer>;
  confirmAbsent(task: string, seen: Absence): Promise<ConfirmAnswer>;
  correct(task: string, correction: Correction): Promise<CorrectAnswer>;
  unpark(task: string, deed: Deed): Promise<UnparkAnswer>;
  readonly replays: BulkSurface<BulkReplayInput>;
  readonly cancels: BulkSurface<BulkInput>;
  get(task: string): Promise<View>;
  record(task: string): Promise<TaskRecord>;
  steps(task: string): Promise<TaskRecord['steps']>;
  history(task: string): Promise<readonly TimelineRow[]>;
  explain(task: string, options?: { readonly lang?: ExplainLanguage }): Promise<Explanation>;
  list(filter?: Omit<ListFilter, 'types'>): Promise<Page>;
  receipts(filter?: ReceiptFilter): Promise<ReceiptPage>;
  audit(options?: AuditOptions): Promise<AuditReport>;
  evidence(task: string): Promise<Evidence>;
  taskTypes(): Promise<readonly TaskTypeRow[]>;
  health(): Promise<Health>;
  waitFor(task: string, options?: WaitOptions): Promise<Rest>;
  close(): Promise<void>;
}
