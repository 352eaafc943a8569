import { readFileSync } from 'node:fs';

/** package.json lies above src/ and dist/ alike. */
export function versionOfPackage(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string };
  return version;
}
