import { actionOptions, makeCommand } from '../command.ts';
import { action } from '../action.ts';
import type { ActionOptions } from '../action.ts';
import { cancelLines } from '../cancel.ts';

export const withdrawCommand = () =>
  makeCommand<ActionOptions>({
    name: 'withdraw',
    args: [['<task>', "the task's id"], ['[step]', 'the step that submitted it (default: each step that can)']],
    summary: 'take back what was submitted',
    description:
      "Asks the other side to take back what a step submitted and answers at once, pending: a worker sends it by the step's own withdraw handler. The verdict is withdrawn once the other side has confirmed, too_late if it refused; `explain` shows it. What was lost on the way is never sent again on a guess. Works while Temporal is down; sent when it is back.",
    options: actionOptions('why; recorded, required'),
    examples: [
      ['withdraw 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10 publish --why "wrong picture"', 'what the step publish has submitted'],
      ['withdraw 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10 --why "embargo" --id ticket-812', 'all that can be taken back; asked again with the same id, the same answer'],
    ],
    exits: '0 whatever the verdict is; 2 no --why; 3 no such task or step; 4 WITHDRAW_UNDECLARED, TRANSITION_REFUSED (nothing to take back now), or the --id was used otherwise',
    async run(context, options, task, step?: string) {
      const client = await context.client();
      const answer = await client.withdraw(task, action(context, { ...options, ...(step === undefined ? {} : { step }) }));
      await context.answer(answer, async () => cancelLines(answer, await client.explain(answer.task, { lang: context.lang }), context));
    },
  });
