/** What the tests of the example share: platforms in processes of their own, a receipt receiver, waiting for facts. */
import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PlatformClient, PlatformError } from '../../examples/note-publishing/platform/client.ts';
import type { CallIdentity } from '../../examples/note-publishing/platform/client.ts';
import type { PlatformProcess, PlatformProcessOptions } from '../../examples/note-publishing/platform/process.ts';
import type { NewPost } from '../../examples/note-publishing/platform/types.ts';
import { startPlatform } from '../support/platform.ts';

/** Asks again until `ask` answers with something, which must happen within 10 s. */
export async function until<T>(what: string, ask: () => Promise<T | null | undefined | false> | T | null | undefined | false): Promise<T> {
  const deadline = Date.now() + 10_000;
  for (;;) {
    const fact = await ask();
    if (fact !== null && fact !== undefined && fact !== false) return fact;
    if (Date.now() > deadline) throw new Error(`never came true: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}

/** Folders and processes of one test file; `end` in afterAll stops and removes them. */
export class Bench {
  readonly #folders: string[] = [];
  readonly #ends: (() => Promise<unknown>)[] = [];

  async folder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'note-publishing-'));
    this.#folders.push(folder);
    return folder;
  }

  async platform(options: Partial<PlatformProcessOptions> = {}): Promise<PlatformProcess> {
    const running = await startPlatform({ data: options.data ?? (await this.folder()), ...options });
    this.#ends.push(() => running.kill());
    return running;
  }

  onEnd(end: () => Promise<unknown>): void {
    this.#ends.push(end);
  }

  async end(): Promise<void> {
    for (const end of this.#ends.reverse()) await end();
    for (const folder of this.#folders) await rm(folder, { recursive: true, force: true });
  }
}

export function client(platform: PlatformProcess, timeoutMs = 5_000): PlatformClient {
  return new PlatformClient({ address: platform.address, timeoutMs });
}

/** A task of its own for each test, so that counts and faults don't mix. */
export function newTask(): string {
  return `task-${randomUUID()}`;
}

export function identity(taskId: string, more: Partial<CallIdentity> = {}): CallIdentity {
  return { messageId: `msg-${randomUUID()}`, threadId: `${taskId}/publish`, taskId, step: 'publish', ...more };
}

export function post(more: Partial<NewPost> = {}): NewPost {
  return { title: 'Tides', author: 'Ines', language: 'en', html: '<p>Low at eight.</p>', pictures: [], ...more };
}

export function picture(text = 'not really a picture'): { bytes: Buffer; contentType: string; sha256: string } {
  const bytes = Buffer.from(text);
  return { bytes, contentType: 'image/png', sha256: createHash('sha256').update(bytes).digest('hex') };
}

/** The PlatformError that a call ends with. */
export async function failure(call: Promise<unknown>): Promise<PlatformError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof PlatformError) return error;
    throw error;
  }
  throw new Error('the call did not fail');
}
