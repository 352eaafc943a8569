/** The program: its commands, and what is said of all of them. */
import { Command } from 'commander';
import { addCommon, makeGroup } from './command.ts';
import { abandonWaitCommand } from './commands/abandon-wait.ts';
import { apiCommand } from './commands/api.ts';
import { auditCommand } from './commands/audit.ts';
import { bulkCommand } from './commands/bulk.ts';
import { cancelCommand } from './commands/cancel.ts';
import { completeCommand, completionCommand } from './commands/completion.ts';
import { confirmAbsentCommand, confirmEffectCommand } from './commands/confirm.ts';
import { correctCommand } from './commands/correct.ts';
import { decideCommand } from './commands/decide.ts';
import { devCommand } from './commands/dev.ts';
import { doctorCommand } from './commands/doctor.ts';
import { enqueueCommand } from './commands/enqueue.ts';
import { evidenceCommand } from './commands/evidence.ts';
import { explainCommand } from './commands/explain.ts';
import { historyCommand } from './commands/history.ts';
import { listCommand } from './commands/list.ts';
import { migrateCommand } from './commands/migrate.ts';
import { receiptCommands } from './commands/receipts.ts';
import { pruneCommand } from './commands/prune.ts';
import { replayCommand } from './commands/replay.ts';
import { senderKeysCommand } from './commands/sender-keys.ts';
import { statusCommand } from './commands/status.ts';
import { sweepCommand } from './commands/sweep.ts';
import { tokensCommand } from './commands/tokens.ts';
import { unparkCommand } from './commands/unpark.ts';
import { watchCommand } from './commands/watch.ts';
import { webhooksCommand } from './commands/webhooks.ts';
import { withdrawCommand } from './commands/withdraw.ts';
import { workerCommand } from './commands/worker.ts';
import { versionOfPackage } from './version.ts';

const AFTER = `
Environment:
  DATABASE_URL             postgres:// URL of the ledger (THROUGHLINE_DATABASE_URL goes first)
  TEMPORAL_ADDRESS         host:port of Temporal; for worker and explain
  TEMPORAL_NAMESPACE       default: default
  THROUGHLINE_TASK_QUEUE   queue of workers and drivers; default: throughline
  THROUGHLINE_ARTIFACTS    s3://bucket/prefix?endpoint=... or file:///folder
  THROUGHLINE_ARTIFACT_DIR folder of the local artifact store; default: .throughline/artifacts
  THROUGHLINE_WEBHOOK_ALLOW  addresses and ranges that webhooks may call although they are not public
  THROUGHLINE_LOG_LEVEL    silent, fatal, error, warn, info, debug, trace; default: info
  THROUGHLINE_LANG         en or zh-CN
  NO_COLOR, FORCE_COLOR    colours off, on; default: on a terminal

Exit codes:
  0   done, whatever the answer says of the task
  2   bad input or configuration; nothing was written
  3   unknown task, step, type or effect
  4   the present state refuses, or a conflict
  5   Postgres or Temporal cannot be reached, or the schema does not fit
  6   the wait timed out
  1, 7, 8 of doctor, audit and watch: see their help
  70  a promise of the program was broken; please report it
  A second Ctrl-C or SIGTERM ends worker and dev at once, with 130 or 143.

Examples:
  $ throughline dev
  $ throughline worker --tasks ./tasks.js
  $ throughline enqueue publish-note --input '{"note": "tides"}' --key tides/1
  $ throughline explain 3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10`;

export function createProgram(): Command {
  const groups: readonly (readonly [heading: string, commands: readonly Command[]])[] = [
    ['Run:', [devCommand(), migrateCommand(), workerCommand(), apiCommand(), doctorCommand(), sweepCommand(), pruneCommand(), completionCommand()]],
    ['Ask:', [statusCommand(), watchCommand(), explainCommand(), historyCommand(), listCommand(), auditCommand(), evidenceCommand()]],
    ['Act:', [enqueueCommand(), cancelCommand(), withdrawCommand(), decideCommand(), replayCommand()]],
    ['Settle:', [abandonWaitCommand(), confirmEffectCommand(), confirmAbsentCommand(), correctCommand(), unparkCommand(), makeGroup('receipts', 'what other sides have said, and whom it is for', receiptCommands())]],
    ['Act on many:', [bulkCommand('replays'), bulkCommand('cancels')]],
    ['Tell:', [webhooksCommand()]],
    ['Admit:', [tokensCommand(), senderKeysCommand()]],
  ];
  const program = new Command('throughline')
    .description('Background tasks whose every state can be explained.')
    .version(versionOfPackage(), '-V, --version', 'the version of this program')
    // `enqueue --version 2` is the command's own.
    .enablePositionalOptions()
    .showSuggestionAfterError(true)
    .addHelpText('after', AFTER);
  addCommon(program);
  for (const [heading, commands] of groups) for (const command of commands) program.addCommand(command.helpGroup(heading));
  program.addCommand(completeCommand(() => program), { hidden: true });
  return program;
}

/** Reads the command line and runs it. Throws what went wrong; help and version end normally. */
export async function runProgram(argv: readonly string[]): Promise<void> {
  const program = createProgram();
  for (const command of [program, ...program.commands, ...program.commands.flatMap(({ commands }) => commands)]) {
    // What went wrong is said by `main`; what is left is the help of a group that was named without its command.
    command.exitOverride().configureOutput({ outputError: () => undefined, writeErr: (text) => process.stdout.write(text) });
  }
  if (argv.length === 0) {
    program.outputHelp();
    return;
  }
  try {
    await program.parseAsync([...argv], { from: 'user' });
  } catch (error) {
    if (isHelp(error)) return;
    throw error;
  }
}

const isHelp = (error: unknown): boolean => error instanceof Error && 'code' in error && ['commander.helpDisplayed', 'commander.help', 'commander.version'].includes(String(error.code));
