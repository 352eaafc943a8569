import type { Command } from 'commander';
import type { SenderKeyRow } from '../../client/access.ts';
import { makeCommand, makeGroup, option } from '../command.ts';
import { visible } from '../neutral.ts';
import { table } from '../table.ts';
import { moment } from '../text.ts';

interface Options {
  readonly expiresIn?: string;
  readonly by?: string;
}

const BY = option('--by <who>', "who acts (default: the operating system's user)");

const add = (): Command =>
  makeCommand<Options>({
    name: 'add',
    args: [['<sender>', 'as its receipts name it']],
    summary: 'a key that a platform signs its receipts with',
    description: 'Makes a secret (or takes the one in $THROUGHLINE_SENDER_SECRET) and shows it this once. Keys that the sender has already stay in force until they are revoked: add the new one, let the platform change over, revoke the old one.',
    options: [option('--expires-in <duration>', 'such as 90d (default: never)'), BY],
    examples: [['sender-keys add platform', 'the secret, as whsec_… for any Standard Webhooks library']],
    exits: '0 added; 2 bad sender, secret or duration',
    async run(context, options, sender) {
      const { access } = await context.client();
      // An option would stand in the shell's history and in the list of processes.
      const secret = process.env['THROUGHLINE_SENDER_SECRET']?.trim();
      const key = await access.addSenderKey({
        sender, by: options.by ?? context.user, ...(secret === undefined || secret === '' ? {} : { secret }), ...(options.expiresIn === undefined ? {} : { expiresIn: options.expiresIn as '1d' }),
      });
      await context.answer(key, () => [visible(`${key.id}  ${key.sender}`), `  ${context.words.secretOnce}: ${key.secret}`]);
    },
  });

const list = (): Command =>
  makeCommand<Options>({
    name: 'list',
    args: [['[sender]', 'only this one']],
    summary: "senders' keys, without their secrets",
    description: 'Which keys are in force. --json answers the list.',
    examples: [['sender-keys list', 'all of them']],
    exits: '0 answered',
    async run(context, _, ...[sender]) {
      const rows = await (await context.client()).access.senderKeys(sender ?? null);
      const { words, terminal } = context;
      await context.answer(rows, () =>
        rows.length === 0
          ? [words.nothing]
          : table<SenderKeyRow>(
              rows,
              [
                { head: words.id, cell: ({ id }) => id },
                { head: words.sender, cell: ({ sender: name }) => name },
                { head: words.status, cell: (row) => (row.revoked_at !== null ? words.revoked : row.in_force ? words.inForce : words.expired) },
                { head: words.expires, cell: ({ expires_at: at }) => (at === null ? '' : moment(at)) },
              ],
              terminal.width,
              terminal.colours.dim,
            ),
      );
    },
  });

const revoke = (): Command =>
  makeCommand<Options>({
    name: 'revoke',
    args: [['<key>', "the key's id"]],
    summary: 'end a key at once',
    description: 'Nothing that is signed with it is accepted any more, and its secret is forgotten.',
    options: [BY],
    examples: [['sender-keys revoke 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10', 'after the platform has changed over']],
    exits: '0 revoked; 3 no such key in force',
    async run(context, options, id) {
      const { access } = await context.client();
      const row = await access.revokeSenderKey(id, { by: options.by ?? context.user });
      await context.answer(row, () => [visible(`${row.id}  ${context.words.revoked}`)]);
    },
  });

export const senderKeysCommand = (): Command => makeGroup('sender-keys', 'the keys that platforms sign receipts with', [add(), list(), revoke()]);
