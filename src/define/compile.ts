/** From what an author wrote to the plan that is stored: defaults filled in, durations in milliseconds. */
import { BACKOFF_DEFAULT, LIMITS, REVIEW_EFFECT, backoffSchedule, type PlanEffect, type PlanProof, type PlanSchedule, type PlanStep, type PlanWithdraw } from '../state/index.ts';
import { durationMs, type DurationRange } from './duration.ts';
import { at, checkOptions, effectPlace, refuse, shown, type Place } from './place.ts';
import type { Json } from './json.ts';
import type { BackoffSpec, CommonSpec, Duration, EffectSpec, EffectSpecs, Proof, ReviewSpec, StepSpec, WithdrawSpec } from './types.ts';

export type AnyStepSpec = StepSpec<unknown, unknown, Json, EffectSpecs, string>;
export type AnyReviewSpec = ReviewSpec<unknown, unknown, string>;

const ATTEMPTS_DEFAULT = 3;
/** With the default backoff: checks for about four minutes. */
const CHECKS_DEFAULT = 10;
const WITHDRAW_ATTEMPTS_DEFAULT = 10;
/** Beyond it the wait after the first failure is the longest one, whatever the cap. */
const FACTOR_MAX = 1_000;

const COMMON_KEYS = ['needs', 'reentrant', 'attempts', 'backoff', 'lease', 'timeout', 'checks', 'run'] as const;
const STEP_KEYS: readonly string[] = [...COMMON_KEYS, 'result', 'effects', 'receipt', 'probe', 'proof', 'withdraw'];
const REVIEW_KEYS: readonly string[] = [...COMMON_KEYS, 'remindAfter'];
const EFFECT_KEYS: readonly string[] = ['submits', 'dedupe', 'visible_within', 'absenceIsProof', 'timeout'];
const WITHDRAW_KEYS: readonly string[] = ['run', 'timeout', 'dedupe', 'visible_within', 'attempts'];
const BACKOFF_KEYS: readonly string[] = ['initial', 'factor', 'max', 'jitter'];

const range = (min: number, max: number): DurationRange => ({ min, max });
const WINDOW = range(1, LIMITS.delay_ms_max);

function schedule(place: Place, keys: readonly string[], spec: BackoffSpec | undefined): PlanSchedule {
  const where = at(place, ...keys);
  const name = keys.join('.');
  if (spec !== undefined) checkOptions(where, name, spec, BACKOFF_KEYS);
  const wait = (key: 'initial' | 'max', fallback: number): number => durationMs(place, [...keys, key], spec?.[key] ?? fallback, range(0, LIMITS.backoff_ms_max));
  const initial = wait('initial', BACKOFF_DEFAULT.initial_ms);
  const max = wait('max', Math.max(initial, BACKOFF_DEFAULT.max_ms));
  const factor: unknown = spec?.factor ?? BACKOFF_DEFAULT.factor;
  if (typeof factor !== 'number' || !(factor >= 1 && factor <= FACTOR_MAX)) refuse(at(where, 'factor'), `${name}.factor is ${shown(factor)}`, `1 to ${FACTOR_MAX}`);
  if (initial > max) refuse(at(where, 'initial'), `${name}.initial is ${initial} ms, which is more than ${name}.max`, `at most ${max} ms`);
  const jitter: unknown = spec?.jitter ?? BACKOFF_DEFAULT.jitter;
  if (typeof jitter !== 'number' || !(jitter >= 0 && jitter <= 1)) refuse(at(where, 'jitter'), `${name}.jitter is ${shown(jitter)}`, '0 to 1');
  return { schedule_ms: backoffSchedule({ initial_ms: initial, factor, max_ms: max, jitter }), jitter };
}

type Common = Pick<PlanStep, 'needs' | 'reentrant' | 'attempts' | 'backoff' | 'lease_ms' | 'timeout_ms' | 'checks'>;

function common(place: Place, spec: CommonSpec<string> & Pick<AnyStepSpec, 'checks'>): Common {
  if (spec.checks !== undefined) checkOptions(at(place, 'checks'), 'checks', spec.checks, ['attempts', 'backoff']);
  const needs: unknown = spec.needs ?? [];
  if (!Array.isArray(needs)) refuse(at(place, 'needs'), `needs is ${shown(needs)}, but must be a list of step names`);
  return {
    needs: [...(needs as readonly string[])],
    reentrant: spec.reentrant ?? true,
    attempts: spec.attempts ?? ATTEMPTS_DEFAULT,
    backoff: schedule(place, ['backoff'], spec.backoff),
    lease_ms: durationMs(place, ['lease'], spec.lease ?? LIMITS.lease_ms_default, range(LIMITS.lease_ms_min, LIMITS.lease_ms_max)),
    timeout_ms: durationMs(place, ['timeout'], spec.timeout ?? LIMITS.attempt_timeout_ms_default, range(1, LIMITS.attempt_timeout_ms_max)),
    checks: { attempts: spec.checks?.attempts ?? CHECKS_DEFAULT, ...schedule(place, ['checks', 'backoff'], spec.checks?.backoff) },
  };
}

