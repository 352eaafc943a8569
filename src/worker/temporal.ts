/** What a worker needs of Temporal's SDK: its runtime, connections, search attributes. */
import { Connection } from '@temporalio/client';
import { NativeConnection, Runtime } from '@temporalio/worker';
import type { Logger as SdkLogger } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { TemporalConnection } from '../config.ts';
import { ThroughlineError } from '../errors.ts';
import { searchAttributeNames } from '../workflows/names.ts';

/** The SDK's warnings and errors go to our log; what it tells of its own life does not. */
export const sdkLogger = (log: Logger): SdkLogger => ({
  log: () => undefined,
  trace: () => undefined,
  debug: () => undefined,
  info: () => undefined,
  warn: (message, meta) => {
    // A task that ends dead closes its workflow as failed: the ledger has said so already.
    if (message === 'Workflow failed') log.debug(meta ?? {}, message);
    else log.warn({ ...meta, err: meta?.['error'] }, message);
  },
  error: (message, meta) => {
    log.error(meta ?? {}, message);
  },
});

let runtimeIsOurs = false;
/**
 * One runtime a process: the first worker's log is its log. Signals are the program's to handle, not the SDK's.
 * `metricsAddress`: where the SDK's own metrics are served for Prometheus (host:port).
 */
export function installRuntime(log: Logger, metricsAddress: string | undefined): void {
  if (runtimeIsOurs) return;
  try {
    const telemetry = metricsAddress === undefined ? {} : { telemetryOptions: { metrics: { prometheus: { bindAddress: metricsAddress } } } };
    Runtime.install({ logger: sdkLogger(log), shutdownSignals: [], ...telemetry });
  } catch (error) {
    log.debug({ err: error }, 'the program has installed its own Temporal runtime');
  }
  runtimeIsOurs = true;
}

/** Throws TEMPORAL_UNAVAILABLE. */
export async function connect(options: TemporalConnection & { readonly address: string }, opened: (() => Promise<void>)[]): Promise<readonly [Connection, NativeConnection]> {
  try {
    const connection = await Connection.connect(options);
    opened.push(() => connection.close());
    const native = await NativeConnection.connect(options);
    opened.push(() => native.close());
    return [connection, native];
  } catch (cause) {
    throw new ThroughlineError('TEMPORAL_UNAVAILABLE', { facts: { address: options.address }, cause });
  }
}

/** An unregistered search attribute makes every start fail: then starts do without them. */
export async function hasSearchAttributes(connection: Connection, namespace: string, log: Logger): Promise<boolean> {
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    const missing = Object.values(searchAttributeNames).filter((name) => customAttributes[name] === undefined);
    if (missing.length === 0) return true;
    log.warn({ missing }, 'search attributes are not registered; tasks start without them');
  } catch (error) {
    log.warn({ err: error }, 'search attributes could not be listed; tasks start without them');
  }
  return false;
}
