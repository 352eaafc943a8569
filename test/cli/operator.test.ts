/** What the operator's commands say: doctor, watch, completion; on real servers, as processes. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import type { TimelineRow, View } from '../../src/index.ts';
import { complete } from '../../src/cli/complete.ts';
import { createProgram } from '../../src/cli/program.ts';
import { Screen } from '../../src/cli/screen.ts';
import { widthOf } from '../../src/cli/width.ts';
import { PARENT_STATUSES } from '../../src/state/index.ts';
import { MINUTE } from '../support/factories.ts';
import { emptyDatabase, openLedger, type Ledger } from '../support/ledger.ts';
import { stackAddresses } from '../support/stack.ts';
import { Tale } from '../support/tale.ts';
import { cli, documentOf, mainFile, startCli, TEMPORAL_AWAY, type Failure, type Said } from './cli.ts';

interface Doctor {
  readonly level: string;
  readonly findings: readonly { readonly code: string; readonly level: string; readonly facts: Readonly<Record<string, unknown>>; readonly says: string; readonly todo: string }[];
}

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger.close());

const env = (url = ledger.url, more: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> => {
  const { temporalAddress, temporalNamespace } = stackAddresses();
  return { DATABASE_URL: url, TEMPORAL_ADDRESS: temporalAddress, TEMPORAL_NAMESPACE: temporalNamespace, THROUGHLINE_TASK_QUEUE: 'nobody-polls-this', ...more };
};
const levelsOf = ({ findings }: Doctor): Record<string, string> => Object.fromEntries(findings.map(({ code, level }) => [code, level]));

describe('doctor', () => {
  test('finds what works, and what the test stack itself lacks', async () => {
    const said = await cli(['doctor', '--json'], { env: env() });
    const doctor = documentOf(said) as Doctor;
    expect(levelsOf(doctor)).toMatchObject({
      // The tests' server does without fsync.
      PROGRAM: 'ok', PG_REACHABLE: 'ok', PG_UNSAFE_SETTING: 'problem', PG_REPLICATION_NONE: 'warning', SCHEMA_CURRENT: 'ok', CLOCK_HERE: 'ok', OUTBOX: 'ok', WORKERS_NONE: 'warning',
      TEMPORAL_REACHABLE: 'ok', NAMESPACE_RETENTION: 'ok', SEARCH_ATTRIBUTES: 'ok', POLLERS_NONE: 'problem',
    });
    expect([said.code, doctor.level]).toEqual([5, 'problem']);
    for (const { level, says, todo } of doctor.findings) expect([says.length > 0, level === 'ok' || todo.length > 0]).toEqual([true, true]);
  });

  test('finds what waits for a person, what was edited by hand, and clocks that are off', async () => {
    const own = await openLedger();
    try {
      const dead = await (await Tale.of(own, { effects: 'none', probe: false })).claim();
      await dead.fail(false);
      const parked = await Tale.of(own, { effects: 'none', probe: false });
      await own.query("update throughline.outbox set parked_at = throughline.now(), last_error = 'no such namespace' where task_id = $1", [parked.task]);
      const unsure = await (await (await Tale.of(own)).claim()).intend('post');
      await unsure.settle('lost');
      await (await Tale.of(own, { effects: 'none', probe: false })).claim();
      await own.shiftClock(20 * MINUTE);
      await own.query(`insert into throughline.worker (id, offers, task_queue, seen_at, clock_skew_ms) values ('w/1', '[]', 'q', throughline.now(), 3600000)`);
      await own.query("create or replace function throughline._ms_of(p timestamptz) returns text language sql immutable as $$ select 'edited' $$");
      const doctor = documentOf(await cli(['doctor', '--json'], { env: env(own.url) })) as Doctor;
      expect(levelsOf(doctor)).toMatchObject({
        FUNCTIONS_EDITED: 'problem', CLOCK_SHIFTED: 'problem', CLOCK_WORKERS: 'warning', OUTBOX_PARKED: 'problem', OUTBOX_LATE: 'problem', STEPS_DEAD: 'warning', STEPS_UNCONFIRMED: 'warning',
        TYPES_UNOFFERED: 'problem', QUEUED_LATE: 'warning', LEASES_EXPIRED: 'warning', WORKERS: 'ok',
      });
      expect(doctor.findings.find(({ code }) => code === 'OUTBOX_PARKED')?.facts).toEqual({ parked: 1, tasks: parked.task });
      // Making the functions anew mends that one.
      expect((await cli(['migrate'], { env: env(own.url) })).code).toBe(0);
      expect(levelsOf(documentOf(await cli(['doctor', '--json'], { env: env(own.url) })) as Doctor)).toMatchObject({ SCHEMA_CURRENT: 'ok' });
    } finally {
      await own.close();
    }
  });

  test('says what to do where there is no schema, no Postgres and no Temporal; never a password', async () => {
    const empty = await emptyDatabase();
    const away = 'postgres://throughline:hunter2@127.0.0.1:1/none';
    const [bare, gone, unset, wrong] = await Promise.all([
      cli(['doctor', '--json'], { env: env(empty.url) }),
      cli(['doctor', '--json'], { env: env(away, { TEMPORAL_ADDRESS: TEMPORAL_AWAY }) }),
      cli(['doctor', '--json'], {}),
      cli(['doctor', '--json'], { env: env(ledger.url, { TEMPORAL_NAMESPACE: 'nowhere' }) }),
    ]);
    await empty.drop();
    expect(levelsOf(documentOf(bare) as Doctor)).toMatchObject({ SCHEMA_MISSING: 'problem' });
    expect(levelsOf(documentOf(gone) as Doctor)).toEqual({ PROGRAM: 'ok', PG_UNREACHABLE: 'problem', TEMPORAL_UNREACHABLE: 'problem' });
    expect(levelsOf(documentOf(unset) as Doctor)).toEqual({ PROGRAM: 'ok', DATABASE_URL_MISSING: 'problem', TEMPORAL_UNSET: 'warning' });
    expect(levelsOf(documentOf(wrong) as Doctor)).toMatchObject({ NAMESPACE_UNKNOWN: 'problem' });
    for (const said of [bare, gone, unset, wrong]) expect([said.code, said.stdout.includes('hunter2') || said.stderr.includes('hunter2')]).toEqual([5, false]);
  });

  test.each(['60', '120'])('fits %s columns in both languages', async (columns) => {
    const said = await Promise.all(['en', 'zh-CN'].map((lang) => cli(['doctor', '--lang', lang], { env: { DATABASE_URL: ledger.url, COLUMNS: columns } })));
    for (const { stdout } of said) {
      // What is to be searched for is not broken: a code stands alone.
      expect(stdout).toContain('PG_UNSAFE_SETTING');
      expect(Math.max(...stdout.split('\n').map(widthOf))).toBeLessThanOrEqual(Number(columns));
    }
  });
});

describe('watch', () => {
  const over = async (tale: Tale): Promise<Said> => cli(['watch', tale.task], { env: env() });

  test('ends when the task is at rest, with a code that says how', async () => {
    const good = await (await (await (await Tale.of(ledger, { effects: 'none' })).claim()).done()).accept();
    const dead = await (await Tale.of(ledger, { effects: 'none', probe: false })).claim();
    await dead.fail(false);
    const cancelled = await Tale.of(ledger, { effects: 'none', probe: false });
    await cancelled.cancels();
    const said = await Promise.all([good, dead, cancelled].map(over));
    expect(said.map(({ code }) => code)).toEqual([0, 7, 8]);
    expect(said[0]?.stdout).toMatch(/publish: queued → leased \(attempt 1\)/);
    const unknown = await cli(['watch', '3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10', '--json'], { env: env() });
    expect([unknown.code, (documentOf(unknown) as Failure).error.code]).toEqual([3, 'TASK_UNKNOWN']);
  });

  test('says each entry once, as it comes, and the view at the end', async () => {
    const tale = await Tale.of(ledger, { effects: 'none', probe: false });
    const watching = startCli(['watch', tale.task, '--json'], { env: env() });
    const first = JSON.parse(await watching.line()) as TimelineRow;
    expect(first).toMatchObject({ event: 'enqueue', to_state: 'queued' });
    await tale.claim();
    await tale.fail(false);
    const lines: (Partial<TimelineRow> & { readonly view?: View })[] = [first];
    while (lines.at(-1)?.view === undefined) lines.push(JSON.parse(await watching.line()) as TimelineRow);
    expect(lines.at(-1)?.view).toMatchObject({ status: 'dead', at_rest: true });
    const ids = lines.slice(0, -1).map(({ id }) => id);
    expect(ids).toEqual((await tale.timeline()).map(({ id }) => Number(id)));
    expect(await watching.ended).toEqual([7, null]);
  });

  test('is left by Ctrl-C without a word and without harm; gives up when it is told to', async () => {
    const tale = await Tale.of(ledger, { effects: 'none', probe: false });
    const watching = startCli(['watch', tale.task], { env: env() });
    await watching.line();
    watching.child.kill('SIGINT');
    expect([await watching.ended, watching.stderr()]).toEqual([[130, null], '']);
    expect(await tale.state()).toBe('queued');
    expect((await cli(['watch', tale.task, '--timeout', '100ms'], { env: env() })).code).toBe(6);
  });

  /** What a terminal of this size shows after these writes; knows what `Screen` uses. */
  function shown(text: string, rows: number): { readonly lines: readonly string[]; readonly cursor: boolean } {
    const lines: string[] = [''];
    let at = 0;
    let cursor = true;
    // eslint-disable-next-line no-control-regex -- escape sequences are what a terminal reads
    for (const [, code, kind, char] of text.matchAll(/\u001b\[([?\d]*)([A-Za-z])|([\s\S])/g)) {
      if (char === '\n') at += 1;
      else if (char !== undefined && char !== '\r') lines[at] = (lines[at] ?? '') + char;
      if (kind === 'A') at = Math.max(0, at - Number(code));
      if (kind === 'A') for (let line = at; line < lines.length; line += 1) lines[line] = '';
      if (kind === 'J') lines.length = at + 1;
      if (kind === 'h' || kind === 'l') cursor = kind === 'h';
      lines[at] ??= '';
    }
    expect(lines.length).toBeLessThanOrEqual(rows);
    return { lines: lines.filter((line) => line !== ''), cursor };
  }

  test('on a terminal, draws in its place, never more than the terminal has, and gives the cursor back', () => {
    let text = '';
    const screen = new Screen({ write: (more) => (text += more), rows: 5 });
    screen.draw(['one', 'two', 'three']);
    const before = text.length;
    screen.draw(['one', 'two', 'three']);
    expect(text.length).toBe(before);
    screen.draw(['eins', 'zwei']);
    expect(shown(text, 5)).toEqual({ lines: ['eins', 'zwei'], cursor: false });
    screen.draw(['1', '2', '3', '4', '5', '6', '7']);
    expect(shown(text, 5).lines).toEqual(['1', '2', '3', '4']);
    screen.end();
    screen.end();
    expect(shown(text, 5).cursor).toBe(true);
  });
});

