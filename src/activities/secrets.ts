/** What callers sent under a secret's name must not come back in an error's text, which everyone may read. */
import type { FailureRow, Stored } from '../ledger/index.ts';

/** Names of members whose values are secrets. */
const NAMES = /pass(word|phrase|wd)|secret|token|authori[sz]ation|cookie|credential|api_?key|private_?key/i;
/** Shorter ones would hide ordinary words. */
const CHARS_MIN = 6;
const SECRETS_MAX = 100;
const DEPTH_MAX = 20;
const MASK = '[redacted]';

/** The texts under secret names in a task's input, longest first. */
export function secretsOf(input: unknown): readonly string[] {
  const found = new Set<string>();
  const look = (value: unknown, secret: boolean, depth: number): void => {
    if (depth > DEPTH_MAX || found.size >= SECRETS_MAX) return;
    if (typeof value === 'string') {
      if (secret && value.length >= CHARS_MIN) found.add(value);
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, inner] of Object.entries(value)) look(inner, secret || NAMES.test(name), depth + 1);
    }
  };
  look(input, false, 0);
  return [...found].sort((a, b) => b.length - a.length);
}

/** The same failure with each secret replaced, wherever it stands. */
export function masked(row: FailureRow, secrets: readonly string[]): FailureRow {
  if (secrets.length === 0) return row;
  const hide = (text: string): string => secrets.reduce((shown, secret) => shown.replaceAll(secret, MASK), text);
  const deep = (value: Stored): Stored => {
    if (typeof value === 'string') return hide(value);
    if (Array.isArray(value)) return (value as readonly Stored[]).map(deep);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value as Record<string, Stored>).map(([name, inner]) => [name, deep(inner)]));
  };
  const { causes, code, message, name } = row;
  return { ...row, name: hide(name), message: hide(message), ...(code === undefined ? {} : { code: hide(code) }), ...(causes === undefined ? {} : { causes: causes.map(deep) }) };
}
