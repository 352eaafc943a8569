/** The list of tasks. */
import type { FastifyInstance } from 'fastify';
import { h } from 'preact';
import { z } from 'zod';
import type { ThroughlineClient } from '../../client/client.ts';
import { ThroughlineError } from '../../errors.ts';
import { LIMITS, PARENT_STATUSES, REASON_CODES } from '../../state/index.ts';
import { TasksPage } from '../pages/tasks.tsx';
import type { TaskQuery } from '../pages/tasks.tsx';
import { page } from '../route.ts';
import { utc } from '../time.ts';
import type { ConsoleOptions } from '../types.ts';

/** As a browser's field gives it; taken as UTC. */
const LOCAL = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?$/;
const local = z.string().regex(LOCAL, 'must be a time such as 2026-05-01T09:00');
const Query = z.strictObject({
  status: z.enum(PARENT_STATUSES).optional(),
  type: z.string().max(LIMITS.name_chars_max).optional(),
  reason: z.enum(REASON_CODES as unknown as readonly [string, ...string[]]).optional(),
  from: local.optional(),
  to: local.optional(),
  text: z.string().max(LIMITS.key_chars_max).optional(),
  cursor: z.string().max(200).optional(),
});

type Filter = NonNullable<Parameters<ThroughlineClient['list']>[0]>;

/** A form sends its empty fields, too. Throws FILTER_INVALID. */
function queryOf(given: unknown): TaskQuery {
  const said = Object.fromEntries(Object.entries(given as Record<string, unknown>).filter(([, value]) => value !== ''));
  const parsed = Query.safeParse(said);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const name = issue?.code === 'unrecognized_keys' ? (issue.keys[0] ?? '') : String(issue?.path[0] ?? '');
  const path = `/${name.slice(0, 60)}`;
  throw new ThroughlineError('FILTER_INVALID', issue?.code === 'unrecognized_keys' ? { path, message: 'There is no such filter or sort column.' } : { path });
}

export function taskRoutes(app: FastifyInstance, { client }: ConsoleOptions): void {
  page(app, {
    method: 'GET', url: '/tasks', permission: 'read',
    async handle({ request, caller, show }) {
      const query = queryOf(request.query);
      const { status, reason, from, to, text, cursor } = query;
      const types = caller.typesFor(query.type);
      const filter = {
        ...(status === undefined ? {} : { status }), ...(reason === undefined ? {} : { reason }), ...(types === undefined ? {} : { types }), ...(text === undefined ? {} : { text: text.trim() }), ...(cursor === undefined ? {} : { cursor }),
        ...(from === undefined ? {} : { createdFrom: utc(from) }), ...(to === undefined ? {} : { createdTo: utc(to) }),
      } as Filter;
      const [found, known] = await Promise.all([client.list(filter), client.taskTypes()]);
      const offered = caller.typesFor(undefined);
      const names = [...new Set(known.map(({ type }) => type))].filter((type) => offered === undefined || offered.includes(type));
      return show(h(TasksPage, { page: found, query, types: names }));
    },
  });
}
