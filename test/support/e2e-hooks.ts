/** Points in a handler's code at which a test holds it: the handler asks over HTTP and goes on when it is answered. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Point {
  readonly task: string;
  readonly point: string;
  readonly attempt: number;
}

const nameOf = ({ task, point, attempt }: Point): string => `${task}/${point}/${String(attempt)}`;

async function bodyOf(request: IncomingMessage): Promise<Point> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as Point;
}

export class Hooks {
  readonly url: string;
  readonly #server: Server;
  readonly #reached = new Set<string>();
  readonly #watchers = new Map<string, () => void>();
  readonly #held = new Map<string, () => void>();

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  }

  static async open(): Promise<Hooks> {
    const server = createServer((request, response) => {
      void bodyOf(request).then((point) => {
        hooks.#arrive(nameOf(point), () => response.end('go on'));
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const hooks = new Hooks(server);
    return hooks;
  }

  /** Resolves when the handler of this attempt (default: the first) stands at the point. */
  async reached(task: string, point: string, attempt = 1): Promise<void> {
    const name = nameOf({ task, point, attempt });
    if (this.#reached.has(name)) return;
    await new Promise<void>((resolve) => this.#watchers.set(name, resolve));
  }

  /** The handler goes on. */
  release(task: string, point: string, attempt = 1): void {
    this.#held.get(nameOf({ task, point, attempt }))?.();
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #arrive(name: string, goOn: () => void): void {
    this.#held.set(name, goOn);
    this.#reached.add(name);
    this.#watchers.get(name)?.();
  }
}

/** Asks at a point and waits for the answer; for handlers of test tasks. */
export async function standAt(url: string, point: Point, signal?: AbortSignal): Promise<void> {
  await fetch(url, { method: 'POST', body: JSON.stringify(point), ...(signal === undefined ? {} : { signal }) });
}
