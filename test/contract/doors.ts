/** The three doors, with one way to go in: what the contract suite asks of each. */
import { createHttpClient } from '../../src/http/index.ts';
import { runProgram } from '../../src/cli/program.ts';
import type { ThroughlineSurface } from '../../src/index.ts';
import type { ApiUnderTest } from '../support/api.ts';

/** What a door may do; the command line has no receipts and no batches, and shows records as parts. */
export type Door = Pick<ThroughlineSurface, 'enqueue' | 'get' | 'history' | 'list' | 'explain' | 'cancel' | 'decide' | 'replay' | 'waitFor'> & Partial<Pick<ThroughlineSurface, 'enqueueBatch' | 'deliverReceipt' | 'record' | 'steps' | 'taskTypes' | 'health'>>;

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
  const door: Door = {
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
