/** JSON pointers (RFC 6901) as they stand in errors and digests: bounded and without hidden characters. */
import { createHash } from 'node:crypto';
import { clip, visible } from './text.ts';

const TOKEN_CHARS_MAX = 64;

/** One part. If it had to be shortened or made visible it ends with a digest, so that different keys stay different. */
function token(key: string): string {
  const shown = visible(clip(key, TOKEN_CHARS_MAX).text).replaceAll('\n', '␊').replaceAll('\t', '␉');
  const unique = shown === key ? key : `${shown}…${createHash('sha256').update(JSON.stringify(key)).digest('hex').slice(0, 8)}`;
  return unique.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** The pointer to a member of what `pointer` points to. */
export const pointerTo = (pointer: string, key: string | number): string => `${pointer}/${token(String(key))}`;
