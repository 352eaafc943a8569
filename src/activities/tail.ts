/** The end of a stream, in bounded memory. */

export interface Captured {
  /** The last of it, as UTF-8. */
  readonly text: string;
  /** All that came. */
  readonly bytes: number;
  /** Of those, how many are missing from the front of `text`. */
  readonly cut: number;
}

export class Tail {
  readonly #keep: number;
  #chunks: Buffer[] = [];
  #held = 0;
  #bytes = 0;

  constructor(keepBytes: number) {
    this.#keep = keepBytes;
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.byteLength;
    this.#chunks.push(chunk);
    this.#held += chunk.byteLength;
    // Joined now and then, not at every chunk: twice the limit is the most that is held, and one chunk.
    if (this.#held > 2 * this.#keep) this.#join();
  }

  captured(): Captured {
    this.#join();
    const held = this.#chunks[0] ?? Buffer.alloc(0);
    // Not from the middle of a character: its first byte is gone.
    let start = 0;
    if (held.byteLength < this.#bytes) while (start < 3 && ((held[start] ?? 0) & 0xc0) === 0x80) start += 1;
    return { text: held.subarray(start).toString('utf8'), bytes: this.#bytes, cut: this.#bytes - held.byteLength + start };
  }

  #join(): void {
    const all = Buffer.concat(this.#chunks);
    // A copy, so that the rest is given back.
    const kept = Buffer.from(all.subarray(Math.max(0, all.byteLength - this.#keep)));
    this.#chunks = [kept];
    this.#held = kept.byteLength;
  }
}
