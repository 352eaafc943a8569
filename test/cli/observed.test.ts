/** A worker process that is measured and traced: what it says of its work, and what it never says. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createClient, startTracing, type ThroughlineClient } from '../../src/index.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { stackAddresses } from '../support/stack.ts';
import { startCli, type Running } from './cli.ts';
import { charge } from './fixtures/charge.ts';

const SECRETS = ['hunter2-hunter2', 'sk_live_0123456789'];

interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly service: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

interface Otlp {
  readonly resourceSpans: readonly { readonly resource: { readonly attributes: readonly Pair[] }; readonly scopeSpans: readonly { readonly spans: readonly (Omit<Span, 'attributes' | 'service'> & { readonly attributes?: readonly Pair[] })[] }[] }[];
}
interface Pair { readonly key: string; readonly value: Readonly<Record<string, unknown>> }

const record = (pairs: readonly Pair[] = []): Record<string, unknown> => Object.fromEntries(pairs.map(({ key, value }) => [key, Object.values(value)[0]]));

let ledger: Ledger;
let client: ThroughlineClient;
let folder: string;
let collector: Server;
let outside: Server;
let worker: Running;
let good = '';
let bad = '';
let metrics = '';
let health: Response;
const bodies: string[] = [];
const said: Record<string, string> = {};

const listen = async (server: Server): Promise<string> => {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
};

beforeAll(async () => {
  ledger = await openLedger();
  folder = mkdtempSync(join(tmpdir(), 'throughline-observed-'));
  collector = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text)).on('end', () => {
      bodies.push(body);
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  outside = createServer((_, response) => response.end(JSON.stringify({ id: 'payment-1' })));
  const [endpoint, url] = await Promise.all([listen(collector), listen(outside)]);
  const otel = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' };
  const { temporalAddress, temporalNamespace } = stackAddresses();
  const env = {
    ...otel, DATABASE_URL: ledger.url, TEMPORAL_ADDRESS: temporalAddress, TEMPORAL_NAMESPACE: temporalNamespace, THROUGHLINE_TASK_QUEUE: `observed-${ledger.url.slice(-12)}`,
    THROUGHLINE_ARTIFACT_DIR: join(folder, 'artifacts'), THROUGHLINE_LOG_LEVEL: 'trace',
  };
  worker = startCli(['worker', '--json', '--tasks', resolve('test/cli/fixtures/charge.ts'), '--metrics-port', '0'], { env });
  const { metrics_port: port } = JSON.parse(await worker.line()) as { metrics_port: number };

  // The service that enqueues is a process of its own, with its own SDK.
  Object.assign(process.env, otel);
  const tracing = await startTracing({ service: 'a-service', warn: (message) => { throw new Error(message); } });
  client = createClient({ databaseUrl: ledger.url, by: 'test' });
  const input = { outside: url, password: SECRETS[0] ?? '', account: { api_key: SECRETS[1] ?? '' } };
  [good, bad] = await Promise.all([client.enqueue(charge, input), client.enqueue(charge, { ...input, fail: true })].map(async (one) => (await one).id)) as [string, string];
  await Promise.all([good, bad].map((id) => client.waitFor(id, { timeoutMs: 45_000 })));
  metrics = await (await fetch(`http://127.0.0.1:${String(port)}/metrics`)).text();
  health = await fetch(`http://127.0.0.1:${String(port)}/healthz`);
  said['health'] = await health.text();

  const connection = await Connection.connect({ address: temporalAddress });
  const temporal = new Client({ connection, namespace: temporalNamespace });
  for (const id of [good, bad]) {
    const handle = temporal.workflow.getHandle(`task/${id}`);
    await handle.result().catch(() => undefined);
    said[`history ${id}`] = historyToJSON(await handle.fetchHistory());
    said[`attributes ${id}`] = JSON.stringify((await handle.describe()).typedSearchAttributes.getAll());
    // The input itself is the ledger's to keep; what is said about the task is not.
    said[`timeline ${id}`] = JSON.stringify(await client.history(id));
    said[`steps ${id}`] = JSON.stringify(await client.steps(id));
    said[`explanation ${id}`] = JSON.stringify(await client.explain(id));
  }
  await connection.close();
  worker.child.kill('SIGTERM');
  await worker.ended;
  await tracing?.stop();
  for (const name of Object.keys(otel)) Reflect.deleteProperty(process.env, name);
  said['metrics'] = metrics;
  said['log'] = worker.stderr();
  said['spans'] = bodies.join('\n');
});
afterAll(async () => {
  collector.close();
  outside.close();
  rmSync(folder, { recursive: true, force: true });
  await client.close();
  await ledger.close();
});

const spans = (): Span[] =>
  bodies.flatMap((body) => (JSON.parse(body) as Otlp).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap((scope) => scope.spans.map((span) => ({ ...span, service: String(record(resource.attributes)['service.name']), attributes: record(span.attributes) })))));

describe('a trace', () => {
  test('holds enqueue, workflow, attempts and effect of a task, each under the one that caused it, over two processes', () => {
    const root = spans().find(({ name, attributes }) => name === 'enqueue charge' && attributes['throughline.task'] === good);
    expect(root).toMatchObject({ service: 'a-service', attributes: { 'throughline.type': 'charge' } });
    const own = spans().filter(({ traceId }) => traceId === root?.traceId);
    const named = (name: string): Span[] => own.filter((span) => span.name === name);
    const parentOf = (span: Span | undefined): string | undefined => own.find(({ spanId }) => spanId === span?.parentSpanId)?.name;
    expect(parentOf(named('SignalWithStartWorkflow:task')[0])).toBe('enqueue charge');
    expect(parentOf(named('RunWorkflow:task')[0])).toBe('SignalWithStartWorkflow:task');
    expect(named('attempt pay').map(({ attributes }) => [attributes['throughline.attempt'], attributes['throughline.epoch']])).toEqual([[1, 1], [2, 2]]);
    for (const span of named('attempt pay')) {
      expect(span).toMatchObject({ service: 'throughline-worker', attributes: { 'throughline.task': good, 'throughline.step': 'pay' } });
      expect(parentOf(span)).toBe('RunActivity:attempt');
    }
    const [effect, ...others] = named('effect post');
    expect(others).toEqual([]);
    expect(parentOf(effect)).toBe('attempt pay');
    expect(effect?.attributes).toMatchObject({ 'throughline.task': good, 'throughline.step': 'pay', 'throughline.attempt': 2, 'throughline.epoch': 2, 'throughline.effect': 'post', 'throughline.generation': 1 });
  });

  test('is one for each task', () => {
    const traces = spans().filter(({ name }) => name === 'enqueue charge').map(({ traceId }) => traceId);
    expect(new Set(traces).size).toBe(2);
  });
});

describe('the metrics of a worker', () => {
  const value = (line: string): number => Number(metrics.split('\n').find((one) => one.startsWith(`${line} `))?.split(' ').at(-1));

  test('count claims, attempts, failures, effects and wake-ups', () => {
    expect(value('throughline_claims_total{type="charge",step="pay",after="new_task"}')).toBe(2);
    expect(value('throughline_claims_total{type="charge",step="pay",after="retry_scheduled"}')).toBe(1);
    expect(value('throughline_attempts_total{type="charge",step="pay",how="done"}')).toBe(1);
    expect(value('throughline_attempts_total{type="charge",step="pay",how="failed"}')).toBe(2);
    expect(value('throughline_attempt_failures_total{type="charge",step="pay",category="rejected",retryable="false"}')).toBe(1);
    expect(value('throughline_effects_total{type="charge",effect="post",outcome="confirmed"}')).toBe(1);
    expect(value('throughline_claim_wait_seconds_count{type="charge"}')).toBe(3);
    expect(value('throughline_outbox_sends_total{result="sent"}')).toBeGreaterThanOrEqual(2);
    expect(value('throughline_loop_passes_total{loop="dispatch",result="ok"}')).toBeGreaterThan(0);
  });

  test('read the ledger: what is dead, what ended, who works', () => {
    expect(value('throughline_ledger_up')).toBe(1);
    expect(value('throughline_ledger_tasks{type="charge",status="dead"}')).toBe(1);
    expect(value('throughline_ledger_tasks_ended_last_hour{type="charge",status="succeeded"}')).toBe(1);
    expect(value('throughline_ledger_dead_steps{reason="not_retryable"}')).toBe(1);
    expect(value('throughline_ledger_workers')).toBe(1);
  });

  test('stand beside its health', () => {
    expect(health.status).toBe(200);
    expect(JSON.parse(said['health'] ?? '')).toMatchObject({ ok: true, worker: 'running', stopping: false, loops: { dispatch: 'ok', sweep: 'ok', seen: 'ok' } });
  });
});

describe('the log of a worker', () => {
  test('names task, step, attempt and epoch in every line about an attempt', () => {
    const lines = worker.stderr().trim().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
    const about = lines.filter(({ msg }) => msg === 'claimed' || msg === 'settled');
    expect(about).toHaveLength(6);
    for (const line of about) expect(line).toMatchObject({ step: 'pay', attempt: expect.any(Number), epoch: expect.any(Number) });
    expect(new Set(about.map(({ task }) => task))).toEqual(new Set([good, bad]));
  });
});

test('secrets of the input reach no log, error, explanation, search attribute, history, span or metric', () => {
  // It would prove nothing if nothing had been said.
  expect(said[`steps ${bad}`]).toContain('[redacted] was refused');
  expect(said[`timeline ${good}`]).toContain('no session for [redacted]');
  for (const [where, text] of Object.entries(said)) {
    expect([where, text.length > 0]).toEqual([where, true]);
    for (const secret of SECRETS) expect([where, text.includes(secret)]).toEqual([where, false]);
  }
});
