/** The three doors, with one way to go in: what the contract suite asks of each. */
import { createHttpClient } from '../../src/http/index.ts';
import { errorOf } from '../../src/http/problem.ts';
import { runProgram } from '../../src/cli/program.ts';
import type { BulkItemPage, BulkPage, BulkReplayInput, BulkRow } from '../../src/client/bulk.ts';
import type { BatchResult } from '../../src/client/enqueue.ts';
import type { ThroughlineSurface } from '../../src/index.ts';
import type { ApiUnderTest } from '../support/api.ts';

/** What a door may do; the command line shows records as parts. */
export type Door = Omit<ThroughlineSurface, 'record' | 'steps' | 'taskTypes' | 'health' | 'close'> & Partial<Pick<ThroughlineSurface, 'record' | 'steps' | 'taskTypes' | 'health'>>;

export interface Opened {
  readonly door: Door;
  close(): Promise<void>;
}

const direct = (api: ApiUnderTest): Promise<Opened> => Promise.resolve({ door: api.client, close: () => Promise.resolve() });

async function http(api: ApiUnderTest): Promise<Opened> {
  const client = createHttpClient({ url: api.url, token: await api.token('admin') });
  return { door: client, close: () => client.close() };
}

/** Options of a command from a record: `{runAt: x}` is `--run-at x`; true is the option alone. */
function flags(options: object): string[] {
  return Object.entries(options as Readonly<Record<string, string | number | boolean | undefined>>).flatMap(([name, value]) => {
    const flag = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    return value === undefined ? [] : value === true ? [flag] : [flag, String(value)];
  });
}

/** The program itself, in this process: its own tests run it as a process. */
function commandLine(api: ApiUnderTest): Promise<Opened> {
  const kept = process.env['DATABASE_URL'];
  process.env['DATABASE_URL'] = api.ledger.url;
  const run = async <A>(...args: readonly string[]): Promise<A> => {
    const { stdout } = process;
    const own = stdout.write.bind(stdout);
    let said = '';
    stdout.write = ((text: string | Uint8Array, ...rest: unknown[]): boolean => {
      said += typeof text === 'string' ? text : Buffer.from(text).toString('utf8');
      const done = rest.find((one) => typeof one === 'function') as (() => void) | undefined;
      done?.();
      return true;
    });
    try {
      await runProgram([...args, '--json']);
    } finally {
      stdout.write = own;
      process.exitCode = 0;
    }
    return JSON.parse(said) as A;
  };
  const json = (value: unknown): string => JSON.stringify(value);
  const bulks = (group: 'replays' | 'cancels') => ({
    create: ({ filter, ratePerSecond, void: _, ...input }: BulkReplayInput) => run<BulkRow>(group, 'create', ...flags({ ...filter, ...input, rate: ratePerSecond })),
    get: (id: string) => run<BulkRow>(group, 'show', id),
    list: (page = {}) => run<BulkPage>(group, 'list', ...flags(page)),
    items: (id: string, query = {}) => run<BulkItemPage>(group, 'items', id, ...flags(query)),
    apply: (id: string, options = {}) => run<BulkRow>(group, 'apply', id, '--detach', ...flags(options)),
    abort: (id: string, options: { readonly why: string; readonly by?: string }) => run<BulkRow>(group, 'abort', id, ...flags(options)),
  });
  const shown = ({ effect, item }: { readonly effect: string; readonly item?: string }): string => (item === undefined ? effect : `${effect}/${item}`);
  const door: Door = {
    replays: bulks('replays'),
    cancels: bulks('cancels'),
    evidence: (task) => run('evidence', 'export', task),
    audit: (options = {}) => run('audit', ...flags(options)),
    withdraw: (task, { step, ...action }) => run('withdraw', task, ...(step === undefined ? [] : [step]), ...flags(action)),
    abandonWait: (task, { step, ...action }) => run('abandon-wait', task, ...(step === undefined ? [] : [step]), ...flags(action)),
    confirmEffect: (task, { step, effect, item, result, ...seen }) => run('confirm-effect', task, step, shown({ effect, ...(item === undefined ? {} : { item }) }), ...flags({ ...seen, ...(result === undefined ? {} : { result: json(result) }) })),
    confirmAbsent: (task, { step, effect, item, ...seen }) => run('confirm-absent', task, step, shown({ effect, ...(item === undefined ? {} : { item }) }), ...flags(seen)),
    correct: (task, { entry, ...correction }) => run('correct', task, String(entry), ...flags(correction)),
    unpark: (task, deed) => run('unpark', task, ...flags(deed)),
    receipts: ({ task, ...filter } = {}) => run('receipts', 'list', ...(task === undefined ? [] : [task]), ...flags(filter)),
    rematchReceipt: (delivery, rematch) => run('receipts', 'rematch', delivery, ...flags(rematch)),
    deliverReceipt: (receipt) => run('receipts', 'deliver', '--receipt', json(receipt)),
    async enqueueBatch(task, items, options = {}) {
      const { results } = await run<{ results: readonly (BatchResult & { error?: unknown })[] }>('enqueue', typeof task === 'string' ? task : task.type, '--batch', json(items), ...flags(options));
      return results.map((one) => ('error' in one ? { index: one.index, error: errorOf(one.error) ?? one.error } : one)) as readonly BatchResult[];
    },
    enqueue: (task, input, options = {}) => run('enqueue', typeof task === 'string' ? task : task.type, '--input', JSON.stringify(input), ...flags({ ...options })),
    get: (task) => run('status', task),
    history: async (task) => (await run<{ timeline: Awaited<ReturnType<Door['history']>> }>('history', task)).timeline,
    list: (filter = {}) => run('list', ...flags({ ...filter })),
    explain: (task, options = {}) => run('explain', task, ...flags(options)),
    cancel: (task, action) => run('cancel', task, ...flags({ ...action })),
    decide: (task, { verdict, ...decision }) => run('decide', task, verdict === 'approved' ? '--approve' : verdict === 'rejected' ? '--reject' : '--open', ...flags(decision)),
    replay: (task, { void: _, ...action }) => run('replay', task, ...flags(action)),
    async waitFor(task, { timeoutMs } = {}) {
      const { task: id, status, reason, held_by, seq } = await run<Awaited<ReturnType<Door['get']>>>('status', task, '--wait', ...flags(timeoutMs === undefined ? {} : { timeout: `${String(timeoutMs)}ms` }));
      return { id, status, reason, held_by, seq };
    },
  };
  return Promise.resolve({
    door,
    close() {
      if (kept === undefined) delete process.env['DATABASE_URL'];
      else process.env['DATABASE_URL'] = kept;
      return Promise.resolve();
    },
  });
}

export const DOORS: readonly (readonly [name: string, open: (api: ApiUnderTest) => Promise<Opened>])[] = [['the direct client', direct], ['the client over HTTP', http], ['the command line', commandLine]];
