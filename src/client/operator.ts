/** What only a named person may do, with a reason: each checks its input, then is one call to the door. */
import { randomUUID } from 'node:crypto';
import type { Json } from '../define/json.ts';
import { storable } from '../define/canonical.ts';
import { ThroughlineError } from '../errors.ts';
import { boundedText, checkedAction } from '../ledger/index.ts';
import type { CancelAnswer, ConfirmAnswer, CorrectAnswer, Door, ReplayAnswer, ReplayRow, UnparkAnswer } from '../ledger/index.ts';
import { LIMITS, REASON_CODES } from '../state/index.ts';
import type { ReasonCode } from '../state/index.ts';
import { checkedTaskId } from './checks.ts';
import type { Action } from './client.ts';

/** Who acts and why. `id` makes the action idempotent; without it each call is an action of its own. */
export interface Deed {
  readonly by?: string;
  readonly why: string;
  readonly id?: string;
}

/** An effect by its name, and the item where it has several. */
export interface EffectName {
  readonly effect: string;
  readonly item?: string;
}

export interface Replay extends Deed {
  /** Only this step; default: each dead one. */
  readonly step?: string;
  /** Treated as ended without lasting effect, so that they are made again. */
  readonly void?: readonly EffectName[];
  readonly dropCheckpoints?: boolean;
}

/** What a person saw outside; `evidence` says where they looked and what was there, at most 4,000 characters. */
export interface Absence extends Deed, EffectName {
  readonly step: string;
  readonly evidence: string;
}

export interface Presence extends Absence {
  /** The other side's id of it. */
  readonly externalId?: string;
  /** What the call would have returned, where later code reads it. */
  readonly result?: Json;
}

export interface Correction extends Deed {
  /** The id of the timeline entry that is wrong. */
  readonly entry: number | string;
  /** The reason code that it should have had; without it, only that it is wrong. */
  readonly reason?: ReasonCode;
}

export class Operator {
  readonly #door: Door;
  readonly #by: string;

  constructor(door: Door, by: string) {
    this.#door = door;
    this.#by = by;
  }

  async replay(task: string, replay: Replay): Promise<ReplayAnswer> {
    const { step, void: voided, dropCheckpoints } = replay;
    if (voided !== undefined && voided.length > LIMITS.replay_void_max) throw new ThroughlineError('INPUT_TOO_LARGE', { path: '/void', limit: LIMITS.replay_void_max });
    const row: ReplayRow = {
      ...this.#deed(replay), ...(step === undefined ? {} : { step }),
      ...(voided === undefined ? {} : { void: voided.map((name, index) => checkedEffect(name, `/void/${String(index)}`)) }),
      ...(dropCheckpoints === undefined ? {} : { drop_checkpoints: dropCheckpoints }),
    };
    return this.#door.taskReplay(checkedTaskId(task), checkedAction(row));
  }

  async abandonWait(task: string, action: Action): Promise<CancelAnswer> {
    return this.#door.waitAbandon(checkedTaskId(task), checkedAction({ ...this.#deed(action), ...(action.step === undefined ? {} : { step: action.step }) }));
  }

  async confirm(task: string, present: boolean, seen: Presence): Promise<ConfirmAnswer> {
    const { step, externalId, result } = seen;
    const id = checkedTaskId(task);
    const row = checkedAction({ ...this.#deed(seen), step });
    return this.#door.effectConfirm(id, {
      ...row, ...checkedEffect(seen, ''), present, evidence: checkedEvidence(seen.evidence),
      ...(!present || externalId === undefined ? {} : { external_id: boundedText(externalId, '/externalId', LIMITS.external_id_chars_max) }),
      ...(!present || result === undefined ? {} : { result: storable(result, '/result', LIMITS.result_bytes_max) }),
    });
  }

  async correct(task: string, correction: Correction): Promise<CorrectAnswer> {
    const { reason } = correction;
    const id = checkedTaskId(task);
    if (reason !== undefined && !REASON_CODES.includes(reason)) throw new ThroughlineError('INPUT_INVALID', { path: '/reason', message: 'The reason must be one of the codes of docs/state-machine.md.' });
    return this.#door.timelineCorrect(id, { ...this.#deed(correction), entry: checkedEntry(correction.entry), ...(reason === undefined ? {} : { reason }) });
  }

  async unpark(task: string, deed: Deed): Promise<UnparkAnswer> {
    return this.#door.outboxUnpark(checkedTaskId(task), this.#deed(deed));
  }

  #deed({ id, by, why }: Deed): { readonly id: string; readonly by: string; readonly why: string } {
    return checkedAction({ id: id ?? randomUUID(), by: by ?? this.#by, why });
  }
}

function checkedEffect({ effect, item }: EffectName, path: string): EffectName {
  boundedText(effect, `${path}/effect`, LIMITS.name_chars_max);
  return item === undefined || item === '' ? { effect } : { effect, item: boundedText(item, `${path}/item`, LIMITS.item_chars_max) };
}

function checkedEvidence(evidence: string): string {
  if (typeof evidence !== 'string' || evidence.trim() === '') throw new ThroughlineError('EVIDENCE_REQUIRED', { path: '/evidence' });
  return boundedText(evidence, '/evidence', LIMITS.evidence_chars_max);
}

/** Ids of entries are whole numbers that Postgres can hold. */
function checkedEntry(entry: number | string): string {
  const text = String(entry);
  if (!/^[1-9]\d{0,17}$/.test(text)) throw new ThroughlineError('ID_INVALID', { path: '/entry' });
  return text;
}
