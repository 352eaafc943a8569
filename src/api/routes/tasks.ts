import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { ThroughlineError } from '../../errors.ts';
import { LIMITS } from '../../state/index.ts';
import { languageOf } from '../language.ts';
import { operation } from '../operation.ts';
import type { ApiDeps } from '../operation.ts';
import * as s from '../schemas.ts';

const ENQUEUE_CODES = ['DEDUPE_CONFLICT', 'ID_CONFLICT', 'AGAIN_TAKEN', 'TYPE_UNKNOWN', 'TYPE_FORBIDDEN', 'TASK_UNKNOWN', 'TASK_PRUNED', 'TIME_INVALID', 'INPUT_TOO_LARGE', 'INPUT_NOT_STORABLE', 'ID_INVALID'] as const;
const BATCH_ENVELOPE_BYTES = 1024 * 1024;
/** Set where two names for the same thing must not contradict. */
export function oneOf(header: unknown, field: string | undefined, path: string): string | undefined {
  const given = typeof header === 'string' && header !== '' ? header : undefined;
  if (given !== undefined && field !== undefined && given !== field) throw new ThroughlineError('INPUT_INVALID', { path, message: 'The Idempotency-Key header and the body say different things.' });
  return given ?? field;
}

const defined = <T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as { [K in keyof T]: Exclude<T[K], undefined> };

