/** What the command line answers, on a real ledger, while Temporal is down; and that hostile content stays content. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Explanation, Page, TimelineRow, View } from '../../src/index.ts';
import { widthOf } from '../../src/cli/width.ts';
import { emptyDatabase, openLedger, type Ledger } from '../support/ledger.ts';
import { FAILURE, Tale } from '../support/tale.ts';
import { cli, documentOf, TEMPORAL_AWAY, type Failure, type RunOptions, type Said } from './cli.ts';

const UNKNOWN = '3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10';
const HOSTILE = 'evil\u001b]0;owned\u0007\u001b[2J\u202ekcab\u009b31m\u2028<script>alert(1)</script>';
/** Raw on stdout, these would be obeyed, or hide what stands there; a newline ends a line of ours. */
const RAW = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/; // eslint-disable-line no-control-regex -- finding them is what this is for

let ledger: Ledger;
/** Succeeded, and dead with hostile text in key, error and who asked. */
let good: Tale;
let bad: Tale;

beforeAll(async () => {
  ledger = await openLedger();
  good = await (await (await (await Tale.of(ledger, { effects: 'none' }, { key: 'good' })).claim()).done()).accept();
  bad = await (await Tale.of(ledger, [{ name: 'render', effects: 'none' }], { key: HOSTILE, by: `user:${HOSTILE}` })).claim(`worker:${HOSTILE}`);
  await bad.fail(false, { error: { ...FAILURE, message: HOSTILE } });
});
afterAll(() => ledger.close());

