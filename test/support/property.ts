/** Property tests: one seed for all, printed with what fails; another one by PROPERTY_SEED, more runs by PROPERTY_RUNS. */
import fc from 'fast-check';

export const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_260_101);

/** Parameters of one property. What fails is shrunk and printed with its seed and path. */
export const settings = (runs: number): { readonly seed: number; readonly numRuns: number; readonly endOnFailure: boolean } => {
  const wanted = process.env['PROPERTY_RUNS'];
  return { seed: SEED, numRuns: wanted === undefined ? runs : Number(wanted), endOnFailure: false };
};

/** An error that names what was expected, with the story that led there. */
export const broken = (promise: string, story: readonly string[]): Error => new Error(`${promise}\n  ${story.join('\n  ')}`);

export { fc };
