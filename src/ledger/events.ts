/** The reader's part for the event stream; see sql/98-events.sql. */
import type { Database } from './database.ts';
import type { TimelineRow } from './records.ts';

/** An entry of the timeline with the task that it belongs to. */
export interface EventRow extends TimelineRow {
  readonly task: string;
  readonly type: string;
}

export interface EventFilter {
  readonly task?: string;
  /** Any of these. */
  readonly types?: readonly string[];
  readonly kind?: TimelineRow['kind'];
  /** The state or status after the entry. */
  readonly state?: string;
  readonly reason?: string;
}

export interface EventMark {
  /** The highest id that was given out. */
  readonly id: number;
  /** All transactions below have ended. */
  readonly xmin: bigint;
  /** Who holds an id up to `id` is an older transaction than this one. null: nothing is new. */
  readonly xid: bigint | null;
}

const PAGE = `
select l.id::float8 as id, l.task_id as task, t.type, l.step, l.kind, throughline._iso(l.at) as at, l.event, l.rule, l.from_state, l.to_state, l.reason, l.attempt, l.epoch::float8 as epoch, l.actor, l.facts
from throughline.timeline l join throughline.task t on t.id = l.task_id
where l.id > $1 and l.id <= $2 and ($3::text[] is null or t.type = any($3)) and ($4::text is null or l.kind = $4) and ($5::text is null or l.to_state = $5) and ($6::text is null or l.reason = $6)`;
const END = ' order by l.id limit $7';

export class EventReader {
  readonly #db: Database;

  constructor(database: Database) {
    this.#db = database;
  }

  /** How far ids were given out; `known`: up to which id the caller has marks already. */
  async mark(known: number): Promise<EventMark> {
    const { id, xmin, xid } = await this.#db.call<{ id: number; xmin: string; xid: string | null }>('event_mark', [known], { patienceMs: 0 });
    return { id, xmin: BigInt(xmin), xid: xid === null ? null : BigInt(xid) };
  }

  /** Entries after one id up to another that is settled, in the order of ids. */
  async page(after: number, upto: number, filter: EventFilter, limit: number): Promise<readonly EventRow[]> {
    const values = [after, upto, filter.types ?? null, filter.kind ?? null, filter.state ?? null, filter.reason ?? null, limit];
    return filter.task === undefined
      ? this.#db.rows<EventRow>(PAGE + END, values, 'events')
      : this.#db.rows<EventRow>(`${PAGE} and l.task_id = $8::uuid${END}`, [...values, filter.task], 'events-task');
  }
}
