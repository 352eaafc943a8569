/** Columns of a terminal: East Asian wide characters take two. */

const WIDE = /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
/** What may not begin a line. */
const CLOSING = /[，。、；：！？）》」』”]/;
const ZERO = /\p{Mark}/u;

const columnsOf = (char: string): number => (ZERO.test(char) ? 0 : WIDE.test(char) ? 2 : 1);

export function columns(text: string): number {
  let sum = 0;
  for (const char of text) sum += columnsOf(char);
  return sum;
}

/** Words, each with the spaces before it; a wide character is a word of its own. */
function words(text: string): string[] {
  const found: string[] = [];
  let word = '';
  for (const char of text) {
    const startsWord = (WIDE.test(char) && !CLOSING.test(char)) || (char === ' ' && word.trim() !== '') || (word !== '' && WIDE.test(word) && !CLOSING.test(char));
    if (startsWord && word !== '') {
      found.push(word);
      word = '';
    }
    word += char;
  }
  return word === '' ? found : [...found, word];
}

/** Lines of at most `width` columns; all but the first set in by `indent`. A word that is longer than a line is cut. */
export function fold(text: string, width: number, indent: number): string[] {
  const lines: string[] = [];
  let line = '';
  let used = 0;
  const flush = (): void => {
    lines.push(line.trimEnd());
    line = ' '.repeat(indent);
    used = indent;
  };
  for (const word of words(text)) {
    const size = columns(word);
    if (used + size > width && line.trim() !== '') flush();
    const fits = line.trim() === '' && lines.length > 0 ? word.trimStart() : word;
    for (const char of used + columns(fits) > width ? fits : [fits]) {
      if (used + columns(char) > width) flush();
      line += char;
      used += columns(char);
    }
  }
  if (line.trim() !== '' || lines.length === 0) lines.push(line.trimEnd());
  return lines;
}
