/** Waiting for facts. */
/** Generous: two cores are shared by everything that runs. */
export const PATIENCE_MS = 90_000;

/** Asks until the answer is something; a fact that does not come true in time fails with its name. */
export async function until<T>(what: string, ask: () => Promise<T | null | undefined | false> | T | null | undefined | false, patienceMs = PATIENCE_MS): Promise<T> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const fact = await ask();
    if (fact !== null && fact !== undefined && fact !== false) return fact;
    if (Date.now() > deadline) throw new Error(`never came true: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** Fails with its name instead of hanging. */
export async function within<T>(what: string, promise: Promise<T>, patienceMs = PATIENCE_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => { reject(new Error(`never came true: ${what}`)); }, patienceMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
