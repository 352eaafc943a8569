import type { ReasonCode } from '../../index.ts';
import { action } from '../action.ts';
import type { ActionOptions } from '../action.ts';
import { actionOptions, makeCommand, option } from '../command.ts';

interface Options extends ActionOptions {
  readonly reason?: string;
}

export const correctCommand = () =>
  makeCommand<Options>({
    name: 'correct',
    args: [['<task>', "the task's id"], ['<entry>', "the entry's number, as `throughline history` shows it"]],
    summary: 'say that an entry of the timeline is wrong',
    description:
      'The timeline is never changed: a further entry points at the wrong one, and `throughline explain` shows both. It moves nothing. With --reason it also says which reason is the right one.',
    options: [option('--reason <code>', 'the reason that it should have had; see docs/state-machine.md for the codes'), ...actionOptions('why it is wrong; recorded, required')],
    examples: [['correct 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10 4711 --reason answer_lost --why "it was the network, not the platform"', 'entry 4711 is told with its correction']],
    exits: '2 no --why, or no such reason; 3 no such task or entry (ENTRY_UNKNOWN); 4 the --id was used for another correction',
    async run(context, options, task, entry) {
      const answer = await (await context.client()).correct(task, { ...action(context, options), entry, ...(options.reason === undefined ? {} : { reason: options.reason as ReasonCode }) });
      const { words } = context;
      await context.answer(answer, () => [words.corrected(answer.corrects, answer.entry), ...(answer.repeated === true ? [`  ${words.repeated}`] : [])]);
    },
  });
