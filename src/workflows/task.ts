/**
 * The life of one task: ask the ledger what is due, do it, ask again. Every decision that must survive is in
 * the ledger, so that any run can be replaced by another; here are only waiting, timers and fan-out.
 */
import {
  allHandlersFinished, ApplicationFailure, CancellationScope, CancelledFailure, condition, continueAsNew, isCancellation, log, proxyActivities, proxyLocalActivities, setCurrentDetails, setHandler,
  setWorkflowOptions, upsertSearchAttributes, workflowInfo,
} from '@temporalio/workflow';
import type { TaskActivities } from '../activities/types.ts';
import { LIMITS } from '../state/limits.ts';
import type { StepView, View } from '../state/view.ts';
import { activityOptions, ledgerActivityOptions, quickOptions } from './options.ts';
import { cancelSignal, cancelUpdate, driveSignal, statusQuery } from './messages.ts';
import { searchAttributeNames } from './names.ts';
import type { TaskInput, TaskOutcome } from './messages.ts';
import { detailsOf } from './details.ts';
import { searchAttribute } from './search-attributes.ts';

/** An activity that failed for good is asked about again after this long; the ledger decides what then. */
const AGAIN_MS = 5_000;
/** What should have run out by now and did not (a grace after an outage) is looked at again after this long. */
const WATCH_AGAIN_MS = 1_000;
/** No worker offers the type and version: the step stays queued, and is offered again, ever less often. */
const NO_HANDLER_MS = 1_000;
const NO_HANDLER_MS_MAX = 30_000;

const { look } = proxyActivities<TaskActivities>(ledgerActivityOptions('ask the ledger what is due'));
const { cancel } = proxyActivities<TaskActivities>(ledgerActivityOptions('cancel'));
const { enqueue } = proxyActivities<TaskActivities>(ledgerActivityOptions('accept the task'));
const { requestClose } = proxyActivities<TaskActivities>(ledgerActivityOptions('close as canceled'));

/** While an attempt runs, its answer is worth waiting for; so many times the usual limits are still below Temporal's own. */
const FULL_WHILE_RUNNING = 4;

function keyOf({ name, epoch }: StepView, next: NonNullable<StepView['next']>): string {
  if (next.do === 'check') return `${name}/check/${String(next.check_no)}`;
  return next.do === 'withdraw' ? `${name}/withdraw/${String(next.withdraw_no)}` : `${name}/attempt/${String(epoch)}`;
}

