/** A batch: checked item by item, sent in chunks, answered in the caller's order. */
import { ThroughlineError } from '../errors.ts';
import { refusalOf } from '../ledger/index.ts';
import type { Door, Enqueued, EnqueueRow, Queryable } from '../ledger/index.ts';
import { traceParent } from '../tracing/spans.ts';
import { LIMITS } from '../state/index.ts';
import { conflictWithPaths, enqueueRow } from './enqueue.ts';
import type { BatchItem, BatchOptions, BatchResult, Definition } from './enqueue.ts';

interface Indexed {
  readonly index: number;
  readonly row: EnqueueRow;
  readonly bytes: number;
}

/** How often a chunk that met another transaction is written again; it was rolled back whole. */
const MEETINGS_MAX = 3;

const coded = (error: unknown): ThroughlineError =>
  error instanceof ThroughlineError ? error : new ThroughlineError('LEDGER_UNAVAILABLE', { message: 'The ledger did not answer this part of the batch.', cause: error });

function checkedItems<Accepts>(items: unknown): readonly BatchItem<Accepts>[] {
  if (!Array.isArray(items)) throw new ThroughlineError('INPUT_INVALID', { path: '/items', message: 'A batch is a list of {input, key?, …}.' });
  if (items.length > LIMITS.batch_max) throw new ThroughlineError('INPUT_TOO_LARGE', { path: '/items', limit: `${String(LIMITS.batch_max)} items`, message: 'The batch has more items than its limit.' });
  return items as readonly BatchItem<Accepts>[];
}

/** By type and key, as the ledger takes them; those without a key last. Bytes, not locale, and the same in every process. */
const inOneOrder = (a: Indexed, b: Indexed): number => {
  if (a.row.key === undefined || b.row.key === undefined) return Number(a.row.key === undefined) - Number(b.row.key === undefined) || a.index - b.index;
  return Buffer.compare(Buffer.from(a.row.key), Buffer.from(b.row.key)) || a.index - b.index;
};

function chunksOf(rows: readonly Indexed[]): readonly (readonly Indexed[])[] {
  const chunks: Indexed[][] = [];
  let bytes = 0;
  for (const row of rows) {
    const last = chunks.at(-1);
    if (last === undefined || last.length >= LIMITS.batch_chunk_rows || bytes + row.bytes > LIMITS.batch_chunk_bytes) {
      chunks.push([row]);
      bytes = row.bytes;
    } else {
      last.push(row);
      bytes += row.bytes;
    }
  }
  return chunks;
}

export interface BatchDoor {
  readonly door: Door;
  readonly by: string;
}

/** Items as rows, or with the code that refuses them. Throws INPUT_TOO_LARGE for what is too much together. */
function prepare<Accepts>(task: Definition<Accepts> | string, items: readonly BatchItem<Accepts>[], options: BatchOptions, by: string): { readonly rows: readonly Indexed[]; readonly refused: ReadonlyMap<number, ThroughlineError> } {
  const { tx: _, ...shared } = options;
  const rows: Indexed[] = [];
  const refused = new Map<number, ThroughlineError>();
  let bytes = 0;
  for (const [index, item] of items.entries()) {
    try {
      if (typeof item !== 'object' || (item as unknown) === null || !('input' in item)) throw new ThroughlineError('INPUT_INVALID', { path: '/input', message: 'An item is {input, key?, …}.' });
      const { input, ...own } = item;
      // Not before: an item that says it one way does not mean the batch's other one.
      const { runAt, delay, ...rest } = shared;
      const start = own.runAt === undefined && own.delay === undefined ? { ...(runAt === undefined ? {} : { runAt }), ...(delay === undefined ? {} : { delay }) } : {};
      const row = enqueueRow(task, input, { ...rest, ...start, ...own }, by);
      const size = Buffer.byteLength(JSON.stringify(row));
      bytes += size;
      rows.push({ index, row, bytes: size });
    } catch (error) {
      if (!(error instanceof ThroughlineError)) throw error;
      const { path } = error.detail;
      refused.set(index, path === undefined ? error : new ThroughlineError(error.code, { ...error.detail, path: `/items/${String(index)}${path}` }));
    }
    if (bytes > LIMITS.batch_bytes_max) throw new ThroughlineError('INPUT_TOO_LARGE', { path: '/items', limit: `${String(LIMITS.batch_bytes_max)} bytes`, message: 'The items are together larger than the limit of a batch.' });
  }
  return { rows: rows.sort(inOneOrder), refused };
}

async function written(door: Door, chunk: readonly Indexed[], again: readonly string[], tx: Queryable | undefined): Promise<readonly (Enqueued | ThroughlineError)[]> {
  const rows = chunk.map(({ row }) => ({ ...row, ...traceParent() }));
  for (let meetings = 0; ; meetings += 1) {
    try {
      const answers = await door.taskEnqueueBatch({ rows, again }, tx === undefined ? {} : { tx });
      return answers.map((answer, at) => {
        const refusal = refusalOf(answer);
        return refusal === null ? (answer as Enqueued) : (conflictWithPaths(refusal, rows[at]?.digests ?? {}) as ThroughlineError);
      });
    } catch (error) {
      const met = error instanceof ThroughlineError && error.code === 'SERIALIZATION';
      if (tx !== undefined || !met || meetings >= MEETINGS_MAX) throw error;
    }
  }
}

/** See `ThroughlineClient.enqueueBatch`. */
export async function enqueueBatch<Accepts>({ door, by }: BatchDoor, task: Definition<Accepts> | string, items: readonly BatchItem<Accepts>[], options: BatchOptions): Promise<readonly BatchResult[]> {
  const { rows, refused } = prepare(task, checkedItems<Accepts>(items), options, by);
  const results = new Map<number, BatchResult>([...refused].map(([index, error]) => [index, { index, error }]));
  const { tx } = options;
  const repeated = (some: readonly Indexed[]): readonly string[] => some.flatMap(({ row }) => (row.again_of === undefined ? [] : [row.again_of])).sort();
  let away: ThroughlineError | null = null;
  for (const chunk of chunksOf(rows)) {
    try {
      if (away !== null) throw away;
      // In one transaction of the caller, the first chunk locks for all: tasks before keys.
      const answers = await written(door, chunk, repeated(tx === undefined ? chunk : rows), tx);
      for (const [at, { index }] of chunk.entries()) {
        const answer = answers[at];
        if (answer !== undefined) results.set(index, answer instanceof ThroughlineError ? { index, error: answer } : { index, ...answer });
      }
    } catch (error) {
      // The caller's transaction is broken as a whole.
      if (tx !== undefined) throw error;
      const failure = coded(error);
      if (failure.code === 'LEDGER_UNAVAILABLE') away = failure;
      for (const { index } of chunk) results.set(index, { index, error: failure });
    }
  }
  return [...results.values()].sort((a, b) => a.index - b.index);
}
