import type { Command } from 'commander';
import type { ReceiptListRow, RematchAnswer } from '../../index.ts';
import { ThroughlineError } from '../../errors.ts';
import { LIMITS, RECEIPT_VERDICTS } from '../../state/index.ts';
import { action } from '../action.ts';
import type { ActionOptions } from '../action.ts';
import { actionOptions, makeCommand, option, wholeNumber } from '../command.ts';
import type { Context } from '../context.ts';
import { usageError } from '../failure.ts';
import { readInput } from '../input.ts';
import { visible } from '../neutral.ts';
import { table } from '../table.ts';
import { moment } from '../text.ts';

interface ListOptions {
  readonly unmatched?: true;
  readonly limit?: string;
  readonly cursor?: string;
}

interface RematchOptions extends ActionOptions {
  readonly task?: string;
  readonly message?: string;
  readonly sender?: string;
}

const meaningOf = (verdict: ReceiptListRow['verdict'], { lang, words }: Context): string => (verdict === null ? words.notJudged : RECEIPT_VERDICTS[verdict][lang === 'en' ? 'en' : 'zh']);

const list = (): Command =>
  makeCommand<ListOptions>({
    name: 'list',
    args: [['[task]', "the task's id"]],
    summary: 'stored receipts with their verdicts, newest first',
    description:
      'What other sides have said, each with its verdict and what that means. --unmatched: those of all tasks that match nothing, because they are not judged yet or name a task, step, thread, message, external id or sender that is not theirs. --json answers {"rows", "cursor"}.',
    options: [
      option('--unmatched', 'only those that match nothing'),
      option('--limit <rows>', 'rows of a page, 1 to 500 (default: 50)'),
      option('--cursor <cursor>', 'the next page, as the page before named it'),
    ],
    examples: [
      ['receipts list 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10', "a task's"],
      ['receipts list --unmatched', 'what a person may have to match'],
    ],
    exits: '2 neither a task nor --unmatched, bad limit or cursor; 3 no such task',
    async run(context, { unmatched, limit, cursor }, task) {
      if ((task as string | undefined) === undefined && unmatched === undefined) throw usageError('Name a task, or say --unmatched.', '<task>');
      const page = await (await context.client()).receipts({
        ...((task as string | undefined) === undefined ? {} : { task }), unmatched: unmatched === true,
        ...(limit === undefined ? {} : { limit: wholeNumber(limit, '--limit') }), ...(cursor === undefined ? {} : { cursor }),
      });
      await context.answer({ ...page, rows: page.rows.map((row) => ({ ...row, meaning: meaningOf(row.verdict, context) })) }, () => lines(page.rows, page.cursor, context));
    },
  });

function lines(rows: readonly ReceiptListRow[], cursor: string | null, context: Context): readonly string[] {
  const { terminal: { colours, width }, words } = context;
  if (rows.length === 0) return [words.nothing];
  const shown = table<ReceiptListRow>(
    rows,
    [
      { head: words.delivery, cell: ({ delivery_id: id }) => id, tight: 'cut', widthMin: 12 },
      { head: words.sender, cell: ({ sender }) => sender, tight: 'cut', leaveOut: 2 },
      { head: words.at, cell: ({ received_at: at }) => moment(at), leaveOut: 1 },
      { head: words.id, cell: ({ task, task_ref: ref }) => task ?? ref, tight: 'cut', leaveOut: 3 },
      { head: words.step, cell: ({ step }) => step, tight: 'cut' },
      { head: words.what, cell: ({ kind }) => kind },
      { head: words.verdict, cell: ({ verdict }) => `${verdict ?? '-'}: ${meaningOf(verdict, context)}`, tight: 'wrap', widthMin: 20 },
    ],
    width,
    colours.dim,
  );
  return cursor === null ? shown : [...shown, colours.dim(`${words.more} --cursor ${cursor}`)];
}

