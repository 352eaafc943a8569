/**
 * `npm run demo`: eight stories on a local stack, each ending with its explanation; then it stays up for a look around.
 * `-- --once --json`: one JSON object a line and story, then it ends; non-zero if a story ended otherwise.
 */
import { parseArgs } from 'node:util';
import { explanationText } from '../../src/index.ts';
import { nextStopSignal } from '../../src/dev/index.ts';
import { fileURLToPath } from 'node:url';
import { startSurroundings, TIMES } from './demo/surroundings.ts';
import { STORIES, tell } from './demo/stories.ts';
import type { Told } from './demo/stories.ts';
import { PlatformClient } from './platform/client.ts';
import { createPublishNote } from './task.ts';

const { values } = parseArgs({ options: { once: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } } });
/** With --json, stdout is the stories' alone. */
const say = (line: string): void => {
  (values.json ? process.stderr : process.stdout).write(`${line}\n`);
};

const stopped = nextStopSignal();
const surroundings = await startSurroundings(say);
const { stack, platform, keyless, client, replaceWorker } = surroundings;
let failed = 0;
try {
  // The client only needs the plan and the input's schema; the worker process runs the handlers.
  const common = {
    notes: fileURLToPath(new URL('notes', import.meta.url)), callbackUrl: 'http://127.0.0.1/unused',
    callTimeoutMs: Number(TIMES.CALL_TIMEOUT_MS), visibleWithinMs: Number(TIMES.VISIBLE_WITHIN_MS), receiptWithinMs: Number(TIMES.RECEIPT_WITHIN_MS), retryMs: Number(TIMES.RETRY_MS),
    lookMs: Number(TIMES.LOOK_MS), leaseMs: Number(TIMES.LEASE_MS),
  };
  const publishNote = createPublishNote({ ...common, platform: new PlatformClient({ address: platform.address }) });
  const publishKeyless = createPublishNote({ ...common, type: 'publish-note-keyless', keysMs: null, platform: new PlatformClient({ address: keyless.address }) });
  const begin = (story: (typeof STORIES)[number], speak: (line: string) => void): Promise<Told> => tell(story, { client, platform, keyless, publishNote, publishKeyless, replaceWorker, say: speak });
  // The later ones happen beside the first four, and are shown in their order; the one that ends the worker has it to itself.
  const first = STORIES.findIndex(({ alone }) => alone === true);
  const beside = STORIES.map((story, index) => {
    if (index <= first) return null;
    const lines: string[] = [];
    const told = begin(story, (line) => { lines.push(line); });
    told.catch(() => undefined);
    return { told, lines };
  });
  for (const [index, story] of STORIES.entries()) {
    say(`\n── Story ${String(index + 1)}: ${story.title} ──`);
    const speak = (line: string): void => { say(`   ${line}`); };
    const apart = beside[index] ?? null;
    const tale = async (): Promise<Told> => {
      if (story.alone === true) await Promise.allSettled(beside.flatMap((each) => (each === null ? [] : [each.told])));
      return apart === null ? begin(story, speak) : apart.told;
    };
    const told = await Promise.race([tale(), stopped.then(() => null)]);
    for (const line of apart?.lines ?? []) speak(line);
    if (told === null) break;
    if (told.wrong.length > 0) failed += 1;
    if (values.json) {
      const { explanation, ...rest } = told;
      process.stdout.write(`${JSON.stringify({ ...rest, headline: explanation.headline, story: explanation.story })}\n`);
    } else {
      say('');
      say(explanationText(told.explanation, { width: process.stdout.isTTY ? Math.min(process.stdout.columns, 110) : 100 }));
      say(`   the platform's own count for this task: ${String(told.platform.posts)} posts, ${String(told.platform.pictures)} pictures, ${String(told.platform.requests)} requests`);
    }
    for (const line of told.wrong) say(`   NOT AS EXPECTED: ${line}`);
  }
  say(failed === 0 ? '\nAll stories ended as they should.' : `\n${String(failed)} stories ended otherwise.`);
  if (!values.once) {
    say(`\nThe stack stays up until Ctrl-C:\n  Temporal's UI    ${stack.temporalUiUrl ?? stack.temporalAddress}\n  the platform     ${platform.address}/posts\n  Postgres         ${stack.databaseUrl}`);
    say(`  in another terminal:  THROUGHLINE_DATABASE_URL='${stack.databaseUrl}' TEMPORAL_ADDRESS=${stack.temporalAddress} npx tsx src/cli/main.ts list`);
    await stopped;
  }
} finally {
  await surroundings.stop();
}
// Everything is stopped; only the wait for Ctrl-C would keep the program alive.
process.exit(failed === 0 ? 0 : 1);
