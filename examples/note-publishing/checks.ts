/** The automatic review: what every note has to be before anybody publishes it. */
import type { BrokenCode, NoteFacts } from './facts.ts';
import { NOTE_LIMITS } from './note.ts';

export type FindingCode = BrokenCode | 'empty_body' | 'link_not_web' | 'picture_undescribed' | 'title_long' | 'raw_html_dropped';

/** An `error` keeps the note from being published, a `warning` is shown to whoever reviews it. */
export interface Finding {
  readonly code: FindingCode;
  readonly severity: 'error' | 'warning';
  /** What it is about: a picture's path, a link, a field. */
  readonly path: string;
  readonly message: string;
}

/** A body with less text than this is taken for an accident. */
const TEXT_CHARS_MIN = 40;

const BROKEN: Readonly<Record<BrokenCode, string>> = {
  picture_missing: 'the file is not there',
  picture_outside_note: "the file is not in the note's own folder",
  picture_remote: 'pictures have to lie beside the note',
  picture_unreadable: 'not a readable JPEG, PNG or WebP picture',
};

/** All findings, errors first; none: the note may be published without a person. Front matter is checked before. */
export function checkNote(facts: NoteFacts): Finding[] {
  const findings: Finding[] = [];
  const error = (code: FindingCode, path: string, message: string): void => {
    findings.push({ code, severity: 'error', path, message });
  };
  const warn = (code: FindingCode, path: string, message: string): void => {
    findings.push({ code, severity: 'warning', path, message });
  };
  if (facts.textChars < TEXT_CHARS_MIN) {
    error('empty_body', 'body', `${facts.textChars} characters of text, at least ${TEXT_CHARS_MIN} are needed`);
  }
  for (const { path, code } of facts.broken) error(code, path, BROKEN[code]);
  for (const link of facts.links) {
    if (!isWebLink(link)) error('link_not_web', link, 'links have to begin with http:// or https://');
  }
  for (const path of facts.undescribed) {
    error('picture_undescribed', path, 'a description is needed for those who cannot see it');
  }
  if (facts.rawHtml > 0) warn('raw_html_dropped', 'body', `${facts.rawHtml} pieces of raw HTML are left out`);
  if (facts.frontMatter.title.length > NOTE_LIMITS.title_chars_max / 2) {
    warn('title_long', 'front matter.title', 'longer than most lists can show');
  }
  return findings.sort((a, b) => Number(a.severity === 'warning') - Number(b.severity === 'warning'));
}

function isWebLink(link: string): boolean {
  if (!URL.canParse(link)) return false;
  const { protocol, hostname } = new URL(link);
  return (protocol === 'http:' || protocol === 'https:') && hostname !== '';
}
