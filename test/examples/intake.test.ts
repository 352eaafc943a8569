import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RECEIPT_BODY_BYTES_MAX, startIntake } from '../../examples/note-publishing/intake.ts';
import type { RunningIntake } from '../../examples/note-publishing/intake.ts';
import { sign } from '../../examples/note-publishing/platform/receipts.ts';
import type { Receipt } from '../../examples/note-publishing/platform/types.ts';

const receipt: Receipt = {
  deliveryId: 'dlv_1',
  taskId: 't',
  step: 'publish',
  threadId: 'th',
  inReplyTo: 'm',
  kind: 'completed',
  externalId: 'post_1',
  code: null,
  artifact: { uri: '/posts/post_1', sha256: 'a'.repeat(64) },
  text: null,
  at: '2025-03-01T12:00:00.000Z',
};
const stored: Receipt[] = [];
let away = false;
let open: RunningIntake;
let guarded: RunningIntake;

beforeAll(async () => {
  const deliver = async (one: Receipt): Promise<void> => {
    if (away) throw new Error('away');
    stored.push(one);
    return Promise.resolve();
  };
  open = await startIntake({ deliver });
  guarded = await startIntake({ deliver, secret: 'secret' });
});
afterAll(async () => {
  await open.close();
  await guarded.close();
});

async function send(intake: RunningIntake, body: string, headers: Record<string, string> = {}): Promise<{ status: number; said: Record<string, unknown> }> {
  const init = { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } };
  const response = await fetch(intake.url, init);
  const text = await response.text();
  return { status: response.status, said: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) };
}

describe('the receipt intake', () => {
  it('answers 204 after the receipt was stored', async () => {
    expect((await send(open, JSON.stringify(receipt))).status).toBe(204);
    expect(stored.at(-1)).toEqual(receipt);
  });

  it('answers 503 when it could not be stored', async () => {
    away = true;
    expect(await send(open, JSON.stringify(receipt))).toMatchObject({ status: 503, said: { code: 'not_stored' } });
    away = false;
  });

  it.each([
    ['no JSON', '{', ''],
    ['not an object', '[]', ''],
    ['a kind that there is not', JSON.stringify({ ...receipt, kind: 'done' }), 'kind'],
    ['a NUL character', JSON.stringify({ ...receipt, inReplyTo: 'a\u0000b' }), 'inReplyTo'],
    ['a field too many', JSON.stringify({ ...receipt, extra: 1 }), ''],
    ['a broken artifact', JSON.stringify({ ...receipt, artifact: { uri: 'x', sha256: 'short' } }), 'artifact.sha256'],
  ])('answers 400 with the path for %s', async (_, body, path) => {
    const before = stored.length;
    expect(await send(open, body)).toMatchObject({ status: 400, said: { code: 'invalid_receipt', path } });
    expect(stored).toHaveLength(before);
  });

  it('names the limit of what is too long', async () => {
    const { status, said } = await send(open, JSON.stringify({ ...receipt, externalId: 'x'.repeat(400) }));
    expect([status, said['path'], said['limit']]).toEqual([400, 'externalId', '300']);
  });

  it('answers 413 with the limit for a body that is no receipt any more', async () => {
    const { status, said } = await send(open, JSON.stringify({ ...receipt, text: 'x'.repeat(RECEIPT_BODY_BYTES_MAX) }));
    expect([status, said['limit']]).toEqual([413, `${RECEIPT_BODY_BYTES_MAX} bytes`]);
  });

  it('takes only signed receipts when it has a secret', async () => {
    const body = JSON.stringify(receipt);
    expect((await send(guarded, body)).status).toBe(401);
    expect((await send(guarded, body, { 'x-signature': sign(body, 'guess') })).status).toBe(401);
    expect((await send(guarded, body, { 'x-signature': sign(body, 'secret') })).status).toBe(204);
  });
});
