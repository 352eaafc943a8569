import type { Paint } from './terminal.ts';
import { visible } from './neutral.ts';
import { cut, pad, widthOf, wrap } from './width.ts';

export interface Column<Row> {
  readonly head: string;
  /** As it is: the table makes it harmless. */
  readonly cell: (row: Row) => string;
  readonly paint?: (row: Row) => Paint;
  /** What happens where the table is too wide; default: the column keeps its width as long as others can give theirs. */
  readonly tight?: 'cut' | 'wrap';
  /** The narrowest that it may get. Default 8. */
  readonly widthMin?: number;
  /** Left out where nothing else helps, the highest first. Default: never. */
  readonly leaveOut?: number;
}

const GAP = 2;
const WIDTH_MIN_DEFAULT = 8;
/** Two wide characters: what a column gets where the terminal is narrower than all that is wanted. */
const WIDTH_MIN_LAST = 4;

interface Sized<Row> {
  readonly column: Column<Row>;
  readonly natural: number;
  least: number;
}

/** Lines that fit into `width`: first columns that may give way get narrower, then some are left out. */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], width: number, head: Paint): string[] {
  const texts = new Map(columns.map((column) => [column, rows.map((row) => visible(column.cell(row)))]));
  let sized = columns.map((column): Sized<Row> => {
    const natural = Math.max(widthOf(column.head), ...(texts.get(column) ?? []).map(widthOf));
    return { column, natural, least: column.tight === undefined ? natural : Math.min(natural, Math.max(widthOf(column.head), column.widthMin ?? WIDTH_MIN_DEFAULT)) };
  });
  const leastOf = (list: readonly Sized<Row>[]): number => list.reduce((sum, { least }) => sum + least + GAP, -GAP);
  while (leastOf(sized) > width) {
    const first = sized.filter(({ column }) => column.leaveOut !== undefined).sort((a, b) => (b.column.leaveOut ?? 0) - (a.column.leaveOut ?? 0))[0];
    if (first === undefined) break;
    sized = sized.filter((one) => one !== first);
  }
  sized = squeezed(sized, leastOf(sized) - width);
  const widths = share(sized, width - GAP * (sized.length - 1));
  const line = (cells: readonly string[], paints: readonly (Paint | undefined)[]): string =>
    cells.map((cell, index) => (paints[index] ?? ((text: string) => text))(pad(cell, widths[index] ?? 0))).join(' '.repeat(GAP)).trimEnd();
  const lines = [line(sized.map(({ column }) => column.head), sized.map(() => head))];
  for (const [at, row] of rows.entries()) {
    const cells = sized.map(({ column }, index) => fit(texts.get(column)?.[at] ?? '', widths[index] ?? 0, column.tight));
    const height = Math.max(...cells.map((cell) => cell.length));
    for (let part = 0; part < height; part += 1) lines.push(line(cells.map((cell) => cell[part] ?? ''), sized.map(({ column }) => column.paint?.(row))));
  }
  return lines;
}

function fit(text: string, width: number, tight: 'cut' | 'wrap' | undefined): string[] {
  if (widthOf(text) <= width) return [text];
  return tight === 'wrap' ? wrap(text, width) : [cut(text, width)];
}

/** Where even the least widths are too much, the widest columns that may give way give it; the others only where that is not enough. */
function squeezed<Row>(sized: readonly Sized<Row>[], over: number): Sized<Row>[] {
  const narrow = sized.map((one) => ({ ...one }));
  for (let left = over; left > 0; left -= 1) {
    const wide = narrow.filter(({ least }) => least > WIDTH_MIN_LAST).sort((a, b) => b.least - a.least);
    const widest = wide.find(({ column }) => column.tight !== undefined) ?? wide[0];
    if (widest === undefined) break;
    widest.least -= 1;
  }
  return narrow;
}

/** What is left beyond the least widths goes to the columns that want more, in equal parts. */
function share<Row>(sized: readonly Sized<Row>[], width: number): number[] {
  const widths = sized.map(({ least }) => least);
  for (;;) {
    const left = width - widths.reduce((sum, one) => sum + one, 0);
    const wanting = sized.flatMap(({ natural }, index) => ((widths[index] ?? 0) < natural ? [index] : []));
    if (left <= 0 || wanting.length === 0) return widths;
    const part = Math.max(1, Math.floor(left / wanting.length));
    for (const index of wanting.slice(0, left)) widths[index] = Math.min(sized[index]?.natural ?? 0, (widths[index] ?? 0) + part);
  }
}
