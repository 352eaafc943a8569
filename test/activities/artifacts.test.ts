import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { localArtifactStore, type ArtifactStore } from '../../src/activities/artifacts.ts';
import { ThroughlineError } from '../../src/errors.ts';
import { LIMITS } from '../../src/state/index.ts';

let top: string;
let folder: string;
let store: ArtifactStore;
let count = 0;

beforeAll(async () => {
  top = await mkdtemp(join(tmpdir(), 'throughline-artifacts-'));
});
afterAll(async () => {
  await rm(top, { recursive: true, force: true });
});
beforeEach(() => {
  count += 1;
  folder = join(top, `store-${count}`, 'not', 'there', 'yet');
  store = localArtifactStore(folder);
});

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const put = (text: string) => store.put({ bytes: bytesOf(text), mediaType: 'text/plain' });
const files = async (): Promise<readonly string[]> => (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
const theFile = async (): Promise<string> => {
  const [file, ...others] = await files();
  if (file === undefined || others.length > 0) throw new Error('The store holds exactly one file.');
  return file;
};

async function refusal(act: Promise<unknown>): Promise<ThroughlineError> {
  const thrown: unknown = await act.then(() => null, (error: unknown) => error);
  if (!(thrown instanceof ThroughlineError)) throw new Error('It was not refused with a code.', { cause: thrown });
  return thrown;
}

describe('an artifact', () => {
  test('is found by a uri that names its content', async () => {
    const bytes = bytesOf('<p>Hällo</p>');
    const stored = await store.put({ bytes, mediaType: 'text/html' });
    expect(stored).toEqual({ uri: `cas:sha256:${sha256(bytes)}`, sha256: sha256(bytes), bytes: bytes.byteLength });
    expect(Buffer.from(await store.get(stored.uri)).equals(bytes)).toBe(true);
    expect(await store.stat(stored.uri)).toEqual(stored);
    expect(Buffer.from(await localArtifactStore(folder).get(stored.uri)).equals(bytes)).toBe(true);
  });

  test('may be empty, and may be binary', async () => {
    for (const bytes of [new Uint8Array(), Uint8Array.from({ length: 300_000 }, (_, index) => index % 256)]) {
      const { uri } = await store.put({ bytes, mediaType: 'application/octet-stream' });
      expect(Buffer.from(await store.get(uri)).equals(bytes)).toBe(true);
    }
  });

  test('is one file, however often and from however many places it is stored', async () => {
    const other = localArtifactStore(folder);
    const bytes = bytesOf('same');
    const stored = await Promise.all(Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? store : other).put({ bytes, mediaType: 'text/plain' })));
    expect(new Set(stored.map(({ uri }) => uri)).size).toBe(1);
    expect(await files()).toHaveLength(1);
    await put('same');
    expect(await files()).toHaveLength(1);
  });

  test('that was damaged is never given out, and storing it again mends it', async () => {
    const { uri } = await put('precious');
    const file = await theFile();
    for (const damage of ['precioux', 'prec', '', 'precious and more']) {
      await writeFile(file, damage);
      const error = await refusal(store.get(uri));
      expect(error).toMatchObject({ code: 'ARTIFACT_DAMAGED', detail: { facts: { uri } } });
    }
    await put('precious');
    expect(new TextDecoder().decode(await store.get(uri))).toBe('precious');
  });

  test('beyond the limit is refused before anything is written', async () => {
    const small = localArtifactStore(folder, { bytesMax: 4 });
    expect((await small.put({ bytes: bytesOf('1234'), mediaType: 'text/plain' })).bytes).toBe(4);
    const error = await refusal(small.put({ bytes: bytesOf('12345'), mediaType: 'text/plain' }));
    expect(error).toMatchObject({ code: 'RESULT_TOO_LARGE', status: 413, detail: { limit: '4 bytes' } });
    expect(await files()).toHaveLength(1);
    expect(LIMITS.artifact_bytes_max).toBe(512 * 1024 * 1024);
  });
});

