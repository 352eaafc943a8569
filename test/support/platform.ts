/** The example's platform as a process, compiled. */
import { startPlatformProcess, type PlatformProcess, type PlatformProcessOptions } from '../../examples/note-publishing/platform/process.ts';
import { compiled } from './compiled.ts';

export const startPlatform = (options: PlatformProcessOptions): Promise<PlatformProcess> =>
  startPlatformProcess({ readyWithinMs: 90_000, program: compiled('examples/note-publishing/platform/main.ts'), ...options });
