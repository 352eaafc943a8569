import type { FastifyInstance } from 'fastify';
import { operation } from '../operation.ts';
import type { ApiDeps } from '../operation.ts';
import * as s from '../schemas.ts';

/** What proves: the audit of the ledger, and one task's evidence. */
export function proofRoutes(app: FastifyInstance, { client }: ApiDeps): void {
  operation(app, {
    method: 'GET', url: '/v1/audit', id: 'audit', tag: 'proof', permission: 'audit', summary: 'Whether every row of the live ledger keeps its promises',
    description: 'Reads all that it is asked for at one moment: with many tasks on record, name one, or `since`. A token that is for some types only must name a task.',
    query: s.AuditQuery, answers: { 200: s.AuditReport }, codes: ['TASK_UNKNOWN', 'TASK_PRUNED', 'ID_INVALID', 'TIME_INVALID', 'FILTER_INVALID', 'TYPE_FORBIDDEN'],
    async handle({ query, caller }) {
      if (query.task === undefined) caller.mayAllTypes();
      else await caller.mayTask(query.task);
      return client.audit(query as never);
    },
  });

  operation(app, {
    method: 'GET', url: '/v1/tasks/:task/evidence', id: 'getEvidence', tag: 'proof', permission: 'read', summary: 'Everything on record of a task as a file whose every line is chained to the one before it',
    description: '`text` is the file, for `throughline evidence verify`. Keep `timeline.head` elsewhere.',
    params: s.TaskParams, query: s.NoQuery, answers: { 200: s.Evidence }, codes: ['TASK_UNKNOWN', 'TASK_PRUNED', 'ID_INVALID', 'TYPE_FORBIDDEN'],
    async handle({ params: { task }, caller }) {
      await caller.mayTask(task);
      return client.evidence(task);
    },
  });
}
