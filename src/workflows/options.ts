import { ActivityCancellationType } from '@temporalio/workflow';
import type { ActivityOptions, LocalActivityOptions } from '@temporalio/workflow';
import type { StepView } from '../state/view.ts';

/** Only an unreachable ledger makes an activity throw something retryable. */
const retry = { initialInterval: '500ms', backoffCoefficient: 2, maximumInterval: '10s' } as const;

/** Short questions to the ledger; the summary is what Temporal's UI shows. */
export const ledgerActivityOptions = (summary: string): ActivityOptions => ({
  startToCloseTimeout: '60s',
  retry,
  // Temporal's cancellation of a running activity decides nothing.
  cancellationType: ActivityCancellationType.ABANDON,
  summary,
});

const CHECK_TIMEOUT_MS = 60_000;
/** Beyond the attempt's own deadline and its lease: a backstop, never a decision. */
const BACKSTOP_MS = 120_000;
type NextAttempt = Extract<StepView['next'], { do: 'attempt' }>;
const beyondLease = ({ timeout_ms, lease_ms }: NextAttempt): number => timeout_ms + lease_ms * 2 + BACKSTOP_MS;

/**
 * How an attempt, a check or a withdrawal is run: the ledger's lease decides, Temporal's timeouts stand behind it. `anywhere`:
 * not handed to the worker that runs this workflow, as the server would, but to any that asks.
 */
export function activityOptions(step: StepView, what: NonNullable<StepView['next']>['do'], anywhere: boolean): ActivityOptions {
  const { next } = step;
  if (next?.do === 'withdraw') {
    return { ...ledgerActivityOptions(`${step.name}: take back what was submitted`), allowEagerDispatch: !anywhere, startToCloseTimeout: next.timeout_ms + BACKSTOP_MS };
  }
  if (what === 'check' || next?.do !== 'attempt') {
    const summary = `${step.name}: look at ${step.state === 'completed' ? 'the proof' : 'the outside'}`;
    return { ...ledgerActivityOptions(summary), allowEagerDispatch: !anywhere, startToCloseTimeout: CHECK_TIMEOUT_MS };
  }
  return {
    ...ledgerActivityOptions(`${step.name}: attempt ${String(step.attempt + 1)}`),
    allowEagerDispatch: !anywhere,
    startToCloseTimeout: beyondLease(next),
    // Two leases: the ledger's sweeper acts at one.
    heartbeatTimeout: next.lease_ms * 2,
  };
}

/**
 * A quick attempt runs in the workflow's own task: no queue, no heartbeat. The ledger's lease decides here, too; if the
 * workflow's task is repeated, the attempt finds the step settled.
 */
export function quickOptions(next: NextAttempt, summary: string): LocalActivityOptions {
  return { retry, startToCloseTimeout: beyondLease(next), cancellationType: ActivityCancellationType.ABANDON, summary };
}
