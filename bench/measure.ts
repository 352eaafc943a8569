/** One round: what was done, how fast, how long each took. */
export interface Round {
  readonly perSecond: number;
  readonly latenciesMs: readonly number[];
}

/** Runs `count` pieces of work, at most `concurrency` at once; a failed piece fails the round. */
export async function measure(count: number, concurrency: number, work: (index: number) => Promise<unknown>): Promise<Round> {
  const latenciesMs: number[] = [];
  let next = 0;
  const startedAt = performance.now();
  const lane = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) {
      const from = performance.now();
      await work(index);
      latenciesMs.push(performance.now() - from);
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, count) }, lane));
  return { perSecond: (count * 1_000) / (performance.now() - startedAt), latenciesMs };
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? NaN;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);
