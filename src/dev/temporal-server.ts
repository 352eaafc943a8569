/** Temporal's dev server with its web UI, as a child of ours; or the check of a server that others run. */
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { ThroughlineError } from '../errors.ts';
import { SEARCH_ATTRIBUTES, registerSearchAttributes } from './search-attributes.ts';
import { ServerProcess, TEMPORAL_STOP } from './server-process.ts';

const READY_WITHIN_MS = 60_000;
const CONNECT_WITHIN_MS = 10_000;

export interface TemporalPorts {
  /** gRPC, for clients and workers. */
  readonly temporal: number;
  readonly temporalUi: number;
  readonly temporalMetrics: number;
  readonly temporalHttp: number;
}

export interface TemporalOptions {
  readonly binary: string;
  readonly dir: string;
  readonly ports: TemporalPorts;
  readonly namespace: string;
  /** SQLite file of the server's own state; undefined keeps it in memory. */
  readonly dbFile: string | undefined;
  /** Temporal's dynamic configuration, by key. */
  readonly dynamicConfig: Readonly<Record<string, string | number | boolean>>;
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
  readonly onSpawn: (server: ServerProcess) => Promise<void>;
}

/**
 * Starts the dev server and waits until the namespace and the search attributes are there.
 * @throws STACK_FAILED with the last lines of the server's log.
 */
export async function startTemporal(options: TemporalOptions): Promise<void> {
  const server = await ServerProcess.start({
    command: options.binary,
    args: serverArgs(options),
    cwd: options.dir,
    env: cleanEnv(options.env),
    logFile: options.logFile,
  });
  try {
    await options.onSpawn(server);
    await waitUntilReady(server, `127.0.0.1:${String(options.ports.temporal)}`, options.namespace);
  } catch (error) {
    await server.stop(TEMPORAL_STOP);
    throw error;
  }
}

/**
 * Checks a server that somebody else runs (with the TLS and key settings of Temporal's own environment
 * variables) and registers the search attributes there.
 * @throws TEMPORAL_UNAVAILABLE naming the address.
 */
export async function useTemporal(address: string, namespace: string, env: NodeJS.ProcessEnv): Promise<void> {
  const { connectionOptions } = loadClientConnectConfig({ overrideEnvVars: definedOnly(env) });
  let connection: Connection;
  try {
    connection = await Connection.connect({ ...connectionOptions, address, connectTimeout: CONNECT_WITHIN_MS });
  } catch (cause) {
    throw new ThroughlineError('TEMPORAL_UNAVAILABLE', {
      message: `No Temporal server answers at TEMPORAL_ADDRESS=${address}`,
      facts: { address },
      cause,
    });
  }
  try {
    await registerSearchAttributes(connection, namespace);
  } finally {
    await connection.close();
  }
}

function serverArgs({ ports, namespace, dbFile, dynamicConfig }: TemporalOptions): string[] {
  const flags: readonly (readonly [string, string])[] = [
    ['--ip', '127.0.0.1'],
    ['--port', String(ports.temporal)],
    ['--ui-port', String(ports.temporalUi)],
    ['--metrics-port', String(ports.temporalMetrics)],
    ['--http-port', String(ports.temporalHttp)],
    ['--namespace', namespace],
    ['--log-level', 'error'],
    ...(dbFile === undefined ? [] : [['--db-filename', dbFile] as const]),
    ...SEARCH_ATTRIBUTES.map((name) => ['--search-attribute', `${name}=Keyword`] as const),
    ...Object.entries(dynamicConfig).map(([key, value]) => ['--dynamic-config-value', `${key}=${JSON.stringify(value)}`] as const),
  ];
  // Offline machines must not wait for a news feed.
  return ['server', 'start-dev', '--ui-disable-news-fetch', ...flags.flat()];
}

async function waitUntilReady(server: ServerProcess, address: string, namespace: string): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS;
  for (;;) {
    const connection = Connection.lazy({ address });
    try {
      // The namespace appears last, a moment after the port opens.
      await connection.withDeadline(Date.now() + 2_000, async () => {
        await connection.workflowService.describeNamespace({ namespace });
        await registerSearchAttributes(connection, namespace);
      });
      return;
    } catch (cause) {
      if (server.hasEnded || performance.now() > deadline) {
        throw new ThroughlineError('STACK_FAILED', {
          message: `Temporal's dev server did not start:\n${await server.logTail()}`,
          cause,
        });
      }
      await delay(50);
    } finally {
      await connection.close();
    }
  }
}

/** TEMPORAL_* variables are the CLI's options, too: those of a client must not reach the server. */
function cleanEnv(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_')));
}

function definedOnly(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}
