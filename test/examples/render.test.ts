import { copyFile, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from '@jest/globals';
import sharp from 'sharp';
import { checkNote } from '../../examples/note-publishing/checks.ts';
import { NOTE_LIMITS, NoteError } from '../../examples/note-publishing/note.ts';
import { placePictures, renderNote } from '../../examples/note-publishing/render.ts';
import type { RenderedNote } from '../../examples/note-publishing/render.ts';
import { Bench } from './support.ts';

const bench = new Bench();
afterAll(() => bench.end());

const notes = fileURLToPath(new URL('../../examples/note-publishing/notes/', import.meta.url));
const shipped = ['tides', 'scallion-noodles', 'release-2-4'];
const head = '---\ntitle: T\nauthor: A\nlanguage: en\n---\n\n';
const body = 'A body that is long enough to be taken for a real one, by anybody who reads it.\n';

async function write(markdown: string, files: Record<string, Buffer> = {}): Promise<string> {
  const folder = await bench.folder();
  for (const [name, bytes] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), bytes);
  }
  await writeFile(join(folder, 'note.md'), markdown);
  return join(folder, 'note.md');
}
const render = async (markdown: string, files: Record<string, Buffer> = {}): Promise<RenderedNote> =>
  renderNote(await write(markdown, files), 'note.md');
const codes = (note: RenderedNote): string[] => checkNote(note.facts).map((finding) => `${finding.code} ${finding.path}`);
const blank = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: '#369' } });

async function refusal(rendering: Promise<unknown>): Promise<Pick<NoteError, 'code' | 'path' | 'limit'>> {
  const error = await rendering.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof NoteError)) throw new Error(`no NoteError: ${String(error)}`);
  const { code, path, limit } = error;
  return { code, path, limit };
}

describe('the shipped notes', () => {
  it.each(shipped)('%s renders without findings, and always to the same bytes', async (name) => {
    const file = join(notes, name, 'note.md');
    const [first, again] = [await renderNote(file), await renderNote(file)];
    expect(checkNote(first.facts)).toEqual([]);
    expect(again.facts).toEqual(first.facts);
    expect(first.facts.pictures.length).toBeGreaterThanOrEqual(2);
    for (const picture of first.facts.pictures) {
      const bytes = first.data.get(picture.item);
      const meta = await sharp(bytes).metadata();
      expect([meta.width, meta.height, bytes?.length]).toEqual([picture.width, picture.height, picture.bytes]);
      expect(picture.width).toBeLessThanOrEqual(NOTE_LIMITS.picture_width_px_max);
    }
  });

  it('one is Chinese and one asks for a person', async () => {
    const facts = await Promise.all(shipped.map(async (name) => (await renderNote(join(notes, name, 'note.md'))).facts));
    expect(facts.map(({ frontMatter }) => [frontMatter.language, frontMatter.review])).toEqual([
      ['en', 'automatic'],
      ['zh-CN', 'automatic'],
      ['en', 'person'],
    ]);
  });

  it('become tables, task lists and footnotes whose links work', async () => {
    const { html } = await renderNote(join(notes, 'tides', 'note.md'));
    expect(html).toContain('<td align="right">3.9 m</td>');
    expect(html).toContain('type="checkbox"');
    const target = /href="#([^"]*fn-1)"/u.exec(html)?.[1];
    expect(html).toContain(`id="${target}"`);
  });

  it('have each placeholder replaced by a URL, or none is sent', async () => {
    const { html, facts } = await renderNote(join(notes, 'tides', 'note.md'));
    const urls = Object.fromEntries(facts.pictures.map(({ item }) => [item, `/pictures/${item}?a=1&b="2"`]));
    const placed = placePictures(html, facts.pictures, urls);
    expect(placed).not.toContain('picture:');
    expect(placed).toContain('src="/pictures/1-shore?a=1&amp;b=&quot;2&quot;"');
    expect(() => placePictures(html, facts.pictures, {})).toThrow(/1-shore/u);
  });
});

