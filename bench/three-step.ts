import { z } from 'zod';
import { defineTask } from '../src/index.ts';

const result = z.object({ n: z.number() });
const proof = { record: ['/n'] } as const;

/** The same three steps without effects: what remains is what the ledger costs. */
export const threeStep = defineTask({
  type: 'bench-three-step',
  version: 1,
  input: z.object({ n: z.number() }),
  steps: (flow) =>
    flow
      .step('one', { result, proof, run: ({ input }) => Promise.resolve({ n: input.n + 1 }) })
      .step('two', { needs: ['one'], result, proof, run: ({ results }) => Promise.resolve({ n: results.one.n + 1 }) })
      .step('three', { needs: ['two'], result, proof, run: ({ results }) => Promise.resolve({ n: results.two.n + 1 }) }),
});
