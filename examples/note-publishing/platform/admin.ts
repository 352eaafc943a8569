/** The platform's admin routes: faults, settings, access log, receipts and its own counts per task. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import type { Platform } from './calls.ts';
import { faultSchema } from './faults.ts';
import { postStatus } from './store.ts';
import { PLATFORM_LIMITS, referenceText, settingsSchema } from './types.ts';
import type { Settings, TaskCounts } from './types.ts';

const logQuery = z.strictObject({
  task: referenceText.optional(),
  after: z.coerce.number().int().min(0).default(0),
  limit: z.coerce.number().int().min(1).max(PLATFORM_LIMITS.log_page_entries_max).default(1_000),
});
const taskQuery = z.strictObject({ task: referenceText.optional() });

/** Parses or answers 400 with the path; null when answered. */
function parse<Schema extends z.ZodType>(schema: Schema, value: unknown, reply: FastifyReply): z.output<Schema> | null {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  void reply.code(400).send({ code: 'invalid', message: issue?.message, path: issue?.path.join('.') });
  return null;
}

export function adminRoutes(app: FastifyInstance, platform: Platform, change: (settings: Settings) => void): void {
  const { store, log, faults } = platform;

  app.post('/admin/faults', async (request, reply) => {
    const rule = parse(faultSchema, request.body, reply);
    if (rule === null) return reply;
    try {
      return await reply.code(201).send(faults.add(rule));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return reply.code(409).send({ code: 'too_many_faults', message: error.message });
    }
  });
  app.get('/admin/faults', () => ({ faults: faults.list() }));
  app.delete('/admin/faults', () => ({ removed: faults.remove() }));
  app.delete<{ Params: { id: string } }>('/admin/faults/:id', (request, reply) => {
    const removed = faults.remove(request.params.id);
    return reply.code(removed === 0 ? 404 : 200).send({ removed });
  });

  app.get('/admin/settings', () => platform.settings);
  app.put('/admin/settings', async (request, reply) => {
    const wanted = parse(settingsSchema.partial(), request.body, reply);
    if (wanted === null) return reply;
    change(settingsSchema.parse({ ...platform.settings, ...wanted }));
    return platform.settings;
  });

  app.get('/admin/log', async (request, reply) => {
    const query = parse(logQuery, request.query, reply);
    return query === null ? reply : { entries: log.entries(query) };
  });

  app.get('/admin/receipts', async (request, reply) => {
    const query = parse(taskQuery, request.query, reply);
    if (query === null) return reply;
    const all = [...store.receipts.values()];
    const mine = (postId: string): boolean => store.posts.get(postId)?.reference.taskId === query.task;
    return { receipts: query.task === undefined ? all : all.filter((receipt) => mine(receipt.postId)) };
  });

  app.get('/admin/state', async (request, reply) => {
    const query = parse(taskQuery, request.query, reply);
    if (query === null) return reply;
    const tasks = countByTask(platform);
    if (query.task === undefined) return { tasks };
    return { tasks: { [query.task]: tasks[query.task] ?? noCounts() } };
  });
}

/** The platform's own count per task reference; what came without a reference counts under the empty string. */
function countByTask({ store, log }: Platform): Record<string, TaskCounts> {
  const tasks = new Map<string, TaskCounts>();
  const counts = (task: string): TaskCounts => {
    const known = tasks.get(task) ?? noCounts();
    tasks.set(task, known);
    return known;
  };
  const now = new Date();
  log.count(counts);
  for (const picture of store.pictures.values()) counts(picture.reference.taskId ?? '').pictures += 1;
  for (const post of store.posts.values()) {
    const task = counts(post.reference.taskId ?? '');
    task.posts += 1;
    const status = postStatus(post, now);
    if (status === 'published') task.published += 1;
    if (status === 'withdrawn') task.withdrawn += 1;
  }
  return Object.fromEntries(tasks);
}

function noCounts(): TaskCounts {
  return {
    requests: 0,
    acted: 0,
    deduped: 0,
    refused: 0,
    ignored: 0,
    reads: 0,
    pictures: 0,
    posts: 0,
    published: 0,
    withdrawn: 0,
  };
}
