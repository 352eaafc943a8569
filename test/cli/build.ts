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
const optionsOf = (tsx: boolean) => ({
  swcrc: false,
  jsc: {
    parser: { syntax: 'typescript', tsx }, target: 'es2022', keepClassNames: true, rewriteRelativeImportExtensions: true,
    ...(tsx ? { transform: { react: { runtime: 'automatic' as const, importSource: 'preact' } } } : {}),
  },
  module: { type: 'es6' },
}) as const;

export async function build(): Promise<Build> {
  const folder = await mkdtemp(join(tmpdir(), 'throughline-build-'));
  for (const name of ['node_modules', 'migrations', 'package.json']) await symlink(resolve(name), join(folder, name));
  for (const file of await readdir('src', { recursive: true })) {
    const to = join(folder, 'dist', file);
    if (!/\.\w+$/.test(file)) continue;
    await mkdir(dirname(to), { recursive: true });
    if (/\.tsx?$/.test(file)) {
      const { code } = await transformFile(join('src', file), optionsOf(file.endsWith('x')));
      await writeFile(to.replace(/\.tsx?$/, '.js'), code);
    } else {
      await cp(join('src', file), to);
    }
  }
  return { main: join(folder, 'dist/cli/main.js'), remove: () => rm(folder, { recursive: true, force: true }) };
}
