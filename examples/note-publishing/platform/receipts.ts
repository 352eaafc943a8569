/** Asynchronous receipts: planned when a post is accepted, sent when due, again and again until answered with 2xx. */
import { createHmac } from 'node:crypto';
import type { Fault, ReceiptFault } from './faults.ts';
import { newId } from './store.ts';
import type { PlatformStore, ReceiptState } from './store.ts';
import { HEADERS, PLATFORM_LIMITS } from './types.ts';
import type { PlannedReceipt, Post, Receipt, ReceiptKind, Settings } from './types.ts';

const ANSWER_TIMEOUT_MS = 5_000;
const BACKOFF_CAP_MS = 10_000;

/** The receipts that a post just accepted will send, with the faults that struck it applied. */
export function planReceipts(
  post: Post,
  settings: Settings,
  faults: ReadonlyMap<ReceiptFault, Fault>,
): PlannedReceipt[] {
  const url = post.callbackUrl;
  if (url === null) return [];
  const at = (afterMs: number): string => new Date(Date.parse(post.acceptedAt) + afterMs).toISOString();
  const plan = (kind: ReceiptKind, dueAt: string, more: Partial<Receipt> = {}): PlannedReceipt => ({
    postId: post.id,
    url,
    dueAt,
    receipt: { ...emptyReceipt(post, kind, dueAt), ...more },
  });
  const done = at(settings.completedAfterMs);
  const planned = [plan('received', at(settings.receivedAfterMs)), plan('progress', at(settings.progressAfterMs))];
  const failed = faults.get('failed_receipt');
  if (failed !== undefined) {
    planned.push(plan('failed', done, { code: failed.code ?? 'platform_rejected' }));
  } else {
    const artifact = { uri: post.path, sha256: post.sha256 };
    planned.push(plan('completed', done, { artifact }));
  }
  const contradicting = faults.get('contradicting_receipt');
  if (contradicting !== undefined) {
    planned.push(plan('failed', at(settings.completedAfterMs + 1), { code: contradicting.code ?? 'contradiction' }));
  }
  return planned.flatMap((one) => strike(one, faults));
}

function strike(planned: PlannedReceipt, faults: ReadonlyMap<ReceiptFault, Fault>): PlannedReceipt[] {
  const kind = planned.receipt.kind;
  const hit = (name: ReceiptFault, usual?: readonly ReceiptKind[]): Fault | undefined => {
    const fault = faults.get(name);
    const kinds = fault?.receipts ?? usual;
    return fault !== undefined && (kinds === undefined || kinds.includes(kind)) ? fault : undefined;
  };
  if (hit('no_receipt') !== undefined) return [];
  let sent = [planned];
  const foreign = hit('foreign_receipt');
  if (foreign !== undefined) {
    const other: Partial<Receipt> = {
      deliveryId: newId('dlv'),
      taskId: foreign.asTask ?? newId('task'),
      inReplyTo: foreign.asMessage ?? newId('msg'),
      threadId: newId('thread'),
    };
    const wrong = { ...planned, receipt: { ...planned.receipt, ...other } };
    sent = foreign.instead === true ? [wrong] : [wrong, ...sent];
  }
  const text = hit('text_only_receipt', ['completed', 'failed']);
  if (text !== undefined) {
    const sentence: Partial<Receipt> = {
      deliveryId: newId('dlv'),
      kind: 'text',
      externalId: null,
      code: null,
      artifact: null,
      text: 'Hello, your post is done, everything looks fine!',
    };
    const said = { ...planned, receipt: { ...planned.receipt, ...sentence } };
    sent = text.instead === false ? [said, ...sent] : [said];
  }
  if (hit('duplicate_receipt') !== undefined) sent = sent.flatMap((one) => [one, one]);
  const late = hit('late_receipt');
  if (late === undefined) return sent;
  return sent.map((one) => ({ ...one, dueAt: new Date(Date.parse(one.dueAt) + late.ms).toISOString() }));
}

function emptyReceipt(post: Post, kind: ReceiptKind, at: string): Receipt {
  const { taskId, step, threadId, messageId } = post.reference;
  return {
    deliveryId: newId('dlv'),
    taskId,
    step,
    threadId,
    inReplyTo: messageId,
    kind,
    externalId: post.id,
    code: null,
    artifact: null,
    text: null,
    at,
  };
}

/** Sends what the store says is owed. Each receipt waits on its own: one dead callback holds up no other. */
export class ReceiptSender {
  readonly #store: PlatformStore;
  readonly #settings: () => Settings;
  readonly #secret: string | undefined;
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #stop = new AbortController();

  constructor(store: PlatformStore, settings: () => Settings, secret: string | undefined) {
    this.#store = store;
    this.#settings = settings;
    this.#secret = secret;
  }

  /** Sets a timer for each receipt that is owed and has none; called at start and after each acceptance. */
  schedule(): void {
    for (const [id, receipt] of this.#store.receipts) {
      if (receipt.copies > 0 && !this.#timers.has(id)) this.#arm(id, Date.parse(receipt.dueAt) - Date.now());
    }
  }

  /** Stops timers and running deliveries; what is owed stays owed in the journal. */
  stop(): void {
    this.#stop.abort();
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  #arm(id: string, delayMs: number): void {
    if (this.#stop.signal.aborted) return;
    const timer = setTimeout(() => void this.#deliver(id), Math.max(0, delayMs));
    this.#timers.set(id, timer);
  }

  async #deliver(id: string): Promise<void> {
    const state = this.#store.receipts.get(id);
    if (state === undefined || state.copies === 0) return;
    state.tries += 1;
    const problem = await this.#post(state);
    if (this.#stop.signal.aborted) return;
    state.lastError = problem;
    const at = new Date().toISOString();
    // A withdrawal may have dropped it while it was under way.
    if (problem === null && state.copies > 0) {
      this.#store.commit({ change: { type: 'delivered', deliveryId: id, copies: state.copies - 1, at } });
    } else if (problem !== null && state.tries >= PLATFORM_LIMITS.receipt_tries_max) {
      this.#store.commit({ change: { type: 'given_up', deliveryId: id, at } });
    }
    if (state.copies === 0) {
      this.#timers.delete(id);
      return;
    }
    const doublings = Math.min(state.tries - 1, 20);
    this.#arm(id, problem === null ? 0 : Math.min(this.#settings().receiptRetryMs * 2 ** doublings, BACKOFF_CAP_MS));
  }

  /** Sends one copy; null when it was answered with 2xx, otherwise why not. */
  async #post(state: ReceiptState): Promise<string | null> {
    const body = JSON.stringify(state.receipt);
    const headers: Record<string, string> = { 'content-type': 'application/json' };
    if (this.#secret !== undefined) headers[HEADERS.signature] = sign(body, this.#secret);
    try {
      const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]);
      const response = await fetch(state.url, { method: 'POST', headers, body, signal, redirect: 'manual' });
      await response.body?.cancel();
      return response.ok ? null : `HTTP ${response.status}`;
    } catch (error) {
      const cause = error instanceof Error ? (error.cause as { code?: unknown } | undefined) : undefined;
      return typeof cause?.code === 'string' ? cause.code : error instanceof Error ? error.name : 'unknown';
    }
  }
}

/** HMAC-SHA256 over the exact bytes of the body, hex: how a receiver knows who sent a receipt. */
export function sign(body: string | Buffer, secret: string): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}
