/**
 * What a plan must hold so that its promises can be kept. Asked when a task is defined and when a plan
 * comes as data (from a file or another language); each refusal is DEFINITION_INVALID with a sentence
 * that names step, effect and limit.
 */
import { LIMITS, REVIEW_EFFECT, WITHDRAW_EFFECT, type Plan, type PlanEffect, type PlanSchedule, type PlanStep } from '../state/index.ts';
import { at, checkOptions, effectPlace, refuse, shown, stepPlace, taskPlace, type Place } from './place.ts';
import { checkProof } from './check-proof.ts';
import { quoted } from './text.ts';

export const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
export const VERSION_MAX = 2 ** 31 - 1;
const SENDERS_MAX = 100;
const SCHEDULE_ENTRIES_MAX = 1_000;

/** A name of a type, step or effect: it becomes part of keys, ids and metrics. */
export function checkName(place: Place, what: string, name: unknown): void {
  if (typeof name !== 'string' || !NAME.test(name)) refuse(place, `${shown(name)} is no ${what}: lower case words and digits, joined by single dashes, starting with a letter`);
  if (name.length > LIMITS.name_chars_max) refuse(place, `the ${what} is too long`, `at most ${LIMITS.name_chars_max} characters`);
}

export function checkWhole(place: Place, what: string, value: unknown, min: number, max: number): void {
  if (typeof value !== 'number' || !Number.isInteger(value)) refuse(place, `${what} is ${shown(value)}, but must be a whole number`, `${min} to ${max}`);
  if (value < min || value > max) refuse(place, `${what} is ${value}`, `${min} to ${max}`);
}

export function checkFlag(place: Place, what: string, value: unknown): void {
  if (typeof value !== 'boolean') refuse(place, `${what} is ${shown(value)}, but must be true or false`);
}

export function checkShare(place: Place, what: string, value: unknown): void {
  if (typeof value !== 'number' || !(value >= 0 && value <= 1)) refuse(place, `${what} is ${shown(value)}`, '0 to 1');
}

function checkSchedule(place: Place, what: string, schedule: PlanSchedule): void {
  checkShare(place, `${what}.jitter`, schedule.jitter);
  const waits: unknown = schedule.schedule_ms;
  if (!Array.isArray(waits) || waits.length === 0 || waits.length > SCHEDULE_ENTRIES_MAX) {
    refuse(place, `${what} has no list of waits`, `1 to ${SCHEDULE_ENTRIES_MAX} entries`);
  }
  for (const wait of waits) checkWhole(place, `a wait of ${what}`, wait, 0, LIMITS.backoff_ms_max);
}

/** How long a key must count outside, so that a repeat under it is ever allowed. */
export const dedupeWindowMinMs = (timeoutMs: number): number => LIMITS.send_permission_ms + timeoutMs + LIMITS.lease_margin_ms;

function checkWindow(place: Place, { dedupe_window_ms: window, timeout_ms: timeout }: Pick<PlanEffect, 'dedupe_window_ms' | 'timeout_ms'>): void {
  if (window === null) return;
  checkWhole(at(place, 'dedupe', 'window'), 'dedupe.window', window, 1, LIMITS.delay_ms_max);
  const min = dedupeWindowMinMs(timeout);
  if (window <= min) {
    refuse(
      at(place, 'dedupe', 'window'),
      `the dedupe window of ${window} ms would be over before a repeat could be sent and answered (send permission, call timeout and a margin)`,
      `more than ${min} ms`,
    );
  }
}

function checkWithdraw(place: Place, step: PlanStep): void {
  const { withdraw } = step;
  if (withdraw === undefined) return;
  checkWhole(at(place, 'timeout'), 'timeout', withdraw.timeout_ms, 1, LIMITS.call_timeout_ms_max);
  checkWhole(at(place, 'visible_within'), 'visible_within', withdraw.visible_within_ms, 0, LIMITS.delay_ms_max);
  checkWhole(at(place, 'attempts'), 'attempts', withdraw.attempts, 1, LIMITS.checks_max);
  checkWindow(place, withdraw);
  if (step.kind === 'review') refuse(place, 'a review submits nothing to another side: a cancel takes it back');
  if (!step.effects.some((effect) => effect.submits)) refuse(place, 'withdraw is declared, but no effect submits anything that could be taken back');
  if (step.effects.some((effect) => effect.name === WITHDRAW_EFFECT)) refuse(place, `an effect is called "${WITHDRAW_EFFECT}", which is the withdrawal's own name: rename it`);
}

