/**
 * What users wrote, made harmless for a terminal: escape sequences, control characters and characters that
 * reorder or hide text are shown, never obeyed. Letters of all scripts and emoji stay as they are.
 */

/**
 * Control (Cc), line and paragraph separators, lone surrogates, format characters (Cf: bidi overrides, zero-width
 * ones, tags), and whatever else is drawn as nothing. Left alone: ZWNJ, ZWJ and variation selectors, which Persian
 * and emoji need, and the signs of Arabic numbers, which are seen.
 */
const UNSAFE = /(?!\u200c|\u200d|\p{M}|[\u0600-\u0605\u06dd\u08e2])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** U+2400: a visible picture for each of the 32 control characters. */
const PICTURES = 0x2400;
const DEL = 0x7f;
const DEL_PICTURE = '\u2421';

function shown(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(PICTURES + code);
  if (code === DEL) return DEL_PICTURE;
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
}

/** One line of text that a terminal shows as it was written: ESC as `␛`, a newline as `␊`, U+202E as `⟨U+202E⟩`. */
export const visible = (text: string): string => text.replace(UNSAFE, shown);

/** The same for each string in a value of plain JSON, keys included. */
export function visibleDeep<T>(value: T): T {
  if (typeof value === 'string') return visible(value) as T;
  if (Array.isArray(value)) return value.map((item: unknown) => visibleDeep(item)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]: [string, unknown]) => [visible(key), visibleDeep(item)])) as T;
}

/** JSON that loses nothing and that a terminal can't obey: what `JSON.stringify` leaves raw is escaped, too. */
export function safeJson(value: unknown, indent = 0): string {
  const escaped = (character: string): string => [...Array(character.length).keys()].map((index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`).join('');
  return JSON.stringify(value, null, indent).replace(UNSAFE, (character) => (character === '\n' ? character : escaped(character)));
}
