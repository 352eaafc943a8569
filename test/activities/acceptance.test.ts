/** Success has two halves: an attempt on a real ledger and a real store, and then the look at what it made. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtemp, readdir, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { localArtifactStore, type ArtifactStore } from '../../src/activities/artifacts.ts';
import { runAttempt } from '../../src/activities/attempt.ts';
import { runCheck } from '../../src/activities/check.ts';
import type { ActivityDeps } from '../../src/activities/deps.ts';
import { definitionKey } from '../../src/activities/index.ts';
import { defineTask } from '../../src/define/define-task.ts';
import type { AnyTaskDefinition } from '../../src/define/definition.ts';
import type { Proof, ReadBackAnswer } from '../../src/define/types.ts';
import { createLogger } from '../../src/worker/log.ts';
import { HOUR, uuid } from '../support/factories.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { Tale } from '../support/tale.ts';

let ledger: Ledger;
let folder: string;
let store: ArtifactStore;
let count = 0;
beforeAll(async () => {
  ledger = await openLedger();
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'throughline-acceptance-'));
  store = localArtifactStore(folder);
});
afterAll(() => ledger.close());

const fileOf = async (): Promise<string> => {
  const [entry] = (await readdir(join(folder, 'sha256'), { recursive: true, withFileTypes: true })).filter((one) => one.isFile());
  return join(entry?.parentPath ?? '', entry?.name ?? '');
};

interface Made {
  readonly name?: string;
  readonly mediaType?: string;
  readonly content?: string;
}
interface Scene {
  readonly proof?: Proof<unknown, unknown, { done: boolean }>;
  readonly makes?: readonly Made[];
  /** After the artifacts were recorded, before the first look. */
  readonly then?: (taskId: string) => Promise<unknown>;
  readonly checks?: number;
}

interface Played {
  readonly tale: Tale;
  /** The next look, when it is due. */
  look(): Promise<void>;
}

/** Runs the one attempt of a task, with the first look at its proof. */
async function play(scene: Scene): Promise<Played> {
  const { proof = { artifacts: { min: 1, minBytes: 4, mediaTypes: ['text/html'] } }, makes = [{}], then, checks = 3 } = scene;
  const type = `accepted-${String((count += 1))}`;
  const task = defineTask({
    type, version: 1, input: z.object({}),
    steps: (flow) => flow.step('make', {
      result: z.object({ done: z.boolean() }), proof, checks: { attempts: checks, backoff: { initial: 1_000, jitter: 0 } },
      effects: { post: { submits: true, dedupe: { window: '24h' }, visible_within: '1h' } },
      async run(ctx) {
        for (const { name = 'page.html', mediaType = 'text/html', content = '<p>tides</p>' } of makes) await ctx.artifact({ name, mediaType, content });
        if ('readBack' in proof) await ctx.effect('post', { request: {} }, async () => ({ externalId: 'p1', result: { done: true } }));
        await then?.(ctx.taskId);
        return { done: true };
      },
    }),
  });
  const definition = task as unknown as AnyTaskDefinition;
  await ledger.door.typeRegister({ type, version: 1, plan: definition.plan, plan_digest: definition.planDigest, input_bytes_max: 1_000, by: 'test' });
  const id = uuid();
  await ledger.door.taskEnqueue({ type, id, input: {}, digest: 'd'.repeat(64), digests: {}, by: 'test' });
  const deps = {
    door: ledger.door, artifacts: store, definitions: new Map([[definitionKey(type, 1), definition]]), offers: async () => 1, holder: 'host:1/abc', log: createLogger('silent'),
    shutdown: new AbortController().signal, shutdownGraceMs: 100, requestCancellation: async () => undefined,
  } as unknown as ActivityDeps;
  const input = { task: id, type, version: 1, step: 'make' };
  await runAttempt(deps, input, () => undefined);
  const tale = Tale.told(ledger, id, 'make');
  return { tale, look: async () => { await tale.until('next_check_at'); await runCheck(deps, input); } };
}

const end = async ({ tale }: Played): Promise<readonly unknown[]> => {
  const { state, reason } = await tale.row();
  return [state, reason];
};
const findings = ({ tale }: Played) => ledger.query('select found, ours, minimum from throughline.acceptance where task_id = $1 order by check_no', [tale.task]);

