import type { TimelineRow } from '../../index.ts';
import { makeCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { table } from '../table.ts';
import { meaning, moment } from '../text.ts';

export const historyCommand = () =>
  makeCommand({
    name: 'history',
    args: [['<task>', "the task's id"]],
    summary: "a task's whole timeline, oldest first",
    description:
      'Every entry of the one timeline: transitions, requests to the outside, receipts, cancels, checks, corrections. Nothing in it is ever changed; a wrong reason is corrected by a further entry. --json answers {"task", "timeline": [...]} with the facts of each entry. `throughline explain` tells the same as a story.',
    examples: [
      ['history 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10', 'as a table'],
      [`history 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10 --json | jq '.timeline[] | select(.kind == "intent")'`, 'each request that was sent outside'],
    ],
    exits: '3 no such task',
    async run(context, _options, task) {
      const id = task;
      const timeline = await (await context.client()).history(id);
      await context.answer({ task: id.toLowerCase(), timeline }, () => lines(timeline, context));
    },
  });

function lines(timeline: readonly TimelineRow[], { terminal, words, lang }: Context): readonly string[] {
  return table(
    timeline,
    [
      { head: words.entry, cell: ({ id }) => String(id), leaveOut: 2 },
      { head: words.at, cell: ({ at }) => moment(at) },
      { head: words.step, cell: ({ step }) => step ?? '-', tight: 'cut' },
      { head: words.what, cell: (row) => what(row, words), tight: 'wrap', widthMin: 16 },
      { head: words.reason, cell: ({ reason }) => (reason === null ? '-' : `${reason}: ${meaning(reason, lang)}`), tight: 'wrap', widthMin: 18 },
      { head: words.by, cell: ({ actor }) => actor, tight: 'cut', leaveOut: 1 },
    ],
    terminal.width,
    terminal.colours.dim,
  );
}

/** The facts that tell which request, receipt, failure or cancel an entry is about. */
const TELLING = ['effect', 'item', 'outcome', 'verdict', 'verb', 'category', 'message', 'why'] as const;

function what(row: TimelineRow, words: Context['words']): string {
  const moved = row.from_state !== row.to_state ? `${row.from_state} → ${row.to_state}` : '';
  const told = TELLING.flatMap((name) => {
    const value = row.facts[name];
    return typeof value === 'string' && value !== '' ? [value] : [];
  });
  const attempt = row.attempt === null || row.attempt === 0 ? [] : [words.attempt(row.attempt)];
  const head = row.kind === 'transition' && moved !== '' ? moved : [words.kinds[row.kind], moved].filter((part) => part !== '').join(' ');
  return [head, ...told, ...attempt].join(', ');
}
