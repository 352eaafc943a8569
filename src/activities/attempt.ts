import { randomUUID } from 'node:crypto';
import type { AnyTaskDefinition, HandlerSet } from '../define/definition.ts';
import type { ReviewAnswer } from '../define/types.ts';
import type { Json } from '../define/json.ts';
import { storable } from '../define/storable.ts';
import { ThroughlineError } from '../errors.ts';
import type { Claimed, SettleRow } from '../ledger/index.ts';
import { traced } from '../tracing/spans.ts';
import { LIMITS } from '../state/index.ts';
import type { PlanStep, Stage } from '../state/index.ts';
import { runCheck } from './check.ts';
import { createContext } from './context.ts';
import { CLAIM_PATIENCE_MS, definitionKey, noHandler, RECORD_PATIENCE_MS } from './deps.ts';
import type { ActivityDeps } from './deps.ts';
import { failureRow } from './failure.ts';
import { Lease } from './lease.ts';
import { AttemptStop } from './stops.ts';
import { readThrown } from './thrown.ts';
import { notGranted } from './granted.ts';
import { readInput } from './input.ts';
import type { ActivityAnswer, StepInput } from './types.ts';

/** A handler whose signal was aborted may end by itself for this long before its attempt is settled without it. */
const TIMEOUT_GRACE_MS = 1_000;

type Ending = Pick<SettleRow, 'how' | 'result' | 'error' | 'retryable' | 'retry_after_ms' | 'review'>;

/** One attempt of a step: claim → handler → settle, and the first look at its proof. */
export async function runAttempt(deps: ActivityDeps, input: StepInput, heartbeat: () => void): Promise<ActivityAnswer> {
  const definition = deps.definitions.get(definitionKey(input.type, input.version));
  const handlers = definition?.steps.get(input.step);
  const plan = definition?.plan.steps.find((step) => step.name === input.step);
  if (definition === undefined || handlers === undefined || plan === undefined) return noHandler(deps, input);
  const stopping = (): boolean => deps.shutdown.aborted;
  if (stopping()) return { outcome: 'not_yet', ms: 500, view: null };

  const claim = randomUUID();
  const claimed = await deps.door.stepClaim(input.task, input.step, claim, deps.holder, { patienceMs: CLAIM_PATIENCE_MS });
  if ('refused' in claimed) return notGranted(claimed);
  const log = deps.log.child({ task: input.task, step: input.step, attempt: claimed.attempt, epoch: claimed.epoch });
  log.debug('claimed');
  const attempt = new Attempt(deps, input, claim, claimed, definition, handlers, plan);
  const ending = await traced(`attempt ${input.step}`, attempt.attributes, () => attempt.run(heartbeat));
  if (ending === null) {
    log.warn({ why: attempt.stopped?.message }, 'the claim was lost; the ledger is asked what holds');
    return { outcome: 'settled', ms: 0, view: await deps.door.taskLook(input.task, null, { patienceMs: RECORD_PATIENCE_MS }) };
  }
  const answer = await deps.door.stepSettle(input.task, input.step, { claim, epoch: claimed.epoch, holder: deps.holder, ...ending }, { patienceMs: RECORD_PATIENCE_MS });
  if ('refused' in answer) log.warn({ how: ending.how, why: answer.refused === 'fenced' ? meets(claimed.epoch, answer.epoch) : answer.state }, 'the settle was refused; it was kept as late');
  else log.debug({ how: ending.how, category: ending.error?.category }, 'settled');
  const due = answer.view.steps.find((step) => step.name === input.step);
  if (due?.state === 'completed' && due.next?.in_ms === 0 && !stopping()) return runCheck(deps, input);
  return { outcome: 'settled', ms: 0, view: answer.view };
}

const meets = (claimed: number, current: number): string => `claim of epoch ${String(claimed)} meets epoch ${String(current)}`;

class Attempt {
  readonly #deps: ActivityDeps;
  readonly #input: StepInput;
  readonly #claim: string;
  readonly #claimed: Claimed;
  readonly #definition: AnyTaskDefinition;
  readonly #handlers: HandlerSet;
  readonly #plan: PlanStep;
  readonly #abort = new AbortController();
  #stopped: AttemptStop | null = null;
  #endNow: (stop: AttemptStop) => void = () => undefined;

  constructor(deps: ActivityDeps, input: StepInput, claim: string, claimed: Claimed, definition: AnyTaskDefinition, handlers: HandlerSet, plan: PlanStep) {
    this.#deps = deps;
    this.#input = input;
    this.#claim = claim;
    this.#claimed = claimed;
    this.#definition = definition;
    this.#handlers = handlers;
    this.#plan = plan;
  }

