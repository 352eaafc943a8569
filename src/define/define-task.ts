/** `defineTask`: what a task author calls. Types flow from the input schema and from step to step. */
import { z } from 'zod';
import { ThroughlineError } from '../errors.ts';
import { LIMITS, type Plan, type PlanStep } from '../state/index.ts';
import { digest } from './canonical.ts';
import { checkPlan } from './checks.ts';
import { compileReview, compileStep, type AnyReviewSpec, type AnyStepSpec } from './compile.ts';
import type { DefinitionOf, HandlerSet, ReviewHandlers, RunHandlers } from './definition.ts';
import type { Json } from './json.ts';
import { at, checkOptions, refuse, shown, stepPlace, taskPlace, type Place } from './place.ts';
import { INPUT_DOOR, RESULT_DOOR, isSchema, jsonSchemaOf, parseBy } from './schema.ts';
import { storable } from './storable.ts';
import { quoted } from './text.ts';
import type { DedupeKey, Flow, TaskSpec } from './types.ts';

type Declared = { readonly kind: 'run'; readonly name: string; readonly spec: AnyStepSpec } | { readonly kind: 'review'; readonly name: string; readonly spec: AnyReviewSpec };

/** What each flow has declared. Kept outside, so that authors see `step` and `review` only. */
const DECLARED = new WeakMap<object, readonly Declared[]>();

function flowOf<Input, Done>(declared: readonly Declared[]): Flow<Input, Done> {
  // Each call makes a new flow: one that is thrown away leaves nothing behind in the one that is returned.
  const flow = {
    step: (name: string, spec: AnyStepSpec) => flowOf([...declared, { kind: 'run', name, spec }]),
    review: (name: string, spec: AnyReviewSpec) => flowOf([...declared, { kind: 'review', name, spec }]),
  };
  DECLARED.set(flow, declared);
  return flow as unknown as Flow<Input, Done>;
}

function compile(task: Place, { kind, name, spec }: Declared): PlanStep {
  const place = stepPlace(task, name);
  return kind === 'run' ? compileStep(place, name, spec) : compileReview(place, name, spec);
}

const REVIEW_RESULT = z.strictObject({ verdict: z.literal('approved'), by: z.string().min(1), why: z.string() });

function handlersOf(task: Place, declared: Declared): HandlerSet {
  const place = stepPlace(task, declared.name);
  const parse =
    (schema: z.ZodType) =>
    (value: unknown): Json =>
      parseBy(schema, RESULT_DOOR, `${place.label}: the result`, value);
  if (declared.kind === 'review') return { kind: 'review', run: declared.spec.run, parseResult: parse(REVIEW_RESULT) } satisfies ReviewHandlers;
  const { spec } = declared;
  if (!isSchema(spec.result)) refuse(at(place, 'result'), `result is ${shown(spec.result)}, but must be a zod schema`);
  return {
    kind: 'run',
    run: spec.run,
    ...(spec.probe === undefined ? {} : { probe: spec.probe }),
    ...('readBack' in spec.proof ? { readBack: spec.proof.readBack } : {}),
    ...(spec.withdraw === undefined ? {} : { withdraw: spec.withdraw.run }),
    parseResult: parse(spec.result),
  } satisfies RunHandlers;
}

const KEY_PARTS = ['subject', 'action', 'resourceVersion'] as const;

function checkedKey(label: string, key: DedupeKey | null | undefined): DedupeKey | null {
  const part = (path: string, value: unknown): string => {
    if (typeof value !== 'string' || value.trim() === '') {
      throw new ThroughlineError('INPUT_INVALID', { message: `${label}: the dedupe key is ${shown(value)}, but must be text that is not empty.`, path });
    }
    if (value.length > LIMITS.key_chars_max) {
      throw new ThroughlineError('INPUT_INVALID', { message: `${label}: the dedupe key is too long.`, path, limit: `${LIMITS.key_chars_max} characters` });
    }
    storable(value, path, Number.POSITIVE_INFINITY);
    return value;
  };
  if (key === null || key === undefined) return null;
  if (typeof key !== 'object') return part('/dedupeKey', key);
  const [subject, action, resourceVersion] = KEY_PARTS.map((name) => part(`/dedupeKey/${name}`, key[name])) as [string, string, string];
  return { subject, action, resourceVersion };
}

/** The plan is shared by everything that holds the definition, so nobody may change it. */
function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}

/**
 * Defines a task type. Steps are added one by one, so that each handler knows the input and the results
 * of the steps that it needs:
 *
 * ```ts
 * defineTask({
 *   type: 'greet', version: 1, input: z.object({ name: z.string() }),
 *   steps: (flow) => flow.step('write', { result: z.object({ text: z.string() }), proof: { record: ['/text'] },
 *     run: async ({ input }) => ({ text: `Hello, ${input.name}` }) }),
 * });
 * ```
 *
 * Errors: DEFINITION_INVALID, with a sentence, for a definition that can't keep its promises.
 */
export function defineTask<Schema extends z.ZodType, Done>(spec: TaskSpec<Schema, Done>): DefinitionOf<Schema, Done> {
  const task = taskPlace((spec as Partial<typeof spec> | null)?.type);
  checkOptions(task, 'the definition', spec, ['type', 'version', 'input', 'dedupeKey', 'steps']);
  if (!isSchema(spec.input)) refuse(at(task, 'input'), `input is ${shown(spec.input)}, but must be a zod schema`);
  if (typeof spec.steps !== 'function') refuse(at(task, 'steps'), `steps is ${shown(spec.steps)}, but must be a function`);
  if (spec.dedupeKey !== undefined && typeof spec.dedupeKey !== 'function') refuse(at(task, 'dedupeKey'), `dedupeKey is ${shown(spec.dedupeKey)}, but must be a function`);
  const flow: unknown = spec.steps(flowOf([]));
  const declared = typeof flow === 'object' && flow !== null ? DECLARED.get(flow) : undefined;
  if (declared === undefined) refuse(at(task, 'steps'), 'steps must return the flow that its calls gave it');

  // Copied through JSON, so that nothing of the author's objects can change it later.
  const draft: Plan = { type: spec.type, version: spec.version, steps: declared.map((each) => compile(task, each)) };
  checkPlan(draft);
  const plan = frozen(JSON.parse(JSON.stringify(draft)) as Plan);

  const { dedupeKey, input: schema } = spec;
  const label = `Task ${quoted(plan.type)} version ${plan.version}`;
  return Object.freeze({
    type: plan.type,
    version: plan.version,
    plan,
    planDigest: digest(plan as unknown as Json),
    inputSchema: jsonSchemaOf(schema),
    parseInput: (value: unknown) => parseBy(schema, INPUT_DOOR, `${label}: the input`, value) as z.output<Schema>,
    dedupeKey: (input: z.output<Schema>) => checkedKey(label, dedupeKey?.(input)),
    steps: new Map(declared.map((each) => [each.name, handlersOf(task, each)])),
  });
}
