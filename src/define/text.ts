/** Text that comes from outside, made storable and readable. */

const LONE_SURROGATE = /\p{Surrogate}/gu;
/** Control characters other than tab and newline, and those that reorder or break lines unseen. */
// eslint-disable-next-line no-control-regex -- finding control characters is what this is for
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g;

function picture(char: string): string {
  const code = char.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return '\u2421';
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
}

/**
 * The same text with nothing hidden: NUL shows as `␀`, other control characters as their pictures,
 * those without one as `⟨U+202E⟩`, half a surrogate pair as U+FFFD. Tabs and newlines stay. The result
 * can be stored in Postgres text and jsonb.
 */
export function visible(text: string): string {
  return text.replace(UNSEEN, picture).replace(LONE_SURROGATE, '\uFFFD');
}

/** At most `chars` UTF-16 units of a text, never half a character; `cut` says how many are missing. */
export function clip(text: string, chars: number): { readonly text: string; readonly cut: number } {
  if (text.length <= chars) return { text, cut: 0 };
  const last = text.charCodeAt(chars - 1);
  const end = last >= 0xd800 && last <= 0xdbff ? Math.max(0, chars - 1) : chars;
  return { text: text.slice(0, end), cut: text.length - end };
}

/** A name from outside inside a sentence of ours: quoted, short, with nothing hidden. */
export function quoted(text: string): string {
  const { text: head, cut } = clip(text, 80);
  return `"${visible(head).replace(/\s/g, ' ')}${cut > 0 ? '…' : ''}"`;
}
