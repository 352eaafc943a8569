import { isIP } from 'node:net';
import { requireDatabaseUrl } from '../../config.ts';
import type { Config } from '../../config.ts';
import { nextStopSignal } from '../../dev/stop-signal.ts';
import { makeCommand, option, wholeNumber } from '../command.ts';
import { usageError } from '../failure.ts';

interface Options {
  readonly host?: string;
  readonly port?: string;
  readonly connections?: string;
  readonly trustProxy?: readonly string[];
}

export const API_PORT_DEFAULT = 7480;

export const apiCommand = () =>
  makeCommand<Options>({
    name: 'api',
    summary: 'serve the HTTP API and the console',
    description: 'Serves until SIGTERM, SIGINT or SIGHUP; then it takes nothing new, ends streams and waits, lets requests end, and exits with 0. Each request needs a token (`throughline tokens create`); receipts may be signed instead (`throughline sender-keys add`). The description is at /openapi.json, its page at /docs; the console for people at /console. --json answers one document when it is ready: {"url"}. Logs are JSON lines on stderr, without inputs and secrets.',
    options: [
      option('--host <host>', 'the address to listen on (default: 127.0.0.1; 0.0.0.0 for every one)'),
      option('--port <port>', `0 takes a free one (default: ${String(API_PORT_DEFAULT)})`),
      option('--connections <number>', 'to Postgres, at most (default: 10)'),
      option('--trust-proxy <address...>', "proxies, as addresses or networks, whose X-Forwarded-For is believed (default: nobody's); limits count by the caller's address"),
    ],
    examples: [['api --host 0.0.0.0', 'with DATABASE_URL set; with TEMPORAL_ADDRESS, explanations and readiness ask Temporal, too']],
    exits: '0 after a stop that was asked; 2 the port is taken; 5 Postgres cannot be reached, or the schema does not fit',
    async run(context, options) {
      const { config } = context;
      const databaseUrl = requireDatabaseUrl(config);
      const port = options.port === undefined ? API_PORT_DEFAULT : wholeNumber(options.port, '--port');
      if (port > 65_535) throw usageError('A port is a number from 0 to 65535.', '--port');
      const stop = nextStopSignal();
      const served = await serveApi({
        databaseUrl, config, host: options.host ?? '127.0.0.1', port,
        ...(options.trustProxy === undefined ? {} : { trustProxy: checkedProxies(options.trustProxy) }),
        ...(options.connections === undefined ? {} : { connectionsMax: Math.max(1, wholeNumber(options.connections, '--connections')) }),
      });
      try {
        await context.answer({ url: served.url }, () => [context.words.serving(served.url)]);
        served.log.info({ signal: await stop }, 'stopping: nothing new; requests in progress end');
      } finally {
        await served.close();
      }
    },
  });

/** One that can't be read would be found at the first request. */
function checkedProxies(proxies: readonly string[]): readonly string[] {
  for (const proxy of proxies) {
    const [address = '', bits] = proxy.split('/');
    const family = isIP(address);
    const good = family !== 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) >= 1 && Number(bits) <= (family === 4 ? 32 : 128)));
    if (!good) throw usageError('A proxy is an address or a network such as 10.0.0.0/8.', '--trust-proxy');
  }
  return proxies;
}

/** The client, the server and what they need, as one thing that is closed in order. */
export async function serveApi(options: { readonly databaseUrl: string; readonly config: Config; readonly host: string; readonly port: number; readonly connectionsMax?: number; readonly trustProxy?: readonly string[]; readonly temporalUi?: string }) {
  const { databaseUrl, config, host, port, connectionsMax, trustProxy } = options;
  const [{ createClient, createLogger, openArtifactStore }, { createApi }, { Metrics }] = await Promise.all([import('../../index.ts'), import('../../api/index.ts'), import('../../metrics/index.ts')]);
  const { temporalAddress: address, temporalNamespace: namespace, temporalConnection: connection, consoleKey, temporalUi = options.temporalUi } = config;
  const pages = { ...(consoleKey === undefined ? {} : { sessionKey: consoleKey }), ...(temporalUi === undefined ? {} : { temporalUi: { url: temporalUi, namespace } }) };
  const log = createLogger(config.logLevel);
  const metrics = new Metrics();
  const client = createClient({ databaseUrl, by: 'api', metrics, ...(connectionsMax === undefined ? {} : { connectionsMax }), ...(address === undefined ? {} : { temporal: { address, namespace, connection } }) });
  try {
    await client.verifySchema();
    const api = await createApi({ client, metrics, log, console: pages, artifacts: await openArtifactStore(config.artifacts), ...(trustProxy === undefined ? {} : { trustProxy }) });
    const url = await api.listen({ host, port });
    return {
      url, log, client,
      async close() {
        await api.close();
        await client.close();
      },
    };
  } catch (error) {
    await client.close();
    throw error;
  }
}
