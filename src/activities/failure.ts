import type { FailureRow, Stored } from '../ledger/index.ts';
import { classify, LIMITS } from '../state/index.ts';
import type { Classified, Stage } from '../state/index.ts';
import { masked, secretsOf } from './secrets.ts';
import type { ThrownRecord } from './thrown.ts';

/** A thrown value as the ledger keeps it, without the secrets of the task's input, and what follows from its category. */
export function failureRow(record: ThrownRecord, stage: Stage, input: unknown): { readonly row: FailureRow; readonly classified: Classified } {
  const classified = classify(record.facts);
  const retryAfterMs = classified.retryAfterMs === null ? null : Math.min(classified.retryAfterMs, LIMITS.retry_after_ms_max);
  return {
    classified: { ...classified, retryAfterMs },
    row: masked({
      category: classified.category,
      stage,
      name: record.name,
      message: record.message,
      ...(record.code === null ? {} : { code: record.code }),
      ...(record.facts.httpStatus === undefined ? {} : { http_status: record.facts.httpStatus }),
      ...(record.causes.length === 0 ? {} : { causes: record.causes as unknown as readonly Stored[] }),
      ...(record.cut === 0 ? {} : { cut: record.cut }),
    }, secretsOf(input)),
  };
}
