/** `replays` and `cancels`: the same commands over many, as objects. */
import type { Command, Option } from 'commander';
import type { BulkFilter, BulkInput, BulkItemPage, BulkReplayInput, BulkResult, BulkRow } from '../../client/bulk.ts';
import type { ThroughlineClient } from '../../client/client.ts';
import { makeCommand, makeGroup, option, wholeNumber } from '../command.ts';
import type { Context } from '../context.ts';
import { usageError } from '../failure.ts';
import { bulkLines, itemLines, listLines, progressLine } from '../bulk.ts';
import { readEffect } from '../effect-name.ts';

type Group = 'replays' | 'cancels';

interface Options {
  readonly reason?: string;
  readonly category?: string;
  readonly type?: string;
  readonly step?: string;
  readonly status?: string;
  readonly from?: string;
  readonly to?: string;
  readonly task?: readonly string[];
  readonly why?: string;
  readonly by?: string;
  readonly id?: string;
  readonly rate?: string;
  readonly dropCheckpoints?: true;
  readonly void?: readonly string[];
  readonly apply?: true;
  readonly detach?: true;
  readonly result?: string;
  readonly code?: string;
  readonly limit?: string;
  readonly cursor?: string;
}

/** Some items were refused or skipped: the answer says which. */
const PARTLY_EXIT = 4;
const ID = ['<bulk>', "the bulk's id"] as const;
const BY = option('--by <who>', "who acts (default: the operating system's user)");
const PAGE = [option('--limit <rows>', 'rows of a page, 1 to 500 (default: 50)'), option('--cursor <cursor>', 'as given with the page before')];
const DETACH = option('--detach', 'leave it to the workers instead of driving it from here');
const EXAMPLE_ID = '0199f3aa-1b7c-4f3e-8d45-6f0d8a4a1c11';

/** What differs between the two. */
const WORDS = {
  replays: {
    one: 'replay',
    summary: 'replay many dead steps, as an object',
    create: 'freeze the dead steps that are meant, and say what a replay of each would meet',
    about: 'Dead steps are found by the filter and frozen: what dies later is not touched, and a step that died again is not either. Nothing is replayed before --apply (or `replays apply`). Each item is then replayed as `replay` does it, at the rate given, and keeps its result or its coded refusal; one that is refused stops none of the others.',
    reason: "the dead step's reason; see docs/state-machine.md for the codes",
    from: 'died at or after: ISO 8601 with zone',
    to: 'died before: ISO 8601 with zone',
    step: 'only steps of this name',
    example: '--reason not_retryable --from 2026-05-01T09:00Z --to 2026-05-01T09:40Z --why "bad deploy, rolled back"',
  },
  cancels: {
    one: 'cancel',
    summary: 'cancel many tasks, as an object',
    create: 'freeze the open tasks that are meant, and say what a cancel of each would be answered',
    about: 'Tasks that are not at rest are found by the filter and frozen: what is accepted later is not touched. Nothing is cancelled before --apply (or `cancels apply`). Each task then gets a cancel of its own, with its verdict, as `cancel` makes it.',
    reason: "the task's last reason; see docs/state-machine.md for the codes",
    from: 'accepted at or after: ISO 8601 with zone',
    to: 'accepted before: ISO 8601 with zone',
    step: 'cancel this step instead of the whole task',
    example: '--type publish-note --from 2026-05-01T09:00Z --to 2026-05-01T09:40Z --why "the feed was wrong"',
  },
} as const;

const who = (context: Context, { by }: Options): { readonly by: string } => ({ by: by ?? context.user });

function filterOf({ reason, category, type, step, status, from, to, task }: Options): BulkFilter {
  // The client refuses what is none of the lists.
  return {
    ...(reason === undefined ? {} : { reason }), ...(category === undefined ? {} : { category }), ...(type === undefined ? {} : { type }), ...(step === undefined ? {} : { step }),
    ...(status === undefined ? {} : { status }), ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }),
    ...(task === undefined ? {} : { tasks: task }),
  } as BulkFilter;
}

