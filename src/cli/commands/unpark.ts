import { action } from '../action.ts';
import type { ActionOptions } from '../action.ts';
import { actionOptions, makeCommand } from '../command.ts';

export const unparkCommand = () =>
  makeCommand<ActionOptions>({
    name: 'unpark',
    args: [['<task>', "the task's id"]],
    summary: 'send a parked wake-up again',
    description:
      'A wake-up that Temporal refused again and again, by the fault of its own task, is parked: `throughline explain` shows the last error, `throughline doctor` which ones there are. When the cause is mended, this sends it again with a fresh budget of tries. Parked notifications have `throughline webhooks unpark`.',
    options: actionOptions('why; recorded, required'),
    examples: [['unpark 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10 --why "the namespace is back"', 'a worker sends it at once']],
    exits: '0 it is sent again (or was not parked: "unparked": false); 2 no --why; 3 no such task',
    async run(context, options, task) {
      const answer = await (await context.client()).unpark(task, action(context, options));
      const { words } = context;
      await context.answer({ task: task.toLowerCase(), ...answer }, () => [answer.unparked ? words.wakes : words.wakeNotParked, ...(answer.repeated === true ? [`  ${words.repeated}`] : [])]);
    },
  });
