/** The examples for psql and Python, run as a user would. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { createPublishNote } from '../../examples/note-publishing/task.ts';
import { PlatformClient } from '../../examples/note-publishing/platform/client.ts';
import { createClient, type ThroughlineClient } from '../../src/index.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';

const run = promisify(execFile);
const folder = fileURLToPath(new URL('../../examples/enqueue-from-sql', import.meta.url));
const venv = fileURLToPath(new URL('../../.throughline/psycopg', import.meta.url));

let ledger: Ledger;
let client: ThroughlineClient;
beforeAll(async () => {
  ledger = await openLedger();
  client = createClient({ databaseUrl: ledger.url });
  await client.register(createPublishNote({ notes: '/nowhere', platform: new PlatformClient({ address: 'http://127.0.0.1:1' }), callbackUrl: 'http://127.0.0.1/unused' }));
});
afterAll(async () => {
  await client.close();
  await ledger.close();
});

const made = async (key: string): Promise<readonly unknown[]> =>
  (await ledger.query('select t.input, t.created_by, o.note from throughline.task t join example_order o on t.key = $1 and o.id = split_part($1, $2, 2)::bigint', [key, '/']));

describe('enqueueing from SQL', () => {
  test('psql: the order and its task are one transaction, and a second run answers with the same task', async () => {
    const psql = await run('psql', ['--version']).then(() => true, () => false);
    const script = await readFile(join(folder, 'enqueue.sql'), 'utf8');
    const once = async (): Promise<void> => {
      if (psql) {
        await run('psql', [ledger.url, '-v', 'ON_ERROR_STOP=1', '-v', 'order_id=17', '-f', join(folder, 'enqueue.sql')]);
        return;
      }
      // The same text by the simple protocol, with psql's variable put in.
      const connection = new pg.Client({ connectionString: ledger.url });
      await connection.connect();
      await connection.query(script.replaceAll(':order_id', '17'));
      await connection.end();
    };
    await once();
    await once();
    expect(await made('order/17')).toEqual([{ input: { note: 'tides' }, created_by: 'service:orders', note: 'tides' }]);
    expect((await client.record((await client.list({ key: 'order/17' })).rows[0]?.id ?? '')).task).toMatchObject({ priority: 2, fairness_key: 'tenant-a' });
  });

  test('Python: the same, and a conflict says its code and paths (where psycopg can be had)', async () => {
    const python = join(venv, 'bin/python');
    const ready = existsSync(python) && (await run(python, ['-c', 'import psycopg']).then(() => true, () => false));
    if (!ready) {
      const installed = await run('python3', ['-m', 'venv', venv]).then(() => run(python, ['-m', 'pip', 'install', '--quiet', 'psycopg[binary]'], { timeout: 50_000 })).then(() => true, () => false);
      if (!installed) return;
    }
    const once = async (...args: string[]): Promise<Record<string, unknown>> => {
      const { stdout } = await run(python, [join(folder, 'enqueue.py'), ...args], { env: { ...process.env, DATABASE_URL: ledger.url } }).catch((error: unknown) => error as { stdout: string });
      return JSON.parse(stdout) as Record<string, unknown>;
    };
    const first = await once('18');
    expect(first).toMatchObject({ state: 'queued', created: true });
    expect(await once('18')).toEqual({ ...first, created: false });
    expect(await once('18', 'other')).toMatchObject({ error: 'DEDUPE_CONFLICT', id: first['id'], paths: ['/input/note'] });
    expect(await made('order/18')).toEqual([{ input: { note: 'tides' }, created_by: 'service:orders', note: 'tides' }]);
  }, 120_000);
});
