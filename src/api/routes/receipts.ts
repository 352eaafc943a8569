import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ThroughlineError } from '../../errors.ts';
import { LIMITS } from '../../state/index.ts';
import { operation } from '../operation.ts';
import type { ApiDeps } from '../operation.ts';
import * as s from '../schemas.ts';
import { oneOf } from './tasks.ts';

/** The body as it was signed, byte for byte. */
const rawOf = (request: FastifyRequest): Buffer => request.rawBody ?? Buffer.alloc(0);

export function receiptRoutes(app: FastifyInstance, { client }: ApiDeps): void {
  operation(app, {
    method: 'GET', url: '/v1/receipts', id: 'listReceipts', tag: 'receipts', permission: 'read', summary: 'Stored receipts with their verdicts, newest first',
    description: 'A token that is for some types only must name a task: what matches nothing belongs to no type.',
    query: s.ReceiptQuery, answers: { 200: s.Rows }, codes: ['TASK_UNKNOWN', 'ID_INVALID', 'FILTER_INVALID', 'CURSOR_INVALID', 'TYPE_FORBIDDEN'],
    async handle({ query: { unmatched, ...filter }, caller }) {
      if (filter.task === undefined) caller.mayAllTypes();
      else await caller.mayTask(filter.task);
      return client.receipts({ ...filter, unmatched: unmatched === 'true' } as never);
    },
  });

  operation(app, {
    method: 'POST', url: '/v1/receipts/:receipt/rematch', id: 'rematchReceipt', tag: 'receipts', permission: 'rematch_receipt', summary: 'Say whom a receipt is for that matched nothing; it is judged again by all rules',
    params: s.ReceiptParams, query: s.NoQuery, headers: s.IdempotencyHeader, body: s.RematchBody, answers: { 200: s.RematchAnswer },
    codes: ['RECEIPT_UNKNOWN', 'RECEIPT_AMBIGUOUS', 'RECEIPT_NOT_REMATCHABLE', 'RECEIPT_REMATCH_REFUSED', 'ID_CONFLICT', 'ID_INVALID', 'TASK_UNKNOWN', 'TASK_PRUNED', 'STEP_UNKNOWN', 'REASON_REQUIRED', 'INPUT_TOO_LARGE', 'TYPE_FORBIDDEN'],
    async handle({ params: { receipt }, body, caller, request }) {
      await caller.mayTask(body.task);
      const id = oneOf(request.headers['idempotency-key'], body.id, '/id');
      return client.rematchReceipt(receipt, { ...body, by: caller.by(body.by), ...(id === undefined ? {} : { id }) } as never);
    },
  });

  operation(app, {
    method: 'POST', url: '/v1/receipts', id: 'deliverReceipt', tag: 'receipts', permission: 'deliver_receipt', bodyLimit: LIMITS.receipt_bytes_max * 2,
    summary: 'Deliver a receipt', description: "Signed as Standard Webhooks has it (webhook-id, webhook-timestamp, webhook-signature) with a key of the sender, or with a token of the role `platform` that is named as the sender. Stored first, then judged: a receipt that doesn't match is answered with its verdict.",
    query: s.NoQuery, body: s.ReceiptBody, answers: { 200: s.ReceiptAnswer }, codes: ['SIGNATURE_INVALID', 'SENDER_FORBIDDEN', 'INPUT_NOT_STORABLE', 'REASON_REQUIRED', 'INPUT_TOO_LARGE'],
    async handle({ body, request }) {
      const { caller } = request;
      const receipt = { ...body };
      if (caller === null) {
        const id = await client.access.verifySender(body.sender, request.headers, rawOf(request));
        // The header is signed: it names the delivery, and a body that names another one is a mistake.
        if (body.deliveryId !== undefined && body.deliveryId !== id) throw new ThroughlineError('INPUT_INVALID', { path: '/deliveryId', message: 'The body names another delivery than the webhook-id header.' });
        receipt.deliveryId = id;
      } else if (caller.token.role === 'platform' && caller.token.name !== body.sender) {
        throw new ThroughlineError('SENDER_FORBIDDEN', { facts: { sender: body.sender } });
      } else if (caller.token.types.length > 0 && /^[0-9a-f-]{36}$/i.test(body.task)) {
        await caller.mayTask(body.task).catch((error: unknown) => {
          // What names no task is stored and judged as such.
          if (!(error instanceof ThroughlineError) || error.code === 'TYPE_FORBIDDEN') throw error;
        });
      }
      if (receipt.deliveryId === undefined) throw new ThroughlineError('INPUT_INVALID', { path: '/deliveryId', message: 'A receipt names its delivery: deliveryId, or the webhook-id header of a signed one.' });
      return client.deliverReceipt(receipt as never);
    },
  });
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Kept where a signature is checked. */
    rawBody?: Buffer;
  }
}
