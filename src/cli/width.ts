/** How wide text is on a terminal, and cutting and wrapping by that; lengths are columns. */

const GRAPHEMES = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Two columns each: CJK, kana, hangul, full-width forms, emoji. */
const WIDE = /^(?:\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|\p{Script=Bopomofo}|\p{Emoji_Presentation}|.*\ufe0f|[\u3000-\u303f\uff01-\uff60\uffe0-\uffe6])/u;
/** Half-width kana and hangul. */
const HALF = /^[\uff61-\uffdc\uffe8-\uffee]/u;
/** None: a mark that came without its letter. */
const NARROWEST = /^[\p{Mn}\p{Me}\u200c\u200d]+$/u;

const graphemes = (text: string): string[] => Array.from(GRAPHEMES.segment(text), ({ segment }) => segment);
const widthOfOne = (grapheme: string): number => (NARROWEST.test(grapheme) ? 0 : WIDE.test(grapheme) && !HALF.test(grapheme) ? 2 : 1);

/** Columns that the text takes. */
export const widthOf = (text: string): number => (/^[\x20-\x7e]*$/.test(text) ? text.length : graphemes(text).reduce((sum, grapheme) => sum + widthOfOne(grapheme), 0));

/** The longest start that fits. */
function startOf(text: string, width: number): string {
  let taken = '';
  let used = 0;
  for (const grapheme of graphemes(text)) {
    used += widthOfOne(grapheme);
    if (used > width) break;
    taken += grapheme;
  }
  return taken;
}

/** The text, or its start and `…`. */
export const cut = (text: string, width: number): string => (widthOf(text) <= width ? text : `${startOf(text, width - 1)}…`);

export const pad = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - widthOf(text)));

/** Lines of at most `width` (at least 2) columns: broken at blanks and between wide characters, else where it must be. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const piece of text.match(/\s+|[^\s\u2e80-\uffef]+|[\u2e80-\uffef]/gu) ?? []) {
    if (widthOf(line) + widthOf(piece) <= width) {
      line += piece;
      continue;
    }
    if (line.trim() !== '') lines.push(line.trimEnd());
    let rest = piece.trim();
    while (widthOf(rest) > width) {
      // A character wider than the line stands alone all the same.
      const start = startOf(rest, width) || (graphemes(rest)[0] ?? rest);
      lines.push(start);
      rest = rest.slice(start.length);
    }
    line = rest;
  }
  if (line.trim() !== '' || lines.length === 0) lines.push(line.trimEnd());
  return lines;
}
