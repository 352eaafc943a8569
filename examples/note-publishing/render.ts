/** From a Markdown note to sanitized HTML and web-sized pictures. */
import { createHash } from 'node:crypto';
import type { Element, Root as HtmlRoot } from 'hast';
import type { Root as MarkdownRoot } from 'mdast';
import rehypeSanitize, { defaultSchema } from 'rehype-sanitize';
import type { Options as SanitizeSchema } from 'rehype-sanitize';
import rehypeStringify from 'rehype-stringify';
import remarkFrontmatter from 'remark-frontmatter';
import remarkGfm from 'remark-gfm';
import remarkParse from 'remark-parse';
import remarkRehype from 'remark-rehype';
import { unified } from 'unified';
import { visit } from 'unist-util-visit';
import type { BrokenPicture, NoteFacts, RenderedPicture } from './facts.ts';
import { NOTE_LIMITS, NoteError, parseFrontMatter, readNote } from './note.ts';
import type { FrontMatter } from './note.ts';
import { renderPicture } from './pictures.ts';

export interface RenderedNote {
  readonly facts: NoteFacts;
  /** Sanitized; picture sources are placeholders, see `placePictures`. */
  readonly html: string;
  /** The bytes of each picture, by its item. */
  readonly data: ReadonlyMap<string, Buffer>;
}

/** No script, style, handler, frame or form survives; links and pictures only by http and https. */
const schema: SanitizeSchema = {
  ...defaultSchema,
  // The only ids are those of footnotes, prefixed by remark-rehype already; twice would break their links.
  clobberPrefix: '',
  protocols: { ...defaultSchema.protocols, href: ['http', 'https'], src: ['http', 'https'], cite: ['http', 'https'] },
};

const markdown = unified().use(remarkParse).use(remarkFrontmatter, ['yaml']).use(remarkGfm);

/**
 * Renders the note in `file`. The same files give the same bytes.
 *
 * Throws NoteError with path and limit for a note that is missing, too large, not UTF-8 or without valid front
 * matter, and for limits on its pictures and links. Pictures that are merely broken are named in `facts.broken`.
 */
export async function renderNote(file: string, name: string = file): Promise<RenderedNote> {
  const tree = markdown.parse(await readNote(file, name));
  const frontMatter = readFrontMatter(tree, name);
  let rawHtml = 0;
  visit(tree, 'html', () => {
    rawHtml += 1;
  });
  const html = await toHtmlTree(tree, frontMatter.language);
  // Links are collected from what the author wrote, before the sanitizer takes the bad ones away.
  const links = collectLinks(html.written);
  const images = collectImages(html.written);
  if (links.length > NOTE_LIMITS.links_max) {
    throw new NoteError('too_many_links', name, { limit: `${NOTE_LIMITS.links_max} links` });
  }
  const paths = [...new Set(images.map((image) => image.path))];
  if (paths.length > NOTE_LIMITS.pictures_max) {
    throw new NoteError('too_many_pictures', name, { limit: `${NOTE_LIMITS.pictures_max} pictures` });
  }
  const made = await makePictures(file, paths);
  placeholders(html.safe, made.byPath);
  const text = unified().use(rehypeStringify).stringify(html.safe);
  const htmlBytes = Buffer.byteLength(text);
  if (htmlBytes > NOTE_LIMITS.html_bytes_max) {
    throw new NoteError('html_too_large', name, { limit: `${NOTE_LIMITS.html_bytes_max} bytes` });
  }
  return {
    html: text,
    data: made.data,
    facts: {
      frontMatter,
      textChars: countText(html.safe),
      pictures: [...new Map([...made.byPath.values()].map((picture) => [picture.item, picture])).values()],
      broken: made.broken,
      undescribed: [...new Set(images.filter((image) => image.alt.trim() === '').map((image) => image.path))],
      links,
      rawHtml,
      htmlBytes,
      htmlSha256: createHash('sha256').update(text).digest('hex'),
    },
  };
}

