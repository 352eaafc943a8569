import { randomUUID } from 'node:crypto';
import type { Duration } from '../define/types.ts';
import { ThroughlineError } from '../errors.ts';
import { boundedText, Notifications } from '../ledger/index.ts';
import type { Database, NotificationPage, WebhookRow } from '../ledger/index.ts';
import { LIMITS, NOTIFICATION_STATUSES, NOTIFY_EVENT_NAMES } from '../state/index.ts';
import type { NotificationStatus, NotifyEvent } from '../state/index.ts';
import { checkedSecret, createSecret } from '../webhooks/signature.ts';
import { checkedUrl } from '../webhooks/url.ts';
import { checkedDelay, checkedTaskId, checkedUuid, checkPageLimit } from './checks.ts';

export interface WebhookInput {
  /** https, without user and fragment. Shown in lists: a token in it is shown, too. */
  readonly url: string;
  /** Default: every event. */
  readonly events?: readonly NotifyEvent[];
  /** Only tasks of these types. Default: every type. */
  readonly types?: readonly string[];
  /** `whsec_` and 24 to 64 bytes in base64. Default: a new one. */
  readonly secret?: string;
  /** http:// is sent readable to everybody on the way. Default false. */
  readonly allowHttp?: boolean;
  readonly by?: string;
  /** Makes it idempotent. */
  readonly id?: string;
}

export interface WebhookChange {
  readonly url?: string;
  readonly events?: readonly NotifyEvent[];
  readonly types?: readonly string[];
  readonly enabled?: boolean;
  readonly allowHttp?: boolean;
  readonly by?: string;
  readonly why?: string;
}

/** A webhook with its secret: the only time that it is shown. */
export type WebhookWithSecret = WebhookRow & { readonly secret: string };

export interface NotificationQuery {
  readonly id?: string;
  readonly webhook?: string;
  readonly task?: string;
  readonly status?: NotificationStatus;
  /** 1 to 500. Default 50. */
  readonly limit?: number;
  readonly cursor?: string;
}

/** Who is told when something ends, dies or waits for a person; see docs/webhooks.md. Throws ThroughlineError. */
export class Webhooks {
  readonly #ledger: Notifications;
  readonly #by: string;

  constructor(database: Database, by: string) {
    this.#ledger = new Notifications(database);
    this.#by = by;
  }

