import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from 'commander';
import { ThroughlineError } from '../../errors.ts';
import type { NotificationPage, NotificationRow, WebhookRow } from '../../client/webhooks.ts';
import { NOTIFICATION_STATUSES, NOTIFY_EVENTS } from '../../state/index.ts';
import type { NotificationStatus, NotifyEvent } from '../../state/index.ts';
import { makeCommand, makeGroup, option, wholeNumber } from '../command.ts';
import type { Context } from '../context.ts';
import { durationMs } from '../duration.ts';
import { usageError } from '../failure.ts';
import { visible } from '../neutral.ts';
import { table } from '../table.ts';
import { moment } from '../text.ts';

const EVENTS = Object.entries(NOTIFY_EVENTS).map(([event, { en }]) => `  ${event}: ${en}`).join('\n');
const BY = option('--by <who>', "who acts (default: the operating system's user)");
const EVENT_OPTION = option('--event <event...>', 'only these events (default: all)');
const TYPE_OPTION = option('--type <type...>', 'only tasks of these types (default: all)');
const HTTP_OPTION = option('--allow-http', 'accept http://, which is sent readable to everybody on the way');
const ID = ['<webhook>', "the webhook's id"] as const;
/** Between two looks at whether a test was sent. */
const LOOK_MS = 250;

interface Options {
  readonly event?: readonly NotifyEvent[];
  readonly type?: readonly string[];
  readonly secret?: string;
  readonly allowHttp?: true;
  readonly by?: string;
  readonly why?: string;
  readonly overlap?: string;
  readonly timeout?: string;
  readonly id?: string;
  readonly url?: string;
  readonly webhook?: string;
  readonly task?: string;
  readonly status?: string;
  readonly limit?: string;
  readonly cursor?: string;
}

/** What was given of these options. */
function given({ event, type, allowHttp, url, why }: Options) {
  return {
    ...(event === undefined ? {} : { events: event }), ...(type === undefined ? {} : { types: type }), ...(url === undefined ? {} : { url }), ...(why === undefined ? {} : { why }),
    ...(allowHttp === true ? { allowHttp } : {}),
  };
}

const by = (context: Context, options: Options): { readonly by: string } => ({ by: options.by ?? context.user });

/** From `$THROUGHLINE_WEBHOOK_SECRET`: an option would stand in the shell's history and in the list of processes. */
function secretOf(): { readonly secret?: string } {
  const secret = process.env['THROUGHLINE_WEBHOOK_SECRET']?.trim();
  return secret === undefined || secret === '' ? {} : { secret };
}

const SECRET_HELP = 'The secret is made here (or taken from $THROUGHLINE_WEBHOOK_SECRET) and shown this once: give it to the receiver, who checks webhook-signature with it.';

const add = (): Command =>
  makeCommand<Options>({
    name: 'add',
    args: [['<url>', 'where to send to: https, without user and fragment']],
    summary: 'tell an endpoint',
    description: `Adds a webhook: signed POST requests as Standard Webhooks has them, sent by the workers. ${SECRET_HELP}\n\nEvents:\n${EVENTS}`,
    options: [EVENT_OPTION, TYPE_OPTION, HTTP_OPTION, option('--id <id>', 'a UUID that makes it idempotent'), BY],
    examples: [['webhooks add https://ops.example/hooks --event task.dead step.unconfirmed', 'what needs a person']],
    exits: '0 added; 2 bad URL, event or secret; 4 the id belongs to another URL',
    async run(context, options, url) {
      const { webhooks } = await context.client();
      const added = await webhooks.add({ ...given(options), url, ...secretOf(), ...by(context, options), ...(options.id === undefined ? {} : { id: options.id }) });
      await context.answer(added, () => [visible(`${added.id}  ${added.url}`), `  ${context.words.secretOnce}: ${added.secret}`]);
    },
  });

const list = (): Command =>
  makeCommand<Options>({
    name: 'list',
    summary: 'who is told what',
    description: 'Each webhook with its events, and how many notifications are pending or parked. Secrets are never shown. --json answers the list.',
    examples: [['webhooks list', 'all of them']],
    exits: '0 answered',
    async run(context) {
      const rows = await (await context.client()).webhooks.list();
      const { words, terminal } = context;
      await context.answer(rows, () =>
        rows.length === 0
          ? [words.nothing]
          : table<WebhookRow>(
              rows,
              [
                { head: words.id, cell: ({ id }) => id },
                { head: 'URL', cell: ({ url }) => url, tight: 'cut', widthMin: 20 },
                { head: words.state, cell: ({ enabled, disabled_why }) => (enabled ? words.enabled : (disabled_why ?? '-')), tight: 'cut', widthMin: 8 },
                { head: words.pending, cell: ({ pending }) => String(pending) },
                { head: words.parked, cell: ({ parked }) => String(parked) },
                { head: words.events, cell: ({ events }) => events.join(' '), tight: 'wrap', widthMin: 18, leaveOut: 2 },
                { head: words.type, cell: ({ types }) => (types.length === 0 ? '*' : types.join(' ')), tight: 'cut', leaveOut: 3 },
              ],
              terminal.width,
              terminal.colours.dim,
            ),
      );
    },
  });

