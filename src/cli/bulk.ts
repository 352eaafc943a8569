/** Bulks as lines: what was asked, what was foreseen, how far it is, and each refusal in words. */
import type { BulkForeseen, BulkItemPage, BulkItemRow, BulkPage, BulkRow } from '../client/bulk.ts';
import { ERRORS } from '../errors.ts';
import type { Context } from './context.ts';
import { visible } from './neutral.ts';
import { sentence } from './status.ts';
import { table } from './table.ts';
import { moment } from './text.ts';

const sentenceOf = (code: string): string => (Object.hasOwn(ERRORS, code) ? ERRORS[code as keyof typeof ERRORS].sentence : '');

const filterText = ({ filter }: BulkRow): string => Object.entries(filter).map(([name, value]) => `${name} ${String(value)}`).join(', ');

const countsText = ({ items, counts: { pending, done, refused, skipped } }: BulkRow, { words }: Context): string => words.bulk.counts(items, done, refused, skipped, pending);

/** For whoever waits. */
export const progressLine = (bulk: BulkRow, context: Context): string => countsText(bulk, context);

function foreseenLine({ items, to, verdict, refused }: BulkForeseen, { words }: Context): string {
  return refused === undefined ? words.bulk.would(items, to ?? verdict ?? '-') : words.bulk.wouldRefuse(items, refused, sentenceOf(refused));
}

export function bulkLines(bulk: BulkRow, group: 'replays' | 'cancels', context: Context): readonly string[] {
  const { terminal: { colours, width }, words } = context;
  const { void: voids = [], drop_checkpoints: drops } = bulk.options;
  const line = (text: string): string[] => sentence(visible(text), width, '  ');
  const lines = [
    `${colours.bold(bulk.id)}  ${bulk.status}`,
    ...line(`${filterText(bulk)}; ${words.bulk.rate(bulk.rate_per_s)}`),
    ...line(`${bulk.by}, ${moment(bulk.created_at)}: ${bulk.why}`),
    ...(drops === true ? line('--drop-checkpoints') : []),
    ...(voids.length === 0 ? [] : line(`--void ${voids.map(({ effect, item }) => (item === undefined ? effect : `${effect}/${item}`)).join(' ')}`)),
    ...line(countsText(bulk, context)),
  ];
  if (bulk.status === 'planned') {
    return [...lines, ...bulk.foreseen.flatMap((each) => line(foreseenLine(each, context))), ...line(words.bulk.dryRun(`throughline ${group} apply ${bulk.id}`))];
  }
  return [
    ...lines,
    ...(bulk.applied_by === null ? [] : line(words.bulk.applied(bulk.applied_by, moment(bulk.applied_at)))),
    ...(bulk.aborted_by === null ? [] : line(words.bulk.aborted(bulk.aborted_by, moment(bulk.aborted_at), bulk.aborted_why ?? ''))),
    ...bulk.refused.flatMap(({ code, items }) => line(words.bulk.refused(items, code, sentenceOf(code)))),
    ...(bulk.status === 'running' ? line(words.bulk.goesOn) : []),
    ...(bulk.repeated === true ? line(words.repeated) : []),
  ];
}

export function listLines({ rows, cursor }: BulkPage, context: Context): readonly string[] {
  const { terminal: { colours, width }, words } = context;
  if (rows.length === 0) return [words.nothing];
  const lines = table<BulkRow>(
    rows,
    [
      { head: words.id, cell: ({ id }) => id },
      { head: words.status, cell: ({ status }) => status },
      { head: words.what, cell: (bulk) => countsText(bulk, context), tight: 'wrap', widthMin: 16 },
      { head: words.reason, cell: (bulk) => `${filterText(bulk)}: ${bulk.why}`, tight: 'cut', widthMin: 12, leaveOut: 3 },
      { head: words.by, cell: ({ by }) => by, tight: 'cut', leaveOut: 4 },
      { head: words.at, cell: ({ created_at }) => moment(created_at), leaveOut: 5 },
    ],
    width,
    colours.dim,
  );
  return cursor === null ? lines : [...lines, colours.dim(`${words.more} --cursor ${cursor}`)];
}

/** The verdict, the refusal in words with what a person would have to confirm, or what is foreseen. */
function outcome({ result, code, details, verdict, foreseen }: BulkItemRow, { words }: Context): string {
  if (result === 'refused' && code !== null) return [words.refused(code, sentenceOf(code)), confirmText(details['confirm'])].filter((text) => text !== '').join(' ');
  if (result === 'done') return verdict ?? words.replayed;
  if (result === 'skipped') return words.bulk.skipped;
  return foreseen.refused === undefined ? words.bulk.foreseen(foreseen.to ?? foreseen.verdict ?? '-') : words.bulk.foreseenRefusal(foreseen.refused, sentenceOf(foreseen.refused));
}

function confirmText(confirm: unknown): string {
  if (!Array.isArray(confirm) || confirm.length === 0) return '';
  const names = (confirm as readonly { readonly effect: string; readonly item: string }[]).map(({ effect, item }) => (item === '' ? effect : `${effect}/${item}`));
  return `(${names.join(', ')})`;
}

export function itemLines({ rows, cursor }: BulkItemPage, context: Context): readonly string[] {
  const { terminal: { colours, width }, words } = context;
  if (rows.length === 0) return [words.nothing];
  const lines = table<BulkItemRow>(
    rows,
    [
      { head: '#', cell: ({ ordinal }) => String(ordinal), leaveOut: 5 },
      { head: words.id, cell: ({ task }) => task },
      { head: words.step, cell: ({ step }) => step ?? '*', tight: 'cut' },
      { head: words.status, cell: ({ result }) => result },
      { head: words.what, cell: (item) => outcome(item, context), tight: 'wrap', widthMin: 16 },
      { head: words.reason, cell: ({ found }) => found.reason, tight: 'cut', widthMin: 10, leaveOut: 3 },
      { head: words.at, cell: ({ at }) => moment(at), leaveOut: 4 },
    ],
    width,
    colours.dim,
  );
  return cursor === null ? lines : [...lines, colours.dim(`${words.more} --cursor ${cursor}`)];
}
