export { explain } from './explain.ts';
export { explanationText } from './text.ts';
export type { TextOptions } from './text.ts';
export type * from './types.ts';
export type * from './codes.ts';
