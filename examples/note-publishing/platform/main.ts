/**
 * The publishing platform as a process: `node --import tsx main.ts --data FOLDER [--port N] [flags]`.
 * Prints one JSON line when it is ready: `{"ready":true,"address":"http://127.0.0.1:4455","pid":123}`.
 * SIGTERM and SIGINT stop it cleanly; SIGKILL loses nothing that was answered.
 * Environment: PLATFORM_TOKEN (bearer token that callers need), PLATFORM_RECEIPT_SECRET (signs receipts).
 */
import { parseArgs } from 'node:util';
import { startPlatform } from './server.ts';
import { settingsSchema } from './types.ts';
import type { Settings } from './types.ts';

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '0' },
    'no-keys': { type: 'boolean', default: false },
    'idempotency-window-ms': { type: 'string' },
    'visible-after-ms': { type: 'string' },
    'received-after-ms': { type: 'string' },
    'progress-after-ms': { type: 'string' },
    'completed-after-ms': { type: 'string' },
    'final-after-ms': { type: 'string' },
    'receipt-retry-ms': { type: 'string' },
    /** Ends when standard input closes, so that it doesn't outlive a parent that was killed. */
    'stop-on-stdin-end': { type: 'boolean', default: false },
  },
});

function readSettings(): Partial<Settings> {
  const given: Record<string, number | null> = {};
  const take = (name: keyof Settings, text: string | undefined): void => {
    if (text !== undefined) given[name] = Number(text);
  };
  take('idempotencyWindowMs', values['idempotency-window-ms']);
  take('visibleAfterMs', values['visible-after-ms']);
  take('receivedAfterMs', values['received-after-ms']);
  take('progressAfterMs', values['progress-after-ms']);
  take('completedAfterMs', values['completed-after-ms']);
  take('finalAfterMs', values['final-after-ms']);
  take('receiptRetryMs', values['receipt-retry-ms']);
  if (values['no-keys']) given['idempotencyWindowMs'] = null;
  const parsed = settingsSchema.partial().safeParse(given);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new Error(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'invalid'}`);
  }
  return Object.fromEntries(Object.entries(parsed.data).filter(([, value]) => value !== undefined));
}

const port = Number(values.port);
if (values.data === undefined || !Number.isInteger(port) || port < 0 || port > 65_535) {
  process.stderr.write('usage: main.ts --data FOLDER [--port 0..65535]\n');
  process.exit(2);
}

const running = await startPlatform({
  data: values.data,
  host: values.host,
  port,
  settings: readSettings(),
  token: process.env['PLATFORM_TOKEN'],
  receiptSecret: process.env['PLATFORM_RECEIPT_SECRET'],
});
process.stdout.write(`${JSON.stringify({ ready: true, address: running.address, pid: process.pid })}\n`);

let stopping = false;
const stop = (): void => {
  if (stopping) return;
  stopping = true;
  running.close().then(
    () => process.exit(0),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      process.exit(1);
    },
  );
};
process.on('SIGTERM', stop);
process.on('SIGINT', stop);
if (values['stop-on-stdin-end']) {
  process.stdin.on('end', stop);
  process.stdin.resume();
}
