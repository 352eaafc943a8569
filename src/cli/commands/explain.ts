import type { Tone } from '../../client/explain/index.ts';
import { makeCommand } from '../command.ts';
import { visibleDeep } from '../neutral.ts';
import { paintOfTone } from '../text.ts';

export const explainCommand = () =>
  makeCommand({
    name: 'explain',
    args: [['<task>', "the task's id"]],
    summary: 'where is it, will it run again, what touched the outside, is the success real?',
    description:
      'The whole explanation, computed from the ledger: state and reason, what it is blocked on, whether it will run again and by which rule, what to do next, verdicts of cancels, every touch of the outside by attempt, the proof, and the story in order. If TEMPORAL_ADDRESS is set, Temporal is asked whether it agrees; if it is away, the explanation says so.',
    examples: [
      ['explain 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10', 'as text'],
      ['explain 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10 --lang zh-CN', 'in Simplified Chinese'],
      [`explain 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10 --json | jq -r '.will_run_again.answer'`, 'yes, no, depends or only_by_a_person'],
    ],
    exits: '3 no such task',
    async run(context, _options, task) {
      const { lang, terminal } = context;
      const explanation = await (await context.client({ temporal: true })).explain(task, { lang });
      const { explanationText } = await import('../../client/explain/text.ts');
      const size = Number.isFinite(terminal.width) ? { width: terminal.width } : {};
      const colour = (tone: Tone, text: string): string => paintOfTone(tone, terminal.colours)(text);
      await context.answer(explanation, () => [explanationText(visibleDeep(explanation), { colour, ...size }).trimEnd()]);
    },
  });
