/** A note as a file: its limits, its front matter and the errors that say what is wrong with it. */
import { open, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { parseDocument } from 'yaml';
import { z } from 'zod';

/** Bounds on a note and what is made of it; the unit is the last word of each name. */
export const NOTE_LIMITS = {
  note_bytes_max: 256 * 1024,
  title_chars_max: 200,
  tags_max: 20,
  links_max: 200,
  /** A longer link is cut in the facts; the sanitized HTML keeps it. */
  link_chars_max: 500,
  pictures_max: 20,
  picture_bytes_max: 8 * 1024 * 1024,
  picture_pixels_max: 40_000_000,
  /** The web size: wider pictures are made narrower, none is made wider. */
  picture_width_px_max: 1_200,
  html_bytes_max: 512 * 1024,
} as const;

export type NoteErrorCode =
  | 'note_missing'
  | 'note_too_large'
  | 'note_not_utf8'
  | 'front_matter_missing'
  | 'front_matter_invalid'
  | 'too_many_pictures'
  | 'too_many_links'
  | 'picture_too_large'
  | 'picture_too_many_pixels'
  | 'html_too_large';

/** What is wrong with a note: `path` names the file or field, `limit` the bound that was met, unit in the text. */
export class NoteError extends Error {
  override readonly name = 'NoteError';
  /** Trying again changes nothing. */
  readonly category = 'invalid_input';
  readonly code: NoteErrorCode;
  readonly path: string;
  readonly limit: string | undefined;

  constructor(code: NoteErrorCode, path: string, detail: { limit?: string; message?: string; cause?: unknown } = {}) {
    const said = detail.message === undefined ? '' : `: ${detail.message}`;
    const limit = detail.limit === undefined ? '' : ` (limit: ${detail.limit})`;
    super(`${code} at ${path}${said}${limit}`, { cause: detail.cause });
    this.code = code;
    this.path = path;
    this.limit = detail.limit;
  }
}

const line = z.string().trim().min(1).max(NOTE_LIMITS.title_chars_max);

/** The YAML at the head of a note. `version` grows when a published note is to be published again. */
export const frontMatterSchema = z.strictObject({
  title: line,
  author: line,
  /** A language tag such as `en` or `zh-CN`. */
  language: z.string().regex(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/u, 'must be a language tag such as en or zh-CN'),
  version: z.int().min(1).max(1_000_000).default(1),
  /** `person`: somebody has to approve it beside the automatic checks. */
  review: z.enum(['automatic', 'person']).default('automatic'),
  tags: z.array(line).max(NOTE_LIMITS.tags_max).default([]),
});
export type FrontMatter = z.infer<typeof frontMatterSchema>;

/** Reads a note. Throws NoteError `note_missing`, `note_too_large` or `note_not_utf8`. */
export async function readNote(file: string, name: string): Promise<string> {
  const bytes = await readBounded(file, NOTE_LIMITS.note_bytes_max);
  if (bytes === 'missing') throw new NoteError('note_missing', name);
  if (bytes === 'too_large') {
    throw new NoteError('note_too_large', name, { limit: `${NOTE_LIMITS.note_bytes_max} bytes` });
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new NoteError('note_not_utf8', name, { cause });
  }
}

/** Validates front matter. Throws NoteError `front_matter_invalid` with the field as path. */
export function parseFrontMatter(yaml: string): FrontMatter {
  const document = parseDocument(yaml, { prettyErrors: false });
  const broken = document.errors[0];
  if (broken !== undefined) {
    throw new NoteError('front_matter_invalid', 'front matter', { message: broken.message, cause: broken });
  }
  let values: unknown;
  try {
    // Aliases that multiply ("billion laughs") end here.
    values = document.toJS({ maxAliasCount: 50 });
  } catch (cause) {
    throw new NoteError('front_matter_invalid', 'front matter', { message: 'too many aliases', cause });
  }
  const parsed = frontMatterSchema.safeParse(values);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const path = ['front matter', ...(issue?.path ?? [])].map(String).join('.');
  throw new NoteError('front_matter_invalid', path, { message: issue?.message ?? 'invalid' });
}

/**
 * Where a picture's file really is, or why it can't be used. A picture has to lie in the note's own folder, links
 * followed, so that no note can publish another file of the machine.
 */
export async function locatePicture(noteFile: string, path: string): Promise<{ file: string } | 'missing' | 'outside'> {
  const folder = await realpath(dirname(noteFile));
  if (path.includes('\u0000')) return 'missing';
  if (isAbsolute(path)) return 'outside';
  const wanted = join(folder, path);
  if (escapes(folder, wanted)) return 'outside';
  try {
    const file = await realpath(wanted);
    if (escapes(folder, file)) return 'outside';
    return (await stat(file)).isFile() ? { file } : 'missing';
  } catch (error) {
    if (isGone(error)) return 'missing';
    throw error;
  }
}

/** Reads a file of at most `limit` bytes, without trusting the size that it had a moment ago. */
export async function readBounded(file: string, limit: number): Promise<Buffer | 'missing' | 'too_large'> {
  let handle;
  try {
    handle = await open(file, 'r');
  } catch (error) {
    if (isGone(error)) return 'missing';
    throw error;
  }
  try {
    const buffer = Buffer.alloc(limit + 1);
    let size = 0;
    while (size < buffer.length) {
      const { bytesRead } = await handle.read(buffer, size, buffer.length - size, size);
      if (bytesRead === 0) return buffer.subarray(0, size);
      size += bytesRead;
    }
    return 'too_large';
  } catch (error) {
    if (isGone(error)) return 'missing';
    throw error;
  } finally {
    await handle.close();
  }
}

function escapes(folder: string, file: string): boolean {
  const way = relative(folder, file);
  return way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way);
}

function isGone(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR' || code === 'ENAMETOOLONG';
}
