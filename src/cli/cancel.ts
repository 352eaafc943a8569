/** A cancel's answer as lines: the verdict is the ledger's, the sentences are the explanation's. */
import type { CancelAnswer, Explanation } from '../index.ts';
import type { Context } from './context.ts';
import { visible } from './neutral.ts';
import { sentence } from './status.ts';

export function cancelLines(answer: CancelAnswer, explanation: Explanation, { terminal: { width, colours }, words }: Context): readonly string[] {
  const said = explanation.cancels.find(({ id }) => id === answer.id);
  const steps = said?.steps ?? [];
  return [
    colours.bold(answer.verdict),
    ...(said === undefined ? [] : sentence(visible(said.sentence), width)),
    ...steps.flatMap((step) => [
      ...sentence(visible(step.sentence), width, '  '),
      ...step.in_flight.flatMap((call) => sentence(visible(call.sentence), width, '    ')),
      ...(step.left_outside_sentence === null ? [] : sentence(visible(step.left_outside_sentence), width, '    ')),
    ]),
    ...(answer.repeated === true ? [`  ${words.repeated}`] : []),
  ];
}
