/**
 * Evidence of one task as a file: a line of canonical JSON for each fact, each line's hash over the one before it. Pure; the
 * timeline stands first, so that a later export begins with the lines of an earlier one.
 */
import { createHash } from 'node:crypto';
import { canonicalJson, digest } from '../define/canonical.ts';
import type { Json } from '../define/json.ts';
import type { ReplayRecord, TaskRecord, TimelineRow } from '../ledger/index.ts';

export const EVIDENCE_FORMAT = 'throughline-evidence/1';
/** In the order of the file. `task` is its first line and never changes; the timeline only grows; the others are as of the export. */
export const EVIDENCE_PARTS = ['task', 'timeline', 'status', 'step', 'attempt', 'touch', 'receipt', 'artifact', 'acceptance', 'cancel', 'replay', 'correction', 'end'] as const;
export type EvidencePart = (typeof EVIDENCE_PARTS)[number];

export interface Evidence {
  readonly task: string;
  /** The file's text: a line for each fact, each ended by a newline. */
  readonly text: string;
  readonly lines: number;
  /** Entries of the timeline, and the hash of the last one. Keep it elsewhere: who holds it can tell whether a file was made anew. */
  readonly timeline: { readonly entries: number; readonly head: string };
  /** The hash of the last line. */
  readonly seal: string;
}

export type EvidenceProblem = 'unreadable' | 'format' | 'altered' | 'out_of_place' | 'incomplete' | 'not_this_head' | 'not_extended';

export type EvidenceVerdict =
  | { readonly ok: true; readonly task: string; readonly lines: number; readonly timeline: Evidence['timeline']; readonly seal: string }
  | { readonly ok: false; readonly line: number; readonly problem: EvidenceProblem };

const GENESIS = createHash('sha256').update(EVIDENCE_FORMAT).digest('hex');
const hashOf = (before: string, n: number, part: string, row: Json): string => createHash('sha256').update(`${before}\n${canonicalJson({ n, part, row })}`).digest('hex');

/** Any row of the ledger: JSON by its making. */
const json = (row: unknown): Json => JSON.parse(JSON.stringify(row)) as Json;

export function makeEvidence(record: TaskRecord, replays: readonly ReplayRecord[]): Evidence {
  const { task } = record;
  const { id, type, version, key, created_at, created_by, deadline_at, again_of, input } = task;
  const lines: string[] = [];
  let hash = GENESIS;
  const add = (part: EvidencePart, row: unknown): void => {
    const value = json(row);
    const n = lines.length + 1;
    hash = hashOf(hash, n, part, value);
    lines.push(canonicalJson({ hash, n, part, row: value }));
  };
  // The input itself may hold secrets; its digest proves it to whoever has it.
  add('task', { format: EVIDENCE_FORMAT, id, type, version, key, created_at, created_by, deadline_at, again_of, input_sha256: digest(json(input)) });
  for (const entry of record.timeline) add('timeline', entry);
  const head = hash;
  const rest: Readonly<Partial<Record<EvidencePart, readonly unknown[]>>> = {
    status: [{ status: task.status, at_rest: task.at_rest, reason: task.reason, held_by: task.held_by, seq: task.seq, since: task.since, ended_at: task.ended_at, again_as: task.again_as }],
    step: record.steps.map(stepFacts),
    attempt: attemptsOf(record.timeline),
    touch: record.touches, receipt: record.receipts, artifact: record.artifacts, acceptance: record.acceptances, cancel: record.cancels, replay: replays,
    correction: record.timeline.filter(({ kind, event }) => kind === 'correction' || event === 'manual_correction').map(({ id: entry, at, step, actor, facts, from_state, to_state }) => ({ entry, at, step, actor, facts, from_state, to_state })),
  };
  for (const part of EVIDENCE_PARTS) for (const row of rest[part] ?? []) add(part, row);
  add('end', { lines: lines.length + 1, timeline: { entries: record.timeline.length, head } });
  return { task: id, text: lines.map((line) => `${line}\n`).join(''), lines: lines.length, timeline: { entries: record.timeline.length, head }, seal: hash };
}

