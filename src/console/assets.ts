/** Everything that pages load, from our own origin: files of this folder and of packages, read once. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { ThroughlineError } from '../errors.ts';
import { address } from './address.ts';

const require = createRequire(import.meta.url);
const own = (name: string): string => fileURLToPath(new URL(`static/${name}`, import.meta.url));

/** A file of a package, also one that its `exports` keep for bundlers. */
function packaged(name: string, file: string): string {
  const found = (require.resolve.paths(name) ?? []).map((folder) => join(folder, name, file)).find(existsSync);
  if (found === undefined) throw new Error(`Broken promise: ${name} is installed`);
  return found;
}

const JS = 'text/javascript; charset=utf-8';
const CSS = 'text/css; charset=utf-8';

const FILES: Readonly<Record<string, readonly [type: string, file: string]>> = {
  'base.css': [CSS, own('base.css')],
  'console.css': [CSS, own('console.css')],
  'console.js': [JS, own('console.js')],
  'icon.svg': ['image/svg+xml', own('icon.svg')],
  'htmx.js': [JS, packaged('htmx.org', 'dist/htmx.min.js')],
  'sse.js': [JS, packaged('htmx-ext-sse', 'dist/sse.min.js')],
  'idiomorph.js': [JS, packaged('idiomorph', 'dist/idiomorph-ext.min.js')],
};

export type AssetName = 'base.css' | 'console.css' | 'console.js' | 'icon.svg' | 'htmx.js' | 'sse.js' | 'idiomorph.js';

const assets = new Map(Object.entries(FILES).map(([name, [type, file]]) => {
  const bytes = readFileSync(file);
  return [name, { type, bytes, version: createHash('sha256').update(bytes).digest('hex').slice(0, 12) }];
}));

/** Its address changes with its content, so that it may be kept for ever. */
export const assetAddress = (name: AssetName): string => address(`/assets/${name}`, { v: assets.get(name)?.version });

export function assetRoutes(app: FastifyInstance): void {
  app.get<{ Params: { name: string } }>('/assets/:name', { schema: { hide: true }, config: { rateLimit: false } }, async ({ params: { name } }, reply) => {
    const asset = assets.get(name);
    if (asset === undefined) throw new ThroughlineError('ROUTE_UNKNOWN');
    return reply.type(asset.type).header('cache-control', 'public, max-age=31536000, immutable').header('etag', `"${asset.version}"`).send(asset.bytes);
  });
}