function checkEffect(place: Place, step: PlanStep, effect: PlanEffect): void {
  checkName(place, 'effect name', effect.name);
  checkFlag(at(place, 'submits'), 'submits', effect.submits);
  checkFlag(at(place, 'absenceIsProof'), 'absenceIsProof', effect.absence_is_proof);
  checkWhole(at(place, 'timeout'), 'timeout', effect.timeout_ms, 1, LIMITS.call_timeout_ms_max);
  checkWhole(at(place, 'visible_within'), 'visible_within', effect.visible_within_ms, 0, LIMITS.delay_ms_max);
  checkWindow(place, effect);
  // A receipt answers the submission only, so it can't tell what became of the step's other effects.
  const answered = step.receipt !== null && effect.submits;
  if (step.attempts > 1 && effect.dedupe_window_ms === null && !step.probe && !answered) {
    refuse(
      place,
      'after a lost answer nothing could tell whether it happened, so no further attempt is safe: give the effect a dedupe window, the step a probe, or set attempts to 1',
    );
  }
}

function checkReceipt(place: Place, step: PlanStep): void {
  const { receipt } = step;
  if (receipt === null) return;
  checkFlag(at(place, 'receipt'), 'receipt.inbox', receipt.inbox);
  checkWhole(at(place, 'receipt', 'within'), 'receipt.within', receipt.within_ms, 1, LIMITS.delay_ms_max);
  const senders: unknown = receipt.senders;
  const where = at(place, 'receipt', 'senders');
  if (!Array.isArray(senders) || senders.length > SENDERS_MAX) refuse(where, 'receipt.senders must be a list', `at most ${SENDERS_MAX} senders`);
  for (const sender of senders as readonly unknown[]) {
    if (typeof sender !== 'string' || sender.trim() === '' || sender.length > LIMITS.actor_chars_max) {
      refuse(where, `${shown(sender)} is no sender's name`, `1 to ${LIMITS.actor_chars_max} characters`);
    }
  }
  if (!step.effects.some((effect) => effect.submits)) {
    refuse(at(place, 'receipt'), 'a receipt is declared, but no effect submits anything that it could answer');
  }
}

function checkReview(place: Place, step: PlanStep): void {
  const [effect, ...others] = step.effects;
  if (effect?.name !== REVIEW_EFFECT || !effect.submits || others.length > 0) refuse(place, `a review has exactly one effect, "${REVIEW_EFFECT}", which submits`);
  if (step.receipt?.inbox !== true) refuse(place, 'a review waits for a verdict in our own inbox');
  if (step.probe) refuse(place, 'a review has no probe: its inbox is the ledger itself');
}

function checkStep(place: Place, step: PlanStep): void {
  checkName(place, 'step name', step.name);
  const kind: unknown = step.kind;
  if (kind !== 'run' && kind !== 'review') refuse(place, `${shown(kind)} is no kind of step: "run" or "review"`);
  checkFlag(at(place, 'reentrant'), 'reentrant', step.reentrant);
  checkFlag(at(place, 'probe'), 'probe', step.probe);
  checkWhole(at(place, 'attempts'), 'attempts', step.attempts, 1, LIMITS.attempts_max);
  checkWhole(at(place, 'lease'), 'lease', step.lease_ms, LIMITS.lease_ms_min, LIMITS.lease_ms_max);
  checkWhole(at(place, 'timeout'), 'timeout', step.timeout_ms, 1, LIMITS.attempt_timeout_ms_max);
  checkWhole(at(place, 'checks', 'attempts'), 'checks.attempts', step.checks.attempts, 1, LIMITS.checks_max);
  checkSchedule(at(place, 'backoff'), 'backoff', step.backoff);
  checkSchedule(at(place, 'checks', 'backoff'), 'checks.backoff', step.checks);
  if (step.effects.length > LIMITS.effects_per_step_max) refuse(at(place, 'effects'), `the step declares ${step.effects.length} effects`, `at most ${LIMITS.effects_per_step_max}`);

  const seen = new Set<string>();
  for (const effect of step.effects) {
    const where = effectPlace(place, effect.name);
    if (seen.has(effect.name)) refuse(where, 'two effects of one step have this name');
    seen.add(effect.name);
    checkEffect(where, step, effect);
  }
  const submitting = step.effects.filter((effect) => effect.submits).map((effect) => quoted(effect.name));
  if (submitting.length > 1) refuse(at(place, 'effects'), `${submitting.join(' and ')} both submit, but only one effect can be the point of no return`, 'at most 1');
  checkReceipt(place, step);
  checkWithdraw(at(place, 'withdraw'), step);
  if (kind === 'review') checkReview(place, step);
  else if (step.receipt?.inbox === true) refuse(at(place, 'receipt'), 'only a review waits in our own inbox');
  checkProof(at(place, 'proof'), step);
}

