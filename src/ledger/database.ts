import pg from 'pg';
import { failpoint } from '../failpoint.ts';
import { codedFailure, isUnavailable, throwIfRefused } from './failures.ts';

export interface DatabaseOptions {
  /** postgres:// URL. */
  readonly url: string;
  /** Connections at most. Default 10. */
  readonly connectionsMax?: number;
  /** Shown in pg_stat_activity. */
  readonly applicationName?: string;
  /** How long an idempotent call is repeated while the ledger is away. Default 5,000 ms; 0: once. */
  readonly patienceMs?: number;
  /**
   * Of a worker: whenever the ledger could not be reached, that is reported under this name before anything else
   * is asked. Whoever comes back first must not take the leases of those who are just as late.
   */
  readonly reportsGapsAs?: string;
}

/** Well below the shortest lease: what waits for the ledger must be there before its lease is anybody's. */
const RETRY_MS_MAX = 400;

const REHEARSAL_LOCK_MS = 2_000;

/** What a caller's transaction must offer: `pg.Client` and `pg.PoolClient` do. */
export interface Queryable {
  query(config: { text: string; values: unknown[] }): Promise<{ rows: unknown[] }>;
}

/** One value for a door function: objects go as JSON text. */
const parameter = (value: unknown): unknown =>
  value !== null && typeof value === 'object' && !(value instanceof Date) ? JSON.stringify(value) : value;

const statementOf = (name: string, args: readonly unknown[]): string =>
  `select throughline.${name}(${args.map((_, index) => `$${String(index + 1)}`).join(', ')}) as answer`;

/**
 * The pool behind the door and the reader. `call` runs one door function in autocommit: one round trip, one
 * transaction. Every door function is idempotent by the ids that it is given, so a call whose answer was lost
 * is repeated safely.
 */
export class Database {
  readonly #options: DatabaseOptions;
  readonly #pool: pg.Pool | null;
  readonly #connection: Pick<pg.Pool, 'query'>;
  readonly #patienceMs: number;
  readonly #reportsGapsAs: string | undefined;
  #gap = false;
  #reporting: Promise<void> | undefined;

  /** `over`: everything goes through this one connection, whose owner ends it. */
  constructor(options: DatabaseOptions, over?: Pick<pg.Pool, 'query'>) {
    this.#options = options;
    this.#patienceMs = over === undefined ? (options.patienceMs ?? 5_000) : 0;
    this.#reportsGapsAs = options.reportsGapsAs;
    if (over !== undefined) {
      [this.#pool, this.#connection] = [null, over];
      return;
    }
    const pool = new pg.Pool({
      connectionString: options.url,
      max: options.connectionsMax ?? 10,
      application_name: options.applicationName ?? 'throughline',
      connectionTimeoutMillis: 5_000,
      idleTimeoutMillis: 30_000,
      keepAlive: true,
      // Local idle clients must not keep a finished program alive.
      allowExitOnIdle: true,
    });
    // An idle connection that breaks is replaced at the next call; without a listener it would end the process.
    pool.on('error', () => {
      this.#gap = true;
    });
    [this.#pool, this.#connection] = [pool, pool];
  }

  /** Runs a door function. Throws ThroughlineError: the refusal's code, or LEDGER_UNAVAILABLE after the patience given. */
  async call<T>(name: string, args: readonly unknown[], options: { readonly tx?: Queryable; readonly patienceMs?: number } = {}): Promise<T> {
    const text = statementOf(name, args);
    const values = args.map(parameter);
    if (options.tx !== undefined) {
      try {
        return this.#answer(await options.tx.query({ text, values })) as T;
      } catch (error) {
        throw codedFailure(error);
      }
    }
    failpoint(`${name}.before`);
    const result = await this.#patiently(() => this.#connection.query({ name: `${name}/${String(args.length)}`, text, values }), options.patienceMs ?? this.#patienceMs);
    failpoint(`${name}.after`);
    return this.#answer(result) as T;
  }

  /** Reads rows; SELECT only. The caller names the row's shape. */
  async rows<T>(text: string, values: readonly unknown[], name?: string): Promise<T[]> {
    const config = { text, values: values.map((value) => (Array.isArray(value) ? value : parameter(value))), ...(name === undefined ? {} : { name }) };
    const result = await this.#patiently(() => this.#connection.query(config), this.#patienceMs);
    return result.rows as T[];
  }

  /** A connection of its own. */
  async withClient<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    if (this.#pool === null) throw new Error('Broken promise: one connection is not divided');
    const client = await this.#pool.connect().catch((error: unknown) => {
      throw codedFailure(error);
    });
    // A connection that breaks tells whoever asks it next; without a listener it would end the process.
    let broken: Error | undefined;
    const onError = (error: Error): void => {
      broken = error;
    };
    client.on('error', onError);
    try {
      return await work(client);
    } finally {
      client.off('error', onError);
      client.release(broken);
    }
  }

  /** Work on one connection in a transaction that is never committed. Whoever holds a row is waited for a moment, then it is SERIALIZATION. */
  async rehearse<T>(work: (database: Database) => Promise<T>): Promise<T> {
    return this.withClient(async (client) => {
      try {
        await client.query(`begin; set local lock_timeout = ${String(REHEARSAL_LOCK_MS)}`);
        return await work(new Database(this.#options, client));
      } catch (error) {
        throw codedFailure(error);
      } finally {
        // A connection that is gone has forgotten it, too.
        await client.query('rollback').catch(() => undefined);
      }
    });
  }

  async end(): Promise<void> {
    await this.#pool?.end();
  }

  #answer(result: { rows: unknown[] }): unknown {
    const [row] = result.rows as { answer: unknown }[];
    throwIfRefused(row?.answer);
    return row?.answer;
  }

  async #patiently<T>(work: () => Promise<T>, patienceMs: number): Promise<T> {
    const until = performance.now() + patienceMs;
    for (let wait = 50; ; wait = Math.min(wait * 2, RETRY_MS_MAX)) {
      try {
        await this.#reportGap();
        return await work();
      } catch (error) {
        this.#gap ||= isUnavailable(error);
        if (!isUnavailable(error) || performance.now() + wait > until) throw codedFailure(error);
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    }
  }

  /** One report for all calls that wait to be made. */
  async #reportGap(): Promise<void> {
    if (!this.#gap || this.#reportsGapsAs === undefined) return;
    this.#reporting ??= this.#connection
      .query({ text: statementOf('gap_report', ['by']), values: [this.#reportsGapsAs] })
      .then(() => {
        this.#gap = false;
      })
      .finally(() => {
        this.#reporting = undefined;
      });
    await this.#reporting;
  }
}