setWorkflowOptions({ failureExceptionTypes: [Error] }, task);
export async function task(input: TaskInput): Promise<TaskOutcome> {
  let view: View | null = input.view ?? null;
  let dirty = view === null;
  const temporal = { cancelRequested: false };
  let signals = 0;
  let shown = '';
  let readAt = Date.now();
  let unoffered = 0;
  /** The worker that runs this workflow does not offer its task: it must not be handed the activities for ever. */
  let anywhere = false;
  const asked: { id: string; by: string; why: string; step?: string }[] = [];
  /** Activities of this run by what they do: `step/attempt/epoch`, `step/check/number` or `step/withdraw/number`. */
  const running = new Set<string>();
  /** The next time at which something may be due, ms since the epoch of this workflow's clock. */
  const notBefore = new Map<string, number>();
  const { runId, workflowId } = workflowInfo();
  let id = input.task ?? (workflowId.startsWith('task/') && input.type === undefined ? workflowId.slice('task/'.length) : '');

  setHandler(driveSignal, (message) => {
    signals += 1;
    if (message?.seq === undefined || view === null || message.seq > view.seq) dirty = true;
  });
  setHandler(cancelSignal, (message) => {
    signals += 1;
    const { id: cancelId = `signal/${runId}/${String(signals)}`, by = 'temporal', why = 'cancel signal', step } = message ?? {};
    asked.push({ id: cancelId, by, why, ...(step === undefined ? {} : { step }) });
  });
  setHandler(cancelUpdate, async (message) => {
    signals += 1;
    await condition(() => id !== '');
    const answer = await CancellationScope.nonCancellable(() => cancel({ ...message, task: id }));
    dirty = true;
    return { id: answer.id, verdict: answer.verdict, steps: answer.steps.map(({ step, found, state, verdict, reason }) => ({ step, found, state, verdict, reason })) };
  });
  setHandler(statusQuery, () => view);

  // Temporal's own "request cancellation" is a cancel like any other: it decides nothing here.
  CancellationScope.current().cancelRequested.catch(() => {
    temporal.cancelRequested = true;
    asked.push({ id: `temporal/${runId}`, by: 'temporal', why: 'cancellation was requested in Temporal' });
  });

  const integrate = (next: View | null): void => {
    if (next === null || (view !== null && next.seq < view.seq)) return;
    view = next;
    readAt = Date.now();
    setCurrentDetails(detailsOf(next));
    if (input.searchAttributes === true && shown !== next.status && (shown !== '' || next.status !== 'queued')) {
      upsertSearchAttributes([searchAttribute(searchAttributeNames.state, next.status), searchAttribute(searchAttributeNames.reason, next.reason)]);
    }
    shown = next.status;
  };

  const start = (step: StepView, what: 'attempt' | 'check' | 'withdraw', key: string, current: View): void => {
    running.add(key);
    const { next } = step;
    const options = activityOptions(step, what, anywhere);
    const quick = what === 'attempt' && next?.do === 'attempt' && next.quick === true && !anywhere;
    const activities = quick ? proxyLocalActivities<TaskActivities>(quickOptions(next, options.summary ?? step.name)) : proxyActivities<TaskActivities>(options);
    const work = { task: id, type: current.type, version: current.version, step: step.name };
    void activities[what](work).then(
      (answer) => {
        running.delete(key);
        unoffered = answer.outcome === 'no_handler' ? unoffered + 1 : 0;
        anywhere ||= answer.outcome === 'no_handler';
        // `ms`: another worker offers it, and takes it sooner or later; without one it waits for one to come.
        const wait = answer.outcome === 'no_handler' && answer.ms === 0 ? Math.min(NO_HANDLER_MS * 2 ** Math.min(unoffered, 10), NO_HANDLER_MS_MAX) : answer.ms;
        if (answer.outcome !== 'settled') notBefore.set(step.name, Date.now() + wait);
        if (answer.view === null || answer.outcome === 'no_handler') return;
        integrate(answer.view);
      },
      (error: unknown) => {
        // Only what Temporal gives up on comes here (a coded refusal, a worker that vanished beyond its timeouts).
        running.delete(key);
        notBefore.set(step.name, Date.now() + AGAIN_MS);
        log.warn('an activity ended without an answer; the ledger is asked', { step: step.name, error: String(error) });
        dirty = true;
      },
    );
  };

  /** Starts what is due now; returns the wait in ms until the next step is due, or null if nothing is planned. */
  const act = (current: View): { readonly ms: number; readonly step: string } | null => {
    let wait: { readonly ms: number; readonly step: string } | null = null;
    const now = Date.now();
    for (const step of current.steps) {
      const { next } = step;
      if (next === undefined) continue;
      const key = keyOf(step, next);
      // A lease that this run's own attempt holds needs no watching: the attempt answers, or the sweeper does.
      if (next.do === 'watch' && [...running].some((other) => other.startsWith(`${step.name}/attempt/`))) continue;
      if (running.has(key)) continue;
      const due = Math.max(readAt + next.in_ms, notBefore.get(step.name) ?? 0);
      if (due > now) wait = wait !== null && wait.ms <= due - now ? wait : { ms: due - now, step: step.name };
      else if (next.do === 'watch') {
        notBefore.set(step.name, now + WATCH_AGAIN_MS);
        dirty = true;
      } else start(step, next.do, key, current);
    }
    return wait;
  };

  /** Temporal refuses more than so much of one run. What is not driven any more goes on: the next run watches its lease. */
  const full = (): boolean => {
    const { historyLength, continueAsNewSuggested } = workflowInfo();
    const patience = running.size === 0 ? 1 : FULL_WHILE_RUNNING;
    return signals >= LIMITS.signals_per_run_max * patience || historyLength >= LIMITS.history_events_max * patience || (running.size === 0 && continueAsNewSuggested);
  };

  const drive = async (): Promise<View> => {
    if (id === '') {
      if (input.type === undefined || input.key === undefined) throw ApplicationFailure.nonRetryable('start this workflow with {task} or with {type, key, input}', 'INPUT_INVALID');
      id = (await enqueue({ type: input.type, key: input.key, input: input.input, ...(input.version === undefined ? {} : { version: input.version }) })).task;
    }
    for (;;) {
      for (const message of asked.splice(0)) {
        // A cancel that is refused (an unknown step, an id used before) must not end the driver.
        await cancel({ ...message, task: id }).catch((error: unknown) => {
          log.warn('a cancel was refused', { cancel: message.id, error: String(error) });
        });
        dirty = true;
      }
      // Asked before what is dirty, or a stream of wake-ups could put it off for ever; the next run asks the ledger anyway.
      if (full()) {
        await condition(allHandlersFinished);
        if (asked.length > 0) continue;
        await continueAsNew<typeof task>({ task: id, ...(input.searchAttributes === undefined ? {} : { searchAttributes: input.searchAttributes }) });
      }
      const seen: View | null = view;
      if (dirty || seen === null) {
        dirty = false;
        integrate(await look({ task: id }));
        continue;
      }
      if (seen.at_rest) {
        // The last read was at rest, and nobody has woken us since: only then does the run end.
        if (allHandlersFinished()) return seen;
        await condition(allHandlersFinished);
        continue;
      }
      const wait = act(seen);
      const changed = (): boolean => dirty || asked.length > 0 || view !== seen;
      if (changed()) continue;
      if (wait === null) {
        const size = running.size;
        await condition(() => changed() || full() || running.size < size);
      } else {
        const size = running.size;
        await condition(() => changed() || full() || running.size < size, wait.ms, { summary: `until ${wait.step} is due` });
      }
    }
  };

  const rest = await CancellationScope.nonCancellable(drive);
  const outcome: TaskOutcome = { task: id, status: rest.status, reason: rest.reason, seq: rest.seq };
  if (rest.status === 'dead') throw ApplicationFailure.create({ message: `${rest.held_by ?? 'a step'} is dead: ${rest.reason}`, type: rest.reason, nonRetryable: true, details: [outcome] });
  if (rest.status === 'cancelled') {
    // A run closes as Canceled only if Temporal's own cancellation was requested, which it can't do itself.
    if (!temporal.cancelRequested) {
      await CancellationScope.nonCancellable(() => requestClose()).catch((error: unknown) => {
        if (!isCancellation(error)) throw error;
      });
      await CancellationScope.nonCancellable(() => condition(() => temporal.cancelRequested, '10s'));
    }
    throw new CancelledFailure(`cancelled: ${rest.reason}`, [outcome]);
  }
  return outcome;
}
