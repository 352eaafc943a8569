import type { Command } from 'commander';
import { open, readFile, stat } from 'node:fs/promises';
import { verifyEvidence } from '../../client/evidence.ts';
import { ThroughlineError } from '../../errors.ts';
import { makeCommand, makeGroup, option } from '../command.ts';
import { visible } from '../neutral.ts';
import { write } from '../terminal.ts';

const BYTES_MAX = 256 * 1024 * 1024;

const fileError = (error: unknown, path: string): ThroughlineError => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
  const message = code === 'EEXIST' ? 'The file is there already; evidence is never written over.' : `The file cannot be used (${code}).`;
  return new ThroughlineError('INPUT_INVALID', { path, message });
};

async function readText(path: string, option: string): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size > BYTES_MAX) throw new ThroughlineError('INPUT_TOO_LARGE', { path: option, limit: `${String(BYTES_MAX)} bytes` });
    return await readFile(path, 'utf8');
  } catch (error) {
    throw error instanceof ThroughlineError ? error : fileError(error, option);
  }
}

/** Never over another file, and on the disk before it is said to be there. */
async function writeNew(path: string, text: string): Promise<void> {
  try {
    const file = await open(path, 'wx');
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    throw fileError(error, '--out');
  }
}

/** Without a task it says what the group can do. */
const exportCommand = (help: () => void): Command =>
  makeCommand<{ readonly out?: string }>({
    name: 'export',
    args: [['[task]', "the task's id"]],
    summary: 'everything on record of a task, chained; the default: `evidence TASK`',
    description:
      "Writes the timeline, attempts, requests to the outside, receipts, artifacts, acceptance checks, cancels, replays and corrections as lines of canonical JSON; each line's hash covers the one before it. The input itself is left out, its digest is there. --json answers {\"task\", \"lines\", \"timeline\": {\"entries\", \"head\"}, \"seal\"} with \"out\", or with \"text\".",
    options: [option('--out <file>', 'a new file (default: the lines on stdout)')],
    examples: [['evidence export 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10 --out tides.evidence', 'says the head of the chain, to be kept elsewhere']],
    exits: '2 the file is there already or cannot be written; 3 no such task',
    async run(context, { out }, task?: string) {
      if (task === undefined) {
        help();
        return;
      }
      const { text, ...made } = await (await context.client()).evidence(task);
      if (out === undefined) {
        if (context.json) await context.answer({ ...made, text }, () => []);
        // A terminal would obey what users wrote; a pipe gets the very bytes.
        else await write(process.stdout, context.terminal.interactive ? text.split('\n').map(visible).join('\n') : text);
        return;
      }
      await writeNew(out, text);
      await context.answer({ ...made, out }, () => [context.words.evidenceMade(made.lines, made.timeline.head)]);
    },
  });

const verifyCommand = (): Command =>
  makeCommand<{ readonly head?: string; readonly extends?: string }>({
    name: 'verify',
    args: [['<file>', 'a file of `evidence`']],
    summary: 'is the file whole and unchanged?',
    description: 'Needs no ledger. Names the first line that does not fit: changed, removed, added, moved or cut off. --json answers {"ok": true, "task", "lines", "timeline", "seal"} or {"ok": false, "line", "problem"}.',
    options: [
      option('--head <hash>', "the timeline's head as it was said at the export: a file that was made anew has another one"),
      option('--extends <file>', 'an earlier export of the same task, whose timeline this one must begin with'),
    ],
    examples: [
      ['evidence verify tides.evidence', 'by itself'],
      ['evidence verify tides.evidence --extends tides-before.evidence', 'and against what was exported before'],
    ],
    exits: '0 whole and unchanged; 2 the file cannot be read; 4 it is not',
    async run(context, { head, extends: before }, file) {
      const text = await readText(file, '/file');
      const earlier = before === undefined ? undefined : await readText(before, '--extends');
      const verdict = verifyEvidence(text, { ...(head === undefined ? {} : { head }), ...(earlier === undefined ? {} : { earlier }) });
      const { words } = context;
      await context.answer(verdict, () => [verdict.ok ? words.evidenceFits(verdict.lines, verdict.timeline.entries, verdict.timeline.head) : words.evidenceWrong(verdict.line, words.evidence[verdict.problem])]);
      process.exitCode = verdict.ok ? 0 : 4;
    },
  });

export function evidenceCommand(): Command {
  const group = makeGroup('evidence', 'everything on record of a task as a file in which tampering shows', [verifyCommand()]);
  return group.addCommand(exportCommand(() => { group.outputHelp(); }), { isDefault: true });
}
