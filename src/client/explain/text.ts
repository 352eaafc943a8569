/** An explanation as plain text for a terminal: sections, wrapped, with nothing hidden in what users wrote. */
import { clip, visible } from '../../define/text.ts';
import type { Tone } from './codes.ts';
import { LABELS } from './labels.ts';
import type { Labels } from './labels.ts';
import { fold } from './text-width.ts';
import type { CancelExplanation, Explanation, ProofOfStep, ReasonSaid, ReceiptExplanation, StepExplanation, StoryLine, TouchesOfAttempt } from './types.ts';
import { clock } from './words.ts';

export interface TextOptions {
  /** Columns. Default 100. */
  readonly width?: number;
  /** Default: no colour. */
  readonly colour?: (tone: Tone, text: string) => string;
}

const COLUMNS_DEFAULT = 100;
const COLUMNS_MIN = 40;
const CONTINUATION_INDENT = 2;
const CHARS_MAX = 2_000;

/** One line of content: nothing hidden, no line break, bounded. */
const plain = (text: string): string => {
  const { text: head, cut } = clip(text, CHARS_MAX);
  return `${visible(head).replaceAll('\t', '␉').replaceAll('\n', '␊')}${cut > 0 ? `… (+${String(cut)})` : ''}`;
};

class Page {
  readonly #lines: string[] = [];
  readonly #width: number;
  readonly #colour: (tone: Tone, text: string) => string;
  readonly labels: Labels;
  readonly asOf: string;

  constructor(e: Explanation, options: TextOptions) {
    this.#width = Math.max(COLUMNS_MIN, options.width ?? COLUMNS_DEFAULT);
    this.#colour = options.colour ?? ((_tone, text) => text);
    this.labels = LABELS[e.lang];
    this.asOf = e.as_of;
  }

