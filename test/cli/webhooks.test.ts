/** Webhooks by the command line, on a real ledger and a real endpoint; the sender runs here. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { NotificationPage, NotificationRow, WebhookRow, WebhookWithSecret } from '../../src/index.ts';
import { Notifications, Reader } from '../../src/ledger/index.ts';
import { AddressPolicy } from '../../src/webhooks/address.ts';
import { createSecret } from '../../src/webhooks/signature.ts';
import { createLogger } from '../../src/worker/log.ts';
import { Notifier } from '../../src/worker/notifier.ts';
import { openEndpoint, type Endpoint } from '../support/endpoint.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { Tale } from '../support/tale.ts';
import { cli, documentOf, TEMPORAL_AWAY, type Failure } from './cli.ts';

let ledger: Ledger;
let endpoint: Endpoint;
beforeAll(async () => {
  [ledger, endpoint] = [await openLedger(), await openEndpoint()];
});
afterAll(async () => {
  await endpoint.close();
  await ledger.close();
});

const say = (args: readonly string[], env: Record<string, string> = {}) => cli(['webhooks', ...args], { env: { DATABASE_URL: ledger.url, TEMPORAL_ADDRESS: TEMPORAL_AWAY, COLUMNS: '300', ...env } });
async function ask<T>(args: readonly string[], env: Record<string, string> = {}): Promise<T> {
  const said = await say([...args, '--json'], env);
  expect([said.code, said.stderr]).toEqual([0, '']);
  return documentOf(said) as T;
}
const refusal = async (args: readonly string[]): Promise<unknown> => {
  const said = await say([...args, '--json']);
  const { code, path } = (documentOf(said) as Failure).error;
  return [said.code, code, path];
};
const notifier = (): Notifier =>
  new Notifier({ notifications: new Notifications(ledger.database), reader: new Reader(ledger.database), addresses: new AddressPolicy(['127.0.0.1']), log: createLogger('silent') });

test('a webhook is added, tested, shown without its secret, rotated, disabled and removed', async () => {
  const added = await ask<WebhookWithSecret>(['add', endpoint.url, '--allow-http', '--event', 'task.dead', 'step.dead', '--by', 'operator:oda']);
  expect(added).toMatchObject({ url: endpoint.url, events: ['task.dead', 'step.dead'], types: [], enabled: true, secrets: 1, created_by: 'operator:oda', secret: expect.stringMatching(/^whsec_/) });

  const tested = ask<NotificationRow>(['test', added.id]);
  while (endpoint.got.length === 0) await notifier().runOnce();
  expect(await tested).toMatchObject({ event: 'webhook.test', status: 'sent', http_status: 204 });

  const [list, text] = await Promise.all([ask<WebhookRow[]>(['list']), say(['list'])]);
  expect(list).toMatchObject([{ id: added.id, events: ['task.dead', 'step.dead'] }]);
  expect(text.stdout).toContain(endpoint.url);
  expect(JSON.stringify(list) + text.stdout).not.toContain(added.secret);

  const own = createSecret();
  expect(await ask<WebhookWithSecret>(['rotate', added.id, '--overlap', '1h'], { THROUGHLINE_WEBHOOK_SECRET: own })).toMatchObject({ id: added.id, secret: own, secrets: 2 });
  expect(await ask<WebhookRow>(['disable', added.id, '--why', 'it moves'])).toMatchObject({ enabled: false, disabled_why: 'it moves' });
  expect(await refusal(['test', added.id])).toEqual([4, 'TRANSITION_REFUSED', undefined]);
  expect(await ask<WebhookRow>(['enable', added.id])).toMatchObject({ enabled: true });
  expect(await ask<WebhookRow>(['change', added.id, '--event', 'task.cancelled'])).toMatchObject({ events: ['task.cancelled'] });
  expect(await ask(['remove', added.id])).toMatchObject({ removed: true });
  expect((await say(['list'])).stdout).toBe('Nothing to show.\n');
});

test('what could not be sent is listed, and sent again by a person', async () => {
  const { id } = await ask<WebhookWithSecret>(['add', endpoint.url, '--allow-http']);
  const tale = await Tale.of(ledger, { effects: 'none', probe: false });
  await tale.cancel();
  endpoint.answers.push({ status: 410 });
  await notifier().runOnce();
  const page = await ask<NotificationPage>(['deliveries', '--status', 'parked', '--webhook', id]);
  expect(page).toMatchObject({ cursor: null, rows: [{ event: 'task.cancelled', task: tale.task, status: 'parked', http_status: 410 }] });
  expect((await say(['deliveries', '--task', tale.task])).stdout).toMatch(/task\.cancelled +parked +1 +the endpoint is gone/);
  expect(await refusal(['unpark', page.rows[0]?.id ?? ''])).toEqual([2, 'INPUT_INVALID', '--why']);
  expect(await ask(['unpark', page.rows[0]?.id ?? '', '--why', 'it is back'])).toMatchObject({ unparked: true });
  await ask(['enable', id]);
  expect(await notifier().runOnce()).toMatchObject({ sent: 1 });
});

test('what is no webhook, no event and no URL is refused with its code', async () => {
  const unknown = '3f0c9a52-7c41-4a7e-9a39-8f1d2a6b7c10';
  expect(await Promise.all([
    refusal(['add', 'http://hooks.example/']), refusal(['add', 'https://hooks.example/', '--event', 'task.exploded']), refusal(['remove', unknown]), refusal(['remove', '7']), refusal(['deliveries', '--status', 'lost']),
  ])).toEqual([[2, 'INPUT_INVALID', '/url'], [2, 'INPUT_INVALID', '/events'], [3, 'WEBHOOK_UNKNOWN', undefined], [2, 'ID_INVALID', '/webhook'], [2, 'FILTER_INVALID', '/status']]);
});
