import { randomInt } from 'node:crypto';
import type { Logger } from 'pino';
import { readThrown } from '../activities/thrown.ts';
import { ThroughlineError } from '../errors.ts';
import type { Notifications, Reader, TakenNotification } from '../ledger/index.ts';
import { backoffMs, LIMITS } from '../state/index.ts';
import type { Backoff } from '../state/index.ts';
import type { AddressPolicy } from '../webhooks/address.ts';
import { post, retryAfterMs } from '../webhooks/post.ts';
import { sign } from '../webhooks/signature.ts';
import { noticeBody } from './notice.ts';

export interface NotifierOptions {
  readonly notifications: Notifications;
  readonly reader: Reader;
  readonly addresses: AddressPolicy;
  readonly log: Logger;
  /** Aborts what is being sent; it will be sent again. */
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  readonly holdMs?: number;
}

export interface NotifyCounts {
  /** Written now since time has passed: steps that are unconfirmed for long. */
  readonly found: number;
  readonly taken: number;
  readonly sent: number;
  readonly failed: number;
  readonly parked: number;
}

const BACKOFF: Backoff = { initial_ms: 5_000, factor: 4, max_ms: 6 * 3_600_000, jitter: 0.2 };
const GONE = 410;
/** Answers that ask the sender to leave the endpoint alone, not only this message. */
const BUSY: ReadonlySet<number> = new Set([429, 503]);
const USER_AGENT = 'throughline';

/** The wait before the next try: grows with the tries, a part of it at random, never before Retry-After. */
export function notifyRetryMs(attempts: number, retryAfter: number | null): number {
  const wait = backoffMs(BACKOFF, attempts + 1);
  const jittered = wait - randomInt(Math.floor(wait * BACKOFF.jitter) + 1);
  return Math.max(jittered, retryAfter ?? 0);
}

/**
 * Sends notifications to webhooks. Any number of senders may run: a row is claimed for a while, and nothing is sent
 * after that. A sender that dies between the answer and its record makes the message arrive twice, under one `webhook-id`.
 */
export class Notifier {
  readonly #options: NotifierOptions;

  constructor(options: NotifierOptions) {
    this.#options = options;
  }

  /** One bounded pass. Throws if the ledger can't be reached. */
  async runOnce(): Promise<NotifyCounts> {
    const { notifications, holdMs = LIMITS.notify_hold_ms } = this.#options;
    const found = await notifications.notificationFind(LIMITS.notify_unconfirmed_ms, LIMITS.notify_window_ms, LIMITS.notify_batch_rows);
    // From before asking: the ledger's hold ends later than this.
    const until = performance.now() + holdMs;
    const rows = await notifications.notificationTake(LIMITS.notify_batch_rows, LIMITS.notify_each_rows, holdMs);
    const counts = { found, taken: rows.length, sent: 0, failed: 0, parked: 0 };
    const outcomes = await Promise.allSettled(rows.map((row) => this.#handle(row, until)));
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome.status === 'fulfilled') {
        counts[outcome.value === 'sent' ? 'sent' : 'failed'] += 1;
        if (outcome.value === 'parked') counts.parked += 1;
      } else {
        // It is taken again when its hold is over.
        counts.failed += 1;
        this.#options.log.warn({ notification: rows[index]?.id, err: outcome.reason as unknown }, "a notification's outcome was not recorded");
      }
    }
    return counts;
  }

  async #handle(row: TakenNotification, until: number): Promise<'sent' | 'failed' | 'parked'> {
    const { notifications, reader, addresses, log, signal, timeoutMs = LIMITS.webhook_timeout_ms } = this.#options;
    const failed = async (error: string, more: { readonly status?: number; readonly retryAfter?: number | null; readonly park?: true; readonly gone?: true }): Promise<'failed' | 'parked'> => {
      const { status, retryAfter = null, park, gone } = more;
      const answer = await notifications.notificationFailed(row.id, {
        take: row.take, error, retry_ms: notifyRetryMs(row.attempts, retryAfter), attempts_max: LIMITS.webhook_attempts_max,
        ...(status === undefined ? {} : { http_status: status }),
        ...(retryAfter !== null && status !== undefined && BUSY.has(status) ? { quiet_ms: retryAfter } : {}),
        ...(park === undefined ? {} : { park }), ...(gone === undefined ? {} : { gone }),
      });
      log.warn({ notification: row.id, webhook: row.webhook, event: row.event, task: row.task, status, why: error, parked: answer.parked }, 'a notification was not delivered');
      return answer.parked ? 'parked' : 'failed';
    };
    let answer;
    try {
      const body = row.body ?? (await notifications.notificationBody(row.id, noticeBody(row, row.task === null ? null : await reader.taskRecord(row.task)))).body;
      if (performance.now() + timeoutMs > until) return await failed('not sent: there was no time left before another sender may take it', {});
      const headers = sign({ id: row.id, at: new Date(row.now), body, secrets: row.secrets });
      answer = await post({ url: row.url, headers: { ...headers, 'user-agent': USER_AGENT }, body, addresses, timeoutMs, ...(signal === undefined ? {} : { signal }) });
    } catch (error) {
      // Our own stop is no failure of the endpoint's: another sender takes it when the hold is over.
      if (signal?.aborted === true) throw error;
      // An address that may not be called is for a person: the URL is wrong, or the configuration.
      const isRefused = error instanceof ThroughlineError && error.code === 'ADDRESS_REFUSED';
      return failed(shortly(error), isRefused ? { park: true } : {});
    }
    const { status } = answer;
    if (status >= 200 && status < 300) {
      await notifications.notificationSent(row.id, status);
      return 'sent';
    }
    const retryAfter = retryAfterMs(answer.retryAfter, new Date(row.now));
    if (status === GONE) return failed('the endpoint is gone (410): the webhook was disabled', { status, park: true, gone: true });
    const isRedirect = status >= 300 && status < 400;
    return failed(isRedirect ? `answered ${String(status)}: redirects are not followed` : `answered ${String(status)}`, { status, retryAfter });
  }
}

/** Code and sentence of the real cause, without its chain. */
function shortly(thrown: unknown): string {
  const { name, code, message } = readThrown(thrown);
  return `${code ?? name}: ${message}`.slice(0, 500);
}