/** Needs name other steps of the same task, and no step waits on itself by any path. */
function checkNeeds(task: Place, steps: readonly PlanStep[]): void {
  const byName = new Map(steps.map((step) => [step.name, step]));
  for (const step of steps) {
    const where = at(stepPlace(task, step.name), 'needs');
    const needs: unknown = step.needs;
    if (!Array.isArray(needs)) refuse(where, 'needs must be a list of step names');
    for (const [index, need] of step.needs.entries()) {
      if (need === step.name) refuse(where, 'it needs itself');
      if (!byName.has(need)) refuse(where, `it needs ${shown(need)}, which is no step of this task`);
      if (step.needs.indexOf(need) !== index) refuse(where, `it needs ${shown(need)} twice`);
    }
  }
  const done = new Set<string>();
  const visit = (name: string, trail: readonly string[]): void => {
    if (done.has(name)) return;
    const from = trail.indexOf(name);
    if (from >= 0) refuse(at(stepPlace(task, name), 'needs'), `it would wait for itself for ever: ${[...trail.slice(from), name].map(quoted).join(' needs ')}`);
    for (const need of byName.get(name)?.needs ?? []) visit(need, [...trail, name]);
    done.add(name);
  };
  for (const step of steps) visit(step.name, []);
}

const STEP_KEYS: readonly (keyof PlanStep)[] = [
  'name', 'kind', 'needs', 'reentrant', 'attempts', 'backoff', 'lease_ms', 'timeout_ms', 'effects', 'receipt', 'probe', 'checks', 'proof', 'withdraw',
];
const EFFECT_KEYS: readonly (keyof PlanEffect)[] = ['name', 'submits', 'dedupe_window_ms', 'visible_within_ms', 'absence_is_proof', 'timeout_ms'];

/** The shape of a step that came as data, so that the checks of its values can rely on it. */
function checkShape(place: Place, step: unknown): void {
  checkOptions(place, 'the step', step, STEP_KEYS);
  const { effects, backoff, checks, receipt, withdraw } = step as Partial<PlanStep>;
  if (!Array.isArray(effects)) refuse(at(place, 'effects'), 'effects must be a list');
  for (const effect of effects as readonly PlanEffect[]) checkOptions(effectPlace(place, (effect as PlanEffect | null)?.name), 'the effect', effect, EFFECT_KEYS);
  checkOptions(at(place, 'backoff'), 'backoff', backoff, ['schedule_ms', 'jitter']);
  checkOptions(at(place, 'checks'), 'checks', checks, ['attempts', 'schedule_ms', 'jitter']);
  if (withdraw !== undefined) checkOptions(at(place, 'withdraw'), 'withdraw', withdraw, ['timeout_ms', 'dedupe_window_ms', 'visible_within_ms', 'attempts']);
  if (receipt !== null) checkOptions(at(place, 'receipt'), 'receipt', receipt, ['within_ms', 'senders', 'inbox']);
}

/** Checks a whole plan, also one that came as data. Errors: DEFINITION_INVALID. Throws on the first thing that is wrong. */
export function checkPlan(value: unknown): asserts value is Plan {
  const plan = value as Plan;
  const task = taskPlace((value as Partial<Plan> | null | undefined)?.type);
  checkOptions(task, 'the plan', value, ['type', 'version', 'steps']);
  checkName(at(task, 'type'), 'task type', plan.type);
  checkWhole(at(task, 'version'), 'version', plan.version, 1, VERSION_MAX);
  const steps: unknown = plan.steps;
  if (!Array.isArray(steps) || steps.length === 0) refuse(at(task, 'steps'), 'it has no steps', '1 or more');
  if (steps.length > LIMITS.steps_per_task_max) refuse(at(task, 'steps'), `it has ${steps.length} steps`, `at most ${LIMITS.steps_per_task_max}`);
  const seen = new Set<string>();
  for (const step of plan.steps) {
    const where = stepPlace(task, (step as PlanStep | null)?.name);
    checkShape(where, step);
    if (seen.has(step.name)) refuse(where, 'two steps have this name');
    seen.add(step.name);
    checkStep(where, step);
  }
  checkNeeds(task, plan.steps);
}
