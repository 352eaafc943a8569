import type { ConnectionOptions } from '@temporalio/client';
import { randomUUID } from 'node:crypto';
import { digest, storable } from '../define/canonical.ts';
import type { AnyTaskDefinition } from '../define/definition.ts';
import type { Json } from '../define/json.ts';
import { ThroughlineError } from '../errors.ts';
import { boundedText, checkedAction, Database, Door, Reader, taskEvidence, verifySchema } from '../ledger/index.ts';
import type { ActionRow, CancelAnswer, ConfirmAnswer, CorrectAnswer, Enqueued, ListFilter, Page, ReceiptAnswer, ReceiptPage, RematchAnswer, ReplayAnswer, TaskListRow, TaskRecord, TaskTypeRow, TimelineRow, UnparkAnswer } from '../ledger/index.ts';
import type { Metrics } from '../metrics/index.ts';
import { ObservedDoor } from '../metrics/observed-door.ts';
import { traceParent, traced } from '../tracing/spans.ts';
import { LIMITS, PARENT_STATUSES, RECEIPT_KINDS, REASON_CODES } from '../state/index.ts';
import type { ReceiptKind, View } from '../state/index.ts';
import { Access } from './access.ts';
import { audit } from './audit.ts';
import type { AuditOptions, AuditReport } from './audit.ts';
import { enqueueBatch } from './batch.ts';
import { BulkCancels, BulkReplays } from './bulk.ts';
import { checkedTaskId, checkedTime, checkPageLimit } from './checks.ts';
import { conflictWithPaths, enqueueRow } from './enqueue.ts';
import type { BatchItem, BatchOptions, BatchResult, Definition, EnqueueOptions } from './enqueue.ts';
import { EventFeed } from './events.ts';
import { makeEvidence } from './evidence.ts';
import type { Evidence } from './evidence.ts';
import { explain } from './explain/index.ts';
import type { Explanation, ExplainLanguage } from './explain/index.ts';
import { ledgerHealth } from './health.ts';
import type { Health, Overview } from './health.ts';
import { Operator } from './operator.ts';
import type { Absence, Correction, Deed, Presence, Replay } from './operator.ts';
import { listReceipts, rematchReceipt } from './receipts.ts';
import type { ReceiptFilter, Rematch } from './receipts.ts';
import { withdrawalRefused } from './refusals.ts';
import { Retention } from './retention.ts';
import { TemporalSightings } from './sight.ts';
import type { Decision, ThroughlineSurface } from './surface.ts';
import { Webhooks } from './webhooks.ts';
import { RestWaiter } from './wait.ts';
import type { Rest, WaitOptions } from './wait.ts';

const DAY_MS = 24 * 3_600_000;
const OVERVIEW_SPANS = 48;

export interface ClientOptions {
  /** postgres:// URL of the ledger. */
  readonly databaseUrl: string;
  /** Only for `explain`, which then says whether Temporal agrees. Everything works without it. */
  readonly temporal?: { readonly address: string; readonly namespace?: string; readonly connection?: Pick<ConnectionOptions, 'tls' | 'apiKey' | 'metadata'> };
  /** Who acts, where a call doesn't say. */
  readonly by?: string;
  /** Connections at most. Default 10. */
  readonly connectionsMax?: number;
  /** Counts what passes this client's door, and reads the ledger's gauges for it. */
  readonly metrics?: Metrics;
}

/** Who acts and why; see Deed. */
export interface Action extends Deed {
  readonly step?: string;
}

/** A receipt as the other side sends it; see docs/receipts.md. */
export interface ReceiptInput {
  readonly deliveryId: string;
  readonly sender: string;
  readonly task: string;
  readonly step: string;
  readonly threadId?: string | null;
  readonly inReplyTo?: string | null;
  readonly kind: ReceiptKind;
  readonly externalId?: string | null;
  readonly code?: string | null;
  /** Of a failed one: may a further attempt be made? Default false. */
  readonly retryable?: boolean;
  readonly artifact?: Json;
  readonly text?: string | null;
}

