import type { Command } from 'commander';
import type { TokenRow } from '../../client/access.ts';
import { ROLES } from '../../state/index.ts';
import type { Role } from '../../state/index.ts';
import { makeCommand, makeGroup, option } from '../command.ts';
import { usageError } from '../failure.ts';
import { visible } from '../neutral.ts';
import { table } from '../table.ts';
import { moment } from '../text.ts';

interface Options {
  readonly role?: string;
  readonly type?: readonly string[];
  readonly expiresIn?: string;
  readonly by?: string;
}

const BY = option('--by <who>', "who acts (default: the operating system's user)");

const create = (): Command =>
  makeCommand<Options>({
    name: 'create',
    args: [['<name>', 'stands in every timeline as token:NAME']],
    summary: 'a token for the API',
    description: `Makes a token and shows it this once; only its digest is stored.\n\nRoles: caller (enqueue, cancel, withdraw), reviewer (decide), operator (all that helps a task on), platform (receipts), reader, admin. Each but platform may read.`,
    options: [
      option('--role <role>', ROLES.join(', ')),
      option('--type <type...>', 'only tasks of these types (default: all)'),
      option('--expires-in <duration>', 'such as 90d (default: never)'),
      BY,
    ],
    examples: [['tokens create web --role caller --type publish-note --expires-in 90d', 'for a service that starts one kind of task']],
    exits: '0 made; 2 bad name, role or duration; 4 the name is in use',
    async run(context, options, name) {
      if (options.role === undefined) throw usageError(`Say which role: --role ${ROLES.join('|')}.`, '--role');
      const { access } = await context.client();
      const made = await access.createToken({
        name, role: options.role as Role, by: options.by ?? context.user,
        ...(options.type === undefined ? {} : { types: options.type }), ...(options.expiresIn === undefined ? {} : { expiresIn: options.expiresIn as '1d' }),
      });
      await context.answer(made, () => [visible(`${made.name}  ${made.role}`), `  ${context.words.tokenOnce}: ${made.token}`]);
    },
  });

const list = (): Command =>
  makeCommand<Options>({
    name: 'list',
    summary: 'all tokens, without their texts',
    description: 'Name, role, types, and when each was last used (to five minutes). --json answers the list.',
    examples: [['tokens list', 'all of them']],
    exits: '0 answered',
    async run(context) {
      const rows = await (await context.client()).access.tokens();
      const { words, terminal } = context;
      await context.answer(rows, () =>
        rows.length === 0
          ? [words.nothing]
          : table<TokenRow>(
              rows,
              [
                { head: words.name, cell: ({ name }) => name },
                { head: words.role, cell: ({ role }) => role },
                { head: words.type, cell: ({ types }) => types.join(' ') },
                { head: words.status, cell: (row) => (row.revoked_at !== null ? words.revoked : row.in_force ? words.inForce : words.expired) },
                { head: words.expires, cell: ({ expires_at: at }) => (at === null ? '' : moment(at)) },
                { head: words.used, cell: ({ used_at: at }) => (at === null ? '' : moment(at)) },
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
    args: [['<token>', 'name or id']],
    summary: 'end a token at once',
    description: 'The next request with it is refused. The name is free again.',
    options: [BY],
    examples: [['tokens revoke web', 'by name']],
    exits: '0 revoked; 3 no such token in force',
    async run(context, options, token) {
      const { access } = await context.client();
      const row = await access.revokeToken(token, { by: options.by ?? context.user });
      await context.answer(row, () => [visible(`${row.name}  ${context.words.revoked}`)]);
    },
  });

export const tokensCommand = (): Command => makeGroup('tokens', 'who may call the API', [create(), list(), revoke()]);