/** Without what a look at the ledger's clock computes anew each time. */
function stepFacts({ resend_until: _, ...facts }: TaskRecord['steps'][number]): unknown {
  return facts;
}

/** Each claim with its end, as the timeline tells. */
function attemptsOf(timeline: readonly TimelineRow[]): readonly unknown[] {
  const moves = timeline.filter(({ kind }) => kind === 'transition');
  return moves.flatMap((claim, index) => {
    if (claim.event !== 'claim') return [];
    const end = moves.slice(index + 1).find(({ step, from_state, to_state }) => step === claim.step && HELD.has(from_state) && !HELD.has(to_state));
    return [{
      step: claim.step, attempt: claim.attempt, epoch: claim.epoch, by: claim.actor, from: claim.at, until: end?.at ?? null,
      ended_by: end === undefined ? null : { event: end.event, reason: end.reason, to: end.to_state, entry: end.id },
    }];
  });
}
const HELD: ReadonlySet<string> = new Set(['leased', 'cancel_requested']);

interface Line {
  readonly n: number;
  readonly part: string;
  readonly row: Json;
  readonly hash: string;
}

function read(text: string): Line | null {
  try {
    const value = JSON.parse(text) as Partial<Line> | null;
    if (value === null || typeof value !== 'object' || typeof value.n !== 'number' || typeof value.part !== 'string' || typeof value.hash !== 'string' || value.row === undefined) return null;
    // Two spellings of one line would be two files for one truth.
    return canonicalJson(value) === text ? (value as Line) : null;
  } catch {
    return null;
  }
}

/**
 * Whether a file is what `makeEvidence` wrote, and if not, the first line that doesn't fit. `head`: the timeline's head as it was
 * noted at the export. `earlier`: the text of an export made before, whose timeline this one must begin with.
 */
export function verifyEvidence(text: string, options: { readonly head?: string; readonly earlier?: string } = {}): EvidenceVerdict {
  const wrong = (line: number, problem: EvidenceProblem): EvidenceVerdict => ({ ok: false, line, problem });
  const texts = text.split('\n');
  // Each line is ended: what was cut off in the middle of one is not whole.
  if (texts.pop() !== '' || texts.length === 0) return wrong(Math.max(texts.length, 1), 'incomplete');
  let hash = GENESIS;
  let place = 0;
  let entries = 0;
  let head = '';
  let task = '';
  for (const [index, one] of texts.entries()) {
    const number = index + 1;
    const line = read(one);
    if (line === null) return wrong(number, 'unreadable');
    const part = (EVIDENCE_PARTS as readonly string[]).indexOf(line.part);
    const row = line.row as Readonly<Record<string, Json>>;
    if (number === 1 && (part !== 0 || row['format'] !== EVIDENCE_FORMAT)) return wrong(number, 'format');
    if (line.n !== number || part < place || (part === 0 && number > 1) || EVIDENCE_PARTS[place] === 'end') return wrong(number, 'out_of_place');
    hash = hashOf(hash, line.n, line.part, line.row);
    if (line.hash !== hash) return wrong(number, 'altered');
    place = part;
    if (part === 0 && typeof row['id'] === 'string') task = row['id'];
    if (part <= 1) {
      head = hash;
      entries += part;
    }
    if (line.part === 'end' && canonicalJson(line.row) !== canonicalJson({ lines: number, timeline: { entries, head } })) return wrong(number, 'altered');
  }
  if (EVIDENCE_PARTS[place] !== 'end') return wrong(texts.length, 'incomplete');
  if (options.head !== undefined && options.head !== head) return wrong(entries + 1, 'not_this_head');
  if (options.earlier !== undefined) {
    const before = options.earlier.split('\n').filter((one) => /"part":"(task|timeline)"/.test(one) && ['task', 'timeline'].includes(read(one)?.part ?? ''));
    const differs = before.findIndex((one, index) => one !== texts[index]);
    if (before.length === 0 || differs >= 0) return wrong(differs < 0 ? 1 : differs + 1, 'not_extended');
  }
  return { ok: true, task, lines: texts.length, timeline: { entries, head }, seal: hash };
}
