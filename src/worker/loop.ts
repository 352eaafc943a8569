import type { Logger } from 'pino';
import type { Metrics } from '../metrics/index.ts';

export interface LoopOptions {
  readonly name: string;
  /** One bounded pass; true: there is more to do at once. */
  readonly runOnce: () => Promise<boolean>;
  /** Between passes that found nothing, ms. */
  readonly intervalMs: number;
  readonly log: Logger;
  readonly metrics?: Metrics;
}

const PAUSE_MS_MAX = 10_000;

/** Runs `runOnce` again and again. A pass that fails is logged and costs a growing pause, never the loop. */
export class Loop {
  readonly #options: LoopOptions;
  #stopped = false;
  #wake: () => void = () => undefined;
  #done: Promise<void> = Promise.resolve();
  #failures = 0;

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  /** Passes that failed since the last one that did not. */
  get failures(): number {
    return this.#failures;
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
    const { name, runOnce, intervalMs, log, metrics } = this.#options;
    while (!this.#stopped) {
      let pause = intervalMs;
      try {
        if (await runOnce()) pause = 0;
        if (this.#failures > 0) log.info({ loop: name }, 'the loop works again');
        this.#failures = 0;
        metrics?.loopPasses.inc({ loop: name, result: 'ok' });
        metrics?.loopSeen.set({ loop: name }, Date.now() / 1_000);
      } catch (error) {
        this.#failures += 1;
        metrics?.loopPasses.inc({ loop: name, result: 'failed' });
        pause = Math.min(intervalMs * 2 ** Math.min(this.#failures, 10), PAUSE_MS_MAX);
        log.warn({ loop: name, failures: this.#failures, err: error }, 'a pass of the loop failed');
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