  get attributes(): Readonly<Record<string, string | number>> {
    const { task, step, type } = this.#input;
    return { 'throughline.task': task, 'throughline.type': type, 'throughline.step': step, 'throughline.attempt': this.#claimed.attempt, 'throughline.epoch': this.#claimed.epoch };
  }

  /** Why it was stopped from outside of its handler; null: it was not. */
  get stopped(): AttemptStop | null {
    return this.#stopped;
  }

  /** How the attempt ended; null: the claim is not ours any more, there is nothing to settle. */
  async run(heartbeat: () => void): Promise<Ending | null> {
    const { task, step } = this.#input;
    const endedNow = new Promise<AttemptStop>((resolve) => {
      this.#endNow = resolve;
    });
    const lease = new Lease(
      this.#deps.door,
      { task, step, claim: this.#claim, leaseMs: this.#claimed.lease_ms, holder: this.#deps.holder },
      {
        renewed: heartbeat,
        cancelAsked: () => this.#stop(new AttemptStop('boundary', 'a cancel was asked')),
        lost: (epoch) => { this.#endNow(this.#stop(new AttemptStop('fenced', meets(this.#claimed.epoch, epoch)))); },
      },
    );
    const deadline = this.#stopAfter(this.#plan.timeout_ms, TIMEOUT_GRACE_MS, () => new AttemptStop('timeout', `the attempt took longer than ${String(this.#plan.timeout_ms)} ms`));
    let grace: NodeJS.Timeout | undefined;
    const onShutdown = (): void => {
      const stop = this.#stop(new AttemptStop('shutdown', 'the worker shuts down'));
      grace = setTimeout(() => { this.#endNow(stop); }, this.#deps.shutdownGraceMs);
    };
    this.#deps.shutdown.addEventListener('abort', onShutdown, { once: true });
    if (this.#deps.shutdown.aborted) onShutdown();
    try {
      const handled = this.#handle();
      // An attempt that was settled without its handler must not become an unhandled rejection later.
      handled.catch(() => undefined);
      const ending = await Promise.race([handled, endedNow]);
      return ending instanceof AttemptStop ? this.#endingOf(ending) : ending;
    } catch (thrown) {
      return this.#endingOf(thrown);
    } finally {
      lease.stop();
      clearTimeout(deadline.first);
      clearTimeout(deadline.second);
      clearTimeout(grace);
      this.#deps.shutdown.removeEventListener('abort', onShutdown);
    }
  }

  #stop(stop: AttemptStop): AttemptStop {
    this.#stopped ??= stop;
    this.#abort.abort(this.#stopped);
    return this.#stopped;
  }

  #stopAfter(ms: number, graceMs: number, why: () => AttemptStop): { first: NodeJS.Timeout; second: NodeJS.Timeout | undefined } {
    const timers: { first: NodeJS.Timeout; second: NodeJS.Timeout | undefined } = {
      first: setTimeout(() => {
        const stop = this.#stop(why());
        timers.second = setTimeout(() => { this.#endNow(stop); }, graceMs);
      }, ms),
      second: undefined,
    };
    return timers;
  }

  async #handle(): Promise<Ending | null> {
    const { task, step } = this.#input;
    const handlers = this.#handlers;
    const context = createContext({
      deps: this.#deps, task, step, claim: this.#claim, claimed: { ...this.#claimed, input: readInput(this.#definition, this.#claimed) }, plan: this.#plan, parseResult: handlers.parseResult, signal: this.#abort.signal, attributes: this.attributes,
      stop: (stop) => this.#stop(stop),
    });
    if (handlers.kind === 'review') return { how: 'review', review: reviewOf(await handlers.run(context)) };
    const returned = await handlers.run(context);
    // A handler that swallowed a lost answer or a lost claim has not made it come back.
    if (this.#stopped?.kind === 'lost' || this.#stopped?.kind === 'fenced') return this.#endingOf(this.#stopped);
    return { how: this.#plan.receipt === null ? 'done' : 'submitted', result: handlers.parseResult(returned) };
  }

  #endingOf(thrown: unknown): Ending | null {
    const stop = this.#stopped;
    switch (stop?.kind) {
      case 'fenced':
        return null;
      case 'boundary':
        return { how: 'boundary' };
      case 'shutdown':
        return { how: 'release' };
      case 'lost':
        return this.#failed('lost', stop.cause ?? stop, 'receive');
      case 'timeout':
        return this.#failed('failed', new DOMException(stop.message, 'TimeoutError'), 'execute');
      case undefined:
        return this.#failed('failed', thrown, 'execute');
    }
  }

  #failed(how: 'failed' | 'lost', thrown: unknown, stage: Stage): Ending {
    const { row, classified } = failureRow(readThrown(thrown), stage, this.#claimed.input);
    return { how, error: row, retryable: classified.retryable, ...(classified.retryAfterMs === null ? {} : { retry_after_ms: classified.retryAfterMs }) };
  }
}

function reviewOf(answer: ReviewAnswer): NonNullable<SettleRow['review']> {
  const words = 'ask' in answer ? '' : 'approve' in answer ? answer.approve : answer.reject;
  if (typeof words !== 'string' || words.length > LIMITS.why_chars_max) throw new ThroughlineError('RESULT_TOO_LARGE', { path: '/review', limit: LIMITS.why_chars_max });
  const stored: Json = storable(answer.note ?? null, '/review/note', LIMITS.result_bytes_max);
  const note = { note: stored };
  if ('ask' in answer) return note;
  return { ...note, decision: { verdict: 'approve' in answer ? 'approved' : 'rejected', by: 'automatic-checks', why: storable(words, '/review/why', LIMITS.why_chars_max * 6) as string } };
}
