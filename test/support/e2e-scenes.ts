/** Tests that wait for servers most of their time: they all begin together, each is reported under its own name. */
import { test } from '@jest/globals';

export class Scenes {
  readonly #timeoutMs: number;
  readonly #scenes: { readonly run: () => Promise<void>; readonly settle: (done: Promise<void>) => void }[] = [];

  /** `timeoutMs`: how long each of them may take. */
  constructor(timeoutMs = 150_000) {
    this.#timeoutMs = timeoutMs;
  }

  /** Declares one; it begins with the others. */
  test(name: string, run: () => Promise<void>): void {
    let settle: (done: Promise<void>) => void = () => undefined;
    const done = new Promise<void>((resolve) => {
      settle = resolve;
    });
    // Its failure is reported by its own test, which may not have begun to listen yet.
    done.catch(() => undefined);
    this.#scenes.push({ run, settle });
    test(name, () => done, this.#timeoutMs);
  }

  /** Call it at the end of beforeAll. */
  begin(): void {
    for (const { run, settle } of this.#scenes) settle(run());
  }
}