describe('a hostile note', () => {
  it.each([
    ['a script', '<script>alert(1)</script>'],
    ['a handler', '<img src=x onerror=alert(1)>'],
    ['a script link', '[x](javascript:alert(1))'],
    ['a script link in disguise', '[x](java&#x73;cript:alert(1))'],
    ['a data link', '[x](data:text/html,<script>alert(1)</script>)'],
    ['an autolink', '<javascript:alert(1)>'],
    ['a script picture', '![x](javascript:alert(1))'],
    ['a frame', '<iframe src="https://example.org"></iframe>'],
    ['a style', '<style>body{display:none}</style><p style="position:fixed">x</p>'],
    ['an svg', '<svg onload=alert(1)></svg>'],
    ['a title that breaks out', '[x](https://example.org "\\"><script>alert(1)</script>")'],
    ['a table cell', '| a |\n| - |\n| <script>alert(1)</script> |'],
    ['a footnote', 'x[^1]\n\n[^1]: <script>alert(1)</script>'],
  ])('%s is neutralised', async (_, attack) => {
    const note = await render(`${head}${body}\n${attack}\n`);
    // Inside a quoted attribute a tag is only text.
    const html = note.html.replace(/title="[^"]*"/gu, '');
    expect(html).not.toMatch(/<(script|iframe|style|svg|object|form)/iu);
    const attributes = [...html.matchAll(/<[^>]*>/gu)].join(' ');
    expect(attributes).not.toMatch(/\son\w+=|javascript:|data:|style=/iu);
  });

  it('is told about what was dropped', async () => {
    const note = await render(`${head}${body}\n<script>alert(1)</script>\n\n[x](javascript:alert(1)) <me@example.org>\n`);
    expect(codes(note)).toEqual([
      'link_not_web javascript:alert(1)',
      'link_not_web mailto:me@example.org',
      'raw_html_dropped body',
    ]);
  });

  it("cannot publish a file outside its folder, not even by a link in it", async () => {
    const secret = join(await bench.folder(), 'secret.png');
    await blank(4, 4).png().toFile(secret);
    const file = await write(`${head}${body}\n![a](../secret.png) ![b](link.png) ![c](${secret}) ![d](a/%2e%2e/../../secret.png)`);
    await symlink(secret, join(dirname(file), 'link.png'));
    await copyFile(secret, join(dirname(dirname(file)), 'secret.png')).catch(() => undefined);
    const note = await renderNote(file);
    expect(note.facts.pictures).toEqual([]);
    expect(note.facts.broken.map(({ code }) => code)).toEqual(Array(4).fill('picture_outside_note'));
  });
});

