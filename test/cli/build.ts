/** The command line compiled, as it is published: what a user runs is this. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { compiled } from '../support/compiled.ts';

export interface Build {
  readonly main: string;
  readonly remove: () => Promise<void>;
}

export async function build(): Promise<Build> {
  const folder = await compiled({ src: 'dist' });
  return { main: join(folder, 'dist/cli/main.js'), remove: () => rm(folder, { recursive: true, force: true }) };
}
