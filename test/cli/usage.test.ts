/** What is said before anything is asked of a server: help, bad command lines, bad surroundings. */
import { describe, expect, test } from '@jest/globals';
import { ERRORS } from '../../src/errors.ts';
import { codedError } from '../../src/cli/failure.ts';
import { readInput } from '../../src/cli/input.ts';
import { createProgram, runProgram } from '../../src/cli/program.ts';
import { cli, documentOf, FROM_SOURCE, runNode, type Failure, type RunOptions } from './cli.ts';

const COMMANDS = ['dev', 'migrate', 'worker', 'doctor', 'completion', 'status', 'watch', 'explain', 'history', 'list', 'audit', 'evidence', 'enqueue', 'cancel', 'cancels', 'withdraw', 'decide', 'replay', 'replays', 'webhooks', 'api', 'tokens', 'sender-keys', 'abandon-wait', 'confirm-effect', 'confirm-absent', 'correct', 'unpark', 'receipts', 'prune', 'sweep'];
const GROUPS = ['evidence', 'receipts', 'replays', 'cancels', 'webhooks', 'tokens', 'sender-keys'];
const TASK = '3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10';
/** Never reached by these. */
const NOWHERE = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' };

async function failure(args: readonly string[], options: RunOptions = { env: NOWHERE }): Promise<Failure['error'] & { readonly exit: number | null }> {
  const said = await cli([...args, '--json'], options);
  return { ...(documentOf(said) as Failure).error, exit: said.code };
}

/** What the program throws for these arguments. */
async function inOwnProcess(args: readonly string[]): Promise<unknown> {
  const before = process.env['DATABASE_URL'];
  process.env['DATABASE_URL'] = NOWHERE.DATABASE_URL;
  try {
    await runProgram(args);
  } catch (error) {
    return error;
  } finally {
    if (before === undefined) delete process.env['DATABASE_URL'];
    else process.env['DATABASE_URL'] = before;
  }
  throw new Error('nothing was refused');
}

