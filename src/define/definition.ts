/** What a definition is at run time: the plan that is stored, and the code that a worker runs. */
import type { z } from 'zod';
import type { Plan } from '../state/index.ts';
import type { Json } from './json.ts';
import type { DedupeKey, EffectSpecs, HandlerContext, ProbeAnswer, ProbeContext, ReadBackAnswer, ReadBackContext, ReviewAnswer, StepContext, WithdrawAnswer, WithdrawContext } from './types.ts';

/** Code of a run step. What it gets was typed when it was defined; here it is JSON. */
export interface RunHandlers {
  readonly kind: 'run';
  readonly run: (context: StepContext<unknown, unknown, Json, EffectSpecs>) => Promise<Json>;
  readonly probe?: (context: ProbeContext<unknown, unknown>) => Promise<ProbeAnswer>;
  readonly readBack?: (context: ReadBackContext<unknown, unknown, Json>) => Promise<ReadBackAnswer<Json>>;
  readonly withdraw?: (context: WithdrawContext<unknown, unknown, Json>) => Promise<WithdrawAnswer>;
  /**
   * The step's result as it is stored: what its schema makes of `value`, as plain JSON. Also the result in
   * the answer of the submitting effect. Errors: RESULT_INVALID with a pointer from `/result` on,
   * RESULT_TOO_LARGE.
   */
  readonly parseResult: (value: unknown) => Json;
}

/** Code of a review step: its automatic part. */
export interface ReviewHandlers {
  readonly kind: 'review';
  readonly run: (context: HandlerContext<unknown, unknown>) => Promise<ReviewAnswer>;
  readonly probe?: undefined;
  readonly readBack?: undefined;
  readonly withdraw?: undefined;
  /** The record of a positive verdict, `{verdict: 'approved', by, why}`. Errors: as for a run step. */
  readonly parseResult: (value: unknown) => Json;
}

export type HandlerSet = RunHandlers | ReviewHandlers;

declare const TYPES: unique symbol;

/**
 * A task type: made by `defineTask`, given to workers (which run it) and to clients (which enqueue it).
 * `Input` is what handlers get, `Results` maps each step to its result, `Accepts` is what may be
 * enqueued (before defaults and transforms of the schema).
 */
export interface TaskDefinition<Input, Results, Accepts = Input> {
  readonly type: string;
  readonly version: number;
  /** Stored with each task; decides for it for as long as it lives. Frozen. */
  readonly plan: Plan;
  /** SHA-256 (hex) of the plan's canonical JSON. */
  readonly planDigest: string;
  /** JSON Schema of what may be enqueued, for whoever enqueues without TypeScript; null: the schema can't be said as one. */
  readonly inputSchema: Json;
  /**
   * The input as it is stored and as handlers get it: what the schema makes of `value`, as plain JSON.
   * Errors: INPUT_INVALID with a JSON pointer from `/input` on and the schema's messages,
   * INPUT_NOT_STORABLE, INPUT_TOO_LARGE.
   */
  parseInput(value: unknown): Input;
  /** The task's natural key, or null if it has none. Errors: INPUT_INVALID if the key is empty, too long or not storable. */
  dedupeKey(input: Input): DedupeKey | null;
  /** Handlers by step name, in the order of definition. */
  readonly steps: ReadonlyMap<string, HandlerSet>;
  /** For the compiler only; never there at run time. */
  readonly [TYPES]?: { readonly input: Input; readonly results: Results; readonly accepts: Accepts };
}

/** Any task type; what a worker's list holds. */
export type AnyTaskDefinition = TaskDefinition<unknown, unknown, unknown>;

/** What handlers of a task type get as input. */
export type InputOf<D> = D extends TaskDefinition<infer Input, unknown, unknown> ? Input : never;
/** What may be enqueued for a task type. */
export type AcceptsOf<D> = D extends TaskDefinition<unknown, unknown, infer Accepts> ? Accepts : never;
/** The results of a task type's steps, by step name. */
export type ResultsOf<D> = D extends TaskDefinition<unknown, infer Results, unknown> ? Results : never;

/** A definition whose types follow from its input schema and its steps. */
export type DefinitionOf<Schema extends z.ZodType, Done> = TaskDefinition<z.output<Schema>, Done, z.input<Schema>>;
