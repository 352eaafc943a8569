/** Taste that a program can check, and proof that the checkers do catch what they are there for. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => /\.(tsx?|js|cjs|mjs|json|sql|md|yml|html|css|sh)$|^\.ci\//.test(file));
const read = (file: string): string => readFileSync(file, 'utf8');

/** The files whose text matches, with the line. */
function matches(pattern: RegExp, among: readonly string[]): string[] {
  return among.flatMap((file) =>
    read(file)
      .split('\n')
      .flatMap((line, index) => (pattern.test(line) ? [`${file}:${String(index + 1)}: ${line.trim().slice(0, 100)}`] : [])),
  );
}

describe('the files', () => {
  test('leave out no test', () => {
    const marks = ['only', 'skip', 'todo', 'failing'].join('|');
    const tests = files.filter((file) => file.startsWith('test/') && file.endsWith('.ts'));
    const left = matches(new RegExp(String.raw`\b(describe|test|it)\.(${marks})\b|\b[fx](describe|test|it)\(`), tests);
    // Unless a condition of the machine beside it says why: `(isRoot ? test.skip : test)(…)`.
    expect(left.filter((line) => !line.includes('? test.skip : test)'))).toEqual([]);
  });

  test('hold no mark of an unfinished merge', () => {
    expect(matches(/^(<{7}|>{7}|\|{7}) |^={7}$/, files)).toEqual([]);
  });

  test('name no folder of a machine', () => {
    const roots = ['home', 'Users', 'work', 'root', 'mnt'].join('|');
    expect(matches(new RegExp(String.raw`(^|[\s"'\x60(=:])/(${roots})/\w`), files)).toEqual([]);
    expect(files.filter((file) => read(file).includes(process.cwd()))).toEqual([]);
  });

  test('name no package registry but the public one', () => {
    const lock = JSON.parse(read('package-lock.json')) as { packages: Record<string, { resolved?: string }> };
    const hosts = Object.values(lock.packages).flatMap(({ resolved }) => (resolved === undefined ? [] : [new URL(resolved).host]));
    expect(new Set([...hosts, 'registry.npmjs.org'])).toEqual(new Set(['registry.npmjs.org']));
  });

  test('are small enough to read: none above 400 lines, few above 300', () => {
    const sizes = files
      .filter((file) => /^(src|examples|scripts)\/.*\.tsx?$/.test(file))
      .map((file) => ({ file, lines: read(file).split('\n').length }));
    expect(sizes.filter(({ lines }) => lines > 400)).toEqual([]);
    expect(sizes.filter(({ lines }) => lines > 300).length).toBeLessThanOrEqual(sizes.length / 20);
  });
});

