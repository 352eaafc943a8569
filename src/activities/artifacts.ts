/** Where artifacts live: content-addressed, so that a uri can only ever mean one content. */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readFile, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { ThroughlineError } from '../errors.ts';
import { LIMITS } from '../state/index.ts';

/** A stored artifact: `uri` finds it, `sha256` is lower case hex, `bytes` its size. */
export interface StoredArtifact {
  readonly uri: string;
  readonly sha256: string;
  readonly bytes: number;
}

export interface ArtifactStore {
  /**
   * Stores the bytes; returns once they would survive a power failure. The same bytes give the same uri
   * and may be stored any number of times, also at once. Don't change them until it resolves.
   * `mediaType` is for stores that serve what they hold; the ledger keeps it beside the uri.
   *
   * Errors: RESULT_TOO_LARGE with the limit; ARTIFACT_UNREADABLE if it can't be written at present (full, away);
   * ARTIFACT_STORE_DENIED or ARTIFACT_STORE_MISSING if it can't until somebody repairs it. Nothing is left half written.
   */
  put(artifact: { readonly bytes: Uint8Array; readonly mediaType: string }): Promise<StoredArtifact>;
  /**
   * The bytes, compared with the digest in the uri. Errors: ARTIFACT_UNKNOWN if the store doesn't hold
   * it or the uri is none of its own; ARTIFACT_DAMAGED if it is not what was stored; ARTIFACT_UNREADABLE if it can't be read at present;
   * ARTIFACT_STORE_DENIED, ARTIFACT_STORE_MISSING: nothing is known of the artifact then.
   */
  get(uri: string): Promise<Uint8Array>;
  /** Whether it is there, and its size; reads no content. Errors: as `get`, except for damage of equal size. */
  stat(uri: string): Promise<StoredArtifact>;
  /** Removes it; false if it was not there. Errors: as `get`, except for ARTIFACT_UNKNOWN of a uri of this store. */
  remove(uri: string): Promise<boolean>;
}

const URI = /^cas:sha256:([0-9a-f]{64})$/;

/** The digest in a uri. Only hex digits ever become part of a path or a key. Throws ARTIFACT_UNKNOWN. */
export function digestIn(uri: string): string {
  const sha256 = URI.exec(uri)?.[1];
  if (sha256 === undefined) throw new ThroughlineError('ARTIFACT_UNKNOWN', { message: 'The uri is none of this store: it must be cas:sha256: and 64 hex digits.' });
  return sha256;
}

/** The uri of a content. Throws RESULT_TOO_LARGE. */
export function identify(bytes: Uint8Array, bytesMax: number): StoredArtifact {
  if (bytes.byteLength > bytesMax) throw new ThroughlineError('RESULT_TOO_LARGE', { message: `The artifact has ${bytes.byteLength} bytes.`, limit: `${bytesMax} bytes` });
  const sha256 = sha256Of(bytes);
  return { uri: `cas:sha256:${sha256}`, sha256, bytes: bytes.byteLength };
}

/** What was read, if it is what the uri names. Throws ARTIFACT_DAMAGED. */
export function verified(bytes: Uint8Array, uri: string): Uint8Array {
  const found = sha256Of(bytes);
  if (found !== digestIn(uri)) throw new ThroughlineError('ARTIFACT_DAMAGED', { facts: { uri, found, bytes: bytes.byteLength } });
  return bytes;
}

/** What a crashed process left behind is removed this much later, when nobody can still be writing it. */
const LEFTOVER_MS = 24 * 3_600_000;

const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const codeOf = (error: unknown): unknown => (error as NodeJS.ErrnoException | null)?.code;

function unreadable(message: string, facts: Readonly<Record<string, unknown>>, cause?: unknown): ThroughlineError {
  return new ThroughlineError('ARTIFACT_UNREADABLE', { message, facts, ...(cause === undefined ? {} : { cause }) });
}

async function sync(path: string): Promise<void> {
  // Windows can't open folders; it makes renames durable by itself.
  if (process.platform === 'win32') return;
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Creates a folder; its entry in each new parent survives a power failure, too. */
async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true });
  if (first === undefined) return;
  const top = dirname(resolve(first));
  for (let parent = dirname(folder); ; parent = dirname(parent)) {
    await sync(parent);
    if (parent === top || parent === dirname(parent)) return;
  }
}

