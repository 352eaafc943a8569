import { describe, expect, test } from '@jest/globals';
import { createServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { readThrown } from '../../src/activities/thrown.ts';
import { classify, effectAnswer } from '../../src/state/index.ts';

describe('real failures of fetch', () => {
  const listen = async (server: { listen(port: number, host: string, done: () => void): unknown; address(): unknown }): Promise<string> => {
    await new Promise<void>((done) => { server.listen(0, '127.0.0.1', done); });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  };
  const thrownBy = async (act: () => Promise<unknown>): Promise<unknown> => act().then(() => { throw new Error('It did not fail.'); }, (thrown: unknown) => thrown);

  test('nobody listens: not sent', async () => {
    const server = createTcpServer();
    const url = await listen(server);
    await new Promise((done) => server.close(done));
    const record = readThrown(await thrownBy(() => fetch(url)));
    expect(record.code).toBe('ECONNREFUSED');
    expect(record.message).toMatch(/^connect ECONNREFUSED/);
    expect(effectAnswer(record.facts)).toBe('not_sent');
  });

  test('the connection is cut after the request: lost', async () => {
    const server = createTcpServer((socket) => socket.once('data', () => socket.destroy()));
    const url = await listen(server);
    const record = readThrown(await thrownBy(() => fetch(url, { method: 'POST', body: 'x' })));
    expect(effectAnswer(record.facts)).toBe('lost');
    expect(classify(record.facts).category).toBe('connection');
    await new Promise((done) => server.close(done));
  });

  test('no answer in time: lost, a timeout', async () => {
    const server = createServer(() => undefined);
    const url = await listen(server);
    const record = readThrown(await thrownBy(() => fetch(url, { signal: AbortSignal.timeout(50) })));
    expect(record.facts.classes[0]).toBe('TimeoutError');
    expect(classify(record.facts)).toMatchObject({ category: 'timeout', retryable: true });
    expect(effectAnswer(record.facts)).toBe('lost');
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
});
