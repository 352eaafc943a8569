/** What a shell offers at the tab key: asked of the command tree itself, so that it is never out of date. */
import type { Command, Option } from 'commander';
import { CATEGORIES, PARENT_STATUSES, REASON_CODES } from '../state/index.ts';

export interface Candidate {
  readonly word: string;
  readonly what: string;
}

export interface Completion {
  readonly candidates: readonly Candidate[];
  /** The shell's own names of files are wanted, too. */
  readonly files: boolean;
}

/** Options whose values are of a list that the client checks, not the command line. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  '--status': PARENT_STATUSES, '--reason': REASON_CODES, '--category': Object.keys(CATEGORIES), '--result': ['pending', 'done', 'refused', 'skipped'],
};
const FILES = /<(module|folder|file|json)>/;

const nothing: Completion = { candidates: [], files: false };
const wordsOf = (words: readonly string[]): Completion => ({ candidates: words.map((word) => ({ word, what: '' })), files: false });

/** `words` are those after the program's name; the last one is being typed. */
export function complete(program: Command, words: readonly string[]): Completion {
  const typed = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  const command = commandOf(program, before);
  const found = completionOf(command, before, typed);
  return { files: found.files, candidates: found.candidates.filter(({ word }) => word.startsWith(typed)) };
}

function completionOf(command: Command, before: readonly string[], typed: string): Completion {
  const { options } = command;
  const previous = before.at(-1);
  const wanting = previous === undefined ? undefined : options.find((one) => takesValue(one) && (one.long === previous || one.short === previous));
  if (wanting !== undefined) return valuesOf(wanting);
  if (typed.startsWith('-')) {
    const fresh = options.filter((one) => one.long !== undefined && !before.includes(one.long));
    return { candidates: [...fresh.map((one) => ({ word: one.long ?? '', what: one.description })), { word: '--help', what: '' }], files: false };
  }
  const inside = visibleOf(command);
  if (inside.length > 0) return { candidates: inside.map((one) => ({ word: one.name(), what: one.summary() })), files: false };
  const [argument] = command.registeredArguments;
  return argument?.argChoices === undefined ? nothing : wordsOf(argument.argChoices);
}

const takesValue = (one: Option): boolean => one.required || one.optional;

function valuesOf(one: Option): Completion {
  if (one.argChoices !== undefined) return wordsOf(one.argChoices);
  const listed = VALUES[one.long ?? ''];
  return listed === undefined ? { ...nothing, files: FILES.test(one.flags) } : wordsOf(listed);
}

const visibleOf = (command: Command): readonly Command[] => command.createHelp().visibleCommands(command);

/** The command that the words name, as deep as they do; the program itself where they name none. */
function commandOf(program: Command, before: readonly string[]): Command {
  let command = program;
  for (let index = 0; index < before.length; index += 1) {
    const word = before[index] ?? '';
    if (!word.startsWith('-')) command = command.commands.find((one) => one.name() === word) ?? command;
    else if (command.options.some((one) => takesValue(one) && (one.long === word || one.short === word))) index += 1;
  }
  return command;
}
