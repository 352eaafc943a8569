/** Small definitions for the tests of this folder, also ones that the compiler would refuse. */
import { z } from 'zod';
import { ThroughlineError } from '../../src/errors.ts';
import { defineTask } from '../../src/define/define-task.ts';
import type { AnyTaskDefinition } from '../../src/define/definition.ts';

export const RUN_STEP = {
  result: z.object({ text: z.string() }),
  proof: { record: ['/text'] },
  run: async (): Promise<unknown> => ({ text: 'x' }),
};

/** A step as an author without a compiler might write it. */
type LooseStep = Readonly<Record<string, unknown>>;
interface LooseFlow {
  step(name: unknown, spec: unknown): LooseFlow;
  review(name: unknown, spec: unknown): LooseFlow;
}

const defineLoosely = defineTask as unknown as (spec: unknown) => AnyTaskDefinition;

export const defineAny = (more: LooseStep, steps: (flow: LooseFlow) => unknown): AnyTaskDefinition =>
  defineLoosely({ type: 'sample', version: 1, input: z.object({ a: z.string() }), steps, ...more });

/** A task whose one step `write` has `step` laid over a valid one. */
export const withStep = (step: LooseStep): AnyTaskDefinition => defineAny({}, (flow) => flow.step('write', { ...RUN_STEP, ...step }));

/** The coded error that `act` throws; fails if it throws another one or none. */
export function refusalOf(act: () => unknown): ThroughlineError {
  try {
    act();
  } catch (error) {
    if (error instanceof ThroughlineError) return error;
    throw error;
  }
  throw new Error('It was not refused.');
}

/** The first step of the plan of a task whose step `write` has `step` laid over a valid one. */
export const planOf = (step: LooseStep): AnyTaskDefinition['plan']['steps'][number] => {
  const [first] = withStep(step).plan.steps;
  if (first === undefined) throw new Error('A plan has a step.');
  return first;
};
