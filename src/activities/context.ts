import { setTimeout } from 'node:timers/promises';
import type { EffectSpecs, HandlerContext, StepContext } from '../define/types.ts';
import type { Json } from '../define/json.ts';
import { storable } from '../define/storable.ts';
import { ThroughlineError } from '../errors.ts';
import type { Stored } from '../ledger/index.ts';
import { LIMITS } from '../state/index.ts';
import { RECORD_PATIENCE_MS } from './deps.ts';
import { EffectRunner } from './effect.ts';
import type { EffectScope } from './effect.ts';
import { AttemptStop } from './stops.ts';

const CHECKPOINT_NAME_CHARS_MAX = 200;
/** A removal from the store takes milliseconds; one that was interrupted keeps its content closed for minutes. */
const LEAVING_TRIES = 20;
const LEAVING_PAUSE_MS = 250;

/** What the handler of one attempt gets; everything it records carries the attempt's claim. */
export function createContext(scope: EffectScope): StepContext<unknown, unknown, Json, EffectSpecs> {
  const { deps, task, step, claim, claimed } = scope;
  const effects = new EffectRunner(scope);
  const checkpoints = new Map<string, Stored>(Object.entries(claimed.checkpoints));

  const fenced = (epoch: number): AttemptStop => scope.stop(new AttemptStop('fenced', `claim of epoch ${String(claimed.epoch)} meets epoch ${String(epoch)}`));
  const named = (name: string, path: string): void => {
    if (name.length === 0 || name.length > CHECKPOINT_NAME_CHARS_MAX) throw new ThroughlineError('INPUT_TOO_LARGE', { path, limit: CHECKPOINT_NAME_CHARS_MAX });
    storable(name, path, CHECKPOINT_NAME_CHARS_MAX * 6);
  };

  const base: HandlerContext<unknown, unknown> = {
    taskId: task,
    step,
    attempt: claimed.attempt,
    epoch: claimed.epoch,
    input: claimed.input,
    results: claimed.results,
    signal: scope.signal,
    async checkpoint<T extends Json>(name: string, work: () => Promise<T> | T): Promise<T> {
      named(name, '/checkpoints/name');
      const known = checkpoints.get(name);
      if (known !== undefined) return known as T;
      const value = storable(await work(), `/checkpoints/${name}`, LIMITS.checkpoint_bytes_max, { notStorable: 'INPUT_NOT_STORABLE', tooLarge: 'RESULT_TOO_LARGE' });
      const answer = await deps.door.checkpointPut(task, step, claim, name, value, LIMITS.checkpoints_per_step_max, { patienceMs: RECORD_PATIENCE_MS });
      if ('refused' in answer) throw fenced(answer.epoch);
      checkpoints.set(name, answer.value);
      return answer.value as T;
    },
    async artifact({ name, mediaType, content }) {
      named(name, '/artifacts/name');
      const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
      for (let tries = 1; ; tries += 1) {
        const stored = await deps.artifacts.put({ bytes, mediaType });
        const row = { name, sha256: stored.sha256, uri: stored.uri, media_type: mediaType, bytes: stored.bytes };
        const answer = await deps.door.artifactPut(task, step, claim, row, LIMITS.artifacts_per_step_max, { patienceMs: RECORD_PATIENCE_MS });
        if ('refused' in answer) throw fenced(answer.epoch);
        if ('stored' in answer) return { uri: stored.uri, name, mediaType, bytes: stored.bytes, sha256: stored.sha256 };
        // A prune removes this very content from the store at this moment, since no task referred to it: it may be gone again.
        if (tries === LEAVING_TRIES) throw new ThroughlineError('ARTIFACT_UNREADABLE', { message: 'The same content is just being removed from the store.', facts: { uri: stored.uri } });
        await setTimeout(LEAVING_PAUSE_MS, undefined, { signal: scope.signal });
      }
    },
    readArtifact: ({ uri }) => deps.artifacts.get(uri),
  };
  return { ...base, effect: (name, options, call) => effects.run(name, options, call) };
}
