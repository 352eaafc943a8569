/**
 * A TCP proxy to stand between a worker and its servers. It can cut every connection and refuse new ones, and,
 * in front of Postgres, hold one call of the door: before the ledger hears of it, or when it is done and its
 * answer is on its way.
 */
import { once } from 'node:events';
import { createConnection, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

/** Which call is held: the door function's name, and what its arguments must contain (a task's id, say). */
export interface HoldRule {
  readonly call: string;
  readonly containing?: readonly string[];
  readonly when: 'before' | 'after';
  /** Lets this many matching calls pass first. */
  readonly skip?: number;
}

export interface Held {
  /** Resolves when a call is held. */
  readonly reached: Promise<void>;
  /** Lets it go on, and holds no more. */
  release(): void;
}

class Rule {
  readonly reached: Promise<void>;
  readonly #rule: HoldRule;
  readonly #waiting = new Set<() => void>();
  #reach: () => void = () => undefined;
  #seen = 0;
  #open = false;

  constructor(rule: HoldRule) {
    this.#rule = rule;
    this.reached = new Promise((resolve) => {
      this.#reach = resolve;
    });
  }

  get when(): 'before' | 'after' {
    return this.#rule.when;
  }

  strikes(batch: string): boolean {
    if (this.#open || !batch.includes(`${this.#rule.call}/`) || !(this.#rule.containing ?? []).every((part) => batch.includes(part))) return false;
    this.#seen += 1;
    return this.#seen > (this.#rule.skip ?? 0);
  }

  async hold(): Promise<void> {
    this.#reach();
    if (this.#open) return;
    await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  release(): void {
    this.#open = true;
    for (const resolve of this.#waiting) resolve();
  }
}

/** Postgres's frontend messages, cut after each Sync: a call of the door is one such batch. */
class Batches {
  #rest = Buffer.alloc(0);
  #started = false;

  push(chunk: Buffer): Buffer[] {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    const batches: Buffer[] = [];
    let from = 0;
    let at = 0;
    for (;;) {
      // The first message has no type byte.
      const head = this.#started ? 1 : 0;
      if (this.#rest.length < at + head + 4) break;
      const end = at + head + this.#rest.readInt32BE(at + head);
      if (this.#rest.length < end) break;
      const ends = !this.#started || 'SQXp'.includes(String.fromCharCode(this.#rest[at] ?? 0));
      this.#started = true;
      at = end;
      if (!ends) continue;
      batches.push(this.#rest.subarray(from, at));
      from = at;
    }
    this.#rest = Buffer.from(this.#rest.subarray(from));
    return batches;
  }
}

export class Proxy {
  readonly #server: Server;
  #target: { readonly host: string; readonly port: number };
  readonly #sockets = new Set<Socket>();
  readonly #rules: Rule[] = [];
  readonly #isPostgres: boolean;
  #away = false;

  private constructor(target: { host: string; port: number }, isPostgres: boolean) {
    this.#target = target;
    this.#isPostgres = isPostgres;
    this.#server = createServer((socket) => {
      this.#accept(socket);
    });
  }

  /** In front of `host:port`; listens on a free port of its own. */
  static async open(target: { host: string; port: number }, isPostgres = false): Promise<Proxy> {
    const proxy = new Proxy(target, isPostgres);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  /** In front of a postgres:// URL's server. */
  static async ofPostgres(url: string): Promise<{ readonly proxy: Proxy; readonly url: string }> {
    const through = new URL(url);
    const proxy = await Proxy.open({ host: through.hostname, port: Number(through.port) }, true);
    through.hostname = '127.0.0.1';
    through.port = String(proxy.port);
    return { proxy, url: through.href };
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  hold(rule: HoldRule): Held {
    const made = new Rule(rule);
    this.#rules.push(made);
    return made;
  }

  /** The server behind it is away: connections break, new ones are refused. */
  cut(): void {
    this.#away = true;
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Another server answers from now on; connections to the one before break. */
  turnTo(target: { host: string; port: number }): void {
    this.#target = target;
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  restore(): void {
    this.#away = false;
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(client: Socket): void {
    if (this.#away) {
      client.resetAndDestroy();
      return;
    }
    const server = createConnection(this.#target);
    const ends = [client, server];
    for (const [here, there] of [ends, [server, client]] as [Socket, Socket][]) {
      this.#sockets.add(here);
      here.setNoDelay(true);
      // A broken connection breaks on both sides; that is all there is to say.
      here.on('error', () => undefined);
      here.on('close', () => {
        this.#sockets.delete(here);
        there.destroy();
      });
    }
    let answers: Promise<void> | null = null;
    server.on('data', (chunk: Buffer) => {
      if (answers === null) client.write(chunk);
      else void answers.then(() => client.write(chunk));
    });
    const batches = new Batches();
    let turn = Promise.resolve();
    client.on('data', (chunk: Buffer) => {
      if (!this.#isPostgres) {
        server.write(chunk);
        return;
      }
      for (const batch of batches.push(chunk)) {
        const text = batch.toString('latin1');
        const rule = this.#rules.find((one) => one.strikes(text));
        turn = turn.then(async () => {
          if (rule?.when === 'before') await rule.hold();
          server.write(batch);
          if (rule?.when !== 'after') return;
          let letGo: () => void = () => undefined;
          answers = new Promise((resolve) => {
            letGo = resolve;
          });
          // Its answer has left the server: the call is done.
          await Promise.race([once(server, 'data'), once(server, 'close')]);
          await rule.hold();
          letGo();
          answers = null;
        });
      }
    });
  }
}
