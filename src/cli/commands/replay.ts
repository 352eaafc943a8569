import { ERRORS } from '../../errors.ts';
import { action } from '../action.ts';
import type { ActionOptions } from '../action.ts';
import { actionOptions, makeCommand, option } from '../command.ts';
import { readEffect } from '../effect-name.ts';
import { visible } from '../neutral.ts';

interface Options extends ActionOptions {
  readonly void?: readonly string[];
  readonly dropCheckpoints?: true;
}

export const replayCommand = () =>
  makeCommand<Options>({
    name: 'replay',
    args: [['<task>', "the task's id"]],
    summary: 'run a dead step again, with a fresh budget',
    description:
      'Replays the dead steps of a task (or the one named). The original input is used, earlier attempts stay visible, confirmed effects are not repeated. It is refused while something is open outside (REPLAY_EFFECT_OPEN), while a cancel is set (REPLAY_CANCEL_SET), or when a proof has arrived since (REPLAY_PROOF_ARRIVED).',
    options: [
      option('--step <step>', 'only this step (default: each dead one)'),
      option('--void <effect/item...>', 'treat these effects as ended without lasting effect, so that they are made again: body, picture/cover.png'),
      option('--drop-checkpoints', "forget the step's checkpoints"),
      ...actionOptions('why; recorded, required'),
    ],
    examples: [
      ['replay 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10 --why "platform is back"', 'each dead step'],
      ['replay 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10 --step publish --void picture/cover.png body --why "deleted by hand"', 'uploads that picture and posts the body again'],
    ],
    exits: '0 at least one step is replayed; 2 no --why; 3 no such task or step; 4 refused',
    async run(context, options, task) {
      const voided = options.void?.map((name) => readEffect(name, '--void'));
      const answer = await (await context.client()).replay(task, {
        ...action(context, options),
        ...(voided === undefined ? {} : { void: voided }),
        ...(options.dropCheckpoints === true ? { dropCheckpoints: true } : {}),
      });
      const { words } = context;
      await context.answer(answer, () => [
        ...answer.steps.map(({ step, replayed, refused }) => visible(`${step}: ${replayed ? words.replayed : words.refused(refused ?? '', sentenceOf(refused))}`)),
        ...(answer.status === undefined ? [] : [`  ${words.status}: ${answer.status}`]),
        ...(answer.repeated === true ? [`  ${words.repeated}`] : []),
      ]);
    },
  });

const sentenceOf = (code: string | undefined): string => (code !== undefined && Object.hasOwn(ERRORS, code) ? ERRORS[code as keyof typeof ERRORS].sentence : '');
