/**
 * The command line compiled, as it is published: a process of it starts three times as fast as one that compiles
 * itself, and what a user runs is this.
 */
import { transformFile } from '@swc/core';
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

export interface Build {
  readonly main: string;
  readonly remove: () => Promise<void>;
}

/** Apart from the call, since swc's types do not know the rewriting of `./x.ts` to `./x.js` yet. */
const OPTIONS = {
  swcrc: false,
  jsc: { parser: { syntax: 'typescript' }, target: 'es2022', keepClassNames: true, rewriteRelativeImportExtensions: true },
  module: { type: 'es6' },
} as const;

export async function build(): Promise<Build> {
  const folder = await mkdtemp(join(tmpdir(), 'throughline-build-'));
  for (const name of ['node_modules', 'migrations', 'package.json']) await symlink(resolve(name), join(folder, name));
  for (const file of await readdir('src', { recursive: true })) {
    const to = join(folder, 'dist', file);
    if (file.endsWith('.sql')) {
      await mkdir(dirname(to), { recursive: true });
      await cp(join('src', file), to);
    }
    if (!file.endsWith('.ts')) continue;
    const { code } = await transformFile(join('src', file), OPTIONS);
    await mkdir(dirname(to), { recursive: true });
    await writeFile(to.replace(/\.ts$/, '.js'), code);
  }
  return { main: join(folder, 'dist/cli/main.js'), remove: () => rm(folder, { recursive: true, force: true }) };
}