  /** A paragraph; further lines of it stand under its first word. */
  line(text: string, indent = 0, tone?: Tone): void {
    for (const part of fold(plain(text), this.#width - indent, CONTINUATION_INDENT)) {
      this.#lines.push(`${' '.repeat(indent)}${tone === undefined ? part : this.#colour(tone, part)}`);
    }
  }

  fact(label: string, text: string, indent = 0): void {
    this.line(`${label}${this.labels.colon}${text}`, indent);
  }

  section(title: string, body: () => void): void {
    const before = this.#lines.length;
    body();
    if (this.#lines.length > before) this.#lines.splice(before, 0, ...(title === '' ? [''] : ['', title]));
  }

  time(iso: string): string {
    return clock(iso, this.asOf);
  }

  toString(): string {
    return `${this.#lines.join('\n')}\n`;
  }
}

/** A code, with what it is called where that is another word. */
const coded = (code: string, label: string): string => (code.replaceAll('_', ' ') === label ? code : `${code} (${label})`);

const corrected = (reason: ReasonSaid): string => (reason.corrected === null ? '' : ` [${reason.corrected.sentence}]`);

function summary(page: Page, e: Explanation): void {
  const { labels } = page;
  page.line(e.headline, 0, e.tone);
  page.fact(labels.task, `${e.task.id}  ${e.task.type} v${String(e.task.version)}${e.task.key === null ? '' : `  ${labels.key} ${e.task.key}`}`);
  page.fact(labels.status, `${coded(e.status, e.status_label)}${labels.colon}${e.status_meaning}${labels.semicolon}${labels.since} ${page.time(e.since)}`);
  page.fact(labels.reason, `${e.reason.code}${labels.colon}${e.reason.meaning}${corrected(e.reason)}`);
  if (e.blocked_on !== null) page.fact(labels.blocked_on, `${e.blocked_on.step}${labels.colon}${e.blocked_on.sentence}`);
  page.fact(labels.will_run_again, `${e.will_run_again.sentence}${e.will_run_again.rule === null ? '' : ` [${e.will_run_again.rule}]`}`);
  page.fact(labels.next_action, e.next_action.sentence);
  for (const action of e.also) page.fact(labels.also, action.sentence);
  page.fact(labels.driver, `${e.driver.sentence}${labels.semicolon}${e.driver.temporal.sentence}`);
  if (e.task.again_of !== null) page.fact(labels.again_of, e.task.again_of);
  if (e.task.again_as !== null) page.fact(labels.again_as, e.task.again_as);
}

function step(page: Page, s: StepExplanation): void {
  const { labels } = page;
  page.line(s.sentence, 2, s.tone);
  page.line(`${coded(s.state, s.state_label)} ${labels.since} ${page.time(s.since)}${labels.semicolon}${labels.attempts}${labels.colon}${s.attempts.sentence}`, 4);
  page.fact(labels.reason, `${s.reason.code}${corrected(s.reason)}`, 4);
  if (s.last_failure !== null) page.fact(labels.last_failure, `${s.last_failure.category}${labels.colon}${s.last_failure.sentence}`, 4);
  for (const open of s.open_effects) page.fact(labels.open, open.sentence, 4);
  page.fact(labels.will_run_again, s.will_run_again.sentence, 4);
}

function cancel(page: Page, c: CancelExplanation): void {
  const { labels } = page;
  page.line(`${page.time(c.at)}  ${c.verb} (${c.id}), ${c.by}: ${c.why}`, 2);
  page.line(`${c.verdict}${labels.colon}${c.verdict_meaning}`, 4);
  for (const s of c.steps) {
    page.line(s.sentence, 4);
    for (const flight of s.in_flight) page.line(flight.sentence, 6);
    if (s.left_outside_sentence !== null) page.line(s.left_outside_sentence, 6);
    if (s.next_check_at !== null) page.fact(labels.next_check, page.time(s.next_check_at), 6);
  }
}

function touches(page: Page, group: TouchesOfAttempt): void {
  const { labels } = page;
  page.line(`${group.step}, ${labels.attempt} ${String(group.attempt)}`, 2);
  for (const request of group.requests) {
    page.line(`${page.time(request.at)}  ${request.sentence}`, 4);
    page.line(`${labels.key} ${request.key}`, 6);
    page.line(`${labels.message} ${request.message_id}`, 6);
  }
}

function receipt(page: Page, c: ReceiptExplanation): void {
  page.line(`${page.time(c.at)}  ${c.sentence} [${c.verdict ?? '-'}]`, 2);
}

function proof(page: Page, of: ProofOfStep): void {
  const { labels } = page;
  page.line(of.sentence, 2);
  const word = (value: boolean | null): string => (value === null ? labels.unknown : value ? labels.yes : labels.no);
  for (const check of of.checks) {
    const words = `${labels.found} ${word(check.found)}, ${labels.ours} ${word(check.ours)}, ${labels.minimum} ${word(check.minimum)}`;
    page.line(`${page.time(check.at)}  ${check.sentence}${check.code === 'accepted' ? '' : ` (${words})`}`, 4);
    page.fact(labels.read, JSON.stringify(check.read), 6);
  }
  for (const artifact of of.artifacts) page.line(`${artifact.name}  ${artifact.media_type}, ${String(artifact.bytes)} B, sha256 ${artifact.sha256.slice(0, 12)}`, 4);
}

function story(page: Page, line: StoryLine): void {
  const where = [line.step, line.attempt === null ? null : `#${String(line.attempt)}`].filter((part) => part !== null).join(' ');
  page.line(`${page.time(line.at)}  ${where === '' ? '' : `${where}${page.labels.colon}`}${line.sentence} [${line.who}]`, 2, line.manual ? 'attention' : undefined);
  for (const correction of line.corrections) page.line(`↳ ${page.time(correction.at)}  ${correction.sentence} [${correction.who}]`, 4, 'attention');
}

/** For people at a terminal. What users wrote is shown literally, control characters made visible. */
export function explanationText(e: Explanation, options: TextOptions = {}): string {
  const page = new Page(e, options);
  const { labels } = page;
  const each = <T>(items: readonly T[], show: (page: Page, item: T) => void) => (): void => {
    for (const item of items) show(page, item);
  };
  summary(page, e);
  page.section(labels.steps, each(e.steps, step));
  page.section(labels.cancels, each(e.cancels, cancel));
  page.section(labels.touches, each(e.touches, touches));
  page.section(labels.receipts_matched, each(e.receipts.filter(({ matched }) => matched), receipt));
  page.section(labels.receipts_refused, each(e.receipts.filter(({ matched }) => !matched), receipt));
  page.section(labels.proof, each(e.proof.filter(({ checks, artifacts, code }) => checks.length + artifacts.length > 0 || code === 'unbacked'), proof));
  page.section(labels.story, () => {
    each(e.story, story)();
    if (e.story_left_out > 0) page.line(labels.left_out(e.story_left_out), 2);
  });
  page.section('', () => {
    page.line(`${labels.as_of} ${e.as_of}, ${labels.entry} ${String(e.seq)}`);
  });
  return page.toString();
}
