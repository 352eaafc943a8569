import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { ThroughlineClient, TimelineRow } from '../../index.ts';
import { ThroughlineError } from '../../errors.ts';
import type { ParentStatus } from '../../state/index.ts';
import { makeCommand, option } from '../command.ts';
import type { Context } from '../context.ts';
import { durationMs } from '../duration.ts';
import { safeJson, visible } from '../neutral.ts';
import { Screen } from '../screen.ts';
import { statusLines } from '../status.ts';
import { write } from '../terminal.ts';
import { meaning, moment } from '../text.ts';

interface Options {
  readonly timeout?: string;
}

/** How often the ledger is asked: one row of a person's attention, not a load. */
const INTERVAL_MS = 500;
const SIGINT_EXIT = 130;

/** A script that waits wants to know how it ended. */
const EXITS: Readonly<Partial<Record<ParentStatus, number>>> = { dead: 7, cancelled: 8 };

export const watchCommand = () =>
  makeCommand<Options>({
    name: 'watch',
    args: [['<task>', "the task's id"]],
    summary: 'follow a task, step by step, until it is at rest',
    description:
      'On a terminal the status is drawn again in its place; in a pipe each new entry of the timeline that moved something is a line of its own. Ends when the task is at rest, with an exit code that says how. Ctrl-C stops watching, never the task. While Postgres is away it waits. --json writes each entry as a document of one line, and at the end the view.',
    options: [option('--timeout <duration>', 'give up after this long (exit code 6)')],
    examples: [
      ['watch 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10', 'until it is at rest'],
      ['watch 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10 --timeout 10m && echo published', 'in a script'],
    ],
    exits: '0 succeeded; 3 no such task; 6 --timeout passed; 7 dead; 8 cancelled; 130 Ctrl-C',
    async run(context, { timeout }, task) {
      const client = await context.client();
      const stop = new AbortController();
      void once(process, 'SIGINT').then(() => { stop.abort(); });
      const until = timeout === undefined ? Infinity : performance.now() + durationMs(timeout, '--timeout');
      const show = context.terminal.interactive && !context.json ? onScreen(context, client, task) : asLines(context, client, task);
      try {
        for (;;) {
          const status = await show.step();
          if (status !== null) {
            process.exitCode = EXITS[status] ?? 0;
            return;
          }
          if (performance.now() > until) throw new ThroughlineError('WAIT_TIMEOUT', { limit: timeout ?? '', facts: { task } });
          await delay(INTERVAL_MS, undefined, { signal: stop.signal }).catch(() => undefined);
          if (stop.signal.aborted) {
            process.exitCode = SIGINT_EXIT;
            return;
          }
        }
      } finally {
        show.end();
      }
    },
  });

interface Show {
  /** Shows what is new; the status once the task is at rest. */
  step(): Promise<ParentStatus | null>;
  end(): void;
}

/** Undefined while the ledger is away: whoever watches waits on. */
async function unlessAway<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof ThroughlineError && error.code === 'LEDGER_UNAVAILABLE') return undefined;
    throw error;
  }
}

function onScreen(context: Context, client: ThroughlineClient, task: string): Show {
  const screen = new Screen(process.stdout);
  const { terminal: { colours }, words, lang } = context;
  let last: readonly string[] = [];
  return {
    async step() {
      const explanation = await unlessAway(() => client.explain(task, { lang }));
      if (explanation === undefined) {
        screen.draw([...last, colours.yellow(words.away)]);
        return null;
      }
      // Asked anew: the window may have another width.
      const width = process.stdout.columns > 0 && process.env['COLUMNS'] === undefined ? process.stdout.columns : context.terminal.width;
      last = statusLines(explanation, { ...context, terminal: { ...context.terminal, width } });
      screen.draw(last);
      return explanation.at_rest ? explanation.status : null;
    },
    end: () => { screen.end(); },
  };
}

function asLines(context: Context, client: ThroughlineClient, task: string): Show {
  let seen = 0;
  let away = false;
  return {
    async step() {
      // The view first: what moved after it is told next time.
      const found = await unlessAway(async () => ({ view: await client.get(task), timeline: await client.history(task) }));
      if (found === undefined) {
        if (!away) context.note(context.words.away);
        away = true;
        return null;
      }
      away = false;
      const { view, timeline } = found;
      const fresh = timeline.filter(({ id }) => id > seen);
      seen = fresh.at(-1)?.id ?? seen;
      const lines = context.json ? fresh.map((row) => safeJson(row)) : fresh.filter(({ kind }) => kind === 'transition' || kind === 'parent').map((row) => lineOf(row, context));
      if (context.json && view.at_rest) lines.push(safeJson({ view }));
      await write(process.stdout, lines.map((line) => `${line}\n`).join(''));
      return view.at_rest ? view.status : null;
    },
    end: () => undefined,
  };
}

function lineOf({ at, step, from_state: from, to_state: to, reason, attempt }: TimelineRow, { words, lang }: Context): string {
  const what = reason === null ? '' : `  ${meaning(reason, lang)}`;
  const tried = attempt === null || attempt === 0 ? '' : ` (${words.attempt(attempt)})`;
  return visible(`${moment(at)}  ${step ?? words.kinds.parent}: ${from === 'none' ? '' : `${from} → `}${to}${tried}${what}`);
}
