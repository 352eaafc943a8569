import type { Command } from 'commander';
import type { PruneResult } from '../../client/retention.ts';
import { makeCommand, option, wholeNumber } from '../command.ts';
import { usageError } from '../failure.ts';

interface Options {
  readonly olderThan?: string;
  readonly type?: readonly string[];
  readonly dead?: true;
  readonly batch?: string;
  readonly dryRun?: true;
  readonly artifacts?: true;
  readonly by?: string;
}

export const pruneCommand = (): Command =>
  makeCommand<Options>({
    name: 'prune',
    summary: 'remove tasks that ended long ago; what is left says how they ended',
    description:
      'Prunes tasks that succeeded or were cancelled longer ago than --older-than, by the ledger\'s clock, in small transactions: interrupt it whenever you like.\n\nAn open task stays, and one that something still waits for. For each pruned task a summary stays: its type, how it and\neach step ended, how many entries there were, and the end of its timeline\'s chain. A repeat of its key is answered as before.',
    options: [
      option('--older-than <duration>', 'ended longer ago than this, such as 90d; a day at least'),
      option('--type <type...>', 'only tasks of these types (default: all)'),
      option('--dead', 'dead ones, too: nobody can replay them then'),
      option('--batch <tasks>', 'tasks that one transaction looks at, 1 to 1000 (default: 200)'),
      option('--artifacts', 'then remove from the store what no task refers to any more; the store must be this ledger\'s alone'),
      option('--dry-run', 'count, and change nothing'),
      option('--by <who>', "who acts (default: the operating system's user)"),
    ],
    examples: [
      ['prune --older-than 90d --dry-run', 'how many would go, and what holds others'],
      ['prune --older-than 90d --type publish-note --artifacts', 'of one type, with what they alone had stored'],
    ],
    exits: '0 done; 2 bad duration or batch; 5 no ledger',
    async run(context, options) {
      if (options.olderThan === undefined) throw usageError('Say how long ago a task must have ended: --older-than 90d.', '--older-than');
      const client = await context.client();
      const artifacts = options.artifacts === true && options.dryRun !== true ? await (await import('../../index.ts')).openArtifactStore(context.config.artifacts) : undefined;
      const stop = new AbortController();
      const onSignal = (): void => { stop.abort(); };
      process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
      try {
        const done = await client.retention.prune({
          olderThan: options.olderThan as '90d', by: options.by ?? context.user, signal: stop.signal,
          ...(options.type === undefined ? {} : { types: options.type }), ...(options.dead === true ? { dead: true } : {}), ...(options.dryRun === true ? { dryRun: true } : {}),
          ...(options.batch === undefined ? {} : { batch: wholeNumber(options.batch, '--batch') }), ...(artifacts === undefined ? {} : { artifacts }),
        });
        await context.answer(done, () => lines(done, context.words));
      } finally {
        process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
      }
    },
  });

function lines(done: PruneResult, words: Parameters<Parameters<typeof makeCommand>[0]['run']>[0]['words']): string[] {
  return [
    (done.dryRun ? words.wouldPrune : words.pruned)(done.pruned, done.examined),
    ...Object.entries(done.kept).map(([hold, count]) => `  ${words.kept(count)}: ${hold}`),
    ...(done.artifacts > 0 ? [`  ${words.artifactsRemoved(done.artifacts)}`] : []),
    ...(done.complete ? [] : [`  ${words.interrupted}`]),
  ];
}