describe('completion', () => {
  const offered = (...words: string[]): string[] => complete(createProgram(), words).candidates.map(({ word }) => word);

  test('knows commands, options and their values from the commands themselves', () => {
    expect(offered('wa')).toEqual(['watch']);
    expect(offered('')).toEqual(expect.arrayContaining(['dev', 'doctor', 'watch', 'list', 'help']));
    expect(offered('')).not.toContain('__complete');
    expect(offered('list', '--sta')).toEqual(['--status']);
    expect(offered('list', '--status', '')).toEqual([...PARENT_STATUSES]);
    expect(offered('list', '--status', 'de')).toEqual(['dead']);
    expect(offered('--lang', 'z')).toEqual(['zh-CN']);
    expect(offered('--lang', 'zh-CN', 'stat')).toEqual(['status']);
    expect(offered('completion', '')).toEqual(['bash', 'zsh', 'fish']);
    expect(offered('list', '--status', 'dead', '--')).not.toContain('--status');
    expect(complete(createProgram(), ['worker', '--tasks', ''])).toEqual({ candidates: [], files: true });
    expect(offered('status', '')).toEqual([]);
    expect(offered('webhooks', '')).toContain('list');
    expect(offered('nonsense', '--x')).toEqual([]);
  });

  test('works in bash', async () => {
    const { stdout } = await cli(['completion', 'bash']);
    const main = mainFile();
    const typed = (...words: string[]): string[] => {
      const script = `${stdout}
throughline() { ${JSON.stringify(process.execPath)} ${JSON.stringify(main)} "$@"; }
COMP_WORDS=(throughline ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${String(words.length)}
_throughline; printf '%s\\n' "\${COMPREPLY[@]}"`;
      const said = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
      expect(said.stderr).toBe('');
      return said.stdout.trim().split('\n');
    };
    expect(typed('wo')).toEqual(['worker']);
    expect(typed('list', '--status', 'de')).toEqual(['dead']);
  });

  test('is there for zsh and fish, and for no other shell', async () => {
    for (const shell of ['zsh', 'fish']) expect(documentOf(await cli(['completion', shell, '--json']))).toMatchObject({ shell, script: expect.stringContaining('__complete') });
    expect((await cli(['completion', 'powershell'])).code).toBe(2);
    // Found where there is one.
    for (const shell of ['zsh', 'fish']) {
      const { stdout } = await cli(['completion', shell]);
      const read = spawnSync(shell, ['-n'], { input: stdout, encoding: 'utf8' });
      if (read.error === undefined) expect([shell, read.stderr]).toEqual([shell, '']);
    }
  });
});
