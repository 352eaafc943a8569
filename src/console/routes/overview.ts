import type { FastifyInstance } from 'fastify';
import { h } from 'preact';
import { OverviewPage } from '../pages/overview.tsx';
import { page } from '../route.ts';
import type { ConsoleOptions } from '../types.ts';

export function overviewRoutes(app: FastifyInstance, { client }: ConsoleOptions): void {
  page(app, {
    method: 'GET', url: '/', permission: 'read',
    async handle({ caller, show }) {
      const overview = await client.overview();
      const types = caller.typesFor(undefined);
      const own = <T extends { readonly type: string }>(rows: readonly T[]): readonly T[] => (types === undefined ? rows : rows.filter(({ type }) => types.includes(type)));
      const { gauges } = overview;
      return show(h(OverviewPage, { overview: { ...overview, gauges: { ...gauges, tasks: own(gauges.tasks), queued: own(gauges.queued), ended: own(gauges.ended) } }, whole: types === undefined }));
    },
  });
}