const say = (args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Said> => {
  const options: RunOptions = { env: { DATABASE_URL: ledger.url, TEMPORAL_ADDRESS: TEMPORAL_AWAY, ...more } };
  return cli(args, options);
};

async function ask<T>(...args: string[]): Promise<T> {
  const said = await say([...args, '--json']);
  expect([said.code, said.stderr, said.code === 0 ? '' : said.stdout]).toEqual([0, '', '']);
  expect(said.stdout.trimEnd()).not.toMatch(RAW);
  return documentOf(said) as T;
}

describe('an unknown task', () => {
  test.each(['status', 'history', 'explain'])('is 3 for %s', async (command) => {
    const said = await say([command, UNKNOWN, '--json']);
    expect([said.code, (documentOf(said) as Failure).error.code]).toEqual([3, 'TASK_UNKNOWN']);
  });
});

describe('status', () => {
  test('says each step, as the ledger has it', async () => {
    const view = await ask<View>('status', bad.task.toUpperCase());
    expect(view).toMatchObject({ task: bad.task, status: 'dead', at_rest: true, held_by: 'render', steps: [{ name: 'render', state: 'dead', reason: 'not_retryable', attempt: 1 }] });
    const { stdout } = await say(['status', good.task]);
    expect(stdout).toMatch(/STEP +STATE +TRIES/);
    expect(stdout).toMatch(/publish +succeeded +1\/3/);
  });

  test('waits for a task at rest no time at all', async () => {
    expect(await ask<View>('status', good.task, '--wait', '--timeout', '10s')).toMatchObject({ status: 'succeeded', at_rest: true });
  });
});

describe('history', () => {
  test('is the whole timeline in order', async () => {
    const { task, timeline } = await ask<{ task: string; timeline: TimelineRow[] }>('history', good.task);
    expect(task).toBe(good.task);
    expect(timeline.filter(({ kind }) => kind === 'transition').map(({ to_state }) => to_state)).toEqual(['queued', 'leased', 'completed', 'succeeded']);
    expect(timeline.map(({ id }) => id)).toEqual(timeline.map(({ id }) => id).sort((a, b) => a - b));
    const { stdout } = await say(['history', good.task]);
    expect(stdout).toMatch(/queued → leased, attempt 1 +claimed: a worker took it/);
    expect((await say(['history', good.task, '--lang', 'zh-CN'])).stdout).toContain('工作进程已领取并开始尝试');
  });
});

describe('explain', () => {
  test('works without Temporal and says that it is away', async () => {
    const explanation = await ask<Explanation>('explain', bad.task);
    expect(explanation).toMatchObject({ lang: 'en', status: 'dead', will_run_again: { answer: 'only_by_a_person' }, driver: { agrees_with_temporal: 'unknown', temporal: { code: 'unreachable' } } });
  });

  test('speaks the language of the option, else of THROUGHLINE_LANG', async () => {
    const [option, variable, both] = await Promise.all([
      say(['explain', good.task, '--lang', 'zh-CN']), say(['explain', good.task], { THROUGHLINE_LANG: 'zh-CN' }), say(['--lang', 'en', 'explain', good.task], { THROUGHLINE_LANG: 'zh-CN' }),
    ]);
    expect(option.stdout).toContain('会再执行吗');
    expect(variable.stdout).toContain('会再执行吗');
    expect(both.stdout).toContain('Will it run again?');
  });
});

describe('list', () => {
  test('filters, and pages to the end by the cursor it names', async () => {
    const dead = await ask<Page>('list', '--status', 'dead', '--reason', 'not_retryable', '--key', HOSTILE);
    expect(dead.rows.map(({ id, key }) => ({ id, key }))).toEqual([{ id: bad.task, key: HOSTILE }]);
    const first = await ask<Page>('list', '--limit', '1');
    expect(first.cursor).not.toBeNull();
    const second = await ask<Page>('list', '--limit', '1', '--cursor', first.cursor ?? '');
    expect([...first.rows, ...second.rows].map(({ id }) => id)).toEqual([bad.task, good.task]);
    expect(second.cursor).toBeNull();
  });

  test('says so when nothing matches; refuses filters and cursors that are none', async () => {
    const [none, ...refused] = await Promise.all([
      say(['list', '--type', 'nothing']), say(['list', '--status', 'failed', '--json']), say(['list', '--reason', 'bad luck', '--json']), say(['list', '--limit', '501', '--json']), say(['list', '--cursor', 'xyz', '--json']),
    ]);
    expect([none.code, none.stdout]).toEqual([0, 'No task matches.\n']);
    expect(refused.map((said) => [said.code, (documentOf(said) as Failure).error.code, (documentOf(said) as Failure).error.path])).toEqual([
      [2, 'FILTER_INVALID', '/status'], [2, 'FILTER_INVALID', '/reason'], [2, 'FILTER_INVALID', '/limit'], [2, 'CURSOR_INVALID', '/cursor'],
    ]);
  });
});

describe('text', () => {
  const all = (): readonly (readonly string[])[] => [['list'], ['status', bad.task], ['history', bad.task], ['explain', bad.task]];

  test('shows hostile content literally, fits the width, and has no colour in a pipe', async () => {
    const widths = [[60, 'zh-CN'], [80, 'en'], [120, 'zh-CN']] as const;
    for (const args of [...all(), ['watch', bad.task]]) {
      const said = await Promise.all(widths.map(async ([width, lang]) => ({ width, ...(await say([...args, '--lang', lang], { COLUMNS: String(width) })) })));
      for (const { width, stdout } of said) {
        expect(stdout).not.toMatch(RAW);
        // Each line of `watch` is an entry: it is for a log.
        if (args[0] !== 'watch') expect([args, width, stdout.split('\n').filter((line) => widthOf(line) > width)]).toEqual([args, width, []]);
      }
    }
    const { stdout } = await say(['status', bad.task]);
    expect(stdout).toContain('evil␛]0;owned␇␛[2J⟨U+202E⟩kcab⟨U+009B⟩31m');
    expect(stdout).toContain('<script>alert(1)</script>');
  });

  test('is coloured where it is asked for, green for succeeded alone', async () => {
    const green = '\u001b[32m';
    for (const args of all()) {
      const { stdout } = await say(args, { FORCE_COLOR: '1' });
      expect(stdout).toContain('\u001b[');
      const lines = stdout.split('\n').filter((line) => line.includes(green));
      expect(lines.filter((line) => !line.includes('succeeded'))).toEqual([]);
      expect(lines).toHaveLength(args[0] === 'list' ? 1 : 0);
    }
    const plain = await say(['list'], { FORCE_COLOR: '1', NO_COLOR: '1' });
    expect(plain.stdout).not.toContain('\u001b');
  });
});

describe('a ledger', () => {
  test('that does not exist is a matter of configuration, said in the words of Postgres', async () => {
    const url = new URL(ledger.url);
    url.pathname = '/no_such_database';
    const said = await cli(['list', '--json'], { env: { DATABASE_URL: url.href } });
    expect([said.code, (documentOf(said) as Failure).error]).toMatchObject([2, { code: 'CONFIG_INVALID', path: 'DATABASE_URL' }]);
    expect(said.stdout).toContain('no_such_database');
  });

  test('without a schema says what to do; migrated by several processes at once, all end well and one did it', async () => {
    const empty = await emptyDatabase();
    const env = { DATABASE_URL: empty.url };
    try {
      const before = await cli(['list', '--json'], { env });
      expect([before.code, (documentOf(before) as Failure).error.code]).toEqual([5, 'LEDGER_OUTDATED']);
      const migrated = await Promise.all([1, 2, 3].map(() => cli(['migrate', '--json'], { env })));
      expect(migrated.map(({ code }) => code)).toEqual([0, 0, 0]);
      const applied = migrated.map((said) => (documentOf(said) as { applied: string[] }).applied.length).sort();
      expect(applied).toEqual([0, 0, expect.any(Number)]);
      expect(applied[2]).toBeGreaterThan(0);
      const again = await cli(['migrate'], { env });
      expect([again.code, again.stdout]).toEqual([0, 'The schema is up to date.\n']);
    } finally {
      await empty.drop();
    }
  });
});
