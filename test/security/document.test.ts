/** The threat model is true to its word: every test that docs/security.md names exists. */
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const page = readFileSync('docs/security.md', 'utf8');
const rows = [...page.matchAll(/^\| ([^|]+) \| ([^|]+) \| ((?:`test\/|[^|]*"$).*) \|$/gm)].map(([, threat = '', , shown = '']) => ({ threat, shown }));
const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

test.each(rows)('$threat: shown by tests that exist', ({ shown }) => {
  const named = [...shown.matchAll(/`(test\/[^`]+\.test\.ts)` "([^"]+)"/g)];
  // Whatever stands in the last column is such a name.
  expect(named.map(([text]) => text).join(' · ')).toBe(shown);
  for (const [, file = '', name = ''] of named) {
    // An apostrophe may be escaped in the source.
    expect(readFileSync(file, 'utf8').replaceAll("\\'", "'")).toMatch(new RegExp(`(?:\\b(?:test|it)|[)\\]])\\(\\s*['"\`]${escaped(name)}['"\`]`));
  }
});

test('each of those who may want something has a table, each line of a table a test, and each table says what is left', () => {
  const parts = page.split(/^## /m).slice(1);
  for (const who of ['Callers', 'Reviewers and operators', 'Platforms, as senders of receipts', 'The network, outwards', 'The database', 'Users of the console', 'The dependency chain']) {
    expect(parts.map((part) => part.split('\n')[0])).toContain(who);
  }
  const threats = parts.flatMap((part) => (part.includes('| threat |') ? part.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| threat') && !line.startsWith('| advisory')) : []));
  expect(rows).toHaveLength(threats.length);
  expect(rows.length).toBeGreaterThan(40);
});
