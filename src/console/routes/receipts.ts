/** Receipts that match nothing, and the way from one to the task that it is for. */
import type { FastifyInstance } from 'fastify';
import { h } from 'preact';
import { z } from 'zod';
import { ThroughlineError } from '../../errors.ts';
import { actionAddress } from '../address.ts';
import { ReceiptsPage } from '../pages/receipts.tsx';
import { page } from '../route.ts';
import type { ConsoleOptions } from '../types.ts';

const Query = z.object({ cursor: z.string().max(200).optional() });
const Target = z.object({ task: z.string().trim().max(200), step: z.string().max(200).optional() });

export function receiptRoutes(app: FastifyInstance, { client }: ConsoleOptions): void {
  page(app, {
    method: 'GET', url: '/receipts', permission: 'read',
    async handle({ request, caller, show }) {
      // What matches nothing belongs to no type.
      caller.mayAllTypes();
      const query = Query.safeParse(request.query);
      if (!query.success) throw new ThroughlineError('CURSOR_INVALID', { path: '/cursor' });
      const { cursor } = query.data;
      return show(h(ReceiptsPage, { page: await client.receipts({ unmatched: true, ...(cursor === undefined ? {} : { cursor }) }), cursor }));
    },
  });
  page(app, {
    method: 'GET', url: '/receipts/:receipt/rematch', permission: 'rematch_receipt',
    async handle({ request, reply }) {
      const query = Target.safeParse(request.query);
      if (!query.success) throw new ThroughlineError('ID_INVALID', { path: '/task' });
      const { receipt } = request.params as { receipt: string };
      return reply.redirect(actionAddress(query.data.task, 'rematch', { receipt, step: query.data.step }), 303);
    },
  });
}
