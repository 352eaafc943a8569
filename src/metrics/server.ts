/** A small server for a process that has no other: `/metrics` for Prometheus, `/healthz` for whoever restarts it. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ThroughlineError } from '../errors.ts';
import type { Metrics } from './metrics.ts';

export interface Health {
  /** false: restarting this process could help. */
  readonly ok: boolean;
  /** Ids and codes, never secrets. */
  readonly facts: Readonly<Record<string, unknown>>;
}

export interface MetricsServer {
  /** The port that was taken, for `port: 0`. */
  readonly port: number;
  close(): Promise<void>;
}

/** Throws CONFIG_INVALID if the port is taken. `host`: default every interface, since scrapers live elsewhere. */
export async function serveMetrics(options: { readonly metrics: Metrics; readonly health: () => Health; readonly port: number; readonly host?: string }): Promise<MetricsServer> {
  const { metrics, health, port, host } = options;
  const server = createServer((request, response) => {
    const answer = (status: number, type: string, body: string): void => {
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }).end(request.method === 'HEAD' ? undefined : body);
    };
    const path = (request.url ?? '').split('?')[0];
    if (request.method !== 'GET' && request.method !== 'HEAD') answer(405, 'text/plain', 'GET only\n');
    else if (path === '/healthz') {
      const { ok, facts } = health();
      answer(ok ? 200 : 503, 'application/json', `${JSON.stringify({ ok, ...facts })}\n`);
    } else if (path === '/metrics') {
      metrics.text().then(
        (text) => { answer(200, metrics.contentType, text); },
        () => { answer(500, 'text/plain', 'the metrics could not be written\n'); },
      );
    } else answer(404, 'text/plain', '/metrics and /healthz only\n');
  });
  // Nobody here needs a second to say what he wants.
  server.headersTimeout = 5_000;
  server.requestTimeout = 5_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => { reject(new ThroughlineError('CONFIG_INVALID', { path: '--metrics-port', message: `The metrics' port ${String(port)} cannot be used (${'code' in cause ? String(cause.code) : 'unknown'}).`, cause })); });
    server.listen({ port, ...(host === undefined ? {} : { host }) }, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
