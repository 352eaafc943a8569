/**
 * Task definitions for `docker compose up`: one type, so that there is something to run. Replace this module by
 * your own, in an image of yours: see docs/deployment.md.
 */
import { defineTask } from 'throughline';
import { z } from 'zod';

export const hello = defineTask({
  type: 'hello',
  version: 1,
  input: z.strictObject({ name: z.string().min(1).max(100) }),
  dedupeKey: ({ name }) => `hello/${name}`,
  steps: (flow) =>
    flow
      .step('compose', { result: z.object({ text: z.string() }), proof: { record: ['/text'] }, run: async ({ input }) => ({ text: `Hello ${input.name}` }) })
      .step('say', { needs: ['compose'], result: z.object({ said: z.string() }), proof: { record: ['/said'] }, run: async ({ results }) => ({ said: results.compose.text }) }),
});
