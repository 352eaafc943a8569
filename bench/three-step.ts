import { z } from 'zod';
import { defineTask } from '../src/index.ts';

const result = z.object({ n: z.number() });
const proof = { record: ['/n'] } as const;

/** The plain workflow's three steps, without effects: what remains is what the ledger costs. */
const threeSteps = (type: string, timeout: '10m' | '1s') =>
  defineTask({
    type,
    version: 1,
    input: z.object({ n: z.number() }),
    steps: (flow) =>
      flow
        .step('one', { timeout, result, proof, run: ({ input }) => Promise.resolve({ n: input.n + 1 }) })
        .step('two', { timeout, needs: ['one'], result, proof, run: ({ results }) => Promise.resolve({ n: results.one.n + 1 }) })
        .step('three', { timeout, needs: ['two'], result, proof, run: ({ results }) => Promise.resolve({ n: results.two.n + 1 }) }),
  });

/** Each attempt is an activity of its own. */
export const threeStep = threeSteps('bench-three-step', '10m');
/** Declared to take a second at most: each attempt runs beside the driver. */
export const threeQuick = threeSteps('bench-three-quick', '1s');
