import type { Logger } from 'pino';

export interface LoopOptions {
  readonly name: string;
  /** One bounded pass; true: there is more to do at once. */
  readonly runOnce: () => Promise<boolean>;
  /** Between passes that found nothing, ms. */
  readonly intervalMs: number;
  readonly log: Logger;
}

const PAUSE_MS_MAX = 10_000;

/** Runs `runOnce` again and again. A pass that fails is logged and costs a growing pause, never the loop. */
export class Loop {
  readonly #options: LoopOptions;
  #stopped = false;
  #wake: () => void = () => undefined;
  #done: Promise<void> = Promise.resolve();

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  start(): void {
    this.#done = this.#run();
  }

  /** Resolves when the pass in progress has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wake();
    await this.#done;
  }

  async #run(): Promise<void> {
    const { name, runOnce, intervalMs, log } = this.#options;
    let failures = 0;
    while (!this.#stopped) {
      let pause = intervalMs;
      try {
        if (await runOnce()) pause = 0;
        if (failures > 0) log.info({ loop: name }, 'the loop works again');
        failures = 0;
      } catch (error) {
        failures += 1;
        pause = Math.min(intervalMs * 2 ** Math.min(failures, 10), PAUSE_MS_MAX);
        log.warn({ loop: name, failures, err: error }, 'a pass of the loop failed');
      }
      if (pause > 0) await this.#pause(pause);
    }
  }

  async #pause(ms: number): Promise<void> {
    if (this.#stopped) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