function rateOf(text: string): number {
  if (!/^\d{1,6}(\.\d{1,6})?$/.test(text)) throw usageError('The rate is a number of items in a second, such as 10 or 0.5.', '--rate');
  return Number(text);
}

function make(client: ThroughlineClient, group: Group, context: Context, options: Options): Promise<BulkRow> {
  const { rate, id } = options;
  const input: BulkInput = {
    filter: filterOf(options), why: options.why ?? '', ...who(context, options), ...(rate === undefined ? {} : { ratePerSecond: rateOf(rate) }), ...(id === undefined ? {} : { id }),
  };
  if (group === 'cancels') return client.cancels.create(input);
  const more: Pick<BulkReplayInput, 'void' | 'dropCheckpoints'> = {
    ...(options.void === undefined ? {} : { void: options.void.map((name) => readEffect(name, '--void')) }), ...(options.dropCheckpoints === true ? { dropCheckpoints: true } : {}),
  };
  return client.replays.create({ ...input, ...more });
}

/** Applies it and, unless it is to be left to the workers, drives it to its end. Ctrl-C stops driving, not the bulk. */
async function applied(client: ThroughlineClient, group: Group, context: Context, id: string, options: Options): Promise<BulkRow> {
  const bulk = await client[group].apply(id, who(context, options));
  if (options.detach === true || bulk.status !== 'running') return bulk;
  const stop = new AbortController();
  const onSignal = (): void => {
    stop.abort();
  };
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  let said = '';
  try {
    return await client[group].drive(id, {
      signal: stop.signal,
      onTurn: (now) => {
        const line = progressLine(now, context);
        if (line !== said) context.note(line);
        said = line;
      },
    });
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  }
}

async function answer(context: Context, group: Group, bulk: BulkRow): Promise<void> {
  await context.answer(bulk, () => bulkLines(bulk, group, context));
}

async function answerApplied(context: Context, group: Group, bulk: BulkRow): Promise<void> {
  await answer(context, group, bulk);
  if (bulk.counts.refused + bulk.counts.skipped > 0) process.exitCode = PARTLY_EXIT;
}

function create(group: Group): Command {
  const words = WORDS[group];
  const filters: readonly Option[] = [
    option('--reason <code>', words.reason), option('--category <category>', "of the step's last failure, such as programming_error"), option('--type <type>', 'only tasks of this type'),
    option('--step <step>', words.step), option('--status <status>', "the task's status"), option('--from <time>', words.from), option('--to <time>', words.to),
    option('--task <id...>', 'only these tasks, at most 500'),
  ];
  const replaying: readonly Option[] = [
    option('--drop-checkpoints', "forget the steps' checkpoints"),
    option('--void <effect/item...>', 'treat these effects as ended without lasting effect, wherever an item has them: body, picture/cover.png'),
  ];
  return makeCommand<Options>({
    name: 'create',
    summary: words.create,
    description: `${words.about} At least one filter is needed; each narrows what is found. More than 10,000 items are refused.`,
    options: [
      ...filters, ...(group === 'replays' ? replaying : []), option('--why <text>', 'why; recorded with each item, required'), BY, option('--id <id>', 'a UUID that makes it idempotent'),
      option('--rate <number>', 'items in a second, 0.01 to 1000 (default: 10)'), option('--apply', 'not only a dry run: do it now, and show how it goes'), DETACH,
    ],
    examples: [
      [`${group} create ${words.example}`, `a dry run: what it finds, and what each would meet; ${group} apply does it`],
      [`${group} create ${words.example} --rate 2 --apply`, 'both at once, two a second'],
    ],
    exits: '0 made, or with --apply every item is done; 2 bad filter, time, rate or no --why; 3 no such type; 4 with --apply: some items were refused or skipped, or the --id belongs to another one',
    async run(context, options) {
      const client = await context.client();
      const bulk = await make(client, group, context, options);
      if (options.apply === true) await answerApplied(context, group, await applied(client, group, context, bulk.id, options));
      else await answer(context, group, bulk);
    },
  });
}

