/** What of an artifact may be shown, and how. */

const PICTURES = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif']);
const DOCUMENTS = new Set(['text/html', 'text/plain', 'application/json', 'text/markdown', 'text/csv']);
/** More is for a download. */
const PREVIEW_BYTES_MAX = 8 * 1024 * 1024;

export const mediaOf = (type: string): string => type.split(';')[0]?.trim().toLowerCase() ?? '';

export function previewOf(type: string, bytes: number): 'picture' | 'document' | null {
  if (bytes > PREVIEW_BYTES_MAX) return null;
  const media = mediaOf(type);
  return PICTURES.has(media) ? 'picture' : DOCUMENTS.has(media) ? 'document' : null;
}

/** Documents other than HTML are shown as text. */
export const previewType = (type: string): string => {
  const media = mediaOf(type);
  return PICTURES.has(media) ? media : `${media === 'text/html' ? media : 'text/plain'}; charset=utf-8`;
};

/** Nothing in it runs, nothing is loaded, and only our own page may frame it. */
export const PREVIEW_POLICY = "default-src 'none'; img-src data:; frame-ancestors 'self'; sandbox";
