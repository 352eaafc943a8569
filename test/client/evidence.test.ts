import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createClient, verifyEvidence, type ThroughlineClient } from '../../src/index.ts';
import { canonicalJson } from '../../src/define/canonical.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { Tale } from '../support/tale.ts';
import { waiting } from '../ledger/scenarios/scenario.ts';

let ledger: Ledger;
let client: ThroughlineClient;
beforeAll(async () => {
  ledger = await openLedger();
  client = createClient({ databaseUrl: ledger.url, connectionsMax: 2 });
});
afterAll(async () => {
  await client.close();
  await ledger.close();
});

interface Line {
  readonly n: number;
  readonly part: string;
  readonly row: Readonly<Record<string, unknown>>;
}
const linesOf = (text: string): readonly Line[] => text.trimEnd().split('\n').map((line) => JSON.parse(line) as Line);

/** Failed, replayed, published, received, completed; the render was cancelled too late. */
async function lived(): Promise<Tale> {
  const tale = await (await (await (await Tale.of(ledger)).claim()).fail(false)).replays();
  await waiting(tale, 'received');
  return (await tale.receives('completed')).accept();
}

describe('the evidence of a task', () => {
  test('holds every entry in order, attempts, requests, receipts, checks and replays, and not the input', async () => {
    const tale = await lived();
    const { text, lines, timeline } = await client.evidence(tale.task);
    const all = linesOf(text);
    const parts = (part: string): readonly Line[] => all.filter((line) => line.part === part);
    expect(all.map(({ n }) => n)).toEqual(all.map((_, index) => index + 1));
    expect([all.length, parts('timeline').length]).toEqual([lines, timeline.entries]);
    expect(parts('timeline').map(({ row }) => row['id'])).toEqual((await client.history(tale.task)).map(({ id }) => id));
    expect(parts('attempt').map(({ row }) => [row['attempt'], (row['ended_by'] as { event: string }).event])).toEqual([[1, 'settle_failed'], [2, 'settle_submitted']]);
    expect(Object.fromEntries(['task', 'touch', 'receipt', 'acceptance', 'replay', 'end'].map((part) => [part, parts(part).length]))).toEqual({ task: 1, touch: 1, receipt: 2, acceptance: 1, replay: 1, end: 1 });
    expect(parts('replay')[0]?.row).toMatchObject({ by: 'operator:oda', why: 'fixed the cause' });
    expect(text).not.toContain('"hello"');
  });

  test('is the same file twice once the task has ended, whatever the drivers and clocks do', async () => {
    const tale = await lived();
    const first = await client.evidence(tale.task);
    await tale.pass(60_000);
    await tale.look();
    expect(await client.evidence(tale.task)).toEqual(first);
    expect(verifyEvidence(first.text, { head: first.timeline.head })).toEqual({ ok: true, task: tale.task, lines: first.lines, timeline: first.timeline, seal: first.seal });
  });

  test('a later export begins with the timeline of an earlier one, and one of another task does not', async () => {
    const tale = await (await Tale.of(ledger)).claim();
    const before = await client.evidence(tale.task);
    await tale.fail();
    const after = await client.evidence(tale.task);
    expect(after.timeline.entries).toBeGreaterThan(before.timeline.entries);
    expect(verifyEvidence(after.text, { earlier: before.text })).toMatchObject({ ok: true });
    expect(verifyEvidence(before.text, { earlier: after.text })).toMatchObject({ ok: false, problem: 'not_extended' });
    expect(verifyEvidence((await client.evidence((await Tale.of(ledger)).task)).text, { earlier: before.text })).toEqual({ ok: false, line: 1, problem: 'not_extended' });
  });

  test('of an unknown task is refused', async () => {
    await expect(client.evidence('00000000-0000-4000-8000-000000000000')).rejects.toMatchObject({ code: 'TASK_UNKNOWN' });
  });
});

describe('tampering is found at its line', () => {
  let lines: readonly string[];
  beforeAll(async () => {
    lines = (await client.evidence((await lived()).task)).text.trimEnd().split('\n');
  });
  const verdict = (changed: readonly string[]): unknown => verifyEvidence(changed.map((line) => `${line}\n`).join(''));
  const every = (): readonly number[] => lines.map((_, index) => index);

  test('a line that was altered, whichever it is', () => {
    for (const at of every()) {
      const line = JSON.parse(lines[at] ?? '') as { row: Record<string, unknown> };
      const changed = canonicalJson({ ...line, row: { ...line.row, added: true } });
      expect(verdict(lines.with(at, changed))).toEqual({ ok: false, line: at + 1, problem: 'altered' });
    }
  });

  test('a line that was removed, whichever it is', () => {
    for (const at of every()) {
      const last = at === lines.length - 1;
      expect(verdict(lines.toSpliced(at, 1))).toEqual({ ok: false, line: last ? at : at + 1, problem: at === 0 ? 'format' : last ? 'incomplete' : 'out_of_place' });
    }
  });

  test('two lines that changed places, and a line that stands there twice', () => {
    for (const at of every().slice(1, -1)) {
      expect(verdict(lines.toSpliced(at, 2, lines[at + 1] ?? '', lines[at] ?? ''))).toEqual({ ok: false, line: at + 1, problem: 'out_of_place' });
      expect(verdict(lines.toSpliced(at, 0, lines[at] ?? ''))).toEqual({ ok: false, line: at + 2, problem: 'out_of_place' });
    }
  });

  test('an inserted line, with its number put right', () => {
    const line = JSON.parse(lines[3] ?? '') as { n: number };
    const inserted = lines.toSpliced(4, 0, canonicalJson({ ...line, n: 5 }));
    expect(verdict(inserted)).toEqual({ ok: false, line: 5, problem: 'altered' });
  });

  test('a line with a blank, a file cut off in a line, text after the end, and no evidence at all', () => {
    expect(verdict(lines.with(2, ` ${lines[2] ?? ''}`))).toEqual({ ok: false, line: 3, problem: 'unreadable' });
    expect(verifyEvidence(lines.join('\n'))).toMatchObject({ ok: false, problem: 'incomplete' });
    expect(verdict([...lines, lines.at(-1) ?? ''])).toEqual({ ok: false, line: lines.length + 1, problem: 'out_of_place' });
    for (const text of ['', '\n', '{}\n', 'null\n', '[]\n']) expect(verifyEvidence(text)).toMatchObject({ ok: false, line: 1 });
  });

  test('a file that was made anew, by the head that was kept', () => {
    const text = lines.map((line) => `${line}\n`).join('');
    expect(verifyEvidence(text, { head: '0'.repeat(64) })).toMatchObject({ ok: false, problem: 'not_this_head' });
  });
});
