import { randomUUID } from 'node:crypto';
import type { RunHandlers } from '../define/definition.ts';
import type { WithdrawAnswer } from '../define/types.ts';
import { ThroughlineError } from '../errors.ts';
import type { WithdrawalClaimed, WithdrawalRow } from '../ledger/index.ts';
import { effectAnswer, WITHDRAW_EFFECT } from '../state/index.ts';
import { traced } from '../tracing/spans.ts';
import { clip, visible } from '../define/text.ts';
import { CLAIM_PATIENCE_MS, definitionKey, noHandler, RECORD_PATIENCE_MS } from './deps.ts';
import type { ActivityDeps } from './deps.ts';
import { saysItself, withinTime } from './effect.ts';
import { failureRow } from './failure.ts';
import { notGranted } from './granted.ts';
import { readInput } from './input.ts';
import { readThrown } from './thrown.ts';
import type { ActivityAnswer, StepInput } from './types.ts';

type Outcome = Omit<WithdrawalRow, 'message_id' | 'holder'>;

/** One request of a withdrawal: claimed with the permission to send, called, recorded. */
export async function runWithdrawal(deps: ActivityDeps, input: StepInput): Promise<ActivityAnswer> {
  const definition = deps.definitions.get(definitionKey(input.type, input.version));
  const handlers = definition?.steps.get(input.step);
  if (definition === undefined || handlers?.withdraw === undefined) return noHandler(deps, input);
  const claim = randomUUID();
  // The permission counts from before asking: what the answer took is gone already.
  const askedAt = performance.now();
  const granted = await deps.door.withdrawalClaim(input.task, input.step, claim, deps.holder, { patienceMs: CLAIM_PATIENCE_MS });
  if ('refused' in granted) return notGranted(granted);
  const mayStillSend = performance.now() - askedAt <= granted.send_within_ms;
  const outcome: Outcome = mayStillSend ? await call(input, handlers as RunHandlers & Required<Pick<RunHandlers, 'withdraw'>>, { ...granted, input: readInput(definition, granted) }) : { outcome: 'not_sent' };
  const answer = await deps.door.withdrawalOutcome(input.task, input.step, { message_id: granted.message_id, holder: deps.holder, ...outcome }, { patienceMs: RECORD_PATIENCE_MS });
  return { outcome: 'settled', ms: 0, view: answer.view };
}

async function call({ task, step }: StepInput, handlers: RunHandlers & Required<Pick<RunHandlers, 'withdraw'>>, granted: WithdrawalClaimed): Promise<Outcome> {
  const { submission, message_id: messageId, key, thread_id: threadId, timeout_ms: timeoutMs, input, results } = granted;
  const attributes = { 'throughline.task': task, 'throughline.step': step, 'throughline.effect': WITHDRAW_EFFECT, 'throughline.message': messageId, 'throughline.generation': granted.generation };
  try {
    const answer = await traced(`effect ${WITHDRAW_EFFECT}`, attributes, () =>
      withinTime(
        () =>
          handlers.withdraw({
            taskId: task, step, key, messageId, threadId, reference: { task, step, effect: WITHDRAW_EFFECT, item: '' },
            submission: {
              effect: submission.effect, item: submission.item, key: submission.key, messageIds: submission.message_ids, externalId: submission.external_id,
              result: granted.result,
            },
            input, results, signal: AbortSignal.timeout(timeoutMs), timeoutMs,
          }),
        timeoutMs,
      ),
    );
    return said(answer, input);
  } catch (thrown) {
    const record = readThrown(thrown);
    const outcome = saysItself(record) ?? effectAnswer(record.facts);
    const { row, classified } = failureRow(record, 'send', input);
    const { retryable, retryAfterMs } = classified;
    return { outcome, error: row, again: retryable, ...(retryAfterMs === null ? {} : { retry_after_ms: retryAfterMs }) };
  }
}

/** What the handler returned; anything but one of the two answers says nothing of what happened outside. */
function said(answer: WithdrawAnswer | undefined, input: unknown): Outcome {
  if (answer?.outcome === 'confirmed') return { outcome: 'confirmed' };
  if (answer?.outcome !== 'refused') {
    const { row } = failureRow(readThrown(new ThroughlineError('RESULT_INVALID', { path: '/withdraw/outcome', message: 'A withdrawal answers confirmed or refused.' })), 'execute', input);
    return { outcome: 'lost', error: row };
  }
  const text = (value: unknown, charsMax: number): string => (typeof value === 'string' ? clip(visible(value), charsMax).text : '');
  const code = text(answer.code, 200);
  return { outcome: 'refused', error: { category: 'rejected', stage: 'send', name: 'Refused', message: text(answer.detail, 300) || 'the other side refused to take it back', ...(code === '' ? {} : { code }) } };
}
