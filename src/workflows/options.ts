import { ActivityCancellationType } from '@temporalio/workflow';
import type { ActivityOptions } from '@temporalio/workflow';
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

/** How an attempt or a check is run: the ledger's lease decides, Temporal's timeouts stand behind it. */
export function activityOptions(step: StepView, what: 'attempt' | 'check'): ActivityOptions {
  const { next } = step;
  if (what === 'check' || next?.do !== 'attempt') {
    return { ...ledgerActivityOptions(`${step.name}: look at ${step.state === 'completed' ? 'the proof' : 'the outside'}`), startToCloseTimeout: CHECK_TIMEOUT_MS };
  }
  return {
    ...ledgerActivityOptions(`${step.name}: attempt ${String(step.attempt + 1)}`),
    startToCloseTimeout: next.timeout_ms + next.lease_ms * 2 + BACKSTOP_MS,
    // Two leases: the ledger's sweeper acts at one.
    heartbeatTimeout: next.lease_ms * 2,
  };
}
