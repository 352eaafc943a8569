/** What is known of a rendered note beside its bytes: small, plain JSON, what the review and the publishing look at. */
import { z } from 'zod';
import { frontMatterSchema } from './note.ts';

const digest = z.string().regex(/^[0-9a-f]{64}$/u);

/** A picture as it will be uploaded. */
export const renderedPictureSchema = z.strictObject({
  /** Names the picture within the note, from its place and file name: `2-tide-curve`. */
  item: z.string(),
  /** As the note refers to it, relative to the note. */
  path: z.string(),
  /** Stands in the HTML until the picture has a URL. */
  placeholder: z.string(),
  contentType: z.enum(['image/jpeg', 'image/png', 'image/webp']),
  /** Pixels. */
  width: z.int(),
  height: z.int(),
  bytes: z.int(),
  sha256: digest,
});
export type RenderedPicture = z.output<typeof renderedPictureSchema>;

/** A picture that can't be published; the review names it. */
export const brokenPictureSchema = z.strictObject({
  path: z.string(),
  code: z.enum(['picture_missing', 'picture_outside_note', 'picture_remote', 'picture_unreadable']),
});
export type BrokenPicture = z.output<typeof brokenPictureSchema>;
export type BrokenCode = BrokenPicture['code'];

export const noteFactsSchema = z.strictObject({
  frontMatter: frontMatterSchema,
  /** Length of the body's text in UTF-16 units, white space and markup apart. */
  textChars: z.int(),
  pictures: z.array(renderedPictureSchema),
  broken: z.array(brokenPictureSchema),
  /** Paths of pictures without a description. */
  undescribed: z.array(z.string()),
  /** Targets of links as written, fragments of the note itself apart. */
  links: z.array(z.string()),
  /** Pieces of raw HTML in the Markdown; none of them is in the result. */
  rawHtml: z.int(),
  htmlBytes: z.int(),
  htmlSha256: digest,
});
export type NoteFacts = z.output<typeof noteFactsSchema>;

const artifactSchema = z.strictObject({
  uri: z.string(),
  name: z.string(),
  mediaType: z.string(),
  bytes: z.int(),
  sha256: digest,
});

/** What the render step returns: the facts, and where HTML and pictures are stored. */
export const renderResultSchema = z.strictObject({
  facts: noteFactsSchema,
  html: artifactSchema,
  /** By item. */
  pictures: z.record(z.string(), artifactSchema),
});
export type RenderResult = z.output<typeof renderResultSchema>;
