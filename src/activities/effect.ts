import { randomUUID } from 'node:crypto';
import { digest } from '../define/canonical.ts';
import type { EffectAnswer, EffectCall, EffectOptions } from '../define/types.ts';
import type { Json } from '../define/json.ts';
import { ThroughlineError } from '../errors.ts';
import { failpoint } from '../failpoint.ts';
import type { Claimed, IntentAnswer, LiveEffect, OutcomeRow } from '../ledger/index.ts';
import { effectAnswer, LIMITS } from '../state/index.ts';
import type { PlanEffect, PlanStep } from '../state/index.ts';
import { traced } from '../tracing/spans.ts';
import { storable } from '../define/storable.ts';
import { clip, visible } from '../define/text.ts';
import { RECORD_PATIENCE_MS } from './deps.ts';
import type { ActivityDeps } from './deps.ts';
import { failureRow } from './failure.ts';
import { AttemptStop } from './stops.ts';
import { readThrown } from './thrown.ts';
import type { ThrownRecord } from './thrown.ts';

export interface EffectScope {
  readonly deps: ActivityDeps;
  readonly task: string;
  readonly step: string;
  readonly claim: string;
  readonly claimed: Claimed;
  readonly plan: PlanStep;
  /** Task, step, attempt and epoch, for spans. */
  readonly attributes: Readonly<Record<string, string | number>>;
  /** The step's own result schema: what the submitting effect returns must fit it. */
  readonly parseResult: (value: unknown) => Json;
  /** Aborted: no further effect may start. Its reason is an AttemptStop. */
  readonly signal: AbortSignal;
  /** Remembers the first stop, whatever the handler does with it. */
  readonly stop: (stop: AttemptStop) => AttemptStop;
}

/** A permission that ran out before the call is asked for again this often. */
const ASK_AGAIN_MAX = 5;

type Permission = Extract<IntentAnswer, { permitted: true }>;

/** The protocol at the boundary: intent, call, outcome. One effect of a step at a time. */
export class EffectRunner {
  readonly #scope: EffectScope;
  readonly #known = new Map<string, LiveEffect>();
  #busy: string | null = null;

  constructor(scope: EffectScope) {
    this.#scope = scope;
    for (const effect of scope.claimed.effects) this.#known.set(`${effect.name}/${effect.item}`, effect);
  }

