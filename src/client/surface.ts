/** What a service may do, whichever way it comes in: `createClient` (Postgres) and `createHttpClient` (the API) both are one. */
import type { CancelAnswer, Enqueued, ListFilter, Page, ReceiptAnswer, ReplayAnswer, TaskRecord, TaskTypeRow, TimelineRow } from '../ledger/index.ts';
import type { View } from '../state/index.ts';
import type { Action, ReceiptInput } from './client.ts';
import type { BatchItem, BatchOptions, BatchResult, Definition, EnqueueOptions } from './enqueue.ts';
import type { Explanation, ExplainLanguage } from './explain/index.ts';
import type { Health } from './health.ts';
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

/** The same answers and the same codes (ThroughlineError) through each. What only one can do, a caller's own transaction above all, is not here. */
export interface ThroughlineSurface {
  enqueue<Accepts>(task: Definition<Accepts> | string, input: NoInfer<Accepts>, options?: Omit<EnqueueOptions, 'tx'>): Promise<Enqueued>;
  enqueueBatch<Accepts>(task: Definition<Accepts> | string, items: readonly BatchItem<NoInfer<Accepts>>[], options?: Omit<BatchOptions, 'tx'>): Promise<readonly BatchResult[]>;
  cancel(task: string, action: Action): Promise<CancelAnswer>;
  decide(task: string, decision: Decision): Promise<ReceiptAnswer>;
  deliverReceipt(receipt: ReceiptInput): Promise<ReceiptAnswer>;
  replay(task: string, action: ReplayAction): Promise<ReplayAnswer>;
  get(task: string): Promise<View>;
  record(task: string): Promise<TaskRecord>;
  steps(task: string): Promise<TaskRecord['steps']>;
  history(task: string): Promise<readonly TimelineRow[]>;
  explain(task: string, options?: { readonly lang?: ExplainLanguage }): Promise<Explanation>;
  list(filter?: Omit<ListFilter, 'types'>): Promise<Page>;
  taskTypes(): Promise<readonly TaskTypeRow[]>;
  health(): Promise<Health>;
  waitFor(task: string, options?: WaitOptions): Promise<Rest>;
  close(): Promise<void>;
}
