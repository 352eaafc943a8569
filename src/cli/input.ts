/** Reads `--input`: JSON, `@file` or `-`. What it says of bad input never quotes it: it may hold secrets. */
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { ThroughlineError } from '../errors.ts';
import { LIMITS } from '../state/index.ts';

const PATH = '/input';
/** Text may hold blanks that the stored JSON does not; past this nobody needs to read on. */
const TEXT_BYTES_MAX = 4 * LIMITS.input_bytes_max;

export async function readInput(option: string): Promise<unknown> {
  if (option === '-') return parse(await readAll(process.stdin));
  if (option.startsWith('@')) return parse(await readAll(createReadStream(option.slice(1))));
  return parse(option);
}

async function readAll(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > TEXT_BYTES_MAX) throw new ThroughlineError('INPUT_TOO_LARGE', { path: PATH, limit: `${String(LIMITS.input_bytes_max)} bytes` });
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof ThroughlineError) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    throw new ThroughlineError('INPUT_INVALID', { path: '--input', message: `The input's file cannot be read (${code}).` });
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new ThroughlineError('INPUT_INVALID', { path: PATH, message: 'The input is not UTF-8.' });
  }
}

function parse(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    // The engine's own message quotes the text around the mistake.
    const position = /position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1];
    const where = position === undefined ? 'it ends too early or has a stray character' : placeOf(text, Number(position));
    throw new ThroughlineError('INPUT_INVALID', { path: PATH, message: `The input is not JSON: ${where}.` });
  }
  refuseLossyNumbers(text);
  return value;
}

function placeOf(text: string, position: number): string {
  const before = text.slice(0, position).split('\n');
  return `line ${String(before.length)}, column ${String((before.at(-1)?.length ?? 0) + 1)}`;
}

/** 12345678901234567890 would silently become another number. */
function refuseLossyNumbers(text: string): void {
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/gs)) {
    if (!/^-?\d+$/.test(token) || Number.isSafeInteger(Number(token))) continue;
    throw new ThroughlineError('INPUT_NOT_STORABLE', { path: PATH, message: `The whole number at ${placeOf(text, index)} is too large to be kept exactly: write it as a string.` });
  }
}
