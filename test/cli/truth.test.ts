/** `audit` and `evidence` on the command line, while Temporal is down. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { uuid } from '../support/factories.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { Tale } from '../support/tale.ts';
import { cli, documentOf, TEMPORAL_AWAY, type Failure, type Said } from './cli.ts';

let ledger: Ledger;
let folder: string;
let good: Tale;
let bad: Tale;
beforeAll(async () => {
  [ledger, folder] = [await openLedger(), await mkdtemp(join(tmpdir(), 'throughline-truth-'))];
  good = await (await Tale.of(ledger, { effects: 'none' })).claim();
  bad = await Tale.of(ledger, { effects: 'none' }, { key: 'k' });
});
afterAll(async () => {
  await ledger.close({ unaudited: 'a key is taken away' });
  await rm(folder, { recursive: true });
});

const say = (...args: readonly string[]): Promise<Said> => cli(args, { env: { DATABASE_URL: ledger.url, TEMPORAL_ADDRESS: TEMPORAL_AWAY } });

test('audit ends with 0 where nothing is found, with 1 where something is late, with 5 where a promise is broken', async () => {
  const clean = await say('audit', '--json');
  expect([clean.code, documentOf(clean)]).toMatchObject([0, { ok: true, tasks: 2, findings: [] }]);
  await ledger.query('update throughline.step set lease_expires_at = now() - interval \'1 day\' where task_id = $1', [good.task]);
  expect((await say('audit', '--task', good.task)).code).toBe(1);
  await ledger.query('delete from throughline.dedupe');
  const found = await say('audit', '--json');
  expect([found.code, documentOf(found)]).toMatchObject([5, { ok: false, findings: [{ code: 'dedupe_missing', kind: 'broken', count: 1, rows: [{ task: bad.task, step: null }] }, { code: 'lease_overdue', kind: 'late', count: 1 }] }]);
  const told = await say('audit', '--lang', 'zh-CN');
  expect(told.stdout).toMatch(/dedupe_missing \(1\) 任务的键没有为其保留\n {2}.*"key":"k"/);
  const refused = await Promise.all([say('audit', '--task', uuid(), '--json'), say('audit', '--since', 'monday', '--json'), say('audit', '--rows', 'many', '--json')]);
  expect(refused.map(({ code }) => code)).toEqual([3, 2, 2]);
});

test('evidence goes to a new file or a pipe, and its own check finds a changed line by number', async () => {
  const file = join(folder, 'good.evidence');
  const made = documentOf(await say('evidence', good.task, '--out', file, '--json')) as { lines: number; timeline: { head: string }; out: string };
  const text = await readFile(file, 'utf8');
  expect((await say('evidence', good.task)).stdout).toBe(text);
  expect(text.trimEnd().split('\n')).toHaveLength(made.lines);
  const again = await say('evidence', 'export', good.task, '--out', file, '--json');
  expect([again.code, (documentOf(again) as Failure).error.path, await readFile(file, 'utf8')]).toEqual([2, '--out', text]);
  expect((await say('evidence', 'verify', file, '--head', made.timeline.head, '--extends', file)).code).toBe(0);
  await writeFile(file, text.replace('"enqueue.free"', '"enqueue.needs"'));
  const found = await say('evidence', 'verify', file, '--json');
  expect([found.code, documentOf(found)]).toEqual([4, { ok: false, line: 2, problem: 'altered' }]);
  expect((await say('evidence', 'verify', file)).stdout).toBe('line 2 does not fit: it was changed, or the line before it\n');
  const refused = await Promise.all([say('evidence', uuid()), say('evidence', 'verify', join(folder, 'none'))]);
  expect(refused.map(({ code }) => code)).toEqual([3, 2]);
});

test('sweep --once says what it moved and why, once, while Temporal is down', async () => {
  const tale = await (await Tale.of(ledger, { effects: 'none' })).claim();
  await ledger.query("update throughline.step set lease_expires_at = now() - interval '1 day' where task_id = $1", [tale.task]);
  const [first, second, without] = [await say('sweep', '--once', '--json'), await say('sweep', '--once', '--json'), await say('sweep', '--json')];
  expect(documentOf(first)).toMatchObject({ moves: { lease_expired: expect.any(Number) }, failed: 0, more: false });
  expect((documentOf(first) as { wakeups_waiting: number }).wakeups_waiting).toBeGreaterThan(0);
  expect([first.code, documentOf(second), without.code]).toMatchObject([0, { moved: 0, moves: {} }, 2]);
});
