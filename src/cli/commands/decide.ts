import { RECEIPT_VERDICTS } from '../../state/index.ts';
import { action } from '../action.ts';
import type { ActionOptions } from '../action.ts';
import { actionOptions, makeCommand, option } from '../command.ts';
import { usageError } from '../failure.ts';

interface Options extends ActionOptions {
  readonly approve?: true;
  readonly reject?: true;
  readonly open?: true;
}

export const decideCommand = () =>
  makeCommand<Options>({
    name: 'decide',
    args: [['<task>', "the task's id"]],
    summary: 'open a review, approve it or reject it',
    description:
      "A reviewer's verdict on a review step. --open says that somebody has read the request; --approve lets the task go on; --reject ends the step with review_rejected, as a decision. The reviewer's name and reason are recorded.",
    options: [
      option('--step <step>', 'the review step; required'),
      option('--approve', 'the task goes on').conflicts(['reject', 'open']),
      option('--reject', 'the step ends; nothing that needs it runs').conflicts(['approve', 'open']),
      option('--open', 'the request was opened, nothing is decided yet').conflicts(['approve', 'reject']),
      ...actionOptions('why; recorded, required unless --open'),
    ],
    examples: [
      ['decide 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10 --step review --open --by wei', 'wei has opened the request'],
      ['decide 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10 --step review --approve --why "facts checked" --by wei', 'the task goes on'],
      ['decide 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10 --step review --reject --why "outdated numbers" --by wei', 'the step ends'],
    ],
    exits: '2 no verdict or no --why; 3 no such task or step; 4 no review waits (REVIEW_NOT_OPEN)',
    async run(context, options, task) {
      const verdict = options.approve ? 'approved' : options.reject ? 'rejected' : options.open ? 'opened' : undefined;
      if (verdict === undefined) throw usageError('Say what was decided: --approve, --reject or --open.', '--approve');
      if (options.step === undefined) throw usageError('Name the review step with --step.', '--step');
      const { by, id } = action(context, options);
      const asked = { step: options.step, verdict, by, ...(id === undefined ? {} : { id }), ...(options.why === undefined ? {} : { why: options.why }) } as const;
      const answer = await (await context.client()).decide(task, asked);
      const { words, lang } = context;
      await context.answer(answer, () => {
        const meaning = answer.verdict === null ? words.notJudged : RECEIPT_VERDICTS[answer.verdict][lang === 'en' ? 'en' : 'zh'];
        const state = answer.state === null || answer.state === undefined ? [] : [`  ${words.moved(answer.state)}`];
        return [`${verdict}: ${meaning}`, ...state, ...(answer.repeated === true ? [`  ${words.repeated}`] : [])];
      });
    },
  });
