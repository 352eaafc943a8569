/** A real endpoint for webhooks: an HTTP server that keeps what it was sent and answers as it is told. */
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Delivered {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly json: { readonly type: string; readonly timestamp: string; readonly data: Readonly<Record<string, unknown>> };
}

export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Never answers. */
  readonly hang?: true;
}

export interface Endpoint {
  readonly url: string;
  readonly got: Delivered[];
  /** Answers of the next requests, in order; after them 204. */
  readonly answers: Answer[];
  close(): Promise<void>;
}

export async function openEndpoint(): Promise<Endpoint> {
  const got: Delivered[] = [];
  const answers: Answer[] = [];
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      got.push({ path: request.url ?? '', headers: request.headers, body, json: (body === '' ? {} : JSON.parse(body)) as Delivered['json'] });
      const { status = 204, headers = {}, body: said, hang } = answers.shift() ?? {};
      if (hang === true) return;
      response.writeHead(status, headers);
      response.end(said);
    });
  });
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/hook`,
    got,
    answers,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => { server.close(resolve); });
    },
  };
}
