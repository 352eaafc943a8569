/** An append-only file of JSON lines. */
import { closeSync, existsSync, fsyncSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * A JSON-lines file that only grows. With `sync` each line is on the disk before `append` returns.
 *
 * A last line without its newline is what a crash leaves of a write that was never answered: it is cut off at start.
 * Anything else that can't be read stops the start with an error that names file and line.
 */
export class Journal<Line> {
  readonly #fd: number;
  readonly #sync: boolean;

  /** Opens or creates the file; `replay` is called for each line that is already there, in order. */
  constructor(file: string, options: { sync: boolean; replay: (line: Line) => void }) {
    mkdirSync(dirname(file), { recursive: true });
    const existing = existsSync(file) ? readFileSync(file) : Buffer.alloc(0);
    const end = existing.lastIndexOf(0x0a) + 1;
    const lines = existing.subarray(0, end).toString('utf8').split('\n').slice(0, -1);
    lines.forEach((text, index) => {
      options.replay(parse(text, file, index + 1) as Line);
    });
    this.#fd = openSync(file, 'a');
    this.#sync = options.sync;
    if (end < existing.length) ftruncateSync(this.#fd, end);
    if (options.sync) syncFolder(dirname(file));
  }

  append(line: Line): void {
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`, 'utf8');
    for (let written = 0; written < bytes.length; ) {
      written += writeSync(this.#fd, bytes, written);
    }
    if (this.#sync) fsyncSync(this.#fd);
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/** Makes a new name in a folder durable: the file's own fsync doesn't cover its entry. */
export function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function parse(text: string, file: string, number: number): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new Error(`${file} line ${number} is not JSON; the platform doesn't start on a damaged journal`, {
      cause: error,
    });
  }
}
