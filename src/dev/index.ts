/** The local stack, as `throughline/dev`: for development, demos and tests of what is built on Throughline. */
export type { Log } from './log.ts';
export { SEARCH_ATTRIBUTES, registerSearchAttributes } from './search-attributes.ts';
export { startStack, type DatabaseStack, type Stack, type StackOptions } from './stack.ts';
export { nextStopSignal } from './stop-signal.ts';
