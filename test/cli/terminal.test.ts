/** Text on a terminal: harmless, fitting, coloured only where it may be. */
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { safeJson, visible, visibleDeep } from '../../src/cli/neutral.ts';
import { table } from '../../src/cli/table.ts';
import { terminalOf } from '../../src/cli/terminal.ts';
import { cut, widthOf, wrap } from '../../src/cli/width.ts';
import { paintOf, paintOfTone } from '../../src/cli/text.ts';
import { PARENT_STATUSES, STEP_STATES } from '../../src/state/index.ts';

/** What a terminal may obey, or what reorders or hides text. */
const HARMFUL = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/u; // eslint-disable-line no-control-regex -- finding them is what this is for
const nasty = fc.string({ unit: fc.oneof(fc.constantFrom('\u001b[31m', '\u001b]8;;http://x\u0007', '\u009b2J', '\r', '\n', '\t', '\u0000', '\u007f', '\u202e', '\u2066', '\ufeff', '\ud800', '笔记', 'é', '👩‍🚀', ' ', 'word'), fc.string({ unit: 'binary', maxLength: 3 })) });

describe('what users wrote', () => {
  test('shows control characters, escape sequences and bidi overrides instead of obeying them', () => {
    expect(visible('a\u001b[31mb\u0000c\u007fd\ne\u202ef\u009bg\u200bh')).toBe('a␛[31mb␀c␡d␊e⟨U+202E⟩f⟨U+009B⟩g⟨U+200B⟩h');
    expect(visible('\\u0000')).toBe('\\u0000');
  });

  test('keeps letters of all scripts, joined letters and emoji as they are', () => {
    const text = '潮汐 مرحبا می‌خواهم שלום 👩‍🚀 ❤️ é';
    expect(visible(text)).toBe(text);
  });

  test('is harmless in any mixture, as text, inside data and as JSON; JSON loses nothing', () => {
    fc.assert(fc.property(nasty, (text) => {
      expect(visible(text)).not.toMatch(HARMFUL);
      expect(JSON.stringify(visibleDeep({ [text]: [text] }))).not.toMatch(HARMFUL);
      const json = safeJson({ text });
      expect(json).not.toMatch(HARMFUL);
      expect(JSON.parse(json)).toEqual({ text });
      expect(JSON.parse(safeJson({ text }, 2))).toEqual({ text });
    }));
  });
});

describe('widths', () => {
  test('count columns, not code units', () => {
    expect(['abc', '潮汐', 'é', 'e\u0301', '👩‍🚀', '❤️', 'ｶﾅ', '✅'].map(widthOf)).toEqual([3, 4, 1, 1, 2, 2, 2, 2]);
  });

  test('what is cut or wrapped fits, and wrapping keeps every character but blanks', () => {
    fc.assert(fc.property(nasty, fc.integer({ min: 2, max: 60 }), (text, width) => {
      const shown = visible(text);
      expect(widthOf(cut(shown, width))).toBeLessThanOrEqual(width);
      const lines = wrap(shown, width);
      for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width);
      expect(lines.join('').replace(/\s/gu, '')).toBe(shown.replace(/\s/gu, ''));
    }));
  });
});

describe('a table', () => {
  const columns = [
    { head: 'ID', cell: (row: string) => row.slice(0, 8) },
    { head: 'TEXT', cell: (row: string) => row, tight: 'wrap', widthMin: 10 },
    { head: 'SHORT', cell: (row: string) => row, tight: 'cut', leaveOut: 1 },
  ] as const;

  test('fits where an id is all characters that have to be spelled out', () => {
    for (const line of table(['\u2066\ufeff\ufeff\ufeff2J\n\ufeff'], columns, 40, (text) => text)) expect(widthOf(line)).toBeLessThanOrEqual(40);
  });

  test('fits any width from 40 columns on, whatever the rows hold', () => {
    fc.assert(fc.property(fc.array(nasty, { maxLength: 5 }), fc.integer({ min: 40, max: 200 }), (rows, width) => {
      for (const line of table(rows, columns, width, (text) => text)) {
        expect(widthOf(line)).toBeLessThanOrEqual(width);
        expect(line).not.toMatch(HARMFUL);
      }
    }));
  });

  test('cuts nothing where there is no width to fit', () => {
    const lines = table(['x'.repeat(500)], columns, Infinity, (text) => text);
    expect(lines[1]).toContain('x'.repeat(500));
  });
});

describe('colours', () => {
  const coloured = (isTTY: boolean, env: NodeJS.ProcessEnv): boolean => terminalOf({ isTTY, columns: 80 }, env).coloured;

  test('are for terminals, and NO_COLOR and FORCE_COLOR are obeyed', () => {
    expect(coloured(true, {})).toBe(true);
    expect(coloured(false, {})).toBe(false);
    expect(coloured(true, { TERM: 'dumb' })).toBe(false);
    expect(coloured(true, { NO_COLOR: '1' })).toBe(false);
    expect(coloured(true, { NO_COLOR: '' })).toBe(true);
    expect(coloured(false, { FORCE_COLOR: '1' })).toBe(true);
    expect(coloured(true, { FORCE_COLOR: '0' })).toBe(false);
    expect(coloured(true, { FORCE_COLOR: '1', NO_COLOR: '1' })).toBe(false);
  });

  test('green is for succeeded alone', () => {
    const { colours } = terminalOf({ isTTY: true }, {});
    const green = colours.green('x');
    const states = [...new Set([...PARENT_STATUSES, ...STEP_STATES])];
    expect(states.filter((state) => paintOf(state, colours)('x') === green)).toEqual(['succeeded']);
    expect((['success', 'progress', 'attention', 'stopped'] as const).filter((tone) => paintOfTone(tone, colours)('x') === green)).toEqual(['success']);
  });

  test('the width is the terminal\'s or COLUMNS; a pipe has none', () => {
    expect(terminalOf({ isTTY: true, columns: 120 }, {}).width).toBe(120);
    expect(terminalOf({ isTTY: true, columns: 120 }, { COLUMNS: '60' }).width).toBe(60);
    expect(terminalOf({}, {}).width).toBe(Infinity);
  });
});
