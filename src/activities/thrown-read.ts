/** Reading values that may be hostile: a getter or a proxy may throw, a text may have megabytes. Nothing here throws. */
import { clip, visible } from '../define/text.ts';
import { LIMITS } from '../state/index.ts';

const CLASSES_MAX = 10;
const PREVIEW_MEMBERS_MAX = 10;
const PREVIEW_VALUE_CHARS = 100;
/** Members that may hold a secret are named, not shown. */
const SECRET = /pass|secret|token|auth|cookie|credential|key/i;

/** The result of a look, or `fallback` if looking throws. */
export function attempt<T>(look: () => T, fallback: T): T {
  try {
    return look();
  } catch {
    return fallback;
  }
}

export const isObject = (value: unknown): value is object => (typeof value === 'object' && value !== null) || typeof value === 'function';

/** A member of anything; undefined if it has none or reading it throws. */
export const member = (value: unknown, key: string): unknown => (isObject(value) ? attempt(() => (value as Record<string, unknown>)[key], undefined) : undefined);

export const numberOf = (value: unknown): number | undefined => (typeof value === 'number' && Number.isFinite(value) ? value : undefined);

/** At most `chars` characters, storable and readable; `cut` counts the characters (UTF-16) that are missing. */
export function bounded(text: string, chars: number): { readonly text: string; readonly cut: number } {
  let kept = clip(text, chars).text;
  let shown = visible(kept);
  // Making hidden characters visible can lengthen the text.
  while (shown.length > chars) {
    kept = clip(kept, Math.floor((kept.length * chars) / shown.length)).text;
    shown = visible(kept);
  }
  return { text: shown, cut: text.length - kept.length };
}

const word = (text: string): string => bounded(text, LIMITS.name_chars_max).text;

/** Names along the prototype chain, most specific first: its own `name` if no class is called so, then its classes, without `Object`. */
export function classesOf(value: unknown): readonly string[] {
  if (!isObject(value)) return [];
  const names: string[] = [];
  let prototype = attempt<unknown>(() => Object.getPrototypeOf(value), null);
  for (let depth = 0; depth < CLASSES_MAX && isObject(prototype); depth += 1) {
    const name = member(member(prototype, 'constructor'), 'name');
    if (typeof name === 'string' && name !== '' && name !== 'Object' && !names.includes(word(name))) names.push(word(name));
    const above: object = prototype;
    prototype = attempt<unknown>(() => Object.getPrototypeOf(above), null);
  }
  // A class that doesn't set `name` inherits one: that says less than the class itself.
  const own = member(value, 'name');
  return typeof own === 'string' && own.trim() !== '' && !names.includes(word(own)) ? [word(own), ...names] : names;
}

function previewOf(value: object): string {
  const keys = attempt(() => Object.keys(value), []);
  const parts = keys.slice(0, PREVIEW_MEMBERS_MAX).map((key) => {
    const inner = member(value, key);
    const shown = isObject(inner) || SECRET.test(key) ? '…' : attempt(() => clip(typeof inner === 'string' ? JSON.stringify(clip(inner, PREVIEW_VALUE_CHARS).text) : String(inner), PREVIEW_VALUE_CHARS + 2).text, '?');
    return `${clip(key, PREVIEW_VALUE_CHARS).text}: ${shown}`;
  });
  if (keys.length > parts.length) parts.push('…');
  return parts.length === 0 ? 'an object without members was thrown' : `an object was thrown: { ${parts.join(', ')} }`;
}

/** A schema's refusal in one line for each issue; its own message is a page of JSON. */
function issuesOf(value: object, name: string): string | null {
  const issues = name === 'ZodError' ? member(value, 'issues') : undefined;
  if (!attempt(() => Array.isArray(issues) && issues.length > 0, false)) return null;
  const line = (issue: unknown): string => {
    const path = attempt(() => (member(issue, 'path') as readonly unknown[]).map((part) => `/${String(part)}`).join(''), '');
    return `${path === '' ? 'the value' : path}: ${attempt(() => String(member(issue, 'message')), '?')}`;
  };
  return attempt(() => (issues as readonly unknown[]).map(line).join('\n'), null);
}

/** What a thrown value says, uncut; never empty. */
export function messageOf(value: unknown, name: string): string {
  if (typeof value === 'string') return value.trim() === '' ? 'an empty text was thrown' : value;
  if (typeof value === 'function') return 'a function was thrown';
  if (!isObject(value)) return `${attempt(() => String(value), typeof value)} was thrown, which is no error`;
  const issues = issuesOf(value, name);
  if (issues !== null) return issues;
  const UNREADABLE = {};
  const message = attempt<unknown>(() => (value as { message?: unknown }).message, UNREADABLE);
  if (message === UNREADABLE) return `${name}: its message cannot be read`;
  if (typeof message === 'string' && message.trim() !== '') return message;
  if (isObject(message)) return previewOf(message);
  if (['number', 'boolean', 'bigint', 'symbol'].includes(typeof message)) return String(message);
  return isErrorLike(value) ? `${name} without a message` : previewOf(value);
}

/** Errors of any realm; plain objects that merely carry a message don't count. */
export function isErrorLike(value: unknown): boolean {
  return attempt(() => value instanceof Error, false) || classesOf(value).includes('Error') || typeof member(value, 'stack') === 'string';
}

/** An error's own short code, as text; null if it has none. */
export function codeOf(value: unknown, classes: readonly string[]): string | null {
  const code = member(value, 'code');
  if (typeof code === 'string' && code.trim() !== '') return word(code);
  // A DOMException's number is a relic that says less than its name.
  if (typeof code === 'number' && Number.isFinite(code) && !classes.includes('DOMException')) return String(code);
  return null;
}