/**
 * Puts the uploaded pictures' URLs in place of the placeholders. `urls` by item. Throws RangeError when a picture of
 * the note has no URL: a post with a hole is never sent.
 */
export function placePictures(
  html: string,
  pictures: readonly RenderedPicture[],
  urls: Readonly<Record<string, string>>,
): string {
  let placed = html;
  for (const { item, placeholder } of pictures) {
    const url = urls[item];
    if (url === undefined) throw new RangeError(`picture ${item} has no URL`);
    placed = placed.replaceAll(`src="${placeholder}"`, () => `src="${escapeAttribute(url)}"`);
  }
  return placed;
}

function readFrontMatter(tree: MarkdownRoot, name: string): FrontMatter {
  const first = tree.children[0];
  if (first?.type !== 'yaml') throw new NoteError('front_matter_missing', name);
  return parseFrontMatter(first.value);
}

/** The tree as the author wrote it and the tree that is safe to publish; raw HTML is in neither. */
async function toHtmlTree(tree: MarkdownRoot, language: string): Promise<{ written: HtmlRoot; safe: HtmlRoot }> {
  const footnoteLabel = language.startsWith('zh') ? '脚注' : 'Footnotes';
  const written = await unified().use(remarkRehype, { footnoteLabel }).run(tree);
  const safe = await unified().use(rehypeSanitize, schema).run(structuredClone(written));
  return { written, safe };
}

function collectLinks(tree: HtmlRoot): string[] {
  const links: string[] = [];
  visit(tree, 'element', (element: Element) => {
    const href = element.tagName === 'a' ? element.properties['href'] : undefined;
    if (typeof href === 'string' && !href.startsWith('#')) links.push(href.slice(0, NOTE_LIMITS.link_chars_max));
  });
  return [...new Set(links)];
}

function collectImages(tree: HtmlRoot): { path: string; alt: string }[] {
  const images: { path: string; alt: string }[] = [];
  visit(tree, 'element', (element: Element) => {
    if (element.tagName !== 'img') return;
    const alt = element.properties['alt'];
    images.push({ path: sourcePath(element), alt: typeof alt === 'string' ? alt : '' });
  });
  return images;
}

/** Markdown's URLs are percent-encoded on the way to HTML; file names aren't. */
function sourcePath(image: Element): string {
  const source = image.properties['src'];
  if (typeof source !== 'string') return '';
  try {
    return decodeURIComponent(source);
  } catch {
    return source;
  }
}

async function makePictures(
  file: string,
  paths: readonly string[],
): Promise<{ byPath: Map<string, RenderedPicture>; broken: BrokenPicture[]; data: Map<string, Buffer> }> {
  const byPath = new Map<string, RenderedPicture>();
  const byDigest = new Map<string, RenderedPicture>();
  const data = new Map<string, Buffer>();
  const broken: BrokenPicture[] = [];
  for (const path of paths) {
    const made = await renderPicture(file, path, byDigest.size + 1);
    if ('code' in made) {
      broken.push(made);
      continue;
    }
    // Two names for the same bytes are one picture: uploaded once.
    const picture = byDigest.get(made.picture.sha256) ?? made.picture;
    byDigest.set(picture.sha256, picture);
    byPath.set(path, picture);
    data.set(picture.item, made.data);
  }
  return { byPath, broken, data };
}

function placeholders(tree: HtmlRoot, byPath: ReadonlyMap<string, RenderedPicture>): void {
  visit(tree, 'element', (element: Element) => {
    if (element.tagName !== 'img') return;
    const picture = byPath.get(sourcePath(element));
    const { src: _, ...rest } = element.properties;
    element.properties =
      picture === undefined
        ? rest
        : { src: picture.placeholder, ...rest, width: picture.width, height: picture.height, loading: 'lazy' };
  });
}

function countText(tree: HtmlRoot): number {
  let chars = 0;
  visit(tree, 'text', (node) => {
    chars += node.value.replace(/\s+/gu, '').length;
  });
  return chars;
}

function escapeAttribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
}
