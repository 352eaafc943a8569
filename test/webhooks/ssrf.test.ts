/** What a webhook's address may lead to, with real sockets: whoever enters one must not reach what only this machine reaches. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { AddressPolicy } from '../../src/webhooks/address.ts';
import type { Resolve } from '../../src/webhooks/address.ts';
import { post, retryAfterMs } from '../../src/webhooks/post.ts';
import { checkedUrl } from '../../src/webhooks/url.ts';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** A server at an address of this machine, and which Host headers it was asked with. */
async function listen(address: string, port = 0, answer: { readonly status: number; readonly headers?: Readonly<Record<string, string>> } = { status: 204 }): Promise<{ readonly port: number; readonly got: string[] }> {
  const got: string[] = [];
  const server = createServer((request, response) => {
    got.push(String(request.headers.host));
    response.writeHead(answer.status, answer.headers).end();
  });
  await new Promise<void>((resolve) => { server.listen(port, address, resolve); });
  ends.push(() => new Promise((resolve) => { server.closeAllConnections(); server.close(resolve); }));
  return { port: (server.address() as AddressInfo).port, got };
}

/** Answers each look-up with the next list, the last one ever after; counts them. */
function names(...answers: readonly (readonly string[])[]): { readonly resolve: Resolve; readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    resolve: (hostname, _options, done) => {
      const addresses = answers[Math.min(asked.length, answers.length - 1)] ?? [];
      asked.push(hostname);
      done(null, addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })));
    },
  };
}

const send = (url: string, addresses: AddressPolicy): Promise<unknown> => post({ url, headers: {}, body: '{}', addresses, timeoutMs: 5_000 }).then(({ status }) => status, (error: unknown) => (error as { code?: string }).code);
// 127.0.0.1 stands for a public address, 127.0.0.2 for one inside.
const OUTSIDE = ['127.0.0.1'];

test('a redirect to a private address is not followed', async () => {
  const inside = await listen('127.0.0.2');
  for (const status of [301, 302, 303, 307, 308]) {
    const outside = await listen('127.0.0.1', 0, { status, headers: { location: `http://127.0.0.2:${String(inside.port)}/admin` } });
    expect(await send(`http://127.0.0.1:${String(outside.port)}/`, new AddressPolicy(OUTSIDE))).toBe(status);
    expect(outside.got).toHaveLength(1);
  }
  expect(inside.got).toEqual([]);
});

test.each(['127.0.0.2', '127.2', '0x7f000002', '2130706434', '0177.0.0.2', '[::ffff:127.0.0.2]', '[::ffff:7f00:2]', '127.0.0.2.'])('an address inside, written as %s, gets nothing', async (host) => {
  const inside = await listen('127.0.0.2');
  expect(await send(checkedUrl(`http://${host}:${String(inside.port)}/`, true), new AddressPolicy(OUTSIDE))).toBe('ADDRESS_REFUSED');
  expect(inside.got).toEqual([]);
});

test('a name that leads inside gets nothing, also if it leads outside as well, in whatever order', async () => {
  const inside = await listen('127.0.0.2');
  const outside = await listen('127.0.0.1', inside.port);
  for (const addresses of [['127.0.0.2'], ['127.0.0.1', '127.0.0.2'], ['127.0.0.2', '127.0.0.1'], ['::ffff:127.0.0.2'], ['::1'], ['127.0.0.1', 'fe80::1']]) {
    expect(await send(`http://hooks.example:${String(inside.port)}/`, new AddressPolicy(OUTSIDE, names(addresses).resolve))).toBe('ADDRESS_REFUSED');
  }
  expect([inside.got, outside.got]).toEqual([[], []]);
});

test('a name that changes between check and connection gains nothing: it is asked once, and what was checked is connected to', async () => {
  const inside = await listen('127.0.0.2');
  const outside = await listen('127.0.0.1', inside.port);
  const { resolve, asked } = names(['127.0.0.1'], ['127.0.0.2']);
  const policy = new AddressPolicy(OUTSIDE, resolve);
  const url = `http://hooks.example:${String(inside.port)}/`;
  expect(await send(url, policy)).toBe(204);
  expect(asked).toEqual(['hooks.example']);
  // The next request asks anew, on a connection of its own, and is refused.
  expect(await send(url, policy)).toBe('ADDRESS_REFUSED');
  expect([inside.got, outside.got]).toEqual([[], [`hooks.example:${String(inside.port)}`]]);
});

test('this machine under its own name is refused by the system\'s resolver, too', async () => {
  const inside = await listen('127.0.0.1');
  expect(await send(`http://localhost:${String(inside.port)}/`, new AddressPolicy())).toBe('ADDRESS_REFUSED');
  expect(inside.got).toEqual([]);
});

test('a proxy of the environment is not asked: it would decide where to connect', async () => {
  const proxy = await listen('127.0.0.1');
  const outside = await listen('127.0.0.1');
  const before = { ...process.env };
  Object.assign(process.env, { http_proxy: `http://127.0.0.1:${String(proxy.port)}`, HTTP_PROXY: `http://127.0.0.1:${String(proxy.port)}`, NODE_USE_ENV_PROXY: '1' });
  try {
    expect(await send(`http://127.0.0.1:${String(outside.port)}/`, new AddressPolicy(OUTSIDE))).toBe(204);
  } finally {
    process.env = before;
  }
  expect([proxy.got.length, outside.got.length]).toEqual([0, 1]);
});

test('a wait as long as a novel is no wait, and is not searched', () => {
  expect(retryAfterMs('a'.repeat(16_000), new Date())).toBeNull();
  expect(retryAfterMs('Fri, 31 Dec 1999 23:59:59 GMT', new Date('1999-12-31T23:59:29Z'))).toBe(30_000);
});