  /** Adds a webhook. Keep the secret of the answer: it is not shown again. INPUT_INVALID, ID_CONFLICT. */
  async add(input: WebhookInput): Promise<WebhookWithSecret> {
    const secret = input.secret === undefined ? createSecret() : checkedSecret(input.secret);
    const row = await this.#ledger.webhookAdd({
      id: input.id === undefined ? randomUUID() : checkedUuid(input.id, '/id'), url: checkedUrl(input.url, input.allowHttp === true), secret,
      events: checkedEvents(input.events ?? NOTIFY_EVENT_NAMES), types: checkedTypes(input.types ?? []), by: this.#who(input.by),
    });
    return { ...row, secret };
  }

  list(): Promise<readonly WebhookRow[]> {
    return this.#ledger.webhooks();
  }

  /** Changes what is given. Disabled, nothing new is written for it, and what is pending waits. WEBHOOK_UNKNOWN, INPUT_INVALID. */
  change(id: string, change: WebhookChange): Promise<WebhookRow> {
    const { url, events, types, enabled, why } = change;
    return this.#ledger.webhookChange(checkedUuid(id, '/webhook'), {
      ...(url === undefined ? {} : { url: checkedUrl(url, change.allowHttp === true) }),
      ...(events === undefined ? {} : { events: checkedEvents(events) }),
      ...(types === undefined ? {} : { types: checkedTypes(types) }),
      ...(enabled === undefined ? {} : { enabled }),
      ...(why === undefined ? {} : { why: boundedText(why, '/why', LIMITS.why_chars_max) }),
      by: this.#who(change.by),
    });
  }

  /** A new secret. The one before signs as well for `overlap` (default 24 h), so that the receiver can change over. */
  async rotate(id: string, options: { readonly secret?: string; readonly overlap?: Duration; readonly by?: string } = {}): Promise<WebhookWithSecret> {
    const secret = options.secret === undefined ? createSecret() : checkedSecret(options.secret);
    const overlap = options.overlap === undefined ? LIMITS.webhook_overlap_ms_default : checkedDelay(options.overlap, '/overlap');
    if (overlap > LIMITS.webhook_overlap_ms_max) throw new ThroughlineError('INPUT_INVALID', { path: '/overlap', limit: LIMITS.webhook_overlap_ms_max });
    const row = await this.#ledger.webhookRotate(checkedUuid(id, '/webhook'), { secret, overlap_ms: overlap, by: this.#who(options.by) });
    return { ...row, secret };
  }

  /** Removes it and forgets its secrets; what is still pending is dropped, what was sent stays on record. */
  remove(id: string, options: { readonly by?: string } = {}): Promise<{ readonly removed: true; readonly dropped: number }> {
    return this.#ledger.webhookRemove(checkedUuid(id, '/webhook'), { by: this.#who(options.by) });
  }

  /** Has `webhook.test` sent, through the outbox as everything else: a worker sends it. */
  test(id: string, options: { readonly by?: string; readonly id?: string } = {}): Promise<{ readonly notification: string; readonly enabled: boolean }> {
    return this.#ledger.webhookTest(checkedUuid(id, '/webhook'), { id: options.id === undefined ? randomUUID() : checkedUuid(options.id, '/id'), by: this.#who(options.by) });
  }

  /** What was, is or could not be sent, newest first. FILTER_INVALID, CURSOR_INVALID. */
  notifications(query: NotificationQuery = {}): Promise<NotificationPage> {
    const { id, webhook, task, status, limit = LIMITS.page_rows_default, cursor } = query;
    checkPageLimit(limit);
    if (status !== undefined && !NOTIFICATION_STATUSES.includes(status)) throw new ThroughlineError('FILTER_INVALID', { path: '/status', message: `The status must be one of ${NOTIFICATION_STATUSES.join(', ')}.` });
    return this.#ledger.list({
      limit,
      ...(id === undefined ? {} : { id: checkedUuid(id, '/id') }), ...(webhook === undefined ? {} : { webhook: checkedUuid(webhook, '/webhook') }),
      ...(task === undefined ? {} : { task: checkedTaskId(task) }), ...(status === undefined ? {} : { status }), ...(cursor === undefined ? {} : { cursor }),
    });
  }

  /** Sends a parked notification again, with a fresh budget. NOTIFICATION_UNKNOWN. */
  unpark(id: string, action: { readonly why: string; readonly by?: string }): Promise<{ readonly unparked: boolean; readonly status?: NotificationStatus }> {
    return this.#ledger.notificationUnpark(checkedUuid(id, '/notification'), { by: this.#who(action.by), why: boundedText(action.why, '/why', LIMITS.why_chars_max) });
  }

  #who(by: string | undefined): string {
    return boundedText(by ?? this.#by, '/by', LIMITS.actor_chars_max);
  }
}

function checkedEvents(events: readonly string[]): readonly string[] {
  const unknown = events.find((event) => !(NOTIFY_EVENT_NAMES as readonly string[]).includes(event));
  if (unknown !== undefined || events.length === 0) {
    throw new ThroughlineError('INPUT_INVALID', { path: '/events', message: `Events are one or more of ${NOTIFY_EVENT_NAMES.join(', ')}.` });
  }
  return [...new Set(events)];
}

function checkedTypes(types: readonly string[]): readonly string[] {
  if (types.length > LIMITS.webhook_types_max) throw new ThroughlineError('INPUT_INVALID', { path: '/types', limit: LIMITS.webhook_types_max });
  for (const type of types) boundedText(type, '/types', LIMITS.name_chars_max);
  return [...new Set(types)];
}

export type { NotificationPage, NotificationRow, WebhookRow } from '../ledger/index.ts';