const change = (name: 'change' | 'enable' | 'disable'): Command =>
  makeCommand<Options>({
    name,
    args: [ID],
    summary: { change: 'other URL, events or types', enable: 'tell it again', disable: 'tell it nothing for now' }[name],
    description: {
      change: 'Changes what is given, from now on.',
      enable: 'What was pending is sent now; what happened while it was disabled is not told.',
      disable: 'Nothing new is written for it, and what is pending waits until it is enabled.',
    }[name],
    options: name === 'change' ? [option('--url <url>', 'where to send to'), EVENT_OPTION, TYPE_OPTION, HTTP_OPTION, BY] : [...(name === 'disable' ? [option('--why <text>', 'shown in the list')] : []), BY],
    examples: [[`webhooks ${name} 0199f3aa-1b7c-4f3e-8d45-6f0d8a4a1c11${name === 'change' ? ' --event task.dead' : ''}`, { change: 'only deaths', enable: 'it is back', disable: 'it moves' }[name]]],
    exits: '0 changed; 2 bad URL or event; 3 no such webhook',
    async run(context, options, id) {
      const enabled = name === 'change' ? {} : { enabled: name === 'enable' };
      const row = await (await context.client()).webhooks.change(id, { ...given(options), ...enabled, ...by(context, options) });
      await context.answer(row, () => [visible(`${row.id}  ${row.url}  ${row.enabled ? context.words.enabled : (row.disabled_why ?? '-')}`)]);
    },
  });

const rotate = (): Command =>
  makeCommand<Options>({
    name: 'rotate',
    args: [ID],
    summary: 'a new secret',
    description: `The secret before signs as well until --overlap is over, so that the receiver can change over in between. ${SECRET_HELP}`,
    options: [option('--overlap <duration>', 'how long both sign: 0s to 30d (default: 24h)'), BY],
    examples: [['webhooks rotate 0199f3aa-1b7c-4f3e-8d45-6f0d8a4a1c11 --overlap 1h', 'both sign for an hour']],
    exits: '0 rotated; 2 bad secret or overlap; 3 no such webhook',
    async run(context, options, id) {
      const overlap = options.overlap === undefined ? {} : { overlap: durationMs(options.overlap, '--overlap') };
      const row = await (await context.client()).webhooks.rotate(id, { ...secretOf(), ...overlap, ...by(context, options) });
      await context.answer(row, () => [visible(`${row.id}  ${row.url}`), `  ${context.words.secretOnce}: ${row.secret}`]);
    },
  });

const remove = (): Command =>
  makeCommand<Options>({
    name: 'remove',
    args: [ID],
    summary: 'tell it nothing any more',
    description: 'Its secrets are forgotten, what is pending or parked is dropped, what was sent stays on record.',
    options: [BY],
    examples: [['webhooks remove 0199f3aa-1b7c-4f3e-8d45-6f0d8a4a1c11', 'for good']],
    exits: '0 removed; 3 no such webhook',
    async run(context, options, id) {
      const answer = await (await context.client()).webhooks.remove(id, by(context, options));
      await context.answer({ id, ...answer }, () => [context.words.removed(answer.dropped)]);
    },
  });

const test = (): Command =>
  makeCommand<Options>({
    name: 'test',
    args: [ID],
    summary: 'send it webhook.test',
    description: 'Through the outbox as everything else: a worker sends it. Waits for the first answer, whatever it is.',
    options: [option('--timeout <duration>', 'how long to wait for it; 0s: not at all (default: 30s)'), BY],
    examples: [['webhooks test 0199f3aa-1b7c-4f3e-8d45-6f0d8a4a1c11', 'does it arrive?']],
    exits: '0 it was tried, whatever the endpoint said; 3 no such webhook; 4 it is disabled; 6 no worker tried it in time',
    async run(context, options, id) {
      const timeoutMs = options.timeout === undefined ? 30_000 : durationMs(options.timeout, '--timeout');
      const { webhooks } = await context.client();
      const { notification, enabled } = await webhooks.test(id, by(context, options));
      if (!enabled) throw new ThroughlineError('TRANSITION_REFUSED', { message: 'The webhook is disabled: the test is sent when it is enabled.', facts: { notification } });
      const row = async (): Promise<NotificationRow | undefined> => (await webhooks.notifications({ id: notification })).rows[0];
      const until = performance.now() + timeoutMs;
      let seen = await row();
      while (timeoutMs > 0 && seen?.status === 'pending' && seen.attempts === 0) {
        if (performance.now() > until) throw new ThroughlineError('WAIT_TIMEOUT', { message: 'No worker has tried it in time; it is still pending.', facts: { notification } });
        await wait(LOOK_MS);
        seen = await row();
      }
      await context.answer(seen, () => [visible(`${notification}  ${seen?.status ?? '-'}  ${seen?.last_error ?? String(seen?.http_status ?? '-')}`)]);
    },
  });

