import type { Logger } from 'pino';
import type { AnyTaskDefinition } from '../define/definition.ts';
import type { Door } from '../ledger/index.ts';
import type { ArtifactStore } from './artifacts.ts';

/** What the activities of one worker process work with. */
export interface ActivityDeps {
  readonly door: Door;
  readonly artifacts: ArtifactStore;
  /** By `type/version`. */
  readonly definitions: ReadonlyMap<string, AnyTaskDefinition>;
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

/** A settle or an outcome is worth waiting for while the ledger is away: what was done must be recorded. */
export const RECORD_PATIENCE_MS = 15 * 60_000;
/** A claim is not: Temporal repeats the activity. */
export const CLAIM_PATIENCE_MS = 5_000;
