import { actionOptions, makeCommand, option } from '../command.ts';
import { action } from '../action.ts';
import type { ActionOptions } from '../action.ts';
import { cancelLines } from '../cancel.ts';

export const cancelCommand = () =>
  makeCommand<ActionOptions>({
    name: 'cancel',
    args: [['<task>', "the task's id"]],
    summary: "don't do what isn't done yet",
    description:
      'Asks for a stop and answers at once: the state found, effects in flight, and per step a verdict (prevented, stopped_at_boundary, too_late, withdrawn, needs_person, already_terminal) or pending, with the time of the next check. A cancel that came too late is an answer, not an error. Works in every phase, also while Temporal is down.',
    options: [option('--step <step>', 'only this step and what needs it (default: the whole task)'), ...actionOptions('why; recorded, required')],
    examples: [
      ['cancel 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10 --why "wrong picture"', 'the whole task'],
      ['cancel 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10 --step publish --why "embargo" --id ticket-812', 'one step; asked again with the same id, the same answer'],
    ],
    exits: '0 whatever the verdict is; 2 no --why; 3 no such task or step; 4 the --id was used for another request',
    async run(context, options, task) {
      const client = await context.client();
      const answer = await client.cancel(task, action(context, options));
      await context.answer(answer, async () => cancelLines(answer, await client.explain(answer.task, { lang: context.lang }), context));
    },
  });