describe('the arrows', () => {
  /** Each file of this little tree breaks the rule that it stands for. */
  const wrong: Readonly<Record<string, readonly [file: string, text: string, at: string]>> = {
    'state-may-import': ['src/state/a.ts', "import '../errors.ts';", 'src/state/a.ts'],
    'state-is-pure': ['src/state/b.ts', "import 'node:fs';", 'src/state/b.ts'],
    'ledger-may-import': ['src/ledger/a.ts', "import '../client/index.ts';", 'src/ledger/a.ts'],
    'client-may-import': ['src/client/a.ts', "import '../workflows/task.ts';", 'src/client/a.ts'],
    'workflows-are-sandboxed': ['src/workflows/a.ts', "import 'node:crypto';", 'src/workflows/a.ts'],
    'workflows-see-activity-types-only': ['src/workflows/b.ts', "import { a } from '../activities/index.ts'; a;", 'src/workflows/b.ts'],
    'http-client-needs-no-database': ['src/http/a.ts', "import '../client/index.ts';", 'src/http/a.ts'],
    'sql-has-one-home': ['src/client/b.ts', "import pg from 'pg'; pg;", 'src/client/b.ts'],
    'users-see-the-public-api': ['examples/a/a.ts', "import '../../src/ledger/index.ts';", 'examples/a/a.ts'],
    'product-knows-no-test': ['src/cli/a.ts', "import '../../test/a.ts';", 'src/cli/a.ts'],
    'no-cycles': ['src/api/a.ts', "import './b.ts';", 'src/api/a.ts'],
    'everything-is-found': ['src/api/c.ts', "import './nowhere.ts';", 'src/api/c.ts'],
  };
  const right: Readonly<Record<string, string>> = {
    'src/errors.ts': 'export {};',
    'src/client/index.ts': "import '../ledger/index.ts'; import '../state/index.ts';",
    'src/workflows/task.ts': "import type { a } from '../activities/index.ts'; import '@temporalio/workflow'; export type A = typeof a;",
    'src/activities/index.ts': "import '../ledger/index.ts'; export const a = 1;",
    'src/ledger/index.ts': "import pg from 'pg'; pg;",
    'src/state/index.ts': 'export {};',
    'src/api/b.ts': "import './a.ts';",
    'test/a.ts': 'export {};',
  };
  let folder = '';

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'throughline-arrows-'));
    for (const file of ['.dependency-cruiser.cjs', 'tsconfig.json', 'package.json']) cpSync(file, join(folder, file));
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
    const tree = [...Object.entries(right), ...Object.values(wrong).map(([file, text]) => [file, text] as const)];
    for (const [file, text] of tree) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), `${text}\n`);
    }
  });
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  test('are refused by name where they are wrong, and only there', () => {
    const cruise = resolve('node_modules/.bin/depcruise');
    const args = ['--config', '.dependency-cruiser.cjs', '--output-type', 'json', 'src', 'examples', 'test'];
    const { stdout } = spawnSync(cruise, args, { cwd: folder, encoding: 'utf8' });
    const { summary } = JSON.parse(stdout) as { summary: { violations: { from: string; rule: { name: string } }[] } };
    const found = summary.violations.map(({ from, rule }) => `${rule.name} ${from}`);
    for (const [rule, [, , at]] of Object.entries(wrong)) expect(found).toContain(`${rule} ${at}`);
    const innocent = new Set(Object.keys(right).filter((file) => file !== 'src/api/b.ts'));
    expect(summary.violations.filter(({ from }) => innocent.has(from))).toEqual([]);
  });
});

describe('the linter', () => {
  /** The rules that this text breaks, as if it stood in the file of a project without another one. */
  function lint(file: string, text: string): string[] {
    const folder = mkdtempSync(join(tmpdir(), 'throughline-lint-'));
    for (const name of ['eslint.config.js', 'tsconfig.json', 'package.json']) cpSync(name, join(folder, name));
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
    const { stdout } = spawnSync(resolve('node_modules/.bin/eslint'), [file, '--format', 'json'], { cwd: folder, encoding: 'utf8' });
    rmSync(folder, { recursive: true, force: true });
    const [result] = JSON.parse(stdout) as { messages: { ruleId: string }[] }[];
    return result?.messages.map(({ ruleId }) => ruleId) ?? [];
  }

  test('refuses floating promises, forgotten cases, any, and Node in workflow code', () => {
    const text = [
      "import { readFileSync } from 'node:fs';",
      "import pg from 'pg';",
      "import * as activities from '../activities/index.ts';",
      "const wait = async (): Promise<void> => Promise.resolve();",
      'wait();',
      "export function f(x: 'a' | 'b'): unknown { switch (x) { case 'a': return [readFileSync, pg, activities]; } return x as any; }",
      'export const now = process.uptime();',
      '',
    ].join('\n');
    const rules = lint('src/workflows/task.ts', text);
    for (const rule of ['no-floating-promises', 'switch-exhaustiveness-check', 'no-explicit-any']) {
      expect(rules).toContain(`@typescript-eslint/${rule}`);
    }
    expect(rules.filter((rule) => rule === '@typescript-eslint/no-restricted-imports')).toHaveLength(3);
    expect(rules).toContain('no-restricted-globals');
  });
});
