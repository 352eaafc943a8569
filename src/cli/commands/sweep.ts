import type { Command } from 'commander';
import { requireDatabaseUrl } from '../../config.ts';
import { makeCommand, option } from '../command.ts';
import { usageError } from '../failure.ts';

interface Options {
  readonly once?: true;
  readonly by?: string;
}

export const sweepCommand = (): Command =>
  makeCommand<Options>({
    name: 'sweep',
    summary: 'one pass over what is due and nobody does: expired leases, overdue receipts and verdicts, silent drivers',
    description:
      'Does once what every worker does all the time, beside them and also where none runs: rescues expired leases, moves what is overdue, judges stored receipts, wakes silent drivers. Bounded; a task that fails stops none of the others. Wake-ups are sent by workers.',
    options: [option('--once', 'one pass; required, since workers do the rest'), option('--by <who>', "who acts (default: the operating system's user)")],
    examples: [['sweep --once', 'what was due'], ['sweep --once --json | jq .moves', 'moves by reason code']],
    exits: '0 done; 2 without --once; 5 no ledger, or a task could not be handled',
    async run(context, options) {
      if (options.once !== true) throw usageError('Workers sweep all the time; one pass is `sweep --once`.', '--once');
      const { sweepOnce } = await import('../../worker/sweep-once.ts');
      const report = await sweepOnce({ databaseUrl: requireDatabaseUrl(context.config), by: options.by ?? context.user });
      await context.answer(report, () => [
        context.words.swept(report.looked_at, report.moved, report.judged, report.woken),
        ...Object.entries(report.moves).map(([reason, count]) => `  ${reason}: ${String(count)}`),
        ...(report.busy + report.failed > 0 ? [`  ${context.words.sweptNot(report.busy, report.failed)}`] : []),
        `  ${context.words.wakeups(report.wakeups_waiting, report.wakeups_parked)}`,
      ]);
      if (report.failed > 0) process.exitCode = 5;
    },
  });
