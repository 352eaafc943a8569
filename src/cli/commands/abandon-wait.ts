import { action } from '../action.ts';
import type { ActionOptions } from '../action.ts';
import { cancelLines } from '../cancel.ts';
import { actionOptions, makeCommand } from '../command.ts';

export const abandonWaitCommand = () =>
  makeCommand<ActionOptions>({
    name: 'abandon-wait',
    args: [['<task>', "the task's id"], ['[step]', 'the step that waits (default: each step that waits)']],
    summary: 'stop waiting for the other side; it may still happen',
    description:
      'Ends the wait of a step that is submitted, received, in progress or unconfirmed: it needs a person from then on (needs_person). Nothing is taken back and nothing is sent again. What the other side says later is kept; then confirm it with `throughline confirm-effect`, or go on waiting with `throughline replay`.',
    options: actionOptions('why; recorded, required'),
    examples: [['abandon-wait 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10 publish --why "the platform closed the account"', 'the step is dead with wait_abandoned'], ['abandon-wait 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10 --why "the platform is gone"', 'each step that waits for the other side']],
    exits: '2 no --why; 3 no such task or step; 4 nothing waits (TRANSITION_REFUSED), or the --id was used for another request',
    async run(context, options, task, step?: string) {
      const client = await context.client();
      const answer = await client.abandonWait(task, action(context, { ...options, ...(step === undefined ? {} : { step }) }));
      await context.answer(answer, async () => cancelLines(answer, await client.explain(answer.task, { lang: context.lang }), context));
    },
  });