function effect(step: Place, name: string, spec: EffectSpec): PlanEffect {
  const place = effectPlace(step, name);
  checkOptions(place, 'the effect', spec, EFFECT_KEYS);
  const duration = (keys: readonly string[], value: Duration, within: DurationRange): number => durationMs(place, keys, value, within);
  if (spec.dedupe !== undefined) checkOptions(at(place, 'dedupe'), 'dedupe', spec.dedupe, ['window']);
  return {
    name,
    submits: spec.submits ?? false,
    dedupe_window_ms: spec.dedupe === undefined ? null : duration(['dedupe', 'window'], spec.dedupe.window, WINDOW),
    visible_within_ms: duration(['visible_within'], spec.visible_within ?? 0, range(0, LIMITS.delay_ms_max)),
    absence_is_proof: spec.absenceIsProof ?? true,
    timeout_ms: duration(['timeout'], spec.timeout ?? LIMITS.call_timeout_ms_default, range(1, LIMITS.call_timeout_ms_max)),
  };
}

function withdrawOf(place: Place, spec: WithdrawSpec<unknown, unknown, Json>): PlanWithdraw {
  checkOptions(place, 'withdraw', spec, WITHDRAW_KEYS);
  if (typeof spec.run !== 'function') refuse(at(place, 'run'), `run is ${shown(spec.run)}, but must be a function`);
  if (spec.dedupe !== undefined) checkOptions(at(place, 'dedupe'), 'dedupe', spec.dedupe, ['window']);
  return {
    timeout_ms: durationMs(place, ['timeout'], spec.timeout ?? LIMITS.call_timeout_ms_default, range(1, LIMITS.call_timeout_ms_max)),
    dedupe_window_ms: spec.dedupe === undefined ? null : durationMs(place, ['dedupe', 'window'], spec.dedupe.window, WINDOW),
    visible_within_ms: durationMs(place, ['visible_within'], spec.visible_within ?? 0, range(0, LIMITS.delay_ms_max)),
    attempts: spec.attempts ?? WITHDRAW_ATTEMPTS_DEFAULT,
  };
}

function proofOf(place: Place, proof: Proof<unknown, unknown, Json> | undefined): PlanProof {
  if (proof === undefined) refuse(place, 'it declares no proof, so its success could only be claimed');
  checkOptions(place, 'proof', proof, ['artifacts', 'record', 'readBack']);
  if (Object.keys(proof).length !== 1) refuse(place, 'a proof is exactly one of artifacts, record and readBack');
  if ('artifacts' in proof) {
    const { artifacts } = proof;
    checkOptions(at(place, 'artifacts'), 'artifacts', artifacts, ['min', 'minBytes', 'mediaTypes']);
    // An empty artifact proves nothing unless the author says that it does.
    return { kind: 'artifacts', min: artifacts.min, bytes_min: artifacts.minBytes ?? 1, media_types: artifacts.mediaTypes ?? [] };
  }
  if ('record' in proof) return { kind: 'record', requires: proof.record };
  if (typeof proof.readBack !== 'function') refuse(at(place, 'readBack'), `readBack is ${shown(proof.readBack)}, but must be a function`);
  return { kind: 'read_back' };
}

/** The plan of a run step. Errors: DEFINITION_INVALID. */
export function compileStep(place: Place, name: string, spec: AnyStepSpec): PlanStep {
  checkOptions(place, 'the step', spec, STEP_KEYS);
  if (typeof spec.run !== 'function') refuse(at(place, 'run'), `run is ${shown(spec.run)}, but must be a function`);
  if (spec.probe !== undefined && typeof spec.probe !== 'function') refuse(at(place, 'probe'), `probe is ${shown(spec.probe)}, but must be a function`);
  const effects: unknown = spec.effects ?? {};
  if (typeof effects !== 'object' || effects === null || Array.isArray(effects)) refuse(at(place, 'effects'), 'effects must be an object of effects by name');
  const { receipt } = spec;
  if (receipt !== undefined) checkOptions(at(place, 'receipt'), 'receipt', receipt, ['within', 'senders']);
  return {
    name,
    kind: 'run',
    ...common(place, spec),
    effects: Object.entries(effects as EffectSpecs).map(([effectName, effectSpec]) => effect(place, effectName, effectSpec)),
    receipt: receipt === undefined ? null : { within_ms: durationMs(place, ['receipt', 'within'], receipt.within, WINDOW), senders: receipt.senders ?? [], inbox: false },
    probe: spec.probe !== undefined,
    proof: proofOf(at(place, 'proof'), spec.proof),
    ...(spec.withdraw === undefined ? {} : { withdraw: withdrawOf(at(place, 'withdraw'), spec.withdraw) }),
  };
}

/** The plan of a review: one effect which puts the request into our own inbox; its verdict is the receipt. Errors: DEFINITION_INVALID. */
export function compileReview(place: Place, name: string, spec: AnyReviewSpec): PlanStep {
  checkOptions(place, 'the review', spec, REVIEW_KEYS);
  if (typeof spec.run !== 'function') refuse(at(place, 'run'), `run is ${shown(spec.run)}, but must be a function`);
  return {
    name,
    kind: 'review',
    ...common(place, spec),
    effects: [
      {
        name: REVIEW_EFFECT,
        submits: true,
        dedupe_window_ms: null,
        visible_within_ms: 0,
        absence_is_proof: true,
        timeout_ms: LIMITS.call_timeout_ms_default,
      },
    ],
    receipt: { within_ms: durationMs(place, ['remindAfter'], spec.remindAfter ?? LIMITS.review_reminder_ms_default, WINDOW), senders: [], inbox: true },
    probe: false,
    proof: { kind: 'verdict' },
  };
}
