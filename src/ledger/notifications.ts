/** The door's and the reader's part for webhooks and notifications: one method for each function of 85-notify.sql and 86-webhook.sql. */
import type { NotificationStatus } from '../state/index.ts';
import { ThroughlineError } from '../errors.ts';
import { isUuid } from './cursor.ts';
import type { Database } from './database.ts';
import type { Stored } from './types.ts';

/** A webhook as it may be shown: without its secrets. Times are ISO 8601 in UTC. */
export interface WebhookRow {
  readonly id: string;
  readonly url: string;
  readonly events: readonly string[];
  /** Empty: tasks of every type. */
  readonly types: readonly string[];
  readonly enabled: boolean;
  readonly disabled_why: string | null;
  /** How many secrets sign at present: two while one is being replaced. */
  readonly secrets: number;
  readonly created_at: string;
  readonly created_by: string;
  readonly changed_at: string;
  readonly changed_by: string;
  /** The endpoint asked to be left alone until then; null: it didn't. */
  readonly quiet_until: string | null;
  readonly pending: number;
  readonly parked: number;
}

export interface NotificationRow {
  /** The `webhook-id` of each request. */
  readonly id: string;
  readonly webhook: string;
  readonly url: string;
  readonly event: string;
  /** null: about no task. */
  readonly task: string | null;
  readonly step: string | null;
  readonly at: string;
  readonly status: NotificationStatus;
  readonly attempts: number;
  /** When it is tried (again); null: not any more. */
  readonly next_at: string | null;
  /** Of the last answer; null: none came. */
  readonly http_status: number | null;
  readonly last_error: string | null;
  readonly ended_at: string | null;
}

export interface NotificationPage {
  readonly rows: readonly NotificationRow[];
  /** null: this was the last page. */
  readonly cursor: string | null;
}

/** What a sender holds. Has secrets: never logged, never answered. */
export interface TakenNotification {
  readonly id: string;
  readonly take: number;
  readonly attempts: number;
  readonly event: string;
  readonly task: string | null;
  readonly step: string | null;
  readonly at: string;
  readonly facts: Readonly<Record<string, Stored>>;
  readonly body: string | null;
  /** The ledger's time when it was taken. */
  readonly now: string;
  readonly webhook: string;
  readonly url: string;
  readonly secrets: readonly string[];
}

export interface NotificationFilter {
  readonly id?: string;
  readonly webhook?: string;
  readonly task?: string;
  readonly status?: NotificationStatus;
  readonly limit: number;
  /** The id of the last row before. */
  readonly cursor?: string;
}

const LIST = `
select n.id, n.webhook_id as webhook, w.url, n.event, n.task_id as task, n.step, throughline._iso(n.at) as at, n.status, n.attempts,
  case when n.status = 'pending' then throughline._iso(greatest(n.not_before, w.not_before)) end as next_at, n.http_status, n.last_error, throughline._iso(n.ended_at) as ended_at
from throughline.notification n join throughline.webhook w on w.id = n.webhook_id
where ($1::uuid is null or n.id = $1) and ($2::uuid is null or n.webhook_id = $2) and ($3::uuid is null or n.task_id = $3) and ($4::text is null or n.status = $4)
  and ($5::uuid is null or n.id < $5)
order by n.id desc limit $6`;

export class Notifications {
  readonly #db: Database;

  constructor(database: Database) {
    this.#db = database;
  }

  // ---- Who is told what
  webhookAdd(row: { id: string; url: string; secret: string; events: readonly string[]; types: readonly string[]; by: string }): Promise<WebhookRow> {
    return this.#db.call('webhook_add', [row]);
  }

  webhookChange(id: string, row: { url?: string; events?: readonly string[]; types?: readonly string[]; enabled?: boolean; why?: string; by: string }): Promise<WebhookRow> {
    return this.#db.call('webhook_change', [id, row]);
  }

  webhookRotate(id: string, row: { secret: string; overlap_ms: number; by: string }): Promise<WebhookRow> {
    return this.#db.call('webhook_rotate', [id, row]);
  }

  webhookRemove(id: string, row: { by: string }): Promise<{ removed: true; dropped: number }> {
    return this.#db.call('webhook_remove', [id, row]);
  }

  webhookTest(id: string, row: { id: string; by: string }): Promise<{ notification: string; enabled: boolean }> {
    return this.#db.call('webhook_test', [id, row]);
  }

  notificationUnpark(id: string, row: { by: string; why: string }): Promise<{ unparked: boolean; status?: NotificationStatus }> {
    return this.#db.call('notification_unpark', [id, row]);
  }

  // ---- The sender's loop
  notificationFind(afterMs: number, windowMs: number, limit: number): Promise<number> {
    return this.#db.call('notification_find', [afterMs, windowMs, limit], { patienceMs: 0 });
  }

  notificationTake(limit: number, each: number, holdMs: number): Promise<readonly TakenNotification[]> {
    return this.#db.call('notification_take', [limit, each, holdMs], { patienceMs: 0 });
  }

  notificationBody(id: string, body: string): Promise<{ body: string }> {
    return this.#db.call('notification_body', [id, body]);
  }

  notificationSent(id: string, httpStatus: number): Promise<{ recorded: boolean }> {
    return this.#db.call('notification_sent', [id, httpStatus]);
  }

  notificationFailed(
    id: string,
    row: { take: number; error: string; http_status?: number; retry_ms: number; quiet_ms?: number; park?: true; gone?: true; attempts_max: number },
  ): Promise<{ recorded: boolean; parked: boolean; attempts?: number }> {
    return this.#db.call('notification_failed', [id, row]);
  }

  // ---- Questions
  webhooks(): Promise<readonly WebhookRow[]> {
    return this.#db.call('webhook_list', []);
  }

  /** Newest first. */
  async list(filter: NotificationFilter): Promise<NotificationPage> {
    const { id, webhook, task, status, limit, cursor } = filter;
    if (cursor !== undefined && !isUuid(cursor)) throw new ThroughlineError('CURSOR_INVALID', { path: '/cursor' });
    const found = await this.#db.rows<NotificationRow>(LIST, [id ?? null, webhook ?? null, task ?? null, status ?? null, cursor ?? null, limit + 1], 'notifications');
    const rows = found.slice(0, limit);
    return { rows, cursor: found.length > limit ? (rows.at(-1)?.id ?? null) : null };
  }
}
