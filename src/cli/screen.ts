/** A part of the terminal that is drawn again in its place, and left tidy whatever ends the program. */

const ESC = '\u001b[';

export interface ScreenStream {
  write(text: string): unknown;
  readonly columns?: number;
  readonly rows?: number;
}

export class Screen {
  readonly #stream: ScreenStream;
  #drawn = 0;
  #shown = '';

  constructor(stream: ScreenStream) {
    this.#stream = stream;
  }

  /** Replaces what was drawn before. More lines than the terminal has would scroll away what is to be replaced: the last ones are left out. */
  draw(lines: readonly string[]): void {
    const fits = lines.slice(0, Math.max(1, (this.#stream.rows ?? 24) - 1));
    const text = fits.map((line) => `${line}${ESC}K\n`).join('');
    if (text === this.#shown) return;
    // In one write, so that no half-drawn state is seen; the cursor would jump about.
    this.#stream.write(`${ESC}?25l${this.#up()}${text}${ESC}J`);
    this.#drawn = fits.length;
    this.#shown = text;
  }

  /** The cursor is shown again, below what was drawn last. Idempotent. */
  end(): void {
    if (this.#shown === '') return;
    this.#stream.write(`${ESC}?25h`);
    this.#shown = '';
    this.#drawn = 0;
  }

  #up(): string {
    return this.#drawn === 0 ? '' : `\r${ESC}${String(this.#drawn)}A`;
  }
}
