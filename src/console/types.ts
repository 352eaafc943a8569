/** What pages are made from: the client's own answers. */
import type { FastifyRequest } from 'fastify';
import type { Caller } from '../api/caller.ts';
import type { BulkRow } from '../client/bulk.ts';
import type { ThroughlineClient } from '../client/client.ts';
import type { ThroughlineError } from '../errors.ts';

export type TaskRecord = Awaited<ReturnType<ThroughlineClient['record']>>;
export type ReceiptPage = Awaited<ReturnType<ThroughlineClient['receipts']>>;
export type BulkKind = BulkRow['kind'];
export type TimelineRow = TaskRecord['timeline'][number];

export interface ConsoleOptions {
  readonly client: ThroughlineClient;
  /** Where artifacts are read from; null: previews can't be shown here. */
  readonly artifacts: { get(uri: string): Promise<Uint8Array> } | null;
  /** Aborted when the server stops: live pages end. */
  readonly stopping: AbortSignal;
  /** A live page with nothing to say looks again after this long, ms. */
  readonly beatMs: number;
  /** Whose token it is. Throws TOKEN_INVALID; RATE_LIMITED where this address tried too many. */
  readonly identify: (token: string, request: FastifyRequest) => Promise<Caller>;
  /** Every refusal is recorded as the API's are. */
  readonly refused: (request: FastifyRequest, error: ThroughlineError) => void;
  /** The coded form of whatever a request met. */
  readonly coded: (error: unknown, request: FastifyRequest) => ThroughlineError;
  /** Sessions are sealed with it: the same for every process that serves one console. Default: one of this process's own, so that its sessions end with it. */
  readonly sessionKey?: string;
  /** Temporal's web UI, for links; absent: no link is shown. */
  readonly temporalUi?: { readonly url: string; readonly namespace: string };
}