/** What a service may do, over Postgres alone: it all works while Temporal is down. Throws ThroughlineError. */
export class ThroughlineClient implements ThroughlineSurface {
  /** Who is told when something ends, dies or waits for a person. */
  readonly webhooks: Webhooks;
  /** Replays of many, as objects. */
  readonly replays: BulkReplays;
  /** Cancels of many, as objects. */
  readonly cancels: BulkCancels;
  /** Tokens of the API, and the keys that platforms sign with. */
  readonly access: Access;
  /** How long tasks stay, and what is left of those that are gone. */
  readonly retention: Retention;
  /** The timeline of all tasks as a stream. */
  readonly events: EventFeed;
  readonly #db: Database;
  readonly #door: Door;
  readonly #reader: Reader;
  readonly #operator: Operator;
  readonly #rests: RestWaiter;
  readonly #sight: TemporalSightings | null;
  readonly #by: string;
  readonly #options: ClientOptions;
  readonly #registered = new Map<string, Promise<unknown>>();

  constructor(options: ClientOptions, database?: Database) {
    this.#options = options;
    this.#db = database ?? new Database({ url: options.databaseUrl, applicationName: 'throughline-client', ...(options.connectionsMax === undefined ? {} : { connectionsMax: options.connectionsMax }) });
    const { metrics } = options;
    this.#door = metrics === undefined ? new Door(this.#db) : new ObservedDoor(this.#db, metrics);
    this.#reader = new Reader(this.#db);
    metrics?.readLedger(this.#reader);
    this.#rests = new RestWaiter(this.#reader);
    this.#sight = options.temporal === undefined ? null : new TemporalSightings({ address: options.temporal.address, ...options.temporal.connection }, options.temporal.namespace ?? 'default');
    this.#by = options.by ?? 'client';
    this.#operator = new Operator(this.#door, this.#by);
    this.access = new Access(this.#db, this.#by);
    this.events = new EventFeed(this.#db);
    this.retention = new Retention(this.#db, this.#by);
    this.webhooks = new Webhooks(this.#db, this.#by);
    this.replays = new BulkReplays(this.#db, 'replay', this.#by);
    this.cancels = new BulkCancels(this.#db, 'cancel', this.#by);
  }

  /**
   * Accepts a task. A repeat of a known key answers with the existing one (`created: false`); another input under
   * it is DEDUPE_CONFLICT with the paths that differ. Also: INPUT_INVALID, INPUT_TOO_LARGE, INPUT_NOT_STORABLE,
   * TYPE_UNKNOWN, TIME_INVALID, AGAIN_TAKEN, ID_INVALID, SERIALIZATION (in a REPEATABLE READ transaction).
   */
  async enqueue<Accepts>(task: Definition<Accepts> | string, input: NoInfer<Accepts>, options: EnqueueOptions = {}): Promise<Enqueued> {
    const row = enqueueRow(task, input, options, this.#by);
    if (typeof task !== 'string') await this.register(task);
    try {
      return await traced(`enqueue ${row.type}`, { 'throughline.task': row.id, 'throughline.type': row.type }, () =>
        this.#door.taskEnqueue({ ...row, ...traceParent() }, options.tx === undefined ? {} : { tx: options.tx }));
    } catch (error) {
      throw conflictWithPaths(error, row.digests);
    }
  }

  /**
   * Accepts many: one round trip for each 200 items or MiB, keys taken in one order so that batches never wait for each
   * other. Answers for each item in the caller's order: its task, or the error that refused it alone, with the path
   * `/items/<index>/…`. Not all or nothing: each chunk is a transaction, and a refused item stops no other. With `tx` all is
   * the caller's one transaction. Repeating a batch is safe where its items have keys. Throws INPUT_TOO_LARGE for more than
   * 1,000 items or 16 MiB, and with `tx` what breaks the transaction (SERIALIZATION, LEDGER_UNAVAILABLE).
   */
  async enqueueBatch<Accepts>(task: Definition<Accepts> | string, items: readonly BatchItem<NoInfer<Accepts>>[], options: BatchOptions = {}): Promise<readonly BatchResult[]> {
    if (typeof task !== 'string') await this.register(task);
    const type = typeof task === 'string' ? task : task.type;
    return traced(`enqueue batch ${type}`, { 'throughline.type': type }, () => enqueueBatch<Accepts>({ door: this.#door, by: this.#by }, task, items, options));
  }

  /** Makes a task type known, so that it may be enqueued by name. Idempotent; PLAN_CHANGED if the version has another plan. */
  async register(definition: AnyTaskDefinition): Promise<void> {
    const { type, version, plan, planDigest, inputSchema } = definition;
    const name = `${type}/${String(version)}/${planDigest}`;
    let registered = this.#registered.get(name);
    if (registered === undefined) {
      registered = this.#door.typeRegister({ type, version, plan, plan_digest: planDigest, input_schema: inputSchema, input_bytes_max: LIMITS.input_bytes_max, by: this.#by });
      registered.catch(() => this.#registered.delete(name));
      this.#registered.set(name, registered);
    }
    await registered;
  }

  /** Don't do what isn't done yet. Answers at once: what was found, what is in flight, and the verdict or `pending`. */
  async cancel(task: string, action: Action): Promise<CancelAnswer> {
    return this.#door.taskCancel(checkedTaskId(task), this.#action(action));
  }

  /**
   * Take back what was submitted: the step's `withdraw` handler asks the other side. Without a step, each step that can. Answers at
   * once, `pending`; asked again while one is under way, it follows that one. WITHDRAW_UNDECLARED: the step's plan has no way
   * to; TRANSITION_REFUSED: nothing is submitted and unanswered now. `facts.instead` names what is possible.
   */
  async withdraw(task: string, action: Action): Promise<CancelAnswer> {
    try {
      return await this.#door.taskWithdraw(checkedTaskId(task), this.#action(action));
    } catch (error) {
      throw withdrawalRefused(error);
    }
  }

  /** A reviewer opens a review or decides it. REVIEW_NOT_OPEN if none waits. */
  async decide(task: string, decision: Decision): Promise<ReceiptAnswer> {
    const { verdict, step } = decision;
    if (!['opened', 'approved', 'rejected'].includes(verdict)) throw new ThroughlineError('INPUT_INVALID', { path: '/verdict', message: 'The verdict must be opened, approved or rejected.' });
    const row = checkedAction({ id: decision.id ?? randomUUID(), by: decision.by, why: verdict === 'opened' ? (decision.why ?? 'opened') : (decision.why ?? ''), step });
    return this.#door.reviewDecide(checkedTaskId(task), { ...row, step, verdict, digest: digest({ step, verdict, why: row.why }) });
  }

  /** Stores a receipt, then judges it: see its verdict. Never throws for a receipt that merely doesn't match. */
  async deliverReceipt(receipt: ReceiptInput): Promise<ReceiptAnswer> {
    if (!RECEIPT_KINDS.includes(receipt.kind)) throw new ThroughlineError('INPUT_INVALID', { path: '/kind', message: `The kind must be one of ${RECEIPT_KINDS.join(', ')}.` });
    const text = (value: string | null | undefined, path: string, charsMax = 200): string | null => (value === null || value === undefined ? null : boundedText(value, path, charsMax));
    const body = storable({ text: receipt.text ?? null }, '/text', LIMITS.receipt_bytes_max);
    const artifact = storable(receipt.artifact ?? null, '/artifact', LIMITS.receipt_bytes_max);
    const fields = {
      delivery_id: boundedText(receipt.deliveryId, '/deliveryId', 200), sender: boundedText(receipt.sender, '/sender', LIMITS.actor_chars_max),
      task: boundedText(receipt.task, '/task', 200), step: boundedText(receipt.step, '/step', 200), kind: receipt.kind,
      thread_id: text(receipt.threadId, '/threadId'), in_reply_to: text(receipt.inReplyTo, '/inReplyTo'),
      external_id: text(receipt.externalId, '/externalId', LIMITS.external_id_chars_max), code: text(receipt.code, '/code'),
    };
    const present = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as Pick<Parameters<Door['receiptPut']>[0], 'delivery_id' | 'sender' | 'task' | 'step' | 'kind'>;
    if (present.sender.startsWith('reviewer:')) throw new ThroughlineError('INPUT_INVALID', { path: '/sender', message: 'Verdicts of reviewers come through `decide`.' });
    return this.#door.receiptPut({
      ...present, body: body, ...(artifact === null ? {} : { artifact: artifact }), ...(receipt.retryable === undefined ? {} : { retryable: receipt.retryable }),
      digest: digest({ ...fields, body, artifact, retryable: receipt.retryable ?? null }),
    });
  }

  /** Receipts as they are stored, newest first. TASK_UNKNOWN, CURSOR_INVALID, FILTER_INVALID. */
  receipts(filter: ReceiptFilter = {}): Promise<ReceiptPage> {
    return listReceipts(this.#reader, filter);
  }

  /**
   * A person says whom a receipt is for that matched nothing; it is judged again by all rules. `delivery` is its delivery id or its
   * own id. RECEIPT_NOT_REMATCHABLE, RECEIPT_REMATCH_REFUSED: its verdict stands. Also: RECEIPT_UNKNOWN, RECEIPT_AMBIGUOUS, ID_CONFLICT.
   */
  rematchReceipt(delivery: string, rematch: Rematch): Promise<RematchAnswer> {
    return rematchReceipt(this.#door, this.#by, delivery, rematch);
  }

  /**
   * Replays the dead steps of a task (or the one named), with a fresh budget. REPLAY_NOT_DEAD, REPLAY_EFFECT_OPEN,
   * REPLAY_CANCEL_SET, REPLAY_PROOF_ARRIVED say why it may not; EFFECT_UNKNOWN: what is to be set aside was never asked.
   */
  replay(task: string, replay: Replay): Promise<ReplayAnswer> {
    return this.#operator.replay(task, replay);
  }

  /**
   * Stops waiting for the other side, of one step or of each that waits: it needs a person from then on, and it may still happen.
   * TRANSITION_REFUSED where nothing waits.
   */
  abandonWait(task: string, action: Action): Promise<CancelAnswer> {
    return this.#operator.abandonWait(task, action);
  }

  /**
   * A person saw outside that it happened. A submission completes the step (its proof is still checked); any other effect lets
   * it go on. Only of a step that is unconfirmed or dead, else TRANSITION_REFUSED. Also: EFFECT_UNKNOWN, EXTERNAL_ID_CONFLICT,
   * EVIDENCE_REQUIRED; ID_CONFLICT where the id was used to say something else.
   */
  confirmEffect(task: string, seen: Presence): Promise<ConfirmAnswer> {
    return this.#operator.confirm(task, true, seen);
  }

  /** A person saw outside that it did not happen: the step is queued with a fresh budget, or cancelled where a cancel is set. Refused as confirmEffect. */
  confirmAbsent(task: string, seen: Absence): Promise<ConfirmAnswer> {
    return this.#operator.confirm(task, false, seen);
  }

  /** Says that an entry of the timeline is wrong, by a further entry that points at it. ENTRY_UNKNOWN. */
  correct(task: string, correction: Correction): Promise<CorrectAnswer> {
    return this.#operator.correct(task, correction);
  }

  /** Sends a parked wake-up again, with a fresh budget of tries. `unparked: false`: none is parked. */
  unpark(task: string, deed: Deed): Promise<UnparkAnswer> {
    return this.#operator.unpark(task, deed);
  }

  /** The task as it is now: status, and what each step is doing. TASK_UNKNOWN; TASK_PRUNED says how it ended. */
  async get(task: string): Promise<View> {
    const view = await this.#reader.taskView(checkedTaskId(task));
    if (view === null) throw await this.#reader.whyAbsent(task);
    return view;
  }

  /** Everything that the ledger knows of a task, at one moment. TASK_UNKNOWN, TASK_PRUNED. */
  async record(task: string): Promise<TaskRecord> {
    const record = await this.#reader.taskRecord(checkedTaskId(task));
    if (record === null) throw await this.#reader.whyAbsent(task);
    return record;
  }

  async steps(task: string): Promise<TaskRecord['steps']> {
    return (await this.record(task)).steps;
  }

  /** The timeline, oldest first. */
  async history(task: string): Promise<readonly TimelineRow[]> {
    return (await this.record(task)).timeline;
  }

  /** Where is it, will it run again, did the cancel take effect, what touched the outside, is the success real? */
  async explain(task: string, options: { readonly lang?: ExplainLanguage } = {}): Promise<Explanation> {
    return (await this.inspect(task, options)).explanation;
  }

  /** Both at one moment: everything on record, and what it means. TASK_UNKNOWN, TASK_PRUNED. */
  async inspect(task: string, options: { readonly lang?: ExplainLanguage } = {}): Promise<{ readonly record: TaskRecord; readonly explanation: Explanation }> {
    const id = checkedTaskId(task);
    await this.#sight?.load();
    const [record, temporal] = await Promise.all([this.record(id), this.#sight?.of(id)]);
    return { record, explanation: explain(record, { lang: options.lang ?? 'en', ...(temporal === undefined ? {} : { temporal }) }) };
  }

  /**
   * What would be: `work` acts through a client whose every call is made in one transaction, which is then undone. Its answers are the door's own
   * as of now, and what it reads afterwards is what would be there. Rows that it touches are locked for as long as it takes.
   */
  async rehearse<T>(work: (client: ThroughlineClient) => Promise<T>): Promise<T> {
    return this.#db.rehearse((database) => work(new ThroughlineClient({ databaseUrl: this.#options.databaseUrl, by: this.#by }, database)));
  }

  /** Tasks, newest first, by keyset pages. FILTER_INVALID, CURSOR_INVALID, TIME_INVALID. */
  async list(filter: ListFilter = {}): Promise<Page> {
    const { status, reason, limit, text, createdFrom, createdTo } = filter;
    if (status !== undefined && !PARENT_STATUSES.includes(status)) throw new ThroughlineError('FILTER_INVALID', { path: '/status', message: `The status must be one of ${PARENT_STATUSES.join(', ')}.` });
    if (reason !== undefined && !REASON_CODES.includes(reason)) throw new ThroughlineError('FILTER_INVALID', { path: '/reason' });
    if (limit !== undefined) checkPageLimit(limit);
    if (text !== undefined && text !== '') boundedText(text, '/text', LIMITS.key_chars_max);
    return this.#reader.taskList({
      ...filter,
      ...(createdFrom === undefined ? {} : { createdFrom: checkedTime(createdFrom, '/createdFrom') }),
      ...(createdTo === undefined ? {} : { createdTo: checkedTime(createdTo, '/createdTo') }),
    });
  }

  /** Registered types in all their versions: plan, and what their input must be where that is known. */
  async taskTypes(): Promise<readonly TaskTypeRow[]> {
    return this.#reader.taskTypes();
  }

  /** Throws LEDGER_OUTDATED or LEDGER_NEWER where the schema is not this program's, LEDGER_UNAVAILABLE. */
  async verifySchema(): Promise<void> {
    await verifySchema(this.#db);
  }

  /** Whether the ledger answers and fits this program, and whether Temporal answers. Never throws. */
  async health(): Promise<Health> {
    await this.#sight?.load();
    const [ledger, temporal] = await Promise.all([ledgerHealth(this.#db), this.#sight?.answers()]);
    return { ledger, temporal: temporal === undefined ? 'not_configured' : temporal ? 'up' : 'down' };
  }

  /** The ledger as a whole: counts and ages, what it did in the last 24 hours, and who answers. LEDGER_UNAVAILABLE. */
  async overview(): Promise<Overview> {
    const [gauges, activity, health] = await Promise.all([this.#reader.gauges(DAY_MS), this.#reader.activity(DAY_MS, OVERVIEW_SPANS), this.health()]);
    return { gauges, activity, health };
  }

  /** Asks the live ledger whether every row keeps its promises; see docs/audit.md. Reads only. TASK_UNKNOWN, TASK_PRUNED, TIME_INVALID. */
  async audit(options: AuditOptions = {}): Promise<AuditReport> {
    return audit(this.#db, options);
  }

  /** Everything on record of a task as a file whose every line is chained to the one before it; see docs/evidence.md. TASK_UNKNOWN, TASK_PRUNED. */
  async evidence(task: string): Promise<Evidence> {
    const found = await taskEvidence(this.#db, checkedTaskId(task));
    if (found === null) throw await this.#reader.whyAbsent(task);
    return makeEvidence(found.record, found.replays);
  }

  /** Resolves when the task is at rest. WAIT_TIMEOUT, TASK_UNKNOWN. */
  async waitFor(task: string, options: WaitOptions = {}): Promise<Rest> {
    return this.#rests.wait(checkedTaskId(task), options);
  }

  async close(): Promise<void> {
    await this.#sight?.close();
    await this.#db.end();
  }

  #action(action: Action): ActionRow {
    const { step, why } = action;
    return checkedAction({ id: action.id ?? randomUUID(), by: action.by ?? this.#by, why, ...(step === undefined ? {} : { step }) });
  }
}

export const createClient = (options: ClientOptions): ThroughlineClient => new ThroughlineClient(options);

export type { CancelAnswer, Enqueued, ListFilter, Page, ReceiptAnswer, ReplayAnswer, Rest, TaskListRow };
