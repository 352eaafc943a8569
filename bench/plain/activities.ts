export const step = (n: number): Promise<number> => Promise.resolve(n + 1);
