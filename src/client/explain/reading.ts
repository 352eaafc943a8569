/** A record as explain reads it: per step the machine's facts, what it waits on, and what is open. */
import { isHeld, isSuccess, isTerminal, LIMITS } from '../../state/index.ts';
import type { Facts, ReasonCode, RestState } from '../../state/index.ts';
import type { AcceptanceRow, StepRow, TaskRecord, TimelineRow, TouchRow } from '../../ledger/index.ts';
import type { Tone } from './codes.ts';
import { EN } from './phrases-en.ts';
import { ZH } from './phrases-zh.ts';
import type { Phrases } from './phrases.ts';
import type { ExplainLanguage, ExplainOptions, TemporalSight } from './types.ts';
import { effectName } from './words.ts';

export const PHRASES: Readonly<Record<ExplainLanguage, Phrases>> = { en: EN, 'zh-CN': ZH };

/** `attention` where a person may have to look; green is for success alone. */
export const STATE_TONES: Readonly<Record<RestState, Tone>> = {
  waiting: 'progress', queued: 'progress', leased: 'progress', submitted: 'progress', received: 'progress', in_progress: 'progress', unconfirmed: 'attention',
  completed: 'progress', succeeded: 'success', cancel_requested: 'progress', cancelled: 'stopped', dead: 'attention',
};

/** Terminal, and only a person gets it on. */
export const needsPerson = (state: RestState): boolean => isTerminal(state) && STATE_TONES[state] === 'attention';

export interface StepReading {
  readonly row: StepRow;
  readonly facts: Facts;
  /** The entry that brought the step into its state, and its reason: later evidence on the state itself doesn't hide it. */
  readonly entered: TimelineRow | null;
  readonly why: ReasonCode;
  /** Needs that have not succeeded. */
  readonly unmet: readonly string[];
  /** The dead step at the root of the wait; null: none. */
  readonly dead: string | null;
  readonly open: readonly TouchRow[];
  readonly touches: readonly TouchRow[];
  readonly left: number;
  readonly leaseOver: boolean;
  readonly accepted: AcceptanceRow | null;
  /** Succeeded, and the accepted check is recorded. */
  readonly backed: boolean;
}

export interface Reading {
  readonly record: TaskRecord;
  readonly lang: ExplainLanguage;
  readonly p: Phrases;
  readonly asOf: string;
  readonly temporal: TemporalSight | undefined;
  readonly steps: readonly StepReading[];
  readonly step: (name: string) => StepReading | undefined;
  /** A parked wake-up, and no workflow that would go on without it. */
  readonly parked: boolean;
  /** Accepted, and no workflow has ever been told. */
  readonly handOver: boolean;
  readonly noWorker: boolean;
  /** "publish-note v2". */
  readonly offer: string;
  /** The wording of src/state in the language asked. */
  readonly word: (meaning: { readonly en: string; readonly zh: string }) => string;
}

export const reached = (iso: string | null, asOf: string): boolean => iso !== null && Date.parse(iso) <= Date.parse(asOf);

/** Long enough past its time that whoever should have taken it has not. */
export const overdue = (iso: string | null, asOf: string): boolean => iso !== null && Date.parse(iso) + LIMITS.driver_silence_ms < Date.parse(asOf);

/** What the machine's guards ask, as far as rows can say it; read for the labels of its rows, never to decide. */
function factsOf(row: StepRow, touches: readonly TouchRow[], unmet: boolean, asOf: string): Facts {
  const live = touches.filter((touch) => touch.live);
  const withdrawal = live.some((touch) => touch.kind === 'withdrawal');
  const submission = live.filter((touch) => touch.submits);
  const confirmed = submission.some((touch) => touch.outcome === 'confirmed' || touch.external_id !== null || touch.done);
  const resendable = row.resend_until !== null && !reached(row.resend_until, asOf);
  return {
    needs: unmet, due: true, open: row.open_count > 0, confirmed, cancel: row.cancel_id !== null, left: row.charged < row.attempts_max, tried: row.attempt > 0, resume: row.resume,
    receipt: row.has_receipt, inbox: row.inbox, verdict: false, probe: row.has_probe, checks: row.checks_used + 1 < row.checks_max, resendable,
    resolvable: row.has_probe || resendable, retryable: true, reentrant: row.reentrant, submits: submission.length > 0, done: submission.some((touch) => touch.done), again: confirmed,
    counts: true, withdrawable: submission.length > 0 && !withdrawal, proof_since: row.proof_since, no_way: false,
  };
}

/** The entry that brought each step into the state that it has. */
function entries(record: TaskRecord): ReadonlyMap<string, TimelineRow> {
  const last = new Map<string, TimelineRow>();
  for (const entry of record.timeline) {
    if (entry.kind === 'transition' && entry.step !== null && entry.from_state !== entry.to_state) last.set(entry.step, entry);
  }
  return last;
}

function deadRoot(row: StepRow, byName: ReadonlyMap<string, StepRow>, seen: ReadonlySet<string> = new Set()): string | null {
  for (const need of row.needs) {
    const needed = byName.get(need);
    if (needed === undefined || seen.has(need)) continue;
    if (needsPerson(needed.state)) return need;
    const deeper = isSuccess(needed.state) ? null : deadRoot(needed, byName, new Set([...seen, need]));
    if (deeper !== null) return deeper;
  }
  return null;
}

export const isAccepted = ({ found, ours, minimum }: AcceptanceRow): boolean => found === true && ours === true && minimum === true;

export function read(record: TaskRecord, options: ExplainOptions): Reading {
  const { lang, temporal } = options;
  const asOf = record.as_of;
  const byName = new Map(record.steps.map((row) => [row.name, row]));
  const entered = entries(record);
  const steps = [...record.steps].sort((a, b) => a.ordinal - b.ordinal).map((row): StepReading => {
    const unmet = row.needs.filter((need) => !isSuccess(byName.get(need)?.state ?? row.state));
    const touches = record.touches.filter(({ step }) => step === row.name);
    const entry = entered.get(row.name);
    const fits = entry?.to_state === row.state ? entry : null;
    const accepted = record.acceptances.filter(({ step }) => step === row.name).findLast(isAccepted) ?? null;
    return {
      row, touches, unmet, accepted, entered: fits,
      facts: factsOf(row, touches, unmet.length > 0, asOf),
      why: fits?.reason ?? row.reason,
      dead: deadRoot(row, byName),
      open: touches.filter((touch) => touch.outcome === null && touch.live),
      left: Math.max(0, row.attempts_max - row.charged),
      leaseOver: isHeld(row.state) && reached(row.lease_expires_at, asOf),
      backed: isSuccess(row.state) && accepted !== null,
    };
  });
  const running = temporal !== undefined && 'status' in temporal && temporal.status === 'RUNNING';
  const { task, outbox } = record;
  return {
    record, lang, asOf, temporal, steps,
    p: PHRASES[lang],
    step: (wanted) => steps.find(({ row }) => row.name === wanted),
    parked: !task.at_rest && typeof outbox?.parked_at === 'string' && !running,
    // A driver that was handed its first view need not have asked: an attempt proves it, too.
    handOver: !task.at_rest && outbox !== null && task.driver_seen_at === null && task.driver_run_id === null && record.steps.every(({ attempt }) => attempt === 0),
    noWorker: record.offers === 0,
    offer: `${task.type} v${String(task.version)}`,
    word: ({ en, zh }) => (lang === 'en' ? en : zh),
  };
}

export const effectsOf = (r: Reading, touches: readonly TouchRow[]): string => r.p.list([...new Set(touches.map((touch) => effectName(touch.effect, touch.item)))]);
