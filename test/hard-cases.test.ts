/** The index of hard cases is true: every case is there, and every test that it names exists. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';

const CASES = 40;
const page = readFileSync('docs/hard-cases.md', 'utf8');
const rows = [...page.matchAll(/^\| (\d+) \| (.+?) \| (.+) \|$/gm)].map(([, number, promise, shown]) => ({ number: Number(number), promise, shown: shown ?? '' }));

test('each case has one row', () => {
  expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: CASES }, (_, index) => index + 1));
});

describe('each case is shown by tests that exist', () => {
  test.each(rows)('$number: $promise', ({ shown }) => {
    const named = [...shown.matchAll(/`(test\/[^`]+\.test\.ts)` "([^"]+)"/g)];
    // Whatever stands in the last column is such a name.
    expect(named.map(([text]) => text).join(' · ')).toBe(shown);
    for (const [, file = '', name = ''] of named) expect(readFileSync(file, 'utf8')).toMatch(new RegExp(`(test|each\\(.*\\))\\(.*${name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}`));
  });
});
