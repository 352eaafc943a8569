/** A task's status as lines, from its explanation. */
import type { Explanation } from '../index.ts';
import type { Context } from './context.ts';
import { visibleDeep } from './neutral.ts';
import { table } from './table.ts';
import { moment, paintOfTone } from './text.ts';
import { wrap } from './width.ts';

/** Where nobody looks, sentences are not broken. */
const sentence = (text: string, width: number, indent = ''): string[] => (Number.isFinite(width) ? wrap(text, width - indent.length) : [text]).map((line) => indent + line);

export function statusLines(explanation: Explanation, { terminal, words }: Context): readonly string[] {
  const { colours, width } = terminal;
  const { task, headline, tone, steps, next_action, as_of, seq } = visibleDeep(explanation);
  const key = task.key === null ? '' : `, ${words.key.toLowerCase()} ${task.key}`;
  return [
    colours.bold(task.id),
    ...sentence(`${task.type} v${String(task.version)}${key}`, width),
    ...sentence(headline, width).map((line) => paintOfTone(tone, colours)(line)),
    '',
    ...table(
      steps,
      [
        { head: words.step, cell: ({ name }) => name, tight: 'cut' },
        { head: words.state, cell: ({ state }) => state, paint: (step) => paintOfTone(step.tone, colours) },
        { head: words.tries, cell: ({ attempts: { charged, max } }) => `${String(charged)}/${String(max)}` },
        { head: words.since, cell: ({ since }) => moment(since), leaveOut: 1 },
        { head: words.what, cell: ({ reason, next }) => [reason.meaning, ...(next.on === 'nothing' ? [] : [next.sentence])].join('; '), tight: 'wrap', widthMin: 20 },
      ],
      width,
      colours.dim,
    ),
    '',
    ...sentence(next_action.sentence, width),
    colours.dim(words.asOf(moment(as_of), seq)),
  ];
}

export { sentence };
