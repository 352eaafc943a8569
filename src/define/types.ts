/** What a task author sees: the shape of a definition, of a handler's context and of its answers. */
import type { z } from 'zod';
import type { Category } from '../state/index.ts';
import type { Json } from './json.ts';

/** Milliseconds, or text such as `'500ms'`, `'15s'`, `'10m'`, `'24h'`, `'7d'`. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`;

/** How one effect behaves outside. */
export interface EffectSpec {
  /** The step's point of no return; at most one effect of a step, and its last. */
  readonly submits?: boolean;
  /** The other side answers a repeated key with its first answer for this long. Leave out if it doesn't. */
  readonly dedupe?: { readonly window: Duration };
  /** Later than this after the call's end, what it did can be seen by a probe. Default 0. */
  readonly visible_within?: Duration;
  /** `false`: a look that finds nothing proves nothing; a person decides. Default true. */
  readonly absenceIsProof?: boolean;
  /** The longest that one call may take. Default 10 s. */
  readonly timeout?: Duration;
}

export type EffectSpecs = Readonly<Record<string, EffectSpec>>;

/** What a call to the outside carries. */
export interface EffectCall {
  /** The idempotency key: the same for all requests of one submission generation. */
  readonly key: string;
  /** Names this one request; the other side's receipts answer it. */
  readonly messageId: string;
  readonly threadId: string;
  /** Must travel inside the request, so that a probe has something to look for. */
  readonly reference: { readonly task: string; readonly step: string; readonly effect: string; readonly item: string };
  /** Aborts at the effect's timeout. Pass it to the call. */
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** The other side said yes. `result` is stored and given back by every later run of this effect. */
export interface EffectAnswer<T extends Json> {
  readonly externalId: string;
  readonly result: T;
}

export interface EffectOptions {
  /** Tells calls of the same effect apart, for example the picture's name. At most 200 characters. */
  readonly item?: string;
  /** What is sent; only its digest is stored. A request that changes while one is open is refused. */
  readonly request: Json | Uint8Array;
}

/** A stored artifact: content-addressed, owned by one step of one task. */
export interface ArtifactRef {
  readonly uri: string;
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** The result that an effect's answer must have: the step's own result where the effect submits. */
export type EffectResult<E extends EffectSpecs, N extends keyof E, R extends Json> = E[N] extends { readonly submits: true } ? R : Json;

/** What every handler gets. Nothing may touch the outside except through `effect`. */
export interface HandlerContext<Input, Results> {
  readonly taskId: string;
  readonly step: string;
  /** Counts every claim, from 1. */
  readonly attempt: number;
  readonly epoch: number;
  readonly input: Input;
  /** Results of the steps named in `needs`. */
  readonly results: Results;
  /** Aborts between effects: a cancel, a lost lease, the attempt's own deadline or a shutdown. */
  readonly signal: AbortSignal;
  /** Progress inside the step that changes nothing outside; its result is stored under the lease and reused. */
  checkpoint<T extends Json>(name: string, work: () => Promise<T> | T): Promise<T>;
  /** Stores what was made, content-addressed, with this step as its owner. */
  artifact(artifact: { readonly name: string; readonly mediaType: string; readonly content: Uint8Array | string }): Promise<ArtifactRef>;
  /** Reads an artifact back by its uri (also one of an earlier step). */
  readArtifact(ref: { readonly uri: string }): Promise<Uint8Array>;
}

export interface StepContext<Input, Results, R extends Json, E extends EffectSpecs> extends HandlerContext<Input, Results> {
  /**
   * A call that changes the outside. An answer that is recorded already is returned without a call. To
   * say that the other side refused or that nothing was sent, throw an error with its HTTP status or
   * Node code (or `EffectRefused`, `EffectNotSent`); anything else leaves the effect open.
   */
  effect<N extends keyof E & string, T extends EffectResult<E, N, R>>(
    name: N,
    options: EffectOptions,
    call: (call: EffectCall) => Promise<EffectAnswer<T>>,
  ): Promise<EffectAnswer<T>>;
}

/** What a probe looks for: one submission generation. */
export interface ProbeContext<Input, Results> {
  readonly taskId: string;
  readonly step: string;
  readonly effect: string;
  readonly item: string;
  readonly key: string;
  readonly threadId: string;
  readonly messageIds: readonly string[];
  /** Known if the effect had been confirmed before. */
  readonly externalId: string | null;
  readonly input: Input;
  readonly results: Results;
  readonly signal: AbortSignal;
}

/** Read-only. `present`: taken; `completed`: done; `result` as the effect's answer would have had it. */
export type ProbeAnswer =
  | { readonly answer: 'present' | 'completed'; readonly externalId: string; readonly result: Json }
  | { readonly answer: 'absent' }
  | { readonly answer: 'unknown'; readonly detail?: string };

/** One acceptance check. `ok: null`: could not be checked now. */
export interface Check {
  readonly ok: boolean | null;
  readonly detail?: string;
}

/** What a withdrawal takes back, and with which identity. */
export interface WithdrawContext<Input, Results, R> {
  readonly taskId: string;
  readonly step: string;
  /** The withdrawal's own idempotency key: the same for all its requests. */
  readonly key: string;
  /** Names this one request. */
  readonly messageId: string;
  readonly threadId: string;
  /** Must travel inside the request, as with every effect. `effect` is `withdraw`. */
  readonly reference: { readonly task: string; readonly step: string; readonly effect: string; readonly item: string };
  /** What was submitted. `externalId` and `result` are null where its answer was lost: then look for it by the reference. */
  readonly submission: {
    readonly effect: string;
    readonly item: string;
    readonly key: string;
    readonly messageIds: readonly string[];
    readonly externalId: string | null;
    readonly result: R | null;
  };
  readonly input: Input;
  readonly results: Results;
  /** Aborts at the timeout. Pass it to the call. */
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** `confirmed`: it is taken back, nothing of the submission stands. `refused`: it stays as it is. */
export type WithdrawAnswer = { readonly outcome: 'confirmed' } | { readonly outcome: 'refused'; readonly code?: string; readonly detail?: string };

/** How what a step submitted is taken back, where the other side can do that. */
export interface WithdrawSpec<Input, Results, R> {
  /**
   * One call to the other side. As in an effect, a thrown error with an HTTP status or a Node code says what happened: a
   * refusal that may pass (429, 503) and what was never sent are tried again; without an answer it is open.
   */
  readonly run: (context: WithdrawContext<Input, Results, R>) => Promise<WithdrawAnswer>;
  /** The longest that one call may take. Default 10 s. */
  readonly timeout?: Duration;
  /** The other side answers a repeated key with its first answer for this long. Leave out if it doesn't. */
  readonly dedupe?: { readonly window: Duration };
  /** Later than this after the call's end a probe sees that it is gone. Default 0. */
  readonly visible_within?: Duration;
  /** Requests of one withdrawal: 1 to 1,000. Default 10. */
  readonly attempts?: number;
}

export interface ReadBackContext<Input, Results, R> {
  readonly taskId: string;
  readonly step: string;
  readonly input: Input;
  readonly results: Results;
  /** The step's result; null if it ended without one (then `readBack` should find it). */
  readonly result: R | null;
  readonly externalId: string | null;
  readonly artifacts: readonly ArtifactRef[];
  readonly signal: AbortSignal;
  readArtifact(ref: { readonly uri: string }): Promise<Uint8Array>;
}

export interface ReadBackAnswer<R> {
  readonly exists: Check;
  readonly ours: Check;
  readonly minimum: Check;
  /** Fills in the step's result where the answer was lost. */
  readonly result?: R;
  /** What was read, kept with the checks: ids, digests, sizes; no secrets. */
  readonly evidence?: Json;
}

/** How a step proves that it succeeded. A sentence, a returned function or an exit code is no proof. */
export type Proof<Input, Results, R> =
  /** Artifacts stored by the step are read back, with owner and digest. */
  | { readonly artifacts: { readonly min: number; readonly minBytes?: number; readonly mediaTypes?: readonly string[] } }
  /** The ledger finds these JSON pointers present and non-empty in the recorded result. */
  | { readonly record: readonly [`/${string}`, ...`/${string}`[]] }
  /** The author reads what was made back from where it lives. */
  | { readonly readBack: (context: ReadBackContext<Input, Results, R>) => Promise<ReadBackAnswer<R>> };

export interface BackoffSpec {
  readonly initial?: Duration;
  readonly factor?: number;
  readonly max?: Duration;
  /** 0 to 1: the share of a wait that is taken away at random. */
  readonly jitter?: number;
}

/** What run steps and review steps have in common. */
export interface CommonSpec<Needs extends string> {
  readonly needs?: readonly Needs[];
  /** Code outside of effects is harmless to repeat. Default true. */
  readonly reentrant?: boolean;
  /** Charged executions: 1 to 10,000. Default 3. */
  readonly attempts?: number;
  readonly backoff?: BackoffSpec;
  /** How long a silent worker keeps the step. Default 15 s. */
  readonly lease?: Duration;
  /**
   * The longest that one attempt may take. Default 10 min. A reentrant step of at most a second, without effects,
   * receipt and probe and with a `record` as its proof, runs beside the driver, which spares a queue.
   */
  readonly timeout?: Duration;
}

export interface StepSpec<Input, Results, R extends Json, E extends EffectSpecs, Needs extends string> extends CommonSpec<Needs> {
  /** The schema of what the step returns; later steps get it typed. */
  readonly result: z.ZodType<R>;
  readonly effects?: E;
  /** The submitting effect is answered later by receipts. `senders` may send them (default: any authenticated). */
  readonly receipt?: { readonly within: Duration; readonly senders?: readonly string[] };
  readonly probe?: (context: ProbeContext<Input, Results>) => Promise<ProbeAnswer>;
  /** Takes back what was submitted, while its receipt is out. Needs an effect that submits. */
  readonly withdraw?: WithdrawSpec<Input, Results, R>;
  /** How often and how fast probes and acceptance checks look. */
  readonly checks?: { readonly attempts?: number; readonly backoff?: BackoffSpec };
  readonly proof: Proof<Input, Results, R>;
  readonly run: (context: StepContext<Input, Results, R, E>) => Promise<R>;
}

/** What the automatic part of a review says. */
export type ReviewAnswer =
  | { readonly ask: 'person'; readonly note?: Json }
  | { readonly approve: string; readonly note?: Json }
  | { readonly reject: string; readonly note?: Json };

export interface ReviewSpec<Input, Results, Needs extends string> extends CommonSpec<Needs> {
  /** Automatic checks; decides, or asks for a person. */
  readonly run: (context: HandlerContext<Input, Results>) => Promise<ReviewAnswer>;
  /** A request that nobody opened is reminded once in each window of this length. Default 24 h. */
  readonly remindAfter?: Duration;
  readonly checks?: { readonly attempts?: number; readonly backoff?: BackoffSpec };
}

/** The record of a positive review: what later steps get. */
// eslint-disable-next-line @typescript-eslint/consistent-type-definitions -- an interface is not assignable to Json
export type ReviewResult = { readonly verdict: 'approved'; readonly by: string; readonly why: string };

/** The natural key of a task: unique per type, for ever. */
export type DedupeKey = string | { readonly subject: string; readonly action: string; readonly resourceVersion: string };

/** No steps, no effects yet. */
// eslint-disable-next-line @typescript-eslint/no-generated-empty-object-type -- exactly what is meant: `keyof` it is never
type Nothing = Record<never, never>;

type Merge<Done, N extends string, R> = Done & Readonly<Record<N, R>>;

/** The chain that `steps` builds; each call adds a step whose handler knows the results before it. */
export interface Flow<Input, Done> {
  step<N extends string, R extends Json, const E extends EffectSpecs = Nothing, Needs extends keyof Done & string = never>(
    name: N,
    spec: StepSpec<Input, Pick<Done, Needs>, R, E, Needs>,
  ): Flow<Input, Merge<Done, N, R>>;
  review<N extends string, Needs extends keyof Done & string = never>(
    name: N,
    spec: ReviewSpec<Input, Pick<Done, Needs>, Needs>,
  ): Flow<Input, Merge<Done, N, ReviewResult>>;
}

export interface TaskSpec<Schema extends z.ZodType, Done> {
  /** Lower case words with dashes, at most 63 characters. */
  readonly type: string;
  /** Raise it whenever plan or handlers change their meaning; a worker claims only what it declares. */
  readonly version: number;
  readonly input: Schema;
  readonly dedupeKey?: (input: z.output<Schema>) => DedupeKey | null;
  readonly steps: (flow: Flow<z.output<Schema>, Nothing>) => Flow<z.output<Schema>, Done>;
}

/** The other side refused: nothing happened, and nothing will for this request. */
export interface RefusalDetail {
  readonly category?: Category;
  readonly retryAfterMs?: number;
  readonly code?: string;
  readonly cause?: unknown;
}
