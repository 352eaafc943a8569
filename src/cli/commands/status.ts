import { makeCommand, option } from '../command.ts';
import { sayRest } from '../rest.ts';
import { statusLines } from '../status.ts';

interface Options {
  readonly wait?: true;
  readonly timeout?: string;
}

export const statusCommand = () =>
  makeCommand<Options>({
    name: 'status',
    args: [['<task>', "the task's id"]],
    summary: 'where a task is, step by step',
    description: "The task's status, and for each step its state, tries and what comes next. Read from the ledger alone: it works while Temporal is down. --json answers the ledger's view: task, type, version, status, at_rest, reason, held_by, seq, as_of, steps.",
    options: [option('--wait', 'wait until the task is at rest first'), option('--timeout <duration>', 'with --wait: give up after this long (exit code 6)')],
    examples: [
      ['status 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10', 'now'],
      ['status 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10 --wait --timeout 10m --json', 'when it is at rest; exit code 6 if that takes longer than ten minutes'],
    ],
    exits: '0 whatever the status is; 3 no such task; 6 --timeout passed',
    async run(context, options, task) {
      const id = task;
      if (options.wait === true) {
        await sayRest(context, id, options.timeout);
        return;
      }
      const client = await context.client();
      if (context.json) await context.answer(await client.get(id), () => []);
      else await context.answer(null, async () => statusLines(await client.explain(id, { lang: context.lang }), context));
    },
  });