export function taskRoutes(app: FastifyInstance, { client, stopping }: ApiDeps): void {
  operation(app, {
    method: 'POST', url: '/v1/tasks', id: 'enqueue', tag: 'tasks', permission: 'enqueue',
    summary: 'Accept a task', description: 'Answers 201 for a new task and 200 for one whose key or id is known. Another input under a known key is DEDUPE_CONFLICT with the paths that differ.',
    headers: s.IdempotencyHeader, query: s.NoQuery, body: s.EnqueueBody, answers: { 200: s.Enqueued, 201: s.Enqueued }, codes: ENQUEUE_CODES,
    async handle({ body, caller, request, reply }) {
      const { type, input, by, key, ...rest } = body;
      caller.mayType(type);
      const options = defined({ ...rest, key: oneOf(request.headers['idempotency-key'], key, '/key'), by: caller.by(by) });
      const enqueued = await client.enqueue(type, input, options as never);
      void reply.code(enqueued.created ? 201 : 200).header('location', `/v1/tasks/${enqueued.id}`);
      return enqueued;
    },
  });

  operation(app, {
    method: 'POST', url: '/v1/tasks/batch', id: 'enqueueBatch', tag: 'tasks', permission: 'enqueue', bodyLimit: LIMITS.batch_bytes_max + BATCH_ENVELOPE_BYTES,
    summary: 'Accept many tasks of one type', description: 'An answer for each item, in order: its task, or the error that refused it alone.',
    query: s.NoQuery, body: s.BatchBody, answers: { 200: s.Batch }, codes: ['TYPE_FORBIDDEN', 'TYPE_UNKNOWN', 'TIME_INVALID', 'INPUT_TOO_LARGE'],
    async handle({ body, caller }) {
      const { type, items, by, ...shared } = body;
      caller.mayType(type);
      const own = items.map(({ by: actor, ...item }) => defined({ ...item, by: caller.by(actor ?? by) }));
      const results = await client.enqueueBatch(type, own as never, defined({ ...shared, by: caller.by(by) }) as never);
      return { results };
    },
  });

  operation(app, {
    method: 'GET', url: '/v1/tasks', id: 'listTasks', tag: 'tasks', permission: 'read', summary: 'Tasks, newest first, by keyset pages',
    query: s.ListQuery, answers: { 200: s.TaskPage }, codes: ['FILTER_INVALID', 'CURSOR_INVALID', 'TIME_INVALID', 'TYPE_FORBIDDEN'],
    async handle({ query, caller }) {
      const { atRest, type, ...filter } = query;
      const types = caller.typesFor(type);
      return client.list(defined({ ...filter, types, atRest: atRest === undefined ? undefined : atRest === 'true' }) as never);
    },
  });

  operation(app, {
    method: 'GET', url: '/v1/tasks/:task', id: 'getTask', tag: 'tasks', permission: 'read', summary: 'The task as it is now', description: 'With `wait`, answers as soon as it is at rest. A wait that is over answers with the task as it is; `at_rest` says which.',
    params: s.TaskParams, query: s.WaitQuery, answers: { 200: s.View }, codes: ['TASK_UNKNOWN', 'TASK_PRUNED', 'ID_INVALID', 'TYPE_FORBIDDEN'],
    async handle({ params: { task }, query: { wait = 0 }, caller, request }) {
      const view = await client.get(task);
      caller.mayType(view.type);
      if (view.at_rest || wait === 0) return view;
      const gone = new AbortController();
      const onClose = (): void => { gone.abort(); };
      request.raw.socket.once('close', onClose);
      try {
        await client.waitFor(task, { timeoutMs: wait * 1_000, signal: AbortSignal.any([gone.signal, stopping]) }).catch((error: unknown) => {
          const over = gone.signal.aborted || stopping.aborted || (error instanceof ThroughlineError && error.code === 'WAIT_TIMEOUT');
          if (!over) throw error;
        });
      } finally {
        request.raw.socket.off('close', onClose);
      }
      return client.get(task);
    },
  });

  operation(app, {
    method: 'GET', url: '/v1/tasks/:task/record', id: 'getRecord', tag: 'tasks', permission: 'read', summary: 'Everything that the ledger knows of a task, at one moment',
    params: s.TaskParams, query: s.NoQuery, answers: { 200: s.TaskRecord }, codes: ['TASK_UNKNOWN', 'TASK_PRUNED', 'ID_INVALID', 'TYPE_FORBIDDEN'],
    async handle({ params: { task }, caller }) {
      const record = await client.record(task);
      caller.mayType(record.task.type);
      return record;
    },
  });

  const PARTS = [
    ['steps', 'steps', 'The steps: state, reason, attempts, what is due'],
    ['timeline', 'timeline', 'Everything that happened, oldest first'],
    ['effects', 'touches', 'Each request to the outside, with its outcome'],
    ['receipts', 'receipts', 'What the other side said, with verdicts'],
    ['cancels', 'cancels', 'Cancels, withdrawals and abandoned waits, with verdicts'],
    ['artifacts', 'artifacts', 'What the steps stored'],
  ] as const;
  for (const [name, part, summary] of PARTS) {
    operation(app, {
      method: 'GET', url: `/v1/tasks/:task/${name}`, id: `get${name[0]?.toUpperCase() ?? ''}${name.slice(1)}`, tag: 'tasks', permission: 'read', summary,
      params: s.TaskParams, query: s.NoQuery, answers: { 200: s.rowsOf(name) }, codes: ['TASK_UNKNOWN', 'TASK_PRUNED', 'ID_INVALID', 'TYPE_FORBIDDEN'],
      async handle({ params: { task }, caller }) {
        const record = await client.record(task);
        caller.mayType(record.task.type);
        return { as_of: record.as_of, [name]: record[part] };
      },
    });
  }

  operation(app, {
    method: 'GET', url: '/v1/tasks/:task/explanation', id: 'explainTask', tag: 'tasks', permission: 'read', summary: 'Where is it, will it run again, did the cancel take effect, what touched the outside, is the success real?',
    description: 'In the language of `Accept-Language` (en or zh-CN); codes are the same in each.',
    params: s.TaskParams, query: s.NoQuery, headers: z.object({ 'accept-language': z.string().max(500).optional() }), answers: { 200: s.Explanation }, codes: ['TASK_UNKNOWN', 'TASK_PRUNED', 'ID_INVALID', 'TYPE_FORBIDDEN'],
    async handle({ params: { task }, caller, request, reply }) {
      await caller.mayTask(task);
      const lang = languageOf(request.headers['accept-language']);
      void reply.header('content-language', lang).header('vary', 'accept-language');
      return client.explain(task, { lang: lang as never });
    },
  });

  operation(app, {
    method: 'GET', url: '/v1/task-types', id: 'listTaskTypes', tag: 'task types', permission: 'read', summary: 'Registered types in all versions: plan, and input as JSON Schema',
    query: s.NoQuery, answers: { 200: z.looseObject({ rows: z.array(s.Row) }) },
    async handle({ caller }) {
      const types = caller.typesFor(undefined);
      return { rows: (await client.taskTypes()).filter(({ type }) => types === undefined || types.includes(type)) };
    },
  });
}