const deliveries = (): Command =>
  makeCommand<Options>({
    name: 'deliveries',
    summary: 'what was, is or could not be sent, newest first',
    description: 'Notifications with their tries and the last answer, by pages. Their id is the webhook-id of each request.',
    options: [
      option('--webhook <webhook>', 'only of this webhook'), option('--task <task>', 'only about this task'), option('--id <id>', 'only this one'), option('--status <status>', NOTIFICATION_STATUSES.join(', ')),
      option('--limit <rows>', 'rows of a page, 1 to 500 (default: 50)'), option('--cursor <cursor>', 'as given with the page before'),
    ],
    examples: [['webhooks deliveries --status parked', 'what waits for a person']],
    exits: '0 answered; 2 a bad filter, id or cursor',
    async run(context, options) {
      const { id, webhook, task, status, limit, cursor } = options;
      const page = await (await context.client()).webhooks.notifications({
        ...(id === undefined ? {} : { id }), ...(webhook === undefined ? {} : { webhook }), ...(task === undefined ? {} : { task }), ...(cursor === undefined ? {} : { cursor }),
        ...(status === undefined ? {} : { status: status as NotificationStatus }), ...(limit === undefined ? {} : { limit: wholeNumber(limit, '--limit') }),
      });
      await context.answer(page, () => deliveryLines(page, context));
    },
  });

function deliveryLines({ rows, cursor }: NotificationPage, { words, terminal }: Context): readonly string[] {
  if (rows.length === 0) return [words.nothing];
  const { colours, width } = terminal;
  const lines = table<NotificationRow>(
    rows,
    [
      { head: words.id, cell: ({ id }) => id },
      { head: words.entry, cell: ({ event }) => event },
      { head: words.status, cell: ({ status }) => status },
      { head: words.tries, cell: ({ attempts }) => String(attempts) },
      { head: words.verdict, cell: ({ last_error, http_status }) => last_error ?? String(http_status ?? '-'), tight: 'cut', widthMin: 12 },
      { head: words.at, cell: ({ at }) => moment(at), leaveOut: 3 },
      { head: words.next, cell: ({ next_at }) => moment(next_at), leaveOut: 4 },
      { head: words.what, cell: ({ task, step }) => (task === null ? '-' : `${task}${step === null ? '' : `/${step}`}`), tight: 'cut', leaveOut: 2 },
      { head: 'URL', cell: ({ url }) => url, tight: 'cut', widthMin: 12, leaveOut: 5 },
    ],
    width,
    colours.dim,
  );
  return cursor === null ? lines : [...lines, colours.dim(`${words.more} --cursor ${cursor}`)];
}

const unpark = (): Command =>
  makeCommand<Options>({
    name: 'unpark',
    args: [['<notification>', "the notification's id, as `webhooks deliveries` shows it"]],
    summary: 'send a parked notification again',
    description: 'With a fresh budget of tries, and recorded with who and why.',
    options: [option('--why <text>', 'why; recorded, required'), BY],
    examples: [['webhooks unpark 0199f3aa-1b7c-7f3e-8d45-6f0d8a4a1c11 --why "the endpoint is back"', 'it is tried at once']],
    exits: '0 it is pending again (or was not parked: "unparked": false); 2 no --why; 3 no such notification',
    async run(context, options, id) {
      if (options.why === undefined) throw usageError('Say why: --why TEXT.', '--why');
      const answer = await (await context.client()).webhooks.unpark(id, { why: options.why, ...by(context, options) });
      await context.answer({ id, ...answer }, () => [answer.unparked ? context.words.unparked : context.words.notParked(answer.status ?? '-')]);
    },
  });

export const webhooksCommand = (): Command =>
  makeGroup('webhooks', 'who is told when something ends, dies or waits for a person', [add(), list(), change('change'), change('enable'), change('disable'), rotate(), remove(), test(), deliveries(), unpark()]);