describe('help', () => {
  test('of the program names each command, each exit code and the environment', async () => {
    const { code, stdout } = await cli(['--help']);
    expect(code).toBe(0);
    for (const command of COMMANDS) expect(stdout).toMatch(new RegExp(`^ {2}${command} `, 'm'));
    for (const exit of new Set(Object.values(ERRORS).map((entry) => entry.exit))) expect(stdout).toMatch(new RegExp(`^ {2}${String(exit)} `, 'm'));
    expect(stdout).toMatch(/DATABASE_URL[\s\S]*TEMPORAL_ADDRESS[\s\S]*THROUGHLINE_LANG[\s\S]*NO_COLOR/);
  });

  test('of each command has a description, examples that are commands, and exit codes', () => {
    // What the shells' scripts call is no command of a person's.
    const commands = createProgram().commands.filter((command) => !command.name().startsWith('__'));
    expect(commands.map((command) => command.name()).sort()).toEqual([...COMMANDS].sort());
    expect(commands.filter((command) => command.commands.length > 0).map((command) => command.name())).toEqual(GROUPS);
    for (const command of commands.flatMap((one) => (one.commands.length > 0 ? one.commands : [one]))) {
      let help = '';
      command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
      const group = (command.parent?.parent ?? null) === null ? '' : `${command.parent?.name() ?? ''} `;
      const name = `${group}${command.name()}`;
      expect(help).toMatch(new RegExp(`^Usage: throughline ${name} `));
      expect(help).toContain('--json');
      expect(help).toContain('--lang <language>');
      const examples = [...help.matchAll(/^ {2}\$ throughline (.+)/gm)].map(([, line]) => line?.split(' ').slice(0, name.split(' ').length).join(' '));
      expect([...new Set(examples)]).toEqual([name]);
      expect([name, /^Exit codes: /m.test(help)]).toEqual([name, true]);
      expect(help.split('\n').filter((line) => line.length > 200)).toEqual([]);
    }
  });

  test.each(GROUPS)('of the group %s is what it answers without a command', async (group) => {
    const { code, stdout, stderr } = await cli([group]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain(`Usage: throughline ${group}`);
  });

  test('and version are answers; without a command, help is one, too', async () => {
    const [version, nothing] = await Promise.all([runNode([...FROM_SOURCE, '--version']), cli([])]);
    expect(version).toEqual({ code: 0, stdout: '0.1.0\n', stderr: '' });
    expect(nothing.code).toBe(0);
    expect(nothing.stdout).toContain('Usage: throughline');
  });
});

describe('a command line that cannot be read', () => {
  test.each<[string, string[], string | undefined]>([
    ['an unknown command', ['lsit'], undefined],
    ['an unknown option', ['list', '--sort', 'name'], '--sort'],
    ['a missing argument', ['status'], undefined],
    ['an argument too many', ['status', TASK, TASK], undefined],
    ['a language that is none', ['list', '--lang', 'fr'], '--lang'],
    ['two verdicts', ['decide', TASK, '--step', 'review', '--approve', '--reject', '--why', 'x'], '--approve'],
    ['no verdict', ['decide', TASK, '--step', 'review', '--why', 'x'], '--approve'],
    ['a review without its step', ['decide', TASK, '--approve', '--why', 'x'], '--step'],
    ['two start times', ['enqueue', 'a', '--input', '{}', '--delay', '1s', '--run-at', '2026-05-01T00:00:00Z'], '--delay'],
    ['no input', ['enqueue', 'a'], '--input'],
    ['an effect without a name', ['replay', TASK, '--why', 'x', '--void', '/a.png'], '--void'],
    ['an unknown command of a group', ['webhooks', 'adx'], undefined],
    ['an unknown option of a group\'s command', ['webhooks', 'add', 'https://a.example/', '--events', 'x'], '--events'],
    ['a limit in words', ['list', '--limit', 'many'], '--limit'],
    ['a fraction of a version', ['enqueue', 'a', '--input', '{}', '--version', '1.5'], '--version'],
    ['no attempts at once', ['worker', '--tasks', './tasks.ts', '--attempts-at-once', '0'], '--attempts-at-once'],
  ])('%s is refused with exit code 2 and the place', async (_, args, path) => {
    // In this process: a process for each would only take longer; those below prove that the code and the document come out.
    const { code, exit, detail } = codedError(await inOwnProcess(args));
    expect({ code, exit, path: detail.path }).toEqual({ code: 'INPUT_INVALID', exit: 2, path });
  });

  test('is one JSON document with --json, wherever it stands', async () => {
    const [before, after] = await Promise.all([cli(['--json', 'list', '--sort', 'name']), cli(['list', '--sort', 'name', '--json'])]);
    for (const said of [before, after]) {
      expect(said.code).toBe(2);
      expect(documentOf(said)).toEqual({ error: { code: 'INPUT_INVALID', message: "unknown option '--sort'. (at --sort)", path: '--sort' } });
      expect(said.stderr).toBe('');
    }
  });

  test('is said on stderr without --json, with where help is; stdout stays empty', async () => {
    const { code, stdout, stderr } = await cli(['enqueu']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^INPUT_INVALID unknown command 'enqueu' \(Did you mean enqueue\?\)/);
    expect(stderr).toContain('throughline help');
  });
});

describe('an input that cannot be read', () => {
  const refusal = async (input: string): Promise<unknown> => readInput(input).then(() => null, (error: unknown) => error);

  test.each([
    ['{\n  "token": hunter2 }', 'line 2, column 12'],
    ['{"token": "hunter2', 'line 1, column 19'],
    ['{"token": "hunter2",}', 'line 1, column 21'],
    ['', 'line 1, column 1'],
    ["{'token': 'hunter2'}", 'line 1, column 2'],
  ])('is refused with its place, and never quoted, as it may hold secrets: %j', async (input, place) => {
    const error = await refusal(input);
    expect(error).toMatchObject({ code: 'INPUT_INVALID', exit: 2, detail: { path: '/input' } });
    expect(String(error)).toContain(place);
    expect(JSON.stringify([error, String(error)])).not.toContain('hunter2');
  });

  test('is refused where a number would silently become another one', async () => {
    const error = await refusal('{"text": "12345678901234567890\\"", "small": 9007199254740991, "id": -12345678901234567890}');
    expect(error).toMatchObject({ code: 'INPUT_NOT_STORABLE', exit: 2, detail: { path: '/input' } });
    expect(String(error)).toContain('line 1, column 69');
    const long = JSON.stringify({ text: '"\\'.repeat(200_000), n: 1.5e300 });
    expect(await readInput(long)).toEqual(JSON.parse(long));
  });

  test('is refused from a missing file, as bytes that are no text, and without reading all of what never ends', async () => {
    const enqueue = (input: string, given: string | Buffer = '') => failure(['enqueue', 'a', '--input', input], { env: NOWHERE, input: given });
    expect(await refusal('@./no-such-file.json')).toMatchObject({ code: 'INPUT_INVALID', detail: { path: '--input' } });
    expect(await refusal('@src')).toMatchObject({ code: 'INPUT_INVALID', detail: { path: '--input' } });
    expect(await enqueue('-', Buffer.from([0x22, 0xff, 0xfe, 0x22]))).toMatchObject({ code: 'INPUT_INVALID', path: '/input', exit: 2 });
    expect(await enqueue('-', ' '.repeat(8 * 1024 * 1024))).toMatchObject({ code: 'INPUT_TOO_LARGE', path: '/input', exit: 2, limit: '262144 bytes' });
  });
});

describe('surroundings that cannot be used', () => {
  test('no database URL, or a bad one, is named; values are not shown', async () => {
    expect(await failure(['list'], {})).toMatchObject({ code: 'CONFIG_INVALID', path: 'DATABASE_URL', exit: 2 });
    const error = await failure(['list'], { env: { DATABASE_URL: 'mysql://root:hunter2@db/x', THROUGHLINE_LANG: 'en' } });
    expect(error).toMatchObject({ code: 'CONFIG_INVALID', path: 'DATABASE_URL', exit: 2 });
    expect(JSON.stringify(error)).not.toContain('hunter2');
  });

  test('a ledger that is away ends with 5', async () => {
    const [list, migrate] = await Promise.all([failure(['list']), failure(['migrate'])]);
    expect(list).toMatchObject({ code: 'LEDGER_UNAVAILABLE', exit: 5 });
    expect(migrate).toMatchObject({ code: 'LEDGER_UNAVAILABLE', exit: 5 });
  });

  test('a worker without tasks is told how to give them', async () => {
    const [none, missing, empty] = await Promise.all([failure(['worker']), failure(['worker', '--tasks', './no-such-module.js']), failure(['worker', '--tasks', 'src/errors.ts'])]);
    for (const error of [none, missing, empty]) expect(error).toMatchObject({ code: 'INPUT_INVALID', path: '--tasks', exit: 2 });
    expect(none.message).toMatch(/--tasks MODULE.*defineTask/);
    expect(missing.message).toContain('Cannot find module');
    expect(empty.message).toContain('exports no task definition');
  });
});
