import type { Logger } from 'pino';
import type { AnyTaskDefinition } from '../define/definition.ts';
import type { Door } from '../ledger/index.ts';
import type { ArtifactStore } from './artifacts.ts';
import type { ActivityAnswer, StepInput } from './types.ts';

/** What the activities of one worker process work with. */
export interface ActivityDeps {
  readonly door: Door;
  readonly artifacts: ArtifactStore;
  /** By `type/version`. */
  readonly definitions: ReadonlyMap<string, AnyTaskDefinition>;
  /** How many live workers offer a type and version. */
  readonly offers: (type: string, version: number) => Promise<number>;
  /** Process instance and boot: never the same after a restart. */
  readonly holder: string;
  readonly log: Logger;
  /** Aborts when the worker stops: handlers stop at their next boundary. */
  readonly shutdown: AbortSignal;
  /** How long handlers may go on after that, ms; then their claims are given back all the same. */
  readonly shutdownGraceMs: number;
  /** Asks Temporal to close a run as cancelled. */
  readonly requestCancellation: (workflowId: string, runId: string) => Promise<void>;
}

export const definitionKey = (type: string, version: number): string => `${type}/${String(version)}`;

/** What this worker has no handlers for is soon offered again if another worker has them: they share a queue. */
const OFFERED_ELSEWHERE_MS = 250;

export async function noHandler(deps: ActivityDeps, { type, version }: StepInput): Promise<ActivityAnswer> {
  const offers = await deps.offers(type, version);
  return { outcome: 'no_handler', ms: offers > 0 ? OFFERED_ELSEWHERE_MS : 0, view: null };
}

/** A settle or an outcome is worth waiting for while the ledger is away: what was done must be recorded. */
export const RECORD_PATIENCE_MS = 15 * 60_000;
/** A claim is not: Temporal repeats the activity. */
export const CLAIM_PATIENCE_MS = 5_000;
