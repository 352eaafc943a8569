/** Bulk replays and cancels: made as a dry run from a selection of the list, looked at, applied, aborted. */
import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { h } from 'preact';
import { z } from 'zod';
import type { BulkFilter, BulkRow } from '../../client/bulk.ts';
import { ThroughlineError } from '../../errors.ts';
import { LIMITS } from '../../state/index.ts';
import { bulkAddress } from '../address.ts';
import { byOf, fieldsOf, refusalOf } from '../form.ts';
import { BulkPage, BulksPage, NewBulkPage } from '../pages/bulks.tsx';
import type { Selection } from '../pages/bulks.tsx';
import { page } from '../route.ts';
import type { Visit } from '../route.ts';
import { utc } from '../time.ts';
import type { BulkKind, ConsoleOptions } from '../types.ts';

const text = z.string().default('');
const Fields = z.object({
  kind: z.enum(['replay', 'cancel']), scope: z.enum(['selected', 'all']).default('selected'), id: z.uuid().optional(), task: z.union([z.string(), z.array(z.string())]).optional(),
  status: text, type: text, reason: text, from: text, to: text, text, why: text, who: text, rate: text,
});
type Form = z.output<typeof Fields>;

/** Of the list's filter, what a bulk of this kind understands in the same way. Text names no set that could be frozen. */
function selectionOf(form: Form): Selection {
  const tasks = form.task === undefined ? [] : [form.task].flat();
  if (form.scope === 'selected') return { tasks, filter: {} };
  const { status, type, reason, from, to } = form;
  const said = { status, type, reason, ...(form.kind === 'cancel' ? { from, to } : {}) };
  return { tasks: [], filter: Object.fromEntries(Object.entries(said).filter(([, value]) => value !== '')) };
}

const filterOf = ({ tasks, filter: { from, to, ...rest } }: Selection): BulkFilter =>
  ({ ...rest, ...(from === undefined ? {} : { from: utc(from) }), ...(to === undefined ? {} : { to: utc(to) }), ...(tasks.length === 0 ? {} : { tasks }) });

export function bulkRoutes(app: FastifyInstance, { client }: ConsoleOptions): void {
  const of = (kind: BulkKind) => (kind === 'replay' ? client.replays : client.cancels);
  /** Throws BULK_UNKNOWN, TYPE_FORBIDDEN. */
  const known = async ({ request, caller }: Visit): Promise<BulkRow> => {
    const { kind, bulk } = request.params as { kind: string; bulk: string };
    if (kind !== 'replay' && kind !== 'cancel') throw new ThroughlineError('ROUTE_UNKNOWN');
    const row = await of(kind).get(bulk);
    caller.mayAsMuchAs(row.filter.type);
    return row;
  };
  const showBulk = async (visit: Visit, bulk: BulkRow, refused?: ThroughlineError) => {
    const { cursor } = visit.request.query as { cursor?: unknown };
    const from = typeof cursor === 'string' && cursor.length <= 200 ? cursor : undefined;
    const items = await of(bulk.kind).items(bulk.id, from === undefined ? {} : { cursor: from });
    return visit.show(h(BulkPage, { bulk, items, cursor: from, refused }), refused?.status ?? 200);
  };

  page(app, {
    method: 'GET', url: '/bulks', permission: 'bulk',
    async handle({ caller, show }) {
      const types = caller.typesFor(undefined);
      const lists = await Promise.all((['replay', 'cancel'] as const).map(async (kind) => {
        const found = await of(kind).list();
        return [kind, { ...found, rows: found.rows.filter(({ filter: { type } }) => types === undefined || (type !== undefined && types.includes(type))) }] as const;
      }));
      return show(h(BulksPage, { lists }));
    },
  });
  page(app, {
    method: 'GET', url: '/bulks/new', permission: 'bulk',
    async handle(visit) {
      const form = fieldsOf(Fields, visit.request.query);
      const selection = selectionOf(form);
      const { m } = visit.frame;
      const refused = selection.tasks.length === 0 && Object.keys(selection.filter).length === 0 ? new ThroughlineError('FILTER_INVALID', { path: '/filter', message: m.actions.bulks.nothing_chosen }) : undefined;
      const who = visit.request.session.get('who') ?? '';
      return visit.show(h(NewBulkPage, { kind: form.kind, id: randomUUID(), selection, why: '', who, rate: String(LIMITS.bulk_rate_per_s_default), refused }), refused?.status ?? 200);
    },
  });
  page(app, {
    method: 'POST', url: '/bulks', permission: 'bulk',
    async handle(visit) {
      const { request, reply, caller } = visit;
      const form = fieldsOf(Fields, { ...(request.body as object), scope: (request.body as { task?: unknown }).task === undefined ? 'all' : 'selected' });
      const { kind, why, who, rate, id = randomUUID() } = form;
      const selection = selectionOf(form);
      try {
        caller.mayAsMuchAs(selection.filter['type']);
        const bulk = await of(kind).create({ filter: filterOf(selection), why, by: byOf(caller, who), id, ratePerSecond: Number(rate === '' ? LIMITS.bulk_rate_per_s_default : rate) });
        request.session.set('who', who.trim());
        return await reply.redirect(bulkAddress(kind, bulk.id), 303);
      } catch (error) {
        const refused = refusalOf(error);
        return visit.show(h(NewBulkPage, { kind, id, selection, why, who, rate, refused }), refused.status);
      }
    },
  });
  page(app, {
    method: 'GET', url: '/bulks/:kind/:bulk', permission: 'read',
    handle: async (visit) => showBulk(visit, await known(visit)),
  });
  for (const verb of ['apply', 'abort'] as const) {
    page(app, {
      method: 'POST', url: `/bulks/:kind/:bulk/${verb}`, permission: 'bulk',
      async handle(visit) {
        const bulk = await known(visit);
        const { why } = visit.request.body as { why?: unknown };
        const by = byOf(visit.caller, visit.request.session.get('who') ?? '');
        try {
          if (verb === 'apply') await of(bulk.kind).apply(bulk.id, { by });
          else await of(bulk.kind).abort(bulk.id, { by, why: typeof why === 'string' ? why : '' });
        } catch (error) {
          return showBulk(visit, await known(visit), refusalOf(error));
        }
        return visit.reply.redirect(bulkAddress(bulk.kind, bulk.id), 303);
      },
    });
  }
}
