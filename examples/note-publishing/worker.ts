/**
 * A worker process for the example. Settings by environment: THROUGHLINE_DATABASE_URL, TEMPORAL_ADDRESS and friends,
 * PLATFORM_ADDRESS, KEYLESS_PLATFORM_ADDRESS (optional), RECEIPTS_URL, and the times below in milliseconds. SIGTERM stops it gracefully.
 */
import { fileURLToPath } from 'node:url';
import { createLogger, TaskWorker } from '../../src/index.ts';
import { PlatformClient } from './platform/client.ts';
import { createPublishNote } from './task.ts';

const required = (name: string): string => {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`${name} is not set`);
  return value;
};
const milliseconds = (name: string): number | undefined => (process.env[name] === undefined ? undefined : Number(process.env[name]));
const given = <T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as { [K in keyof T]: Exclude<T[K], undefined> };

const common = {
  notes: process.env['NOTES_DIR'] ?? fileURLToPath(new URL('notes', import.meta.url)),
  callbackUrl: required('RECEIPTS_URL'),
  ...given({ callTimeoutMs: milliseconds('CALL_TIMEOUT_MS'), visibleWithinMs: milliseconds('VISIBLE_WITHIN_MS'), receiptWithinMs: milliseconds('RECEIPT_WITHIN_MS'), retryMs: milliseconds('RETRY_MS'), lookMs: milliseconds('LOOK_MS'), leaseMs: milliseconds('LEASE_MS') }),
};
const publishNote = createPublishNote({ ...common, platform: new PlatformClient({ address: required('PLATFORM_ADDRESS') }) });
/** The same work on a platform that ignores idempotency keys. */
const keyless = process.env['KEYLESS_PLATFORM_ADDRESS'];
const publishKeyless = keyless === undefined ? [] : [createPublishNote({ ...common, type: 'publish-note-keyless', keysMs: null, platform: new PlatformClient({ address: keyless }) })];

const worker = await TaskWorker.create({
  databaseUrl: required('THROUGHLINE_DATABASE_URL'),
  temporalAddress: required('TEMPORAL_ADDRESS'),
  temporalNamespace: process.env['TEMPORAL_NAMESPACE'] ?? 'default',
  taskQueue: process.env['THROUGHLINE_TASK_QUEUE'] ?? 'throughline',
  artifacts: required('THROUGHLINE_ARTIFACT_DIR'),
  tasks: [publishNote, ...publishKeyless],
  log: createLogger(process.env['THROUGHLINE_LOG_LEVEL'] ?? 'warn'),
});
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    worker.shutdown();
  });
}
process.stdout.write(`${JSON.stringify({ ready: true, holder: worker.holder, pid: process.pid })}\n`);
await worker.run();
