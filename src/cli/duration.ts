import { checkedDelay } from '../client/checks.ts';

/** `90s`, `10m`, `2h`, `7d`, `500ms` in milliseconds. Throws TIME_INVALID with the option's name. */
export const durationMs = (text: string, path: string): number => checkedDelay(text as `${number}s`, path);
