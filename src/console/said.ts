/** The answer to an action, kept in the session until the next page of its task has said it. */
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Said } from './pages/action.tsx';

const LINES_MAX = 4;
/** Cookies are small. */
const CHARS_MAX = 300;

const Kept = z.object({ task: z.string(), title: z.string(), lines: z.array(z.string()) });

export function keepSaid({ session }: FastifyRequest, task: string, { title, lines }: Said): void {
  session.set('said', JSON.stringify({ task, title, lines: lines.slice(0, LINES_MAX).map((line) => (line.length > CHARS_MAX ? `${line.slice(0, CHARS_MAX)}…` : line)) }));
}

/** null: nothing, or of another task. */
export function takeSaid({ session, headers }: FastifyRequest, task: string): Said | null {
  const kept = session.get('said');
  // A live page that renews itself does not take it away from the one that is to come.
  if (kept === undefined || headers['hx-request'] !== undefined) return null;
  session.set('said', undefined);
  const read = Kept.safeParse(JSON.parse(kept));
  return read.success && read.data.task === task ? read.data : null;
}