  async run<T extends Json>(name: string, options: EffectOptions, call: (call: EffectCall) => Promise<EffectAnswer<T>>): Promise<EffectAnswer<T>> {
    const { plan } = this.#scope;
    const declared = plan.effects.find((effect) => effect.name === name);
    if (declared === undefined) throw new ThroughlineError('EFFECT_UNDECLARED', { path: `/effects/${name}` });
    const item = options.item ?? '';
    if (item.length > LIMITS.item_chars_max) throw new ThroughlineError('INPUT_TOO_LARGE', { path: `/effects/${name}/item`, limit: LIMITS.item_chars_max });
    storable(item, `/effects/${name}/item`, LIMITS.item_chars_max * 6);
    if (this.#busy !== null) throw new ThroughlineError('EFFECT_CONCURRENT', { path: `/effects/${name}`, facts: { in_progress: this.#busy } });
    this.#busy = `${name}/${item}`;
    try {
      const known = this.#known.get(`${name}/${item}`);
      if (known?.status === 'confirmed') return { externalId: known.external_id ?? '', result: known.result as T };
      return await this.#perform(declared, item, digest(options.request), call);
    } finally {
      this.#busy = null;
    }
  }

  async #perform<T extends Json>(effect: PlanEffect, item: string, requestDigest: string, call: (call: EffectCall) => Promise<EffectAnswer<T>>): Promise<EffectAnswer<T>> {
    const { task, step } = this.#scope;
    for (let asked = 1; ; asked += 1) {
      this.#scope.signal.throwIfAborted();
      const messageId = randomUUID();
      // The permission counts from before asking: what the answer took is gone already.
      const askedAt = performance.now();
      const answer = await this.#intend(effect, item, requestDigest, messageId);
      if ('reuse' in answer) return { externalId: answer.external_id, result: answer.result as T };
      if (performance.now() - askedAt > answer.send_within_ms) {
        await this.#record(messageId, { outcome: 'not_sent' });
        if (asked < ASK_AGAIN_MAX) continue;
        throw new ThroughlineError('EFFECT_NOT_SENT', { message: 'The permission to send ran out before the call could be made.' });
      }
      const reference = { task, step, effect: effect.name, item };
      const signal = AbortSignal.timeout(answer.timeout_ms);
      const attributes = { ...this.#scope.attributes, 'throughline.effect': effect.name, 'throughline.item': item, 'throughline.message': messageId, 'throughline.generation': answer.generation };
      return await traced(`effect ${effect.name}`, attributes, () => this.#call(effect, item, messageId, answer, () => call({ key: answer.key, messageId, threadId: answer.thread_id, reference, signal, timeoutMs: answer.timeout_ms })));
    }
  }

  async #intend(effect: PlanEffect, item: string, requestDigest: string, messageId: string): Promise<Permission | Extract<IntentAnswer, { reuse: true }>> {
    const { deps, task, step, claim, claimed } = this.#scope;
    const answer = await deps.door.effectIntend(task, step, { claim, message_id: messageId, name: effect.name, item, digest: requestDigest }, { patienceMs: RECORD_PATIENCE_MS });
    if (!('refused' in answer)) return answer;
    const path = `/effects/${effect.name}`;
    switch (answer.refused) {
      case 'cancel':
        throw this.#scope.stop(new AttemptStop('boundary', 'a cancel was asked before this effect'));
      case 'fenced':
        throw this.#scope.stop(new AttemptStop('fenced', `claim of epoch ${String(claimed.epoch)} meets epoch ${String(answer.epoch)}`));
      case 'effect_open':
      case 'unanswered':
        throw this.#scope.stop(new AttemptStop('lost', 'an earlier request has no answer', new ThroughlineError('EFFECT_UNRESOLVED', { path })));
      case 'request_changed':
        throw new ThroughlineError('EFFECT_REQUEST_CHANGED', { path });
      case 'after_submission':
        throw new ThroughlineError('EFFECT_AFTER_SUBMISSION', { path });
      case 'undeclared':
        throw new ThroughlineError('EFFECT_UNDECLARED', { path });
    }
  }

  async #call<T extends Json>(effect: PlanEffect, item: string, messageId: string, permission: Permission, call: () => Promise<EffectAnswer<T>>): Promise<EffectAnswer<T>> {
    let answer: EffectAnswer<T>;
    failpoint('effect_call.before');
    try {
      answer = await withinTime(call, permission.timeout_ms);
      failpoint('effect_call.after');
    } catch (thrown) {
      const record = readThrown(thrown);
      const kind = saysItself(record) ?? effectAnswer(record.facts);
      if (kind === 'lost') throw this.#scope.stop(new AttemptStop('lost', 'the answer was lost', thrown));
      await this.#record(messageId, { outcome: kind, error: failureRow(record, 'send', this.#scope.claimed.input).row });
      throw thrown;
    }
    // The other side has acted: whatever is wrong with what the handler made of it must not hide that.
    const given: unknown = answer.externalId;
    const externalId = clip(visible(typeof given === 'string' ? given : ''), LIMITS.external_id_chars_max).text;
    let result: Json = null;
    let invalid: Error | null = null;
    try {
      result = effect.submits ? this.#scope.parseResult(answer.result) : storable(answer.result ?? null, `/effects/${effect.name}/result`, LIMITS.result_bytes_max);
    } catch (error) {
      invalid = error instanceof Error ? error : new Error(String(error));
    }
    await this.#record(messageId, { outcome: 'confirmed', external_id: externalId, result: result });
    this.#known.set(`${effect.name}/${item}`, { name: effect.name, item, generation: permission.generation, status: 'confirmed', external_id: externalId, result: result });
    if (invalid !== null) throw invalid;
    return { externalId, result: result as T };
  }

  async #record(messageId: string, outcome: Pick<OutcomeRow, 'outcome' | 'external_id' | 'result' | 'error'>): Promise<void> {
    const { deps, task, step, claim, claimed } = this.#scope;
    const answer = await deps.door.effectOutcome(task, step, { claim, holder: deps.holder, message_id: messageId, ...outcome }, { patienceMs: RECORD_PATIENCE_MS });
    if (answer.late) throw this.#scope.stop(new AttemptStop('fenced', `the outcome of epoch ${String(claimed.epoch)} came after the claim was lost; it was recorded as late`));
  }
}

/** An author's own word about the call. */
export function saysItself({ facts }: ThrownRecord): 'refused' | 'not_sent' | null {
  return facts.classes.includes('EffectRefused') ? 'refused' : facts.classes.includes('EffectNotSent') ? 'not_sent' : null;
}

/** A call that ignores its signal must not hold the step for ever: past its timeout its answer counts as lost. */
export async function withinTime<T>(call: () => Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new DOMException(`no answer within ${String(timeoutMs)} ms`, 'TimeoutError'));
    }, timeoutMs + 250);
  });
  try {
    return await Promise.race([call(), late]);
  } finally {
    clearTimeout(timer);
  }
}
