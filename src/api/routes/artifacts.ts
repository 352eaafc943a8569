import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { ThroughlineError } from '../../errors.ts';
import { operation } from '../operation.ts';
import type { ApiDeps } from '../operation.ts';
import * as s from '../schemas.ts';

/** What browsers show without running anything in it; all else is a download of bytes. */
const SHOWN = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif', 'text/plain', 'application/json']);

export function artifactRoutes(app: FastifyInstance, { client, artifacts }: ApiDeps): void {
  operation(app, {
    method: 'GET', url: '/v1/tasks/:task/artifacts/:sha256/content', id: 'getArtifactContent', tag: 'tasks', permission: 'read', summary: "An artifact's bytes",
    params: s.TaskParams.extend({ sha256: z.string().regex(/^[0-9a-f]{64}$/) }), query: s.NoQuery,
    answers: { 200: { description: 'The bytes, with the media type if it is harmless', content: { '*/*': { schema: z.string().meta({ format: 'binary' }) } } } },
    codes: ['TASK_UNKNOWN', 'TASK_PRUNED', 'ID_INVALID', 'TYPE_FORBIDDEN', 'ARTIFACT_UNKNOWN', 'ARTIFACT_UNREADABLE'],
    async handle({ params: { task, sha256 }, caller, reply }) {
      const record = await client.record(task);
      caller.mayType(record.task.type);
      const row = record.artifacts.find((artifact) => artifact.sha256 === sha256);
      if (row === undefined) throw new ThroughlineError('ARTIFACT_UNKNOWN', { facts: { sha256 } });
      if (artifacts === null) throw new ThroughlineError('ARTIFACT_UNREADABLE', { message: 'This process has no artifact store.' });
      const bytes = await artifacts.get(row.uri);
      const media = row.media_type.split(';')[0]?.trim().toLowerCase() ?? '';
      const type = SHOWN.has(media) ? (media.startsWith('text/') || media === 'application/json' ? `${media}; charset=utf-8` : media) : 'application/octet-stream';
      // A name of the author's choosing: only letters and digits of it reach the header.
      const name = row.name.replace(/[^A-Za-z0-9._-]+/g, '_').slice(0, 100) || 'artifact';
      return reply
        .type(type)
        .header('content-disposition', `${SHOWN.has(media) ? 'inline' : 'attachment'}; filename="${name}"`)
        .header('content-security-policy', "default-src 'none'; sandbox")
        .header('cache-control', 'private, max-age=31536000, immutable')
        .header('etag', `"${sha256}"`)
        .send(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    },
  });
}
