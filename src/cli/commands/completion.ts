import { Argument, Command } from 'commander';
import type { Completion } from '../complete.ts';
import { complete } from '../complete.ts';
import { makeCommand } from '../command.ts';
import { usageError } from '../failure.ts';
import { write } from '../terminal.ts';

/** What asks for candidates; no one types it. */
const ASK = '__complete';
/** After the candidates: the shell adds its names of files. */
const FILES_MARK = ':files';

/** Each asks the program with the words up to the cursor, one candidate a line: word, tab, what it is. */
const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `# throughline completion bash
_throughline() {
  local line words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == '${FILES_MARK}' ]]; then
      compopt -o default 2>/dev/null
    else
      COMPREPLY+=("\${line%%$'\\t'*}")
    fi
  done < <("\${COMP_WORDS[0]}" ${ASK} -- "\${words[@]}" 2>/dev/null)
}
complete -F _throughline throughline
`,
  zsh: `#compdef throughline
# throughline completion zsh
_throughline() {
  local line files=0
  local -a found
  while IFS= read -r line; do
    if [[ $line == '${FILES_MARK}' ]]; then
      files=1
    else
      found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
    fi
  done < <("\${words[1]}" ${ASK} -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  (( $#found )) && _describe 'throughline' found
  (( files )) && _files
}
compdef _throughline throughline
`,
  fish: `# throughline completion fish
function __throughline_complete
  set -l words (commandline -opc) (commandline -ct)
  for line in ($words[1] ${ASK} -- $words[2..-1] 2>/dev/null)
    if test "$line" = '${FILES_MARK}'
      __fish_complete_path (commandline -ct)
    else
      echo $line
    end
  end
end
complete -c throughline -f -a '(__throughline_complete)'
`,
};

export const completionCommand = () => {
  const command = makeCommand({
    name: 'completion',
    summary: "print the shell's completion script",
    description: 'The script asks the program itself, so that it stays right after an update.',
    examples: [
      ['completion bash >> ~/.bashrc', 'or: source <(throughline completion bash)'],
      ['completion zsh > "${fpath[1]}/_throughline"', 'then start a new shell'],
      ['completion fish > ~/.config/fish/completions/throughline.fish', ''],
    ],
    exits: '2 for a shell other than these',
    async run(context, _options, shell) {
      const script = SCRIPTS[shell];
      if (script === undefined) throw usageError(`The shell must be one of ${Object.keys(SCRIPTS).join(', ')}.`, '<shell>');
      await context.answer({ shell, script }, () => [script.trimEnd()]);
    },
  });
  return command.addArgument(new Argument('<shell>', 'bash, zsh or fish').choices(Object.keys(SCRIPTS)));
};

/** Answers the scripts; needs neither configuration nor servers, and never fails. */
export const completeCommand = (program: () => Command): Command =>
  new Command(ASK)
    .argument('[words...]')
    .allowUnknownOption()
    .action(async (words: string[]) => {
      const { candidates, files }: Completion = complete(program(), words);
      const lines = candidates.map(({ word, what }) => `${word}\t${what.split('\n')[0] ?? ''}`);
      await write(process.stdout, [...lines, ...(files ? [FILES_MARK] : [])].map((line) => `${line}\n`).join(''));
    });