const rematch = (): Command =>
  makeCommand<RematchOptions>({
    name: 'rematch',
    args: [['<receipt>', "the delivery id, or the receipt's own id"]],
    summary: 'say whom a receipt is for that matched nothing',
    description:
      'For a receipt that named a wrong task, step, thread or message. Only the address changes, and it is judged again by all rules: the sender must be allowed, the external id must agree, the generation must be the live one. Where it would still be refused, nothing is written. What was sent stays on record beside it.',
    options: [
      option('--task <task>', 'the task that it is for; required'),
      option('--step <step>', 'the step that it is for; required'),
      option('--message <id>', 'the message that it answers, where it names none of ours (default: the last request before it came)'),
      option('--sender <sender>', 'whose delivery, where two senders use the same id'),
      ...actionOptions('why; recorded, required'),
    ],
    examples: [['receipts rematch d-4711 --task 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10 --step publish --why "their gateway dropped in-reply-to"', 'judged as an answer to the last request of publish']],
    exits: '2 no --task, --step or --why; 3 no such task, step or receipt; 4 its verdict stands (RECEIPT_NOT_REMATCHABLE, RECEIPT_REMATCH_REFUSED), RECEIPT_AMBIGUOUS or ID_CONFLICT',
    async run(context, options, receipt) {
      const { task, step, message, sender } = options;
      if (task === undefined) throw usageError('Name the task with --task.', '--task');
      if (step === undefined) throw usageError('Name the step with --step.', '--step');
      const answer = await (await context.client()).rematchReceipt(receipt, {
        ...action(context, options), task, step, ...(message === undefined ? {} : { message }), ...(sender === undefined ? {} : { sender }),
      });
      await context.answer(answer, () => said(answer, context));
    },
  });

const deliver = (): Command =>
  makeCommand<{ readonly receipt?: string }>({
    name: 'deliver',
    summary: 'store what the other side said, and judge it',
    description:
      'Takes a receipt as the API does (docs/receipts.md). It is stored first, then judged; what does not match is kept with its verdict. The same delivery again is answered with the first verdict.',
    options: [option('--receipt <json>', 'the receipt: JSON, @FILE, or - for stdin; required')],
    examples: [[`receipts deliver --receipt '{"deliveryId": "d-4711", "sender": "press", "task": "3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10", "step": "publish", "kind": "completed", "inReplyTo": "…"}'`, 'its verdict']],
    exits: '0 whatever the verdict is; 2 no receipt, or one that does not fit',
    async run(context, { receipt }) {
      if (receipt === undefined) throw usageError('Give the receipt with --receipt.', '--receipt');
      const { ReceiptBody } = await import('../../api/schemas.ts');
      const { success, data, error } = ReceiptBody.required({ deliveryId: true }).safeParse(await readInput(receipt, 'receipt', LIMITS.receipt_bytes_max * 2));
      if (!success) {
        const [issue] = error.issues;
        throw new ThroughlineError('INPUT_INVALID', { path: `/receipt${(issue?.path ?? []).map((part) => `/${String(part)}`).join('')}`, message: `The receipt does not fit: ${issue?.message ?? ''}` });
      }
      const answer = await (await context.client()).deliverReceipt(data as never);
      await context.answer(answer, () => [visible(`${data.deliveryId}: ${answer.verdict ?? '-'}: ${meaningOf(answer.verdict, context)}`), ...(answer.state === undefined || answer.state === null ? [] : [`  ${context.words.moved(answer.state)}`])]);
    },
  });

const said = (answer: RematchAnswer, context: Context): readonly string[] => [
  visible(`${answer.delivery_id}: ${answer.was} → ${answer.verdict}: ${meaningOf(answer.verdict, context)}`),
  ...(answer.state === null ? [] : [`  ${context.words.moved(answer.state)}`]),
  ...(answer.repeated === true ? [`  ${context.words.repeated}`] : []),
];

export const receiptCommands = (): readonly Command[] => [list(), deliver(), rematch()];