describe('the automatic checks find', () => {
  it('an empty body', async () => {
    expect(codes(await render(`${head}\n`))).toEqual(['empty_body body']);
  });

  it('pictures that are missing, remote, damaged, of another kind or without description', async () => {
    const png = await blank(50, 50).png().toBuffer();
    const note = await render(
      `${head}${body}\n![a](gone.png)\n![a](https://example.org/x.png)\n![a](cut.png)\n![a](x.svg)\n![](fine.png)\n![a](.)\n`,
      { 'cut.png': png.subarray(0, 60), 'x.svg': Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'), 'fine.png': png },
    );
    expect(codes(note)).toEqual([
      'picture_missing gone.png',
      'picture_remote https://example.org/x.png',
      'picture_unreadable cut.png',
      'picture_unreadable x.svg',
      'picture_missing .',
      'picture_undescribed fine.png',
    ]);
    expect(note.facts.pictures.map(({ path }) => path)).toEqual(['fine.png']);
  });
});

describe('pictures', () => {
  it('are made narrower, upright and free of metadata', async () => {
    const source = await blank(2_000, 1_000).withExif({ IFD0: { Copyright: 'me' } }).withMetadata({ orientation: 6 }).jpeg().toBuffer();
    const { facts, data } = await render(`${head}${body}![a](p.jpg)`, { 'p.jpg': source });
    const meta = await sharp(data.get('1-p')).metadata();
    expect([meta.width, meta.height, meta.exif, meta.orientation]).toEqual([1_000, 2_000, undefined, undefined]);
    expect(facts.pictures[0]).toMatchObject({ item: '1-p', contentType: 'image/jpeg' });
  });

  it('with names in other scripts and with spaces are found; the same bytes twice are one picture', async () => {
    const png = await blank(20, 20).png().toBuffer();
    const { facts, html } = await render(`${head}${body}![a](图.png) ![b](<a b.png>) ![c](图.png)`, { '图.png': png, 'a b.png': png });
    expect(facts.pictures.map(({ item }) => item)).toEqual(['1']);
    expect(html.split('src="picture:')).toHaveLength(4);
  });
});

describe('limits are errors with code, path and limit', () => {
  it.each([
    ['no front matter', body, 'front_matter_missing', 'note.md'],
    ['no title', '---\nauthor: A\nlanguage: en\n---\n', 'front_matter_invalid', 'front matter.title'],
    ['an unknown field', '---\ntitle: T\nauthor: A\nlanguage: en\nx: 1\n---\n', 'front_matter_invalid', 'front matter'],
    ['no mapping', '---\n- a\n---\n', 'front_matter_invalid', 'front matter'],
    ['no YAML', '---\ntitle: "T\n---\n', 'front_matter_invalid', 'front matter'],
    ['a long title', `---\ntitle: ${'x'.repeat(201)}\nauthor: A\nlanguage: en\n---\n`, 'front_matter_invalid', 'front matter.title'],
    ['aliases that multiply', `---\na: &a [x,x]\n${'bcdefghi'.split('').map((c, n) => `${c}: &${c} [${`*${'abcdefghi'[n]},`.repeat(9)}]`).join('\n')}\n---\n`, 'front_matter_invalid', 'front matter'],
  ])('%s', async (_, markdown, code, path) => {
    expect(await refusal(render(markdown))).toMatchObject({ code, path });
  });

  it('a note that is missing, too large or not UTF-8', async () => {
    expect(await refusal(renderNote('/nowhere/note.md', 'x'))).toMatchObject({ code: 'note_missing', path: 'x' });
    expect(await refusal(render(head + 'x'.repeat(NOTE_LIMITS.note_bytes_max)))).toEqual({
      code: 'note_too_large',
      path: 'note.md',
      limit: '262144 bytes',
    });
    const file = await write('');
    await writeFile(file, Buffer.concat([Buffer.from(head), Buffer.from([0xff, 0xfe])]));
    expect((await refusal(renderNote(file, 'x'))).code).toBe('note_not_utf8');
  });

  it('too many pictures or links', async () => {
    const pictures = Array.from({ length: 21 }, (_, n) => `![a](${n}.png)`).join('\n');
    expect(await refusal(render(head + pictures))).toMatchObject({ code: 'too_many_pictures', limit: '20 pictures' });
    const links = Array.from({ length: 201 }, (_, n) => `<https://example.org/${n}>`).join('\n');
    expect(await refusal(render(head + links))).toMatchObject({ code: 'too_many_links', limit: '200 links' });
  });

  it('a picture with too many bytes or pixels', async () => {
    const bytes = Buffer.alloc(NOTE_LIMITS.picture_bytes_max + 1);
    expect(await refusal(render(`${head}![a](p.png)`, { 'p.png': bytes }))).toMatchObject({
      code: 'picture_too_large',
      path: 'p.png',
      limit: '8388608 bytes',
    });
    const wide = await blank(8_000, 5_001).png().toBuffer();
    expect(await refusal(render(`${head}![a](p.png)`, { 'p.png': wide }))).toMatchObject({
      code: 'picture_too_many_pixels',
      limit: '40000000 pixels',
    });
  });
});

it('the shipped pictures stay small', async () => {
  const files = await Promise.all(shipped.map(async (name) => (await renderNote(join(notes, name, 'note.md'))).facts.pictures.map(({ path }) => join(notes, name, path))));
  const sizes = await Promise.all(files.flat().map(async (file) => (await readFile(file)).length));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(600 * 1024);
});
