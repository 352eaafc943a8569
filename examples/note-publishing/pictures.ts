/** Pictures of a note: found, checked and made fit for the web. */
import { createHash } from 'node:crypto';
import sharp from 'sharp';
import type { BrokenPicture, RenderedPicture } from './facts.ts';
import { NOTE_LIMITS, NoteError, locatePicture, readBounded } from './note.ts';

const FORMATS = { jpeg: 'image/jpeg', png: 'image/png', webp: 'image/webp' } as const;
type Format = keyof typeof FORMATS;

/**
 * Makes one picture fit for the web: at most 1,200 px wide, upright, without metadata; the same input gives the same
 * bytes. Throws NoteError `picture_too_large` or `picture_too_many_pixels`; answers what is broken otherwise.
 */
export async function renderPicture(
  noteFile: string,
  path: string,
  number: number,
): Promise<{ readonly picture: RenderedPicture; readonly data: Buffer } | BrokenPicture> {
  if (/^([a-z][a-z0-9+.-]*:|\/\/)/iu.test(path)) return { path, code: 'picture_remote' };
  const place = await locatePicture(noteFile, path);
  if (place === 'outside') return { path, code: 'picture_outside_note' };
  if (place === 'missing') return { path, code: 'picture_missing' };
  const source = await readBounded(place.file, NOTE_LIMITS.picture_bytes_max);
  if (source === 'missing') return { path, code: 'picture_missing' };
  if (source === 'too_large') {
    throw new NoteError('picture_too_large', path, { limit: `${NOTE_LIMITS.picture_bytes_max} bytes` });
  }
  const made = await resize(source, path);
  if (made === null) return { path, code: 'picture_unreadable' };
  const sha256 = createHash('sha256').update(made.data).digest('hex');
  return {
    picture: {
      item: itemName(path, number),
      path,
      placeholder: `picture:${sha256}`,
      contentType: FORMATS[made.format],
      width: made.width,
      height: made.height,
      bytes: made.data.length,
      sha256,
    },
    data: made.data,
  };
}

/** Null when the bytes are no picture of a known format. */
async function resize(
  source: Buffer,
  path: string,
): Promise<{ data: Buffer; format: Format; width: number; height: number } | null> {
  let format: string;
  try {
    // The size is read from the head before a pixel is decoded: a small file can claim to be enormous.
    const head = await sharp(source, { limitInputPixels: false }).metadata();
    format = head.format;
    if (head.width * head.height > NOTE_LIMITS.picture_pixels_max) {
      throw new NoteError('picture_too_many_pixels', path, { limit: `${NOTE_LIMITS.picture_pixels_max} pixels` });
    }
  } catch (error) {
    if (error instanceof NoteError) throw error;
    return null;
  }
  if (!isFormat(format)) return null;
  try {
    const web = sharp(source, { limitInputPixels: NOTE_LIMITS.picture_pixels_max, failOn: 'error' })
      .autoOrient()
      .resize({ width: NOTE_LIMITS.picture_width_px_max, withoutEnlargement: true })
      .toFormat(format, format === 'png' ? { compressionLevel: 9 } : { quality: 80 });
    const { data, info } = await web.toBuffer({ resolveWithObject: true });
    return { data, format, width: info.width, height: info.height };
  } catch {
    // A cut-off or damaged file: sharp has no error codes to tell more.
    return null;
  }
}

function isFormat(format: string): format is Format {
  return Object.hasOwn(FORMATS, format);
}

/** Only a to z, digits and dashes, so that it can stand in keys and headers; the number keeps it unique. */
function itemName(path: string, number: number): string {
  const stem = (path.split('/').pop() ?? '').replace(/\.[^.]*$/u, '');
  const slug = stem
    .toLowerCase()
    .replace(/[^a-z0-9]+/gu, '-')
    .replace(/^-|-$/gu, '')
    .slice(0, 40);
  return slug === '' ? String(number) : `${number}-${slug}`;
}
