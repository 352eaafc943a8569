/** What the compiler must accept without casts, and what it must refuse. Checked by `tsc`; the lines marked `@ts-expect-error` fail the build if they ever compile. */
import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { defineTask } from '../../src/define/define-task.ts';
import type { AcceptsOf, AnyTaskDefinition, InputOf, ResultsOf, TaskDefinition } from '../../src/define/definition.ts';

// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- only deferred conditional types tell any and unions apart
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(yes: Same<A, B>): boolean => yes;

const publishNote = defineTask({
  type: 'publish-note',
  version: 2,
  input: z.object({ note: z.string(), review: z.boolean().default(false) }),
  dedupeKey: ({ note }) => ({ subject: note, action: 'publish', resourceVersion: '1' }),
  steps: (flow) =>
    flow
      .step('render', {
        result: z.object({ html: z.string(), pictures: z.array(z.object({ name: z.string(), uri: z.string() })) }),
        proof: { artifacts: { min: 1, mediaTypes: ['text/html'] } },
        run: async ({ input, artifact, checkpoint }) => {
          const title: string = input.note.toUpperCase();
          const asked: boolean = input.review;
          const length = await checkpoint('length', () => title.length + Number(asked));
          const ref = await artifact({ name: 'note.html', mediaType: 'text/html', content: `<p>${length}</p>` });
          return { html: ref.uri, pictures: [{ name: 'a', uri: ref.uri }] };
        },
      })
      .review('review', {
        needs: ['render'],
        remindAfter: '24h',
        run: async ({ input, results }) => (input.review ? { ask: 'person', note: { html: results.render.html } } : { approve: 'no review asked' }),
      })
      .step('publish', {
        needs: ['render', 'review'],
        attempts: 5,
        lease: '10s',
        backoff: { initial: '1s', factor: 2, max: '1m', jitter: 0.1 },
        result: z.object({ post: z.string(), pictures: z.number() }),
        effects: { picture: { dedupe: { window: '30m' }, visible_within: '1s' }, body: { submits: true, absenceIsProof: false } },
        receipt: { within: '10m', senders: ['platform'] },
        probe: async ({ key, results }) =>
          results.render.html === key ? { answer: 'present', externalId: 'x', result: { post: 'x', pictures: 0 } } : { answer: 'absent' },
        proof: {
          readBack: async ({ result, results, externalId }) => ({
            exists: { ok: externalId !== null },
            ours: { ok: results.review.by !== '' },
            minimum: { ok: result === null ? null : result.pictures === results.render.pictures.length },
            result: { post: 'x', pictures: 1 },
          }),
        },
        run: async ({ results, effect, signal }) => {
          signal.throwIfAborted();
          for (const picture of results.render.pictures) {
            await effect('picture', { item: picture.name, request: { uri: picture.uri } }, async ({ key }) => ({ externalId: key, result: { anything: [key] } }));
          }
          const by: string = results.review.by;
          const { externalId, result } = await effect('body', { request: { by } }, async ({ key, reference }) => ({
            externalId: key,
            result: { post: reference.task, pictures: 1 },
          }));
          const post: string = result.post;
          return { post: post + externalId, pictures: result.pictures };
        },
      }),
});

describe('types flow from the schema and from step to step', () => {
  test('input, accepted input and results are those of the definition', () => {
    expect(same<InputOf<typeof publishNote>, { note: string; review: boolean }>(true)).toBe(true);
    expect(same<AcceptsOf<typeof publishNote>, { note: string; review?: boolean | undefined }>(true)).toBe(true);
    expect(same<ResultsOf<typeof publishNote>['publish'], { post: string; pictures: number }>(true)).toBe(true);
    expect(same<ResultsOf<typeof publishNote>['review']['verdict'], 'approved'>(true)).toBe(true);
  });

  test('a client can type what it enqueues, and a worker takes definitions of any type', () => {
    const enqueue = <Input, Results, Accepts>(_definition: TaskDefinition<Input, Results, Accepts>, _input: NoInfer<Accepts>): Partial<Results> => ({});
    const results = enqueue(publishNote, { note: 'x' });
    const post: string | undefined = results.publish?.post;
    // @ts-expect-error: no such member
    enqueue(publishNote, { note: 'x', nope: 1 });
    // @ts-expect-error: it is required
    enqueue(publishNote, {});
    expect(post).toBeUndefined();
    const list: readonly AnyTaskDefinition[] = [publishNote];
    expect(list).toHaveLength(1);
  });

  test('what does not fit does not compile', () => {
    const proof = { record: ['/a'] } as const;
    const result = z.object({ a: z.string() });
    const never = (): void => {
      defineTask({
        type: 'x',
        version: 1,
        input: z.object({ a: z.string() }),
        steps: (flow) =>
          flow
            .step('one', { result, proof, run: async () => ({ a: 'x' }) })
            .step('two', {
              result,
              proof,
              effects: { say: { submits: true }, other: {} },
              attempts: 1,
              run: async (context) => {
                // @ts-expect-error: `one` is not among the needs
                expect(context.results.one).toBe(null);
                // @ts-expect-error: no such effect
                await context.effect('shout', { request: null }, async () => ({ externalId: 'x', result: { a: 'x' } }));
                // @ts-expect-error: the submission's answer is the step's result
                await context.effect('say', { request: null }, async () => ({ externalId: 'x', result: { b: 'x' } }));
                // @ts-expect-error: a date is not JSON
                await context.effect('other', { request: null }, async () => ({ externalId: 'x', result: new Date() }));
                // @ts-expect-error: the input has no such member
                expect(context.input.b).toBe(null);
                return { a: 'x' };
              },
            }),
      });
      defineTask({
        type: 'x',
        version: 1,
        input: z.object({}),
        // @ts-expect-error: a need must be an earlier step
        steps: (flow) => flow.step('one', { needs: ['later'], result, proof, run: async () => ({ a: 'x' }) }),
      });
      defineTask({
        type: 'x',
        version: 1,
        input: z.object({}),
        // @ts-expect-error: the handler must return what the schema says
        steps: (flow) => flow.step('one', { result, proof, run: async () => ({ a: 1 }) }),
      });
      defineTask({
        type: 'x',
        version: 1,
        input: z.object({}),
        // @ts-expect-error: a result is JSON
        steps: (flow) => flow.step('one', { result: z.object({ a: z.date() }), proof, run: async () => ({ a: new Date() }) }),
      });
    };
    expect(never).toBeInstanceOf(Function);
  });
});