describe('artifacts', () => {
  test('that are there, ours and enough make a success; the finding is kept', async () => {
    const played = await play({});
    expect(await end(played)).toEqual(['succeeded', 'proof_accepted']);
    expect(await findings(played)).toEqual([{ found: true, ours: true, minimum: true }]);
  });

  test.each<[string, Scene, string]>([
    ['none was made', { makes: [] }, 'artifact_missing'],
    ['it is gone', { then: async () => rm(await fileOf()) }, 'artifact_missing'],
    ['its bytes were changed', { then: async () => writeFile(await fileOf(), '<p>TIDES</p>') }, 'artifact_not_ours'],
    ['it was cut off', { then: async () => truncate(await fileOf(), 5) }, 'artifact_not_ours'],
    ['the recorded uri names what another made', {
      then: async (taskId) => {
        const { uri } = await store.put({ bytes: new TextEncoder().encode('<p>of another task</p>'), mediaType: 'text/html' });
        await ledger.query('update throughline.artifact set uri = $1 where task_id = $2', [uri, taskId]);
      },
    }, 'artifact_not_ours'],
    ['it is too small', { makes: [{ content: 'x' }] }, 'artifact_below_minimum'],
    ['it is of another type', { makes: [{ mediaType: 'text/plain' }] }, 'artifact_below_minimum'],
    ['there are too few', { proof: { artifacts: { min: 2 } } }, 'artifact_below_minimum'],
    ['one of two is gone', { proof: { artifacts: { min: 1 } }, makes: [{}, { name: 'b', content: 'other' }], then: async () => rm(await fileOf()) }, 'artifact_missing'],
  ])('%s: a reason of its own', async (_, scene, reason) => {
    expect(await end(await play(scene))).toEqual(['dead', reason]);
  });

  test.each([['text/html; charset=utf-8', 'text/html', 'succeeded'], ['TEXT/HTML', 'text/html', 'succeeded'], ['text/html;charset=utf-8', 'text/html; charset=utf-8', 'succeeded'], ['text/html', 'text/html; charset=utf-8', 'dead'], ['text/htmlx', 'text/html', 'dead']])(
    '%s where %s is wanted: %s',
    async (mediaType, wanted, state) => {
      const { tale } = await play({ proof: { artifacts: { min: 1, mediaTypes: [wanted] } }, makes: [{ mediaType }] });
      expect(await tale.state()).toBe(state);
    },
  );

  test('while the store is away nothing is said of them; when it is back they are found', async () => {
    const played = await play({ then: async () => rename(folder, `${folder}.away`) });
    expect(await end(played)).toEqual(['completed', 'acceptance_inconclusive']);
    await played.look();
    expect(await end(played)).toEqual(['completed', 'acceptance_inconclusive']);
    await rename(`${folder}.away`, folder);
    await played.look();
    expect(await end(played)).toEqual(['succeeded', 'proof_accepted']);
    expect(await findings(played)).toEqual([{ found: null, ours: null, minimum: null }, { found: null, ours: null, minimum: null }, { found: true, ours: true, minimum: true }]);
  });

  test('what could not be checked to the last look is unproven, neither success nor failure', async () => {
    const played = await play({ checks: 2, then: async () => rename(folder, `${folder}.away`) });
    await played.look();
    expect(await end(played)).toEqual(['dead', 'acceptance_unproven']);
  });
});

describe('read-back', () => {
  const yes = { ok: true } as const;
  const answering = (...answers: (Partial<ReadBackAnswer<{ done: boolean }>> | Error)[]): Scene => ({
    makes: [],
    proof: {
      readBack: async () => {
        const answer = answers.length > 1 ? answers.shift() : answers[0];
        if (answer instanceof Error) throw answer;
        return { exists: yes, ours: yes, minimum: yes, ...answer };
      },
    },
  });

  test('not visible yet, then visible', async () => {
    const played = await play(answering({ exists: { ok: false } }, {}));
    expect(await end(played)).toEqual(['completed', 'acceptance_inconclusive']);
    await played.look();
    expect(await end(played)).toEqual(['succeeded', 'proof_accepted']);
  });

  test('not there when it must be visible', async () => {
    const played = await play(answering({ exists: { ok: false } }));
    await played.tale.pass(2 * HOUR);
    await played.look();
    expect(await end(played)).toEqual(['dead', 'artifact_missing']);
  });

  test.each<[string, Partial<ReadBackAnswer<{ done: boolean }>>, string]>([['of another owner', { ours: { ok: false, detail: 'by user 7' } }, 'artifact_not_ours'], ['too little', { minimum: { ok: false } }, 'artifact_below_minimum']])('%s', async (_, answer, reason) => {
    expect(await end(await play(answering(answer)))).toEqual(['dead', reason]);
  });

  test('a checker that throws, answers nonsense or does not know is asked again', async () => {
    const played = await play({ ...answering(new Error('503'), { exists: { ok: null } }, { exists: undefined as never }, {}), checks: 5 });
    for (let n = 0; n < 3; n += 1) {
      expect(await end(played)).toEqual(['completed', 'acceptance_inconclusive']);
      await played.look();
    }
    expect(await end(played)).toEqual(['succeeded', 'proof_accepted']);
  });
});
