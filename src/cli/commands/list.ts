import type { ListFilter, Page, TaskListRow } from '../../client/client.ts';
import { PARENT_STATUSES } from '../../state/index.ts';
import { makeCommand, option, wholeNumber } from '../command.ts';
import type { Context } from '../context.ts';
import { table } from '../table.ts';
import { moment, paintOf } from '../text.ts';

interface Options {
  readonly status?: string;
  readonly type?: string;
  readonly reason?: string;
  readonly key?: string;
  readonly limit?: string;
  readonly cursor?: string;
}

export const listCommand = () =>
  makeCommand<Options>({
    name: 'list',
    summary: 'tasks, newest first',
    description: 'Tasks by pages that neither skip nor repeat a row while new ones are added. --json answers {"rows", "cursor", "as_of"}; a cursor of null says that this was the last page.',
    options: [
      option('--status <status>', PARENT_STATUSES.join(', ')),
      option('--type <type>', 'only this task type'),
      option('--reason <code>', 'only this last reason; see docs/state-machine.md for the codes'),
      option('--key <key>', 'only the task with exactly this key'),
      option('--limit <rows>', 'rows of a page, 1 to 500 (default: 50)'),
      option('--cursor <cursor>', 'the next page, as the page before named it'),
    ],
    examples: [
      ['list --status dead', 'what waits for a person'],
      ['list --type publish-note --reason attempts_exhausted --limit 200', 'one kind of trouble'],
      [`list --json | jq -r '.rows[].id'`, 'ids only'],
    ],
    exits: '2 unknown status or reason, bad limit or cursor',
    async run(context, options) {
      const { status, type, reason, key, limit, cursor } = options;
      // The client refuses what is no status or reason of the lists.
      const filter = {
        ...(status === undefined ? {} : { status }),
        ...(type === undefined ? {} : { type }),
        ...(reason === undefined ? {} : { reason }),
        ...(key === undefined ? {} : { key }),
        ...(limit === undefined ? {} : { limit: wholeNumber(limit, '--limit') }),
        ...(cursor === undefined ? {} : { cursor }),
      } as ListFilter;
      const page = await (await context.client()).list(filter);
      await context.answer(page, () => lines(page, context));
    },
  });

function lines({ rows, cursor }: Page, { terminal, words }: Context): readonly string[] {
  if (rows.length === 0) return [words.none];
  const { colours, width } = terminal;
  const shown = table<TaskListRow>(
    rows,
    [
      { head: words.id, cell: ({ id }) => id },
      { head: words.status, cell: ({ status }) => status, paint: ({ status }) => paintOf(status, colours) },
      { head: words.reason, cell: ({ reason }) => reason, tight: 'cut', widthMin: 12, leaveOut: 2 },
      { head: words.type, cell: ({ type, version }) => `${type} v${String(version)}`, tight: 'cut', widthMin: 10, leaveOut: 3 },
      { head: words.key, cell: ({ key }) => key ?? '-', tight: 'cut', widthMin: 10, leaveOut: 4 },
      { head: words.since, cell: ({ since }) => moment(since), leaveOut: 5 },
      { head: words.next, cell: ({ next_at }) => moment(next_at), leaveOut: 6 },
    ],
    width,
    colours.dim,
  );
  return cursor === null ? shown : [...shown, colours.dim(`${words.more} --cursor ${cursor}`)];
}
