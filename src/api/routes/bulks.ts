import type { FastifyInstance } from 'fastify';
import type { z } from 'zod';
import type { BulkRow } from '../../client/bulk.ts';
import type { ErrorCode } from '../../errors.ts';
import type { Caller } from '../caller.ts';
import { operation } from '../operation.ts';
import type { ApiDeps } from '../operation.ts';
import * as s from '../schemas.ts';
import { oneOf } from './tasks.ts';

const CREATE_CODES: readonly ErrorCode[] = ['BULK_TOO_LARGE', 'FILTER_INVALID', 'TIME_INVALID', 'TYPE_UNKNOWN', 'TYPE_FORBIDDEN', 'REASON_REQUIRED', 'ID_CONFLICT', 'ID_INVALID', 'INPUT_TOO_LARGE'];

/** A bulk is as much of a type's as its filter says. */
const mayBulk = (caller: Caller, { filter: { type } }: Pick<BulkRow, 'filter'>): void => { caller.mayAsMuchAs(type); };

/** Replays and cancels of many: made as a dry run, looked at, then applied; workers drive them. */
export function bulkRoutes(app: FastifyInstance, { client }: ApiDeps): void {
  const kinds = [
    ['replays', 'Replay', s.BulkReplayBody, client.replays, 'Freeze the dead steps that a filter finds, and say what a replay of each would meet'],
    ['cancels', 'Cancel', s.BulkCancelBody, client.cancels, 'Freeze the open tasks that a filter finds, and say what a cancel of each would be answered'],
  ] as const;
  for (const [name, word, body, bulks, summary] of kinds) {
    const known = async (id: string, caller: Caller): Promise<BulkRow> => {
      const bulk = await bulks.get(id);
      mayBulk(caller, bulk);
      return bulk;
    };
    const shared = { tag: name, params: s.BulkParams, query: s.NoQuery, answers: { 200: s.Bulk } } as const;
    const codes: readonly ErrorCode[] = ['BULK_UNKNOWN', 'ID_INVALID', 'TYPE_FORBIDDEN'];

    operation(app, {
      method: 'POST', url: `/v1/${name}`, id: `create${word}s`, tag: name, permission: 'bulk', summary, description: 'A dry run: nothing is done before it is applied.',
      query: s.NoQuery, headers: s.IdempotencyHeader, body: body as z.ZodType<z.output<typeof s.BulkReplayBody>>, answers: { 201: s.Bulk }, codes: CREATE_CODES,
      async handle({ body: asked, caller, request, reply }) {
        mayBulk(caller, asked as never);
        const id = oneOf(request.headers['idempotency-key'], asked.id, '/id');
        const bulk = await bulks.create({ ...asked, by: caller.by(asked.by), ...(id === undefined ? {} : { id }) } as never);
        void reply.code(201).header('location', `/v1/${name}/${bulk.id}`);
        return bulk;
      },
    });
    operation(app, {
      method: 'GET', url: `/v1/${name}`, id: `list${word}s`, tag: name, permission: 'read', summary: 'All of them, newest first', description: 'A token that is for some types only sees those whose filter names one of them; a page may hold fewer then.',
      query: s.PageQuery, answers: { 200: s.BulkPage }, codes: ['FILTER_INVALID', 'CURSOR_INVALID'],
      async handle({ query, caller }) {
        const { rows, cursor } = await bulks.list(query as never);
        const types = caller.typesFor(undefined);
        return { rows: rows.filter(({ filter }) => types === undefined || (filter.type !== undefined && types.includes(filter.type))), cursor };
      },
    });
    operation(app, {
      ...shared, method: 'GET', url: `/v1/${name}/:bulk`, id: `get${word}s`, permission: 'read', summary: 'As it stands, with counts', codes,
      handle: ({ params: { bulk }, caller }) => known(bulk, caller),
    });
    operation(app, {
      ...shared, method: 'GET', url: `/v1/${name}/:bulk/items`, id: `get${word}Items`, permission: 'read', summary: 'Each item with its result or refusal', query: s.BulkItemQuery, answers: { 200: s.Rows }, codes: [...codes, 'FILTER_INVALID', 'CURSOR_INVALID'],
      async handle({ params: { bulk }, query, caller }) {
        await known(bulk, caller);
        return bulks.items(bulk, query as never);
      },
    });
    operation(app, {
      ...shared, method: 'POST', url: `/v1/${name}/:bulk/apply`, id: `apply${word}s`, permission: 'bulk', summary: 'Have it done: workers drive it from here on', body: s.BulkApplyBody, codes: [...codes, 'BULK_ENDED'],
      async handle({ params: { bulk }, body: { by }, caller }) {
        await known(bulk, caller);
        return bulks.apply(bulk, { by: caller.by(by) });
      },
    });
    operation(app, {
      ...shared, method: 'POST', url: `/v1/${name}/:bulk/abort`, id: `abort${word}s`, permission: 'bulk', summary: 'Skip what is pending; what was done stays done', body: s.BulkAbortBody, codes: [...codes, 'BULK_ENDED', 'REASON_REQUIRED', 'INPUT_TOO_LARGE'],
      async handle({ params: { bulk }, body: { by, why }, caller }) {
        await known(bulk, caller);
        return bulks.abort(bulk, { by: caller.by(by), why });
      },
    });
  }
}
