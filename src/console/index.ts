export { BASE, consolePlugin } from './plugin.ts';
export type { ConsoleOptions } from './types.ts';
