/** What is counted at the door, what is read of the ledger, and what happens when the ledger is away. */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Database, Reader } from '../../src/ledger/index.ts';
import { LABEL_VALUES_MAX, Metrics, ObservedDoor, serveMetrics } from '../../src/metrics/index.ts';
import { LEASE_MS, MINUTE, RECEIPT_MS } from '../support/factories.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { Tale } from '../support/tale.ts';

let ledger: Ledger;
let observed: Ledger;
let metrics: Metrics;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger.close());
beforeEach(() => {
  metrics = new Metrics();
  metrics.readLedger(new Reader(ledger.database));
  observed = { ...ledger, door: new ObservedDoor(ledger.database, metrics) };
});

/** The value of a series, by its name and labels as they are exposed; undefined: there is none. */
async function value(series: string, of = metrics): Promise<number | undefined> {
  const line = (await of.text()).split('\n').find((one) => one.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.split(' ').at(-1));
}
const typeOf = async (tale: Tale): Promise<string> => String((await ledger.query('select type from throughline.task where id = $1', [tale.task]))[0]?.['type']);

test('a claim after a lease ran out is a rescue; whoever lost it is told once, and counted once', async () => {
  const first = await (await Tale.of(observed, { effects: 'none', probe: false, name: 'r' })).claim();
  const lost = first.claimed;
  await first.pass(LEASE_MS + 1);
  await ledger.door.taskSweep(first.task, 'sweeper/1', 10_000);
  await first.pass(MINUTE);
  await first.claim();
  const type = await typeOf(first);
  for (let twice = 0; twice < 2; twice += 1) await observed.door.leaseRenew(first.task, 'r', lost.id, LEASE_MS, false, lost.holder);
  expect(await value(`throughline_rescues_total{type="${type}",step="r"}`)).toBe(1);
  expect(await value(`throughline_claims_total{type="${type}",step="r",after="lease_expired"}`)).toBe(1);
  expect(await value('throughline_lease_losses_total{call="renew"}')).toBe(1);
  expect(await value(`throughline_attempts_total{type="${type}",step="r",how="fenced"}`)).toBe(1);
});

test('a request without an answer counts as lost when its attempt ends, others by their outcome', async () => {
  const tale = await (await Tale.of(observed, { effects: 'picture+post', name: 'e' })).claim();
  const type = await typeOf(tale);
  await tale.intend('picture');
  await tale.outcome('confirmed');
  await tale.intend('post');
  await tale.settle('lost');
  expect(await value(`throughline_effects_total{type="${type}",effect="picture",outcome="confirmed"}`)).toBe(1);
  expect(await value(`throughline_effects_total{type="${type}",effect="post",outcome="lost"}`)).toBe(1);
});

test('the ledger tells how long the oldest due step waits, what is uncertain, overdue and unsent', async () => {
  const own = await openLedger();
  try {
    const of = new Metrics();
    of.readLedger(new Reader(own.database));
    const waiting = await Tale.of(own, { effects: 'none', probe: false });
    const unsure = await (await Tale.of(own)).claim();
    await unsure.intend('post');
    await unsure.settle('lost');
    const sent = await (await Tale.of(own)).claim();
    await sent.intend('post');
    await sent.outcome('confirmed');
    await sent.settle('submitted');
    await sent.cancel();
    await own.query("insert into throughline.worker (id, offers, task_queue, seen_at, clock_skew_ms) values ('w/1', '[]', 'q', throughline.now() + interval '1 hour', -2500)");
    await own.shiftClock(RECEIPT_MS + MINUTE);
    const type = await own.query('select type from throughline.task where id = $1', [waiting.task]);
    expect(await value(`throughline_ledger_oldest_queued_seconds{type="${String(type[0]?.['type'])}"}`, of)).toBeGreaterThanOrEqual(11 * 60);
    expect(await value('throughline_ledger_unconfirmed_steps', of)).toBe(1);
    expect(await value('throughline_ledger_oldest_unconfirmed_seconds', of)).toBeGreaterThanOrEqual(11 * 60);
    expect(await value('throughline_ledger_overdue_receipts', of)).toBe(1);
    expect(await value('throughline_ledger_overdue_cancels', of)).toBe(1);
    expect(await value('throughline_ledger_outbox_rows{state="waiting"}', of)).toBe(3);
    expect(await value('throughline_ledger_outbox_lag_seconds', of)).toBeGreaterThanOrEqual(11 * 60);
    expect(await value('throughline_ledger_worker_clock_skew_seconds', of)).toBe(2.5);
    expect(await value('throughline_ledger_truncated', of)).toBe(0);
    // Bounded: it says so where it stopped.
    const [cut] = await own.query<{ g: { truncated: boolean; tasks: { tasks: number }[] } }>('select throughline.ledger_gauges(2, 15000, 3600000) as g');
    expect([cut?.g.truncated, cut?.g.tasks.reduce((sum, { tasks }) => sum + tasks, 0)]).toEqual([true, 2]);
  } finally {
    await own.close();
  }
});

test('the ledger away costs its gauges, never the scrape; a stale value is not shown as the present one', async () => {
  const away = new Metrics();
  let present = true;
  const database = new Database({ url: 'postgres://nobody@127.0.0.1:1/none', patienceMs: 0 });
  const [here, gone] = [new Reader(ledger.database), new Reader(database)];
  away.readLedger({ gauges: (ms) => (present ? here : gone).gauges(ms) });
  expect(await value('throughline_ledger_up', away)).toBe(1);
  expect(await value('throughline_ledger_workers', away)).toBe(0);
  present = false;
  // The last read serves for a second.
  while ((await value('throughline_ledger_up', away)) === 1) await new Promise((done) => setTimeout(done, 100));
  expect(await value('throughline_ledger_up', away)).toBe(0);
  expect(await value('throughline_ledger_workers', away)).toBeUndefined();
  expect(await value('throughline_ledger_outbox_rows{state="waiting"}', away)).toBeUndefined();
  expect(await value('process_start_time_seconds', away)).toBeGreaterThan(0);
  await database.end();
});

test('has no more series than types allow: what comes after the hundredth is counted together', () => {
  const labels = new Set(Array.from({ length: 3 * LABEL_VALUES_MAX }, (_, n) => metrics.bounded('type', `t-${String(n)}`)));
  expect(labels.size).toBe(LABEL_VALUES_MAX + 1);
  expect(metrics.bounded('type', 't-0')).toBe('t-0');
});

test('are served by GET alone, and a port that is taken is refused by code', async () => {
  const served = await serveMetrics({ metrics, port: 0, host: '127.0.0.1', health: () => ({ ok: false, facts: { worker: 'failed' } }) });
  const at = (path: string, method = 'GET'): Promise<Response> => fetch(`http://127.0.0.1:${String(served.port)}${path}`, { method });
  const [text, health, post, nowhere] = await Promise.all([at('/metrics?x'), at('/healthz'), at('/metrics', 'POST'), at('/')]);
  expect([text.status, text.headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
  expect([health.status, await health.json()]).toEqual([503, { ok: false, worker: 'failed' }]);
  expect([post.status, nowhere.status]).toEqual([405, 404]);
  await expect(serveMetrics({ metrics, port: served.port, host: '127.0.0.1', health: () => ({ ok: true, facts: {} }) })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  await served.close();
});
