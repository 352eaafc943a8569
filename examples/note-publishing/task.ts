/** The task type `publish-note`: a Markdown note is rendered, reviewed and published. What a task author writes. */
import { join } from 'node:path';
import { z } from 'zod';
import { TaskError, defineTask } from '../../src/index.ts';
import { checkNote } from './checks.ts';
import type { Finding } from './checks.ts';
import { renderResultSchema } from './facts.ts';
import type { RenderResult } from './facts.ts';
import { NoteError } from './note.ts';
import type { PlatformClient } from './platform/client.ts';
import { composePost, identityOf, probe, publishResultSchema, readBack, resultOf, withdraw } from './publish.ts';
import { renderNote } from './render.ts';
import type { RenderedNote } from './render.ts';

export interface PublishNoteOptions {
  /** Folder with one folder for each note, named by its slug, with `note.md` in it. */
  readonly notes: string;
  readonly platform: PlatformClient;
  /** Where the platform sends its receipts. */
  readonly callbackUrl: string;
  /** How long the platform answers a repeated key with its first answer; null: it has no keys. Default 24 h. */
  readonly keysMs?: number | null;
  /** The longest that one call may take. Default 10 s. */
  readonly callTimeoutMs?: number;
  /** How long after a call a new post may stay invisible. Default 0. */
  readonly visibleWithinMs?: number;
  /** How long a worker holds the publish step without a sign of life. Default 15 s. */
  readonly leaseMs?: number;
  /** The type's name. Default `publish-note`. */
  readonly type?: string;
  /** How long receipts may take before the platform is asked. Default 2 min. */
  readonly receiptWithinMs?: number;
  /** First wait before a further attempt; doubles up to a minute. Default 1 s. */
  readonly retryMs?: number;
  /** Waits between two looks at the platform. Default 500 ms, doubling up to 10 s. */
  readonly lookMs?: number;
}

/** `note` is the folder's name; `version` must be the one in the front matter. */
export const inputSchema = z.strictObject({
  note: z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/u, 'must be a slug such as release-2-4').max(100),
  version: z.int().min(1).max(1_000_000).default(1),
});

/**
 * Steps: `render` stores HTML and pictures as artifacts · `review` decides by automatic checks, or waits for a person
 * where the note asks for one · `publish` uploads picture by picture, posts the body, waits for the platform's receipt
 * and reads everything back.
 */
export function createPublishNote(options: PublishNoteOptions) {
  const { platform, notes, callbackUrl, keysMs = 24 * 3_600_000, callTimeoutMs = 10_000, visibleWithinMs = 0 } = options;
  const { receiptWithinMs = 120_000, retryMs = 1_000, lookMs = 500, leaseMs = 15_000, type = 'publish-note' } = options;
  const outside = {
    timeout: callTimeoutMs,
    visible_within: visibleWithinMs,
    ...(keysMs === null ? {} : { dedupe: { window: keysMs } }),
  };
  return defineTask({
    type,
    version: 1,
    input: inputSchema,
    dedupeKey: ({ note, version }) => ({ subject: note, action: 'publish', resourceVersion: String(version) }),
    steps: (flow) =>
      flow
        .step('render', {
          result: renderResultSchema,
          proof: { artifacts: { min: 1, minBytes: 1 } },
          run: async (context) => {
            const { input } = context;
            const note = await render(join(notes, input.note, 'note.md'), input);
            const mediaType = 'text/html; charset=utf-8';
            const html = await context.artifact({ name: 'note.html', mediaType, content: note.html });
            const pictures: RenderResult['pictures'] = {};
            for (const { item, contentType } of note.facts.pictures) {
              const content = note.data.get(item);
              if (content === undefined) throw new Error(`picture ${item} was rendered without bytes`);
              pictures[item] = await context.artifact({ name: item, mediaType: contentType, content });
            }
            return { facts: note.facts, html, pictures };
          },
        })
        .review('review', {
          needs: ['render'],
          run: async ({ results }) => {
            const { facts } = results.render;
            const findings = checkNote(facts);
            const note = { title: facts.frontMatter.title, findings: findings.map((finding) => ({ ...finding })) };
            const errors = findings.filter(({ severity }) => severity === 'error');
            if (errors.length > 0) return { reject: sentence(errors), note };
            if (facts.frontMatter.review === 'person') return { ask: 'person', note };
            return { approve: 'all automatic checks passed', note };
          },
        })
        .step('publish', {
          needs: ['render', 'review'],
          attempts: 4,
          lease: leaseMs,
          backoff: { initial: retryMs, factor: 2, max: '1m' },
          result: publishResultSchema,
          effects: { picture: outside, body: { ...outside, submits: true } },
          receipt: { within: receiptWithinMs },
          checks: { attempts: 20, backoff: { initial: lookMs, factor: 2, max: '10s' } },
          probe: (context) => probe(platform, context),
          withdraw: { ...outside, run: (context) => withdraw(platform, context) },
          proof: { readBack: (context) => readBack(platform, context, { visibleWithinMs }) },
          run: async (context) => {
            const { render } = context.results;
            const uploaded: { item: string; id: string; path: string }[] = [];
            for (const { item, contentType, sha256 } of render.facts.pictures) {
              const stored = render.pictures[item];
              if (stored === undefined) throw new Error(`picture ${item} has no artifact`);
              const bytes = await context.readArtifact(stored);
              const { result } = await context.effect('picture', { item, request: { contentType, sha256 } }, async (call) => {
                const { signal, timeoutMs } = call;
                const picture = { bytes, contentType, sha256 };
                const made = await platform.uploadPicture(picture, identityOf(call), { signal, timeoutMs });
                return { externalId: made.id, result: { id: made.id, path: made.path } };
              });
              uploaded.push({ item, ...result });
            }
            const html = new TextDecoder().decode(await context.readArtifact(render.html));
            const post = composePost(render, html, uploaded);
            const { result } = await context.effect('body', { request: post }, async (call) => {
              const { signal, timeoutMs } = call;
              const accepted = await platform.publishPost({ ...post, callbackUrl }, identityOf(call), { signal, timeoutMs });
              return { externalId: accepted.id, result: resultOf(accepted) };
            });
            return result;
          },
        }),
  });
}

/** Renders, and says of a note that can't be published that no further attempt will change it. */
async function render(file: string, input: z.output<typeof inputSchema>): Promise<RenderedNote> {
  let note: RenderedNote;
  try {
    note = await renderNote(file, `${input.note}/note.md`);
  } catch (error) {
    if (!(error instanceof NoteError)) throw error;
    throw new TaskError(error.category, error.message, { code: error.code, cause: error });
  }
  const { version } = note.facts.frontMatter;
  if (version === input.version) return note;
  const message = `version ${input.version} of ${input.note} was asked for, but the note is version ${version}`;
  throw new TaskError('invalid_input', message, { code: 'note_version_differs' });
}

function sentence(errors: readonly Finding[]): string {
  const first = errors.slice(0, 3).map(({ path, message }) => `${path}: ${message}`);
  const more = errors.length > 3 ? ` (and ${errors.length - 3} more)` : '';
  return `${first.join('; ')}${more}`;
}
