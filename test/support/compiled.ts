/** Our files compiled once for the whole run, for processes that are started often: each starts a second sooner than one that compiles itself. */
import { transformFile } from '@swc/core';
import { cp, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

const ROOTS = ['src', 'examples', 'test/support', 'test/dev', 'test/cli/fixtures'];
const VARIABLE = 'THROUGHLINE_TEST_BUILD';

/** Apart from the call, since swc's types do not know the rewriting of `./x.ts` to `./x.js` yet. */
const optionsOf = (tsx: boolean) => ({
  swcrc: false,
  jsc: {
    parser: { syntax: 'typescript', tsx }, target: 'es2022', keepClassNames: true, rewriteRelativeImportExtensions: true,
    ...(tsx ? { transform: { react: { runtime: 'automatic' as const, importSource: 'preact' } } } : {}),
  },
  module: { type: 'es6' },
}) as const;

/** For global setup: makes the folder, with what our files need beside them. Jest's workers inherit where it is. */
export async function compile(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const name of ['node_modules', 'migrations', 'package.json']) await symlink(resolve(name), join(folder, name));
  for (const root of ROOTS) {
    for (const file of await readdir(root, { recursive: true })) {
      if (!/\.\w+$/.test(file) || file.endsWith('.test.ts')) continue;
      const to = join(folder, root, file);
      await mkdir(dirname(to), { recursive: true });
      if (/\.tsx?$/.test(file)) {
        const { code } = await transformFile(join(root, file), optionsOf(file.endsWith('x')));
        await writeFile(to.replace(/\.tsx?$/, '.js'), code);
      } else {
        await cp(join(root, file), to);
      }
    }
  }
  process.env[VARIABLE] = folder;
}

/** A file of the repository as it was compiled: `compiled('src/cli/main.ts')`. @throws if global setup did not run. */
export function compiled(file: string): string {
  const folder = process.env[VARIABLE];
  if (folder === undefined) throw new Error('Nothing is compiled: run the tests with `npm test`');
  return join(folder, file.replace(/\.tsx?$/, '.js'));
}
