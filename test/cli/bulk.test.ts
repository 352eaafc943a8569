/** `replays` and `cancels` as processes, with no worker and no Temporal anywhere. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { BulkItemPage, BulkPage, BulkRow } from '../../src/index.ts';
import { complete } from '../../src/cli/complete.ts';
import { createProgram } from '../../src/cli/program.ts';
import { widthOf } from '../../src/cli/width.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { Tale } from '../support/tale.ts';
import { cli, documentOf, TEMPORAL_AWAY, type Failure, type Said } from './cli.ts';

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger.close());

const FREE = { effects: 'none', probe: false, attempts: 1 } as const;
const env = (more: Readonly<Record<string, string>> = {}) => ({ DATABASE_URL: ledger.url, TEMPORAL_ADDRESS: TEMPORAL_AWAY, ...more });
const run = (...args: string[]): Promise<Said> => cli(args, { env: env() });
const dead = async (): Promise<Tale> => (await (await Tale.of(ledger, FREE)).claim()).fail(false);
const states = (tales: readonly Tale[]): Promise<string[]> => Promise.all(tales.map((tale) => tale.state()));

test('a bad deploy: a dry run, then what it has frozen, driven by the command alone, with each refusal in words', async () => {
  const tales = [await dead(), await dead(), await dead()];
  await tales[1]?.cancels();
  const range = ['--from', '2020-01-01T00:00Z', '--to', '2035-01-01T00:00Z'];
  const dry = await run('replays', 'create', '--reason', 'not_retryable', ...range, '--why', 'bad deploy', '--by', 'oda', '--rate', '100', '--drop-checkpoints', '--json');
  const later = await dead();
  const bulk = documentOf(dry) as BulkRow;
  expect([dry.code, bulk]).toMatchObject([0, { status: 'planned', by: 'oda', rate_per_s: 100, options: { drop_checkpoints: true }, counts: { pending: 2 }, foreseen: [{ to: 'queued', items: 2 }] }]);
  expect(await states(tales)).toEqual(['dead', 'dead', 'dead']);

  const byHand = tales[0]?.task ?? '';
  expect((await run('replay', byHand, '--why', 'could not wait')).code).toBe(0);
  const applied = await run('replays', 'apply', bulk.id, '--by', 'ben');
  expect(applied.code).toBe(4);
  expect(applied.stdout).toContain('1 refused: REPLAY_NOT_DEAD. Only a dead step can be replayed.');
  expect(applied.stdout).toMatch(/oda, .*: bad deploy/);
  expect(applied.stdout).toContain('applied by ben');
  expect(applied.stderr).toContain('2 items');
  expect(await states([...tales, later])).toEqual(['queued', 'dead', 'queued', 'dead']);

  const shown = await Promise.all([run('replays', 'show', bulk.id, '--json'), run('replays', 'list', '--json'), run('replays', 'items', bulk.id, '--result', 'refused', '--json'), run('replays', 'abort', bulk.id, '--why', 'late', '--json')]);
  expect((documentOf(shown[0]) as BulkRow)).toMatchObject({ id: bulk.id, status: 'done', counts: { done: 1, refused: 1 } });
  expect((documentOf(shown[1]) as BulkPage).rows.map(({ id }) => id)).toEqual([bulk.id]);
  expect((documentOf(shown[2]) as BulkItemPage).rows).toMatchObject([{ task: byHand, code: 'REPLAY_NOT_DEAD', details: { state: 'queued' } }]);
  expect([shown[3].code, (documentOf(shown[3]) as Failure).error.code]).toEqual([4, 'BULK_ENDED']);
  const told = await run('explain', tales[2]?.task ?? '');
  expect(told.stdout.replace(/\s+/g, ' ')).toContain(`as part of bulk ${bulk.id}`);
});

test('a bulk cancel made and applied at once, and one that is aborted before it began', async () => {
  const open = [await Tale.of(ledger, FREE), await (await Tale.of(ledger, FREE)).claim()];
  const type = String((await open[0]?.taskRow())?.['type']);
  const planned = documentOf(await run('cancels', 'create', '--type', type, '--why', 'first thought', '--json')) as BulkRow;
  const aborted = await run('cancels', 'abort', planned.id, '--why', 'on second thought');
  expect([aborted.code, /aborted by .*: on second thought/.test(aborted.stdout.replace(/\s+/g, ' '))]).toEqual([0, true]);
  const done = await run('cancels', 'create', '--type', type, '--why', 'wrong feed', '--apply', '--rate', '1000', '--json');
  const bulk = documentOf(done) as BulkRow;
  expect([done.code, bulk.status, bulk.counts.refused]).toEqual([0, 'done', 0]);
  const items = await run('cancels', 'items', bulk.id);
  expect([items.code, items.stdout.includes('prevented'), items.stdout.includes('pending')]).toEqual([0, true, true]);
  expect(await open[0]?.state()).toBe('cancelled');
  expect((await run('cancels', 'apply', planned.id)).code).toBe(4);
});

test('what cannot be meant ends with its code and path', async () => {
  const said = await Promise.all([
    run('replays', 'create', '--why', 'x', '--json'), run('replays', 'create', '--reason', 'bad_luck', '--why', 'x', '--json'), run('replays', 'create', '--reason', 'not_retryable', '--json'),
    run('replays', 'create', '--reason', 'not_retryable', '--why', 'x', '--rate', 'fast', '--json'), run('replays', 'show', '3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10', '--json'),
  ]);
  expect(said.map((one) => [one.code, (documentOf(one) as Failure).error.code, (documentOf(one) as Failure).error.path])).toEqual([
    [2, 'FILTER_INVALID', '/filter'], [2, 'FILTER_INVALID', '/filter/reason'], [2, 'REASON_REQUIRED', '/why'], [2, 'INPUT_INVALID', '--rate'], [3, 'BULK_UNKNOWN', undefined],
  ]);
});

test('its tables fit the terminal, and the shell completes it', async () => {
  await dead();
  const made = documentOf(await run('replays', 'create', '--reason', 'not_retryable', '--why', 'x', '--json')) as BulkRow;
  const said = await Promise.all([['items', made.id], ['list'], ['show', made.id]].flatMap((args) => ['en', 'zh-CN'].map((lang) => cli(['replays', ...args, '--lang', lang], { env: env({ COLUMNS: '80' }) }))));
  for (const { code, stdout } of said) expect([code, stdout.length > 0, Math.max(...stdout.split('\n').map(widthOf)) <= 80]).toEqual([0, true, true]);
  const words = (...typed: string[]): string[] => complete(createProgram(), typed).candidates.map(({ word }) => word);
  expect(words('replays', '')).toEqual(['create', 'list', 'show', 'items', 'apply', 'abort', 'help']);
  expect(words('replays', 'create', '--category', 'prog')).toEqual(['programming_error']);
  expect(words('cancels', 'items', 'x', '--result', '')).toEqual(['pending', 'done', 'refused', 'skipped']);
});