const list = (group: Group): Command =>
  makeCommand<Options>({
    name: 'list',
    summary: 'all of them, newest first',
    description: 'By pages. --json answers {"rows", "cursor"}.',
    options: PAGE,
    examples: [[`${group} list`, 'what was asked, by whom, and how far it is']],
    exits: '0 answered; 2 a bad limit or cursor',
    async run(context, options) {
      const { limit, cursor } = options;
      const page = await (await context.client())[group].list({ ...(limit === undefined ? {} : { limit: wholeNumber(limit, '--limit') }), ...(cursor === undefined ? {} : { cursor }) });
      await context.answer(page, () => listLines(page, context));
    },
  });

const show = (group: Group): Command =>
  makeCommand<Options>({
    name: 'show',
    args: [ID],
    summary: 'one of them, with counts',
    description: 'Who asked for what and why, what was foreseen, how far it is, and the refusals by code.',
    examples: [[`${group} show ${EXAMPLE_ID}`, 'how far is it?']],
    exits: '0 answered; 3 no such bulk',
    async run(context, _options, id) {
      await answer(context, group, await (await context.client())[group].get(id));
    },
  });

const items = (group: Group): Command =>
  makeCommand<Options>({
    name: 'items',
    args: [ID],
    summary: 'each item with its result',
    description: 'In the order in which they go, by pages. Before it is applied: what each would meet.',
    options: [option('--result <result>', 'pending, done, refused, skipped'), option('--code <code>', 'only these refusals'), ...PAGE],
    examples: [[`${group} items ${EXAMPLE_ID} --result refused`, 'what is left to a person']],
    exits: '0 answered; 2 a bad filter, limit or cursor; 3 no such bulk',
    async run(context, options, id) {
      const { result, code, limit, cursor } = options;
      const page: BulkItemPage = await (await context.client())[group].items(id, {
        ...(result === undefined ? {} : { result: result as BulkResult }), ...(code === undefined ? {} : { code }), ...(limit === undefined ? {} : { limit: wholeNumber(limit, '--limit') }),
        ...(cursor === undefined ? {} : { cursor }),
      });
      await context.answer(page, () => itemLines(page, context));
    },
  });

const apply = (group: Group): Command =>
  makeCommand<Options>({
    name: 'apply',
    args: [ID],
    summary: 'do it, and show how it goes',
    description: 'From here on the workers drive it, and so does this command until it has ended; it needs no worker. No item is done twice, and the rate is theirs together. Ctrl-C stops watching, never the bulk: `abort` does. Again on a running one: watches it.',
    options: [DETACH, BY],
    examples: [[`${group} apply ${EXAMPLE_ID}`, 'what the dry run has frozen'], [`${group} apply ${EXAMPLE_ID} --detach`, 'the workers do it']],
    exits: '0 every item is done (with --detach: it runs); 2 a bad id; 3 no such bulk; 4 it was aborted, or some items were refused',
    async run(context, options, id) {
      await answerApplied(context, group, await applied(await context.client(), group, context, id, options));
    },
  });

const abort = (group: Group): Command =>
  makeCommand<Options>({
    name: 'abort',
    args: [ID],
    summary: 'leave the rest as it is',
    description: 'What is pending is skipped; what was done stays done.',
    options: [option('--why <text>', 'why; recorded, required'), BY],
    examples: [[`${group} abort ${EXAMPLE_ID} --why "they die again"`, 'at once']],
    exits: '0 aborted, now or before; 2 no --why; 3 no such bulk; 4 it is done already',
    async run(context, options, id) {
      const bulk = await (await context.client())[group].abort(id, { ...who(context, options), why: options.why ?? '' });
      await answer(context, group, bulk);
    },
  });

export const bulkCommand = (group: Group): Command => makeGroup(group, WORDS[group].summary, [create(group), list(group), show(group), items(group), apply(group), abort(group)]);
