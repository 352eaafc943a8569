/** The fuzzer of the API: found, or installed once. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

const VERSION = '4.32.5';

/** `schemathesis` of PATH, else by pip in `.throughline/schemathesis`. Throws where that can't be: without Python 3, or without a network. */
export function schemathesisProgram(): string {
  if (spawnSync('schemathesis', ['--version'], { stdio: 'ignore' }).status === 0) return 'schemathesis';
  const folder = resolve('.throughline/schemathesis');
  const own = join(folder, 'bin', 'schemathesis');
  if (!existsSync(own)) {
    process.stderr.write(`Installing schemathesis ${VERSION} by pip into ${folder}\n`);
    for (const [command, args] of [['python3', ['-m', 'venv', folder]], [join(folder, 'bin', 'pip'), ['install', '--quiet', `schemathesis==${VERSION}`]]] as const) {
      if (spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] }).status !== 0) throw new Error(`${command} could not install schemathesis: put it on PATH`);
    }
  }
  return own;
}
