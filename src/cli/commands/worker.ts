import { setTimeout as delay } from 'node:timers/promises';
import { requireDatabaseUrl } from '../../config.ts';
import { nextStopSignal } from '../../dev/stop-signal.ts';
import type { Deployment } from '../../worker/index.ts';
import { makeCommand, option, wholeNumber } from '../command.ts';
import { durationMs } from '../duration.ts';
import { usageError } from '../failure.ts';
import { visible } from '../neutral.ts';
import { loadTasks, TASKS_HELP } from '../tasks-module.ts';

interface Options {
  readonly tasks?: string;
  readonly grace?: string;
  readonly attemptsAtOnce?: string;
  readonly metricsPort?: string;
  readonly temporalMetrics?: string;
  readonly deploymentName?: string;
  readonly buildId?: string;
  readonly pinned?: true;
}

/** What is left to send at the end gets this long. */
const END_WITHIN_MS = 3_000;
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
      option('--metrics-port <port>', 'serve /metrics for Prometheus and /healthz there, on every interface; 0 takes a free one (default: neither)'),
      option('--temporal-metrics <host:port>', "serve the Temporal SDK's own metrics for Prometheus there"),
      option('--deployment-name <name>', 'take part in this Worker Deployment of Temporal; with --build-id'),
      option('--build-id <id>', 'this build of the deployment'),
      option('--pinned', 'tasks stay with the build that began them (default: they go on with the current one)'),
    ],
    examples: [
      ['worker --tasks ./dist/tasks.js', 'with DATABASE_URL and TEMPORAL_ADDRESS set'],
      ['worker --tasks ./tasks.ts --grace 30s', 'TypeScript; handlers may take half a minute to end'],
      ['worker --tasks ./dist/tasks.js --metrics-port 9464', 'measured; traced, too, if OTEL_EXPORTER_OTLP_ENDPOINT is set'],
      ['worker --tasks ./dist/tasks.js --deployment-name notes --build-id 2026-05-01', 'as a build of a deployment; see docs/deployment.md'],
    ],
    exits: '0 after a stop that was asked; 2 no or bad module, PLAN_CHANGED; 5 Postgres or Temporal cannot be reached, or the schema does not fit',
    async run(context, options) {
      if (options.tasks === undefined) throw usageError(`Say which tasks to run: --tasks MODULE. ${TASKS_HELP.replaceAll('\n', ' ')}`, '--tasks');
      const { config, words } = context;
      const databaseUrl = requireDatabaseUrl(config);
      const attempts = options.attemptsAtOnce === undefined ? {} : { attemptsAtOnce: wholeNumber(options.attemptsAtOnce, '--attempts-at-once') };
      if (attempts.attemptsAtOnce === 0) throw usageError('At least one attempt at once is needed.', '--attempts-at-once');
      const grace = options.grace === undefined ? {} : { shutdownGraceMs: durationMs(options.grace, '--grace') };
      const deployment = deploymentOf(options);
      const metricsPort = options.metricsPort === undefined ? undefined : portOf(options.metricsPort, '--metrics-port');
      const tasks = await loadTasks(options.tasks);
      // Heard from now on: a stop that is asked while it connects is a graceful one, too.
      const stop = nextStopSignal();
      const { createLogger, TaskWorker } = await import('../../worker/index.ts');
      const log = createLogger(config.logLevel);
      const { temporalAddress = TEMPORAL_ADDRESS_DEFAULT, temporalNamespace, temporalConnection, taskQueue, artifacts, webhookAllow } = config;
      const ends: (() => Promise<void>)[] = [];
      try {
        const { startTracing } = await import('../../tracing/index.ts');
        const tracing = await startTracing({ service: 'throughline-worker', warn: (message) => { log.warn({ message }, 'OpenTelemetry'); } });
        if (tracing !== undefined) ends.push(() => tracing.stop());
        const { Metrics, serveMetrics } = await import('../../metrics/index.ts');
        const metrics = new Metrics();
        const worker = await TaskWorker.create({
          databaseUrl, temporalAddress, temporalNamespace, temporalConnection, taskQueue, tasks, artifacts, log, metrics, webhookAllow, ...attempts, ...grace,
          ...(tracing === undefined ? {} : { tracing }), ...(deployment === undefined ? {} : { deployment }),
          ...(options.temporalMetrics === undefined ? {} : { temporalMetricsAddress: options.temporalMetrics }),
        });
        // A port that is taken must not leave a worker behind that nobody runs.
        const served = metricsPort === undefined ? undefined : await serveMetrics({ metrics, port: metricsPort, health: () => worker.health() }).catch(async (error: unknown) => {
          worker.shutdown();
          await worker.run();
          throw error;
        });
        if (served !== undefined) ends.push(() => served.close());
        const ended = worker.run();
        const offered = tasks.map(({ type, version }) => ({ type, version }));
        const temporal = { address: temporalAddress, namespace: temporalNamespace };
        await context.answer({ holder: worker.holder, tasks: offered, task_queue: taskQueue, temporal, ...(served === undefined ? {} : { metrics_port: served.port }) }, () => [
          visible(words.ready(offered.map(({ type, version }) => `${type} v${String(version)}`).join(', '), taskQueue)),
          ...(served === undefined ? [] : [words.measured(served.port)]),
        ]);
        const signal = await Promise.race([stop, ended]);
        if (signal === undefined) return;
        log.info({ signal }, 'stopping: no new claims; work in progress is finished or given back');
        worker.shutdown();
        await ended;
        log.info('stopped');
      } finally {
        // A collector that is away must not hold up a stop.
        for (const end of ends.reverse()) await Promise.race([end().catch(() => undefined), delay(END_WITHIN_MS, undefined, { ref: false })]);
      }
    },
  });

function portOf(text: string, path: string): number {
  const port = wholeNumber(text, path);
  if (port > 65_535) throw usageError('A port is a number from 0 to 65535.', path);
  return port;
}

function deploymentOf({ deploymentName: name, buildId, pinned }: Options): Deployment | undefined {
  if (name === undefined && buildId === undefined && pinned === undefined) return undefined;
  if (name === undefined || buildId === undefined) throw usageError('A build needs both --deployment-name and --build-id.', name === undefined ? '--deployment-name' : '--build-id');
  if (!/^[^\s.]{1,200}$/.test(name)) throw usageError("A deployment's name is 1 to 200 characters without blanks and dots.", '--deployment-name');
  if (!/^\S{1,200}$/.test(buildId)) throw usageError("A build's id is 1 to 200 characters without blanks.", '--build-id');
  return { name, buildId, behavior: pinned === true ? 'PINNED' : 'AUTO_UPGRADE' };
}