describe('what is not there', () => {
  test('is unknown; where the folder is not there nothing is known of it', async () => {
    const uri = `cas:sha256:${'0'.repeat(64)}`;
    expect((await refusal(store.get(uri))).code).toBe('ARTIFACT_STORE_MISSING');
    expect((await refusal(store.stat(uri))).code).toBe('ARTIFACT_STORE_MISSING');
    await put('x');
    expect(await refusal(store.get(uri))).toMatchObject({ code: 'ARTIFACT_UNKNOWN', status: 404, detail: { facts: { uri } } });
  });

  test.each([
    '',
    'cas:sha256:',
    `cas:sha256:${'A'.repeat(64)}`,
    `cas:sha256:${'0'.repeat(63)}`,
    `cas:sha256:${'0'.repeat(64)}\n`,
    `cas:sha256:${'0'.repeat(64)}/../../secret`,
    'cas:sha256:../../../../../../../../../../../../../etc/passwd',
    `cas:md5:${'0'.repeat(64)}`,
    'file:///etc/passwd',
    '/etc/passwd',
    '../secret\0',
  ])('%p is none of its uris and leads nowhere', async (uri) => {
    await put('x');
    await writeFile(join(dirname(folder), 'secret'), 'secret');
    expect((await refusal(store.get(uri))).code).toBe('ARTIFACT_UNKNOWN');
    expect((await refusal(store.stat(uri))).code).toBe('ARTIFACT_UNKNOWN');
  });
});

describe('a store in trouble', () => {
  test('that cannot be written says so with a code and leaves no draft', async () => {
    await mkdir(dirname(folder), { recursive: true });
    await writeFile(folder, 'a file where the folder should be');
    expect((await refusal(put('x'))).code).toBe('ARTIFACT_STORE_MISSING');
    expect(await readFile(folder, 'utf8')).toBe('a file where the folder should be');
  });

  // Only root may make a disk that is soon full.
  (process.getuid?.() !== 0 || process.platform !== 'linux' ? test.skip : test)('that is full says so as something that passes, and leaves nothing half written', async () => {
    await mkdir(folder, { recursive: true });
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder]).status !== 0) return;
    try {
      const { uri } = await put('fits');
      const error = await refusal(store.put({ bytes: new Uint8Array(200_000), mediaType: 'application/octet-stream' }));
      expect(error).toMatchObject({ code: 'ARTIFACT_UNREADABLE', detail: { facts: { node_code: 'ENOSPC' } } });
      expect(await files()).toHaveLength(1);
      expect(new TextDecoder().decode(await store.get(uri))).toBe('fits');
    } finally {
      spawnSync('umount', [folder]);
    }
  });

  test('whose rename fails leaves no draft', async () => {
    const sha = sha256(bytesOf('x'));
    await mkdir(join(folder, 'sha256', sha.slice(0, 2), sha.slice(2), 'in the way'), { recursive: true });
    expect((await refusal(put('x'))).code).toBe('ARTIFACT_UNREADABLE');
    expect(await files()).toEqual([]);
    expect((await refusal(store.get(`cas:sha256:${sha}`))).code).toBe('ARTIFACT_UNREADABLE');
    expect((await refusal(store.stat(`cas:sha256:${sha}`))).code).toBe('ARTIFACT_DAMAGED');
  });

  // Root reads everything.
  (process.getuid?.() === 0 ? test.skip : test)('that may not be read says so, and is not unknown', async () => {
    const { uri } = await put('x');
    await chmod(await theFile(), 0);
    expect((await refusal(store.get(uri))).code).toBe('ARTIFACT_STORE_DENIED');
  });

  test('removes drafts that a crash left behind, but none that somebody may still be writing', async () => {
    const drafts = join(folder, 'tmp');
    await mkdir(drafts, { recursive: true });
    await writeFile(join(drafts, 'old'), 'x');
    await writeFile(join(drafts, 'new'), 'x');
    const past = new Date(Date.now() - 25 * 3_600_000);
    await utimes(join(drafts, 'old'), past, past);
    await put('x');
    expect(await readdir(drafts)).toEqual(['new']);
  });
});
