/** A worker process for the end-to-end tests: its settings are one JSON object in E2E_WORKER; SIGTERM stops it. */
import { createLogger, TaskWorker } from '../../src/index.ts';
import type { AnyTaskDefinition } from '../../src/index.ts';
import { PlatformClient } from '../../examples/note-publishing/platform/client.ts';
import { createPublishNote } from '../../examples/note-publishing/task.ts';
import type { PublishNoteOptions } from '../../examples/note-publishing/task.ts';
import { createE2eTasks } from './e2e-tasks.ts';
import type { E2eTasks, Outside } from './e2e-tasks.ts';

export interface E2eWorkerSettings {
  readonly databaseUrl: string;
  readonly temporalAddress: string;
  readonly temporalNamespace: string;
  readonly taskQueue: string;
  readonly artifacts: string;
  readonly outside: Outside;
  readonly offers: readonly (keyof E2eTasks)[];
  /** Offers the example's task type as well, with these options. */
  readonly publishNote?: Omit<PublishNoteOptions, 'platform'> & { readonly platform: string };
  readonly shutdownGraceMs: number;
}

const { outside, offers, publishNote, ...settings } = JSON.parse(process.env['E2E_WORKER'] ?? '') as E2eWorkerSettings;
const own = createE2eTasks(outside);
const tasks: AnyTaskDefinition[] = offers.map((name) => own[name]);
if (publishNote !== undefined) tasks.push(createPublishNote({ ...publishNote, platform: new PlatformClient({ address: publishNote.platform }) }));

const worker = await TaskWorker.create({ ...settings, tasks, log: createLogger('info') });
process.once('SIGTERM', () => {
  worker.shutdown();
});
process.stdout.write(`${JSON.stringify({ holder: worker.holder })}\n`);
await worker.run();
// A handler that ignores its signal may still be at work; its claim was given back.
process.exit(0);
