/** Reads `--input` and the like: JSON, `@file` or `-`. What it says of bad input never quotes it: it may hold secrets. */
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { ThroughlineError } from '../errors.ts';
import { LIMITS } from '../state/index.ts';

/** Text may hold blanks that the stored JSON does not; past this nobody needs to read on. */
const BLANKS = 4;

/** `what` is the option without its dashes; `bytesMax` bounds the JSON, not its blanks. */
export async function readInput(option: string, what = 'input', bytesMax: number = LIMITS.input_bytes_max): Promise<unknown> {
  if (option === '-') return parse(await readAll(process.stdin, what, bytesMax), what);
  if (option.startsWith('@')) return parse(await readAll(createReadStream(option.slice(1)), what, bytesMax), what);
  return parse(option, what);
}

async function readAll(stream: Readable, what: string, bytesMax: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > BLANKS * bytesMax) throw new ThroughlineError('INPUT_TOO_LARGE', { path: `/${what}`, limit: `${String(bytesMax)} bytes` });
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof ThroughlineError) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    throw new ThroughlineError('INPUT_INVALID', { path: `--${what}`, message: `The ${what}'s file cannot be read (${code}).` });
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new ThroughlineError('INPUT_INVALID', { path: `/${what}`, message: `The ${what} is not UTF-8.` });
  }
}

function parse(text: string, what: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    // The engine's own message quotes the text around the mistake; of it, the position is used if it says one.
    const position = /position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1];
    throw new ThroughlineError('INPUT_INVALID', { path: `/${what}`, message: `The ${what} is not JSON: something else was expected at ${placeOf(text, Number(position ?? strayAt(text)))}.` });
  }
  for (const { token, at } of tokensOf(text)) {
    // 12345678901234567890 would silently become another number.
    if (!/^-?\d+$/.test(token) || Number.isSafeInteger(Number(token))) continue;
    throw new ThroughlineError('INPUT_NOT_STORABLE', { path: `/${what}`, message: `The whole number at ${placeOf(text, at)} is too large to be kept exactly: write it as a string.` });
  }
  return value;
}

function placeOf(text: string, position: number): string {
  const before = text.slice(0, position).split('\n');
  return `line ${String(before.length)}, column ${String((before.at(-1)?.length ?? 0) + 1)}`;
}

/** JSON's tokens, as far as there are any. */
function* tokensOf(text: string): Generator<{ readonly token: string; readonly at: number; readonly end: number }> {
  const pattern = /\s*("[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*|true|false|null|[{}[\]:,])/sy;
  for (let found = pattern.exec(text); found !== null; found = pattern.exec(text)) {
    const token = found[1] ?? '';
    yield { token, at: pattern.lastIndex - token.length, end: pattern.lastIndex };
  }
}

/** Where the tokens stop. */
function strayAt(text: string): number {
  let end = 0;
  for (const token of tokensOf(text)) end = token.end;
  return end + (/^\s*/.exec(text.slice(end))?.[0].length ?? 0);
}
