/** What errors, findings, explanations and pages advise can be typed as it stands there. */
import { describe, expect, test } from '@jest/globals';
import type { Command } from 'commander';
import { readdirSync, readFileSync } from 'node:fs';
import { createProgram } from '../../src/cli/program.ts';

const program = createProgram();

interface Advice {
  readonly at: string;
  readonly words: readonly string[];
}

/** Each `throughline …` between backticks, and each line of a shell block. */
function advice(file: string): Advice[] {
  const text = readFileSync(file, 'utf8').replaceAll('\\`', '`').replaceAll('\\|', '|');
  const spans = [...text.matchAll(/`throughline( [^`\n]*)?`/g), ...text.matchAll(/^(?:\$ )?throughline( .*)$/gm)];
  return spans.map(([, rest = '']) => ({ at: file, words: (rest.split(/ [|>#]| {2}/)[0] ?? '').trim().split(/\s+/).filter((word) => word !== '') }));
}

/** What is wrong with it; '' where nothing is. */
function wrong({ words }: Advice): string {
  let command: Command = program;
  let rest = [...words];
  while (rest[0] !== undefined && /^[a-z][a-z-]*$/.test(rest[0]) && command.commands.length > 0) {
    const found = command.commands.find((one) => one.name() === rest[0]);
    if (found === undefined) {
      if (command.registeredArguments.length > 0) break;
      return rest[0] === 'help' ? '' : `no command ${rest[0]}`;
    }
    command = found;
    rest = rest.slice(1);
  }
  // A group may have one that is meant where none is named.
  const { _defaultCommandName: unnamed } = command as unknown as { readonly _defaultCommandName?: string | null };
  if (rest.length > 0) command = command.commands.find((one) => one.name() === unnamed) ?? command;
  const known = new Set([program, command].flatMap(({ options }) => options.flatMap(({ long }) => (long === undefined ? [] : [long]))));
  const unknown = rest.filter((word) => word.startsWith('--') && word !== '--help').map((word) => word.replace(/=.*/, '')).find((word) => !known.has(word));
  if (unknown !== undefined) return `no option ${unknown}`;
  // Named with its arguments (in capitals): as many as there are.
  const places = rest.filter((word, index) => /^[A-Z]+$/.test(word) && !(rest[index - 1] ?? '').startsWith('--'));
  return places.length === 0 || places.length === command.registeredArguments.length || command === program ? '' : `not ${String(command.registeredArguments.length)} arguments`;
}

const SAYS = ['src/errors.ts', 'src/cli/doctor/words.ts', 'src/client/explain/phrases-en.ts', 'src/client/explain/phrases-zh.ts'];
const commands = readdirSync('src/cli/commands').map((name) => `src/cli/commands/${name}`);
const pages = ['README.md', ...readdirSync('docs').filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)];

describe('each command that is advised exists, with its options and arguments', () => {
  test.each([...SAYS, ...commands, ...pages])('%s', (file) => {
    const found = advice(file);
    if (SAYS.includes(file)) expect(found.length).toBeGreaterThan(2);
    expect(found.flatMap((one) => (wrong(one) === '' ? [] : [`${one.words.join(' ')}: ${wrong(one)}`]))).toEqual([]);
  });

  test('and one that does not exist is found', () => {
    const of = (line: string): string => wrong({ at: '', words: line.split(' ') });
    expect([of('unparc TASK'), of('unpark'), of('unpark TASK STEP'), of('unpark TASK --because x'), of('webhooks unpark X --why x'), of('webhooks retry X')])
      .toEqual(['no command unparc', '', 'not 1 arguments', 'no option --because', '', 'no command retry']);
  });

  test('in both languages the same', () => {
    const names = (file: string): string[] => advice(file).map(({ words }) => words.join(' ')).sort();
    expect(names('src/client/explain/phrases-zh.ts')).toEqual(names('src/client/explain/phrases-en.ts'));
  });
});
