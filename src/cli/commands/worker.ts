import { requireDatabaseUrl } from '../../config.ts';
import { nextStopSignal } from '../../dev/stop-signal.ts';
import { makeCommand, option, wholeNumber } from '../command.ts';
import { durationMs } from '../duration.ts';
import { usageError } from '../failure.ts';
import { visible } from '../neutral.ts';
import { loadTasks, TASKS_HELP } from '../tasks-module.ts';

interface Options {
  readonly tasks?: string;
  readonly grace?: string;
  readonly attemptsAtOnce?: string;
}

/** The SDK's own default. */
const TEMPORAL_ADDRESS_DEFAULT = 'localhost:7233';

export const workerCommand = () =>
  makeCommand<Options>({
    name: 'worker',
    summary: 'run tasks: attempts, checks, and the loops that rescue what others left',
    description: `Runs until SIGTERM, SIGINT or SIGHUP. Then it takes nothing new, lets handlers end within --grace, gives unfinished work back at once and uncharged, and ends with exit code 0; a second signal ends it at once. In package.json, begin the script with exec ("worker": "exec throughline worker ..."), so that npm run worker passes signals and the exit code on. --json answers one document when it is ready: {"holder", "tasks", "task_queue", "temporal"}. Logs are JSON lines on stderr.\n\n${TASKS_HELP}`,
    options: [
      option('--tasks <module>', 'the module with the task definitions (.js, .mjs, .cjs; .ts and .mts with tsx installed or Node 22.18 and later)'),
      option('--grace <duration>', 'how long handlers may go on after a stop was asked (default: 5s)'),
      option('--attempts-at-once <number>', 'attempts at the same time (default: 50)'),
    ],
    examples: [
      ['worker --tasks ./dist/tasks.js', 'with DATABASE_URL and TEMPORAL_ADDRESS set'],
      ['worker --tasks ./tasks.ts --grace 30s', 'TypeScript; handlers may take half a minute to end'],
    ],
    exits: '0 after a stop that was asked; 2 no or bad module, PLAN_CHANGED; 5 Postgres or Temporal cannot be reached, or the schema does not fit',
    async run(context, options) {
      if (options.tasks === undefined) throw usageError(`Say which tasks to run: --tasks MODULE. ${TASKS_HELP.replaceAll('\n', ' ')}`, '--tasks');
      const { config, words } = context;
      const databaseUrl = requireDatabaseUrl(config);
      const attempts = options.attemptsAtOnce === undefined ? {} : { attemptsAtOnce: wholeNumber(options.attemptsAtOnce, '--attempts-at-once') };
      if (attempts.attemptsAtOnce === 0) throw usageError('At least one attempt at once is needed.', '--attempts-at-once');
      const grace = options.grace === undefined ? {} : { shutdownGraceMs: durationMs(options.grace, '--grace') };
      const tasks = await loadTasks(options.tasks);
      // Heard from now on: a stop that is asked while it connects is a graceful one, too.
      const stop = nextStopSignal();
      const { createLogger, TaskWorker } = await import('../../worker/index.ts');
      const log = createLogger(config.logLevel);
      const temporalAddress = config.temporalAddress ?? TEMPORAL_ADDRESS_DEFAULT;
      const { temporalNamespace, taskQueue, artifactDir: artifacts } = config;
      const worker = await TaskWorker.create({ databaseUrl, temporalAddress, temporalNamespace, taskQueue, tasks, artifacts, log, ...attempts, ...grace });
      const ended = worker.run();
      const offered = tasks.map(({ type, version }) => ({ type, version }));
      const temporal = { address: temporalAddress, namespace: temporalNamespace };
      await context.answer({ holder: worker.holder, tasks: offered, task_queue: taskQueue, temporal }, () => [
        visible(words.ready(offered.map(({ type, version }) => `${type} v${String(version)}`).join(', '), taskQueue)),
      ]);
      const signal = await Promise.race([stop, ended]);
      if (signal === undefined) return;
      log.info({ signal }, 'stopping: no new claims; work in progress is finished or given back');
      worker.shutdown();
      await ended;
      log.info('stopped');
    },
  });
