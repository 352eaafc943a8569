import type { Command } from 'commander';
import type { Json } from '../../define/json.ts';
import type { ConfirmAnswer } from '../../index.ts';
import { action } from '../action.ts';
import type { ActionOptions } from '../action.ts';
import { actionOptions, makeCommand, option } from '../command.ts';
import type { Context } from '../context.ts';
import { readEffect } from '../effect-name.ts';
import { readInput } from '../input.ts';
import { visible } from '../neutral.ts';
import { sentence } from '../status.ts';

interface Options extends ActionOptions {
  readonly evidence?: string;
  readonly externalId?: string;
  readonly result?: string;
}

const ARGS = [['<task>', "the task's id"], ['<step>', 'the step'], ['<effect>', 'EFFECT or EFFECT/ITEM, as `throughline explain` shows it']] as const;
const WHERE = 'where you looked and what was there; recorded, required';
const EXITS = '2 no --evidence or no --why; 3 no such task, step or effect; 4 there is nothing to confirm (TRANSITION_REFUSED), or ID_CONFLICT';

export const confirmEffectCommand = (): Command =>
  makeCommand<Options>({
    name: 'confirm-effect',
    args: ARGS,
    summary: 'it did happen outside: say so, with evidence',
    description:
      "For a step that is unconfirmed, or dead, after somebody has looked outside. A submission completes the step, and its proof is checked as always; any other effect lets the step go on without repeating it. Where something else is still open, the step stays where it is until that is said, too.",
    options: [
      option('--evidence <text>', WHERE),
      option('--external-id <id>', "the other side's id of it"),
      option('--result <json>', 'what the call would have returned, where later steps read it: JSON, @FILE or -'),
      ...actionOptions('why; recorded, required'),
    ],
    examples: [
      ['confirm-effect 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10 publish post --external-id post-81 --evidence "https://example.org/post-81 is online" --why "asked by support"', 'the step is completed, and its proof is checked'],
      ['confirm-effect 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10 publish picture/cover.png --evidence "it is in the library" --why "answer was lost"', 'the step goes on after that picture'],
    ],
    exits: `${EXITS}, EXTERNAL_ID_CONFLICT`,
    async run(context, options, task, step, effect) {
      const result = options.result === undefined ? {} : { result: (await readInput(options.result, 'result')) as Json };
      const external = options.externalId === undefined ? {} : { externalId: options.externalId };
      await say(context, await (await context.client()).confirmEffect(task, { ...seen(context, options, step, effect), ...external, ...result }));
    },
  });

export const confirmAbsentCommand = (): Command =>
  makeCommand<Options>({
    name: 'confirm-absent',
    args: ARGS,
    summary: 'it did not happen outside: say so, with evidence',
    description:
      'For a step that is unconfirmed, or dead, after somebody has looked outside. The step is queued with a fresh budget and the effect is made again; where a cancel is set it is cancelled instead and nothing is made. A submission that stood confirmed is set aside. Where something else is still open, the step stays where it is until that is said, too.',
    options: [option('--evidence <text>', WHERE), ...actionOptions('why; recorded, required')],
    examples: [['confirm-absent 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10 publish post --evidence "not in the channel, asked their support" --why "the answer was lost"', 'it is published again, once']],
    exits: EXITS,
    async run(context, options, task, step, effect) {
      await say(context, await (await context.client()).confirmAbsent(task, seen(context, options, step, effect)));
    },
  });

const seen = (context: Context, options: Options, step: string, effect: string) => ({ ...action(context, options), step, ...readEffect(effect, '<effect>'), evidence: options.evidence ?? '' });

async function say(context: Context, answer: ConfirmAnswer): Promise<void> {
  const { words, lang, terminal: { width } } = context;
  await context.answer(answer, async () => {
    const said = (await (await context.client()).explain(answer.task, { lang })).steps.find(({ name }) => name === answer.step);
    return [words.moved(answer.state), ...(said === undefined ? [] : sentence(visible(said.sentence), width, '  ')), ...(answer.repeated === true ? [`  ${words.repeated}`] : [])];
  });
}
