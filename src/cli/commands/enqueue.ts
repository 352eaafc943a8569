import type { BatchItem, BatchResult, EnqueueOptions } from '../../client/enqueue.ts';
import { LIMITS } from '../../state/index.ts';
import { makeCommand, option, wholeNumber } from '../command.ts';
import type { Context } from '../context.ts';
import { usageError } from '../failure.ts';
import { readInput } from '../input.ts';
import { loadTasks } from '../tasks-module.ts';
import { sayRest } from '../rest.ts';

interface Options {
  readonly input?: string;
  readonly batch?: string;
  readonly key?: string;
  readonly delay?: string;
  readonly runAt?: string;
  readonly deadline?: string;
  readonly again?: string;
  readonly version?: string;
  readonly priority?: string;
  readonly fairnessKey?: string;
  readonly fairnessWeight?: string;
  readonly by?: string;
  readonly tasks?: string;
  readonly wait?: true;
  readonly timeout?: string;
}

export const enqueueCommand = () =>
  makeCommand<Options>({
    name: 'enqueue',
    args: [['<type>', 'task type, registered by a worker (or given with --tasks)']],
    summary: 'accept a task',
    description:
      'Writes the task to the ledger and answers its id. A key that is known already answers with the task that has it (created: false); the same key with another input is refused and the differing paths are named (DEDUPE_CONFLICT). Needs Postgres only: it works while Temporal is down.',
    options: [
      option('--input <json>', 'the input: JSON, @FILE, or - for stdin'),
      option('--batch <json>', 'many: a list of {"input", "key"?, …} as JSON, @FILE, or -; each gets an answer of its own').conflicts(['input', 'key', 'again', 'wait']),
      option('--key <key>', "unique per type, for ever (default with --tasks: the definition's own)"),
      option('--delay <duration>', 'not before this long from now: 90s, 10m, 2h, 7d').conflicts('runAt'),
      option('--run-at <time>', 'not before: ISO 8601 with zone, as in 2026-05-01T09:00:00+02:00'),
      option('--deadline <time>', 'a step that has not started by then is cancelled (deadline_passed)'),
      option('--again <task>', 'publish again: the task that this one repeats; each may have one successor'),
      option('--version <number>', 'version of the type (default: the newest registered)'),
      option('--priority <number>', '1 (first) to 5 (default: 3)'),
      option('--fairness-key <key>', 'whose turn it is where many wait, for example a tenant'),
      option('--fairness-weight <number>', "the key's share, 0.001 to 1000 (default: 1)"),
      option('--tasks <module>', "module with the type's definition: checks the input by its schema, takes its dedupe key, registers it"),
      option('--by <who>', "who asks (default: the operating system's user)"),
      option('--wait', 'wait until the task is at rest, then say how it is'),
      option('--timeout <duration>', 'with --wait: give up after this long (exit code 6)'),
    ],
    examples: [
      [`enqueue publish-note --input '{"note": "tides"}' --key tides/1`, 'a second time answers with the same task'],
      ['enqueue publish-note --input @note.json --run-at 2026-05-01T09:00:00+02:00', 'input from a file, not before that time'],
      ['enqueue publish-note --batch @notes.json', 'an answer for each, in order; what is refused stops none of the others'],
      ['enqueue publish-note --input - --tasks ./tasks.ts --wait --timeout 5m < note.json', 'input from stdin, checked by its schema; waits for the end'],
    ],
    exits: '2 bad input; 3 no worker has registered the type; 4 key or --again conflict, or with --batch: some were refused; 6 --timeout passed',
    async run(context, options, type) {
      if (options.input === undefined && options.batch === undefined) throw usageError('The input is missing: --input JSON, --input @FILE, or --input - for stdin.', '--input');
      const input = await (options.batch === undefined ? readInput(options.input ?? '') : readInput(options.batch, 'batch', LIMITS.batch_bytes_max));
      const version = options.version === undefined ? undefined : wholeNumber(options.version, '--version');
      const { key, delay, runAt, deadline, again, by, fairnessKey, fairnessWeight } = options;
      const wanted: EnqueueOptions = {
        by: by ?? context.user,
        ...(key === undefined ? {} : { key }),
        ...(delay === undefined ? {} : { delay: delay as `${number}s` }),
        ...(runAt === undefined ? {} : { runAt }),
        ...(deadline === undefined ? {} : { deadline }),
        ...(again === undefined ? {} : { again }),
        ...(version === undefined ? {} : { version }),
        ...(options.priority === undefined ? {} : { priority: wholeNumber(options.priority, '--priority') }),
        ...(fairnessKey === undefined ? {} : { fairnessKey }),
        ...(fairnessWeight === undefined ? {} : { fairnessWeight: Number(fairnessWeight) }),
      };
      const client = await context.client();
      const definition = options.tasks === undefined ? undefined : (await loadTasks(options.tasks)).find((task) => task.type === type && (version === undefined || task.version === version));
      if (options.tasks !== undefined && definition === undefined) throw usageError(`The module defines no task type of this name${version === undefined ? '' : ' and version'}.`, '--tasks');
      if (options.batch !== undefined) {
        const results = await client.enqueueBatch<unknown>(definition ?? type, input as readonly BatchItem<unknown>[], wanted);
        await sayBatch(context, results);
        return;
      }
      const answer = await (definition === undefined ? client.enqueue<unknown>(type, input, wanted) : client.enqueue<unknown>(definition, input, wanted));
      if (options.wait === true) {
        await sayRest(context, answer.id, options.timeout, answer);
        return;
      }
      const { words } = context;
      await context.answer(answer, () => [answer.id, `  ${answer.created ? words.enqueued : words.known} (${answer.state})`]);
    },
  });

const PARTLY_EXIT = 4;

async function sayBatch(context: Context, results: readonly BatchResult[]): Promise<void> {
  const { words } = context;
  await context.answer({ results }, () => results.map((one) => ('error' in one ? `${String(one.index)}  ${one.error.code}: ${one.error.message}` : `${one.id}  ${one.created ? words.enqueued : words.known} (${one.state})`)));
  if (results.some((one) => 'error' in one)) process.exitCode = PARTLY_EXIT;
}