class LocalArtifactStore implements ArtifactStore {
  readonly #root: string;
  readonly #limit: number;
  #swept = false;

  constructor(root: string, limit: number) {
    this.#root = resolve(root);
    this.#limit = limit;
  }

  /** Only hex digits ever become part of a path, so no uri leads out of the folder. */
  #locate(uri: string): { readonly sha256: string; readonly path: string } {
    const sha256 = digestIn(uri);
    return { sha256, path: join(this.#root, 'sha256', sha256.slice(0, 2), sha256.slice(2)) };
  }

  async #failed(error: unknown, uri: string, message: string): Promise<ThroughlineError> {
    if (error instanceof ThroughlineError) return error;
    const [code, facts] = [codeOf(error), { uri, node_code: codeOf(error) }];
    if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return new ThroughlineError('ARTIFACT_STORE_DENIED', { facts, cause: error });
    if (code === 'ENOTDIR') return new ThroughlineError('ARTIFACT_STORE_MISSING', { facts, cause: error });
    if (code !== 'ENOENT') return unreadable(message, facts, error);
    // A volume that is not mounted would make everything look deleted.
    const isThere = await stat(join(this.#root, 'sha256')).then((found) => found.isDirectory(), () => false);
    return isThere ? new ThroughlineError('ARTIFACT_UNKNOWN', { facts: { uri } }) : new ThroughlineError('ARTIFACT_STORE_MISSING', { facts, cause: error });
  }

  async put({ bytes }: { readonly bytes: Uint8Array; readonly mediaType: string }): Promise<StoredArtifact> {
    const stored = identify(bytes, this.#limit);
    try {
      await this.#write(bytes, this.#locate(stored.uri).path);
    } catch (error) {
      throw await this.#failed(error, stored.uri, 'The artifact store could not be written.');
    }
    return stored;
  }

  /** Written even if it seems to be there: what is there may be damaged, or not durable yet. */
  async #write(bytes: Uint8Array, path: string): Promise<void> {
    const drafts = join(this.#root, 'tmp');
    await makeFolder(drafts);
    await makeFolder(dirname(path));
    await this.#sweep(drafts);
    const draft = join(drafts, randomUUID());
    try {
      const handle = await open(draft, 'wx');
      try {
        await handle.writeFile(bytes);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(draft, path);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
    await sync(dirname(path));
  }

  async #sweep(drafts: string): Promise<void> {
    if (this.#swept) return;
    this.#swept = true;
    for (const name of await readdir(drafts)) {
      const draft = join(drafts, name);
      // Another process may finish or remove it meanwhile; then there is nothing to do.
      const found = await stat(draft).catch(() => null);
      if (found !== null && Date.now() - found.mtimeMs > LEFTOVER_MS) await rm(draft, { force: true });
    }
  }

  async get(uri: string): Promise<Uint8Array> {
    const { path } = this.#locate(uri);
    try {
      return verified(await readFile(path), uri);
    } catch (error) {
      throw await this.#failed(error, uri, 'The artifact store could not be read.');
    }
  }

  async stat(uri: string): Promise<StoredArtifact> {
    const { sha256, path } = this.#locate(uri);
    try {
      const found = await stat(path);
      if (!found.isFile()) throw new ThroughlineError('ARTIFACT_DAMAGED', { message: 'The artifact is damaged: it is no file.', facts: { uri } });
      return { uri, sha256, bytes: found.size };
    } catch (error) {
      throw await this.#failed(error, uri, 'The artifact store could not be read.');
    }
  }

  async remove(uri: string): Promise<boolean> {
    const { path } = this.#locate(uri);
    try {
      await rm(path);
      return true;
    } catch (error) {
      const coded = await this.#failed(error, uri, 'The artifact could not be removed from the store.');
      if (coded.code === 'ARTIFACT_UNKNOWN') return false;
      throw coded;
    }
  }
}

/**
 * A store in a local folder, which is made when it is first written to. `bytesMax` limits one artifact.
 * Several processes may share the folder.
 */
export function localArtifactStore(folder: string, { bytesMax = LIMITS.artifact_bytes_max }: { readonly bytesMax?: number } = {}): ArtifactStore {
  return new LocalArtifactStore(folder, bytesMax);
}
