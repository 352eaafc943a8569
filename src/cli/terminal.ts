/** Where output goes: colours on a terminal only, the width to fit, and one way to write to each stream. */
import pc from 'picocolors';

export type Colours = ReturnType<typeof pc.createColors>;
/** Paints text that is already neutral and padded. */
export type Paint = (text: string) => string;

export interface Terminal {
  readonly colours: Colours;
  /** Whether `colours` paint at all. */
  readonly coloured: boolean;
  /** Columns to fit; Infinity where nobody looks (a pipe, a file), so that nothing is cut. */
  readonly width: number;
  /** A person looks at it. */
  readonly interactive: boolean;
}

interface Stream {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** A narrower terminal is treated as if it had this. */
const WIDTH_MIN = 40;

/** https://no-color.org: NO_COLOR, not empty, wins; then FORCE_COLOR (0 and false mean none); else a terminal decides. */
function wantsColour(stream: Stream, env: NodeJS.ProcessEnv): boolean {
  if ((env['NO_COLOR'] ?? '') !== '') return false;
  const force = env['FORCE_COLOR'];
  if (force !== undefined && force !== '') return force !== '0' && force !== 'false';
  return stream.isTTY === true && env['TERM'] !== 'dumb';
}

export function terminalOf(stream: Stream, env: NodeJS.ProcessEnv): Terminal {
  const coloured = wantsColour(stream, env);
  const said = /^\d{1,5}$/.test(env['COLUMNS'] ?? '') ? Number(env['COLUMNS']) : 0;
  const columns = said > 0 ? said : stream.isTTY === true ? (stream.columns ?? 80) : Infinity;
  return { colours: pc.createColors(coloured), coloured, width: Math.max(columns, WIDTH_MIN), interactive: stream.isTTY === true };
}

/** Resolves when the text has left the process. A reader that went away (`| head`) is no error. */
export async function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    stream.write(text, (error) => {
      if (error === null || error === undefined || ('code' in error && error.code === 'EPIPE')) resolve();
      else reject(error);
    });
  });
}
