/** Our files compiled once, for processes that are started often: each starts a second sooner than one that compiles itself. */
import { transformFile } from '@swc/core';
import { cp, mkdir, mkdtemp, readdir, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

/** Apart from the call, since swc's types do not know the rewriting of `./x.ts` to `./x.js` yet. */
const optionsOf = (tsx: boolean) => ({
  swcrc: false,
  jsc: {
    parser: { syntax: 'typescript', tsx }, target: 'es2022', keepClassNames: true, rewriteRelativeImportExtensions: true,
    ...(tsx ? { transform: { react: { runtime: 'automatic' as const, importSource: 'preact' } } } : {}),
  },
  module: { type: 'es6' },
}) as const;

/** A folder with these of ours, each under its own name or the one given, and what they need beside them. The caller removes it. */
export async function compiled(roots: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'throughline-build-'));
  for (const name of ['node_modules', 'migrations', 'package.json']) await symlink(resolve(name), join(folder, name));
  for (const [from, as] of Object.entries(roots)) {
    for (const file of await readdir(from, { recursive: true })) {
      if (!/\.\w+$/.test(file)) continue;
      const to = join(folder, as, file);
      await mkdir(dirname(to), { recursive: true });
      if (/\.tsx?$/.test(file)) {
        const { code } = await transformFile(join(from, file), optionsOf(file.endsWith('x')));
        await writeFile(to.replace(/\.tsx?$/, '.js'), code);
      } else {
        await cp(join(from, file), to);
      }
    }
  }
  return folder;
}
