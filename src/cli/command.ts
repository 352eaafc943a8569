/** How a command is put together: its words, options and examples, and the frame that its work runs in. */
import { Command, Option } from 'commander';
import { LANGUAGES } from '../config.ts';
import type { CommonOptions, Context } from './context.ts';
import { openContext } from './context.ts';
import { usageError } from './failure.ts';

export interface CommandSpec<Options> {
  readonly name: string;
  /** Name as in `<task>`, and what it is. */
  readonly args?: readonly (readonly [name: string, what: string])[];
  /** One line, for the list of commands. */
  readonly summary: string;
  /** What it does, answers and refuses. */
  readonly description: string;
  readonly options?: readonly Option[];
  /** What is typed after `throughline`, and what it does. */
  readonly examples: readonly (readonly [line: string, what: string])[];
  /** Exit codes that mean something particular here. */
  readonly exits?: string;
  readonly run: (context: Context, options: Options & CommonOptions, ...args: string[]) => Promise<void>;
}

const common = (): Option[] => [
  new Option('--json', 'one JSON document on stdout, errors too: {"error": {"code", "message", ...}}'),
  new Option('--lang <language>', 'language of the sentences; codes are the same in each (default: $THROUGHLINE_LANG, else en)').choices(LANGUAGES),
];

export const option = (flags: string, what: string): Option => new Option(flags, what);

/** Who acts, why, and under which id: the same three for each action. */
export const actionOptions = (why: string): Option[] => [
  option('--why <text>', why),
  option('--by <who>', "who acts (default: the operating system's user)"),
  option('--id <id>', 'makes the action idempotent: the same id again gives the same answer'),
];

/** For the program and each command, so that they may stand before or after the command's name. */
export function addCommon(command: Command): Command {
  for (const each of common()) command.addOption(each);
  return command;
}

export function makeCommand<Options>(spec: CommandSpec<Options>): Command {
  const command = new Command(spec.name).summary(spec.summary).description(spec.description);
  for (const [name, what] of spec.args ?? []) command.argument(name, what);
  for (const each of spec.options ?? []) command.addOption(each);
  addCommon(command).addHelpText('after', helpAfter(spec));
  return command.action(async () => {
    const context = openContext(command.optsWithGlobals<CommonOptions>());
    try {
      await spec.run(context, command.optsWithGlobals<Options & CommonOptions>(), ...(command.processedArgs as string[]));
    } finally {
      await context.close();
    }
  });
}

/** A command that is only a roof over others, such as `webhooks add`. */
export function makeGroup(name: string, summary: string, commands: readonly Command[]): Command {
  const group = addCommon(new Command(name).summary(summary).description(`${summary[0]?.toUpperCase() ?? ''}${summary.slice(1)}.`).showSuggestionAfterError(true));
  for (const command of commands) group.addCommand(command);
  return group;
}

function helpAfter({ examples, exits }: CommandSpec<never>): string {
  const shown = examples.flatMap(([line, what]) => [`  $ throughline ${line}`, `      ${what}`]);
  return ['', 'Examples:', ...shown, ...(exits === undefined ? [] : ['', `Exit codes: ${exits}`])].join('\n');
}

/** A whole number as it is typed; anything else is refused with the option's name. */
export function wholeNumber(text: string, path: string): number {
  if (!/^\d{1,15}$/.test(text)) throw usageError(`A whole number is needed, not ${JSON.stringify(text.slice(0, 40))}.`, path);
  return Number(text);
}
