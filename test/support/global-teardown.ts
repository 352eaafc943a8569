import { rm } from 'node:fs/promises';

export default async function globalTeardown(): Promise<void> {
  await globalThis.throughlineTestStack?.stop();
  if (globalThis.throughlineTestBuild !== undefined) await rm(globalThis.throughlineTestBuild, { recursive: true, force: true });
}
