import { createHash, randomUUID } from 'node:crypto';
import type { HandlerSet, RunHandlers } from '../define/definition.ts';
import type { Check, ProbeAnswer, ReadBackAnswer } from '../define/types.ts';
import type { Json } from '../define/json.ts';
import { storable } from '../define/storable.ts';
import { ThroughlineError } from '../errors.ts';
import type { AcceptRow, CheckClaimed, CheckResultAnswer, ProbeRow, Stored } from '../ledger/index.ts';
import { LIMITS } from '../state/index.ts';
import type { PlanProof } from '../state/index.ts';
import type { ArtifactStore } from './artifacts.ts';
import { CLAIM_PATIENCE_MS, definitionKey, noHandler, RECORD_PATIENCE_MS } from './deps.ts';
import type { ActivityDeps } from './deps.ts';
import { failureRow } from './failure.ts';
import { readThrown } from './thrown.ts';
import { notGranted } from './granted.ts';
import { readInput } from './input.ts';
import type { ActivityAnswer, StepInput } from './types.ts';

/** A check is read-only and short; a checker silent for longer has vanished. */
const CHECK_TIMEOUT_MS = 30_000;
const CHECK_HOLD_MS = CHECK_TIMEOUT_MS + 10_000;

/** One look outside (unconfirmed) or at the proof (completed), claimed like an attempt. */
export async function runCheck(deps: ActivityDeps, input: StepInput): Promise<ActivityAnswer> {
  const definition = deps.definitions.get(definitionKey(input.type, input.version));
  const handlers = definition?.steps.get(input.step);
  if (definition === undefined || handlers === undefined) return noHandler(deps, input);
  const check = randomUUID();
  const granted = await deps.door.checkClaim(input.task, input.step, check, CHECK_HOLD_MS, deps.holder, { patienceMs: CLAIM_PATIENCE_MS });
  if ('refused' in granted) return notGranted(granted);
  // An attempt has read it before.
  const claimed = { ...granted, input: readInput(definition, granted) };
  const signal = AbortSignal.any([AbortSignal.timeout(CHECK_TIMEOUT_MS), deps.shutdown]);
  const answer: CheckResultAnswer =
    claimed.check === 'probe'
      ? await deps.door.probeResult(input.task, input.step, { check, check_no: claimed.check_no, holder: deps.holder, ...(await probe(input, handlers, claimed, signal)) }, { patienceMs: RECORD_PATIENCE_MS })
      : await deps.door.acceptResult(input.task, input.step, { check, check_no: claimed.check_no, holder: deps.holder, ...(await accept(deps, input, handlers, claimed, signal)) }, { patienceMs: RECORD_PATIENCE_MS });
  return { outcome: 'settled', ms: 0, view: answer.view };
}

type Found = Pick<ProbeRow, 'effect_id' | 'answer' | 'external_id' | 'result' | 'detail'>;

async function probe(input: StepInput, handlers: HandlerSet, claimed: CheckClaimed, signal: AbortSignal): Promise<Found> {
  const { subject } = claimed;
  if (subject === null) throw new ThroughlineError('INVARIANT_BROKEN', { message: 'Broken promise: an unconfirmed step has something to look for' });
  const unknown = (detail: Stored): Found => ({ effect_id: subject.id, answer: 'unknown', detail });
  if (handlers.probe === undefined) return unknown('no probe is defined');
  let answer: ProbeAnswer;
  try {
    answer = await abortable(
      handlers.probe({
        taskId: input.task, step: input.step, effect: subject.effect, item: subject.item, key: subject.key, threadId: subject.thread_id, messageIds: subject.message_ids,
        externalId: subject.external_id, input: claimed.input, results: claimed.results, signal,
      }),
      signal,
    );
    if (answer.answer === 'absent') return { effect_id: subject.id, answer: 'absent' };
    if (answer.answer === 'unknown') return unknown(answer.detail?.slice(0, 500) ?? null);
    const result = subject.submits ? handlers.parseResult(answer.result) : storable(answer.result, '/probe/result', LIMITS.result_bytes_max);
    return { effect_id: subject.id, answer: answer.answer, external_id: answer.externalId.slice(0, LIMITS.external_id_chars_max), result: result };
  } catch (thrown) {
    const { row } = failureRow(readThrown(thrown), 'receive', claimed.input);
    return unknown({ category: row.category, message: row.message.slice(0, 500) });
  }
}

type Finding = Pick<AcceptRow, 'found' | 'ours' | 'minimum' | 'detail' | 'result'>;

async function accept(deps: ActivityDeps, input: StepInput, handlers: HandlerSet, claimed: CheckClaimed, signal: AbortSignal): Promise<Finding> {
  try {
    switch (claimed.proof.kind) {
      case 'artifacts':
        return await abortable(readArtifacts(deps, claimed, claimed.proof), signal);
      case 'read_back':
        return await readBack(deps, input, handlers as RunHandlers, claimed, signal);
      case 'record':
      case 'verdict':
        // The ledger accepts these itself, in the call that completes the step; here only after a correction by hand.
        return { found: null, ours: null, minimum: null, detail: { proof: claimed.proof.kind } };
    }
  } catch (thrown) {
    const { row } = failureRow(readThrown(thrown), 'accept', claimed.input);
    return { found: null, ours: null, minimum: null, detail: { category: row.category, message: row.message.slice(0, 500) } };
  }
}

async function readBack(deps: ActivityDeps, input: StepInput, handlers: RunHandlers, claimed: CheckClaimed, signal: AbortSignal): Promise<Finding> {
  if (handlers.readBack === undefined) throw new ThroughlineError('DEFINITION_INVALID', { path: `/steps/${input.step}/proof` });
  const answer: ReadBackAnswer<Json> = await abortable(
    handlers.readBack({
      taskId: input.task, step: input.step, input: claimed.input, results: claimed.results, result: claimed.result, externalId: claimed.external_id, artifacts: claimed.artifacts, signal,
      readArtifact: ({ uri }) => deps.artifacts.get(uri),
    }),
    signal,
  );
  const result = claimed.result === null && answer.result !== undefined ? handlers.parseResult(answer.result) : null;
  // A step whose answer was lost and whose read-back brings no result has nothing for the steps after it.
  const lacksResult = claimed.result === null && result === null;
  const word = (check: Check): boolean | null => (typeof check.ok === 'boolean' ? check.ok : null);
  const detail = storable(
    { exists: answer.exists, ours: answer.ours, minimum: answer.minimum, evidence: answer.evidence ?? null, ...(lacksResult ? { missing: 'result' } : {}) },
    '/acceptance',
    LIMITS.result_bytes_max,
  );
  return {
    found: word(answer.exists), ours: word(answer.ours), minimum: lacksResult ? false : word(answer.minimum), detail: detail,
    ...(result === null ? {} : { result: result as Stored }),
  };
}

/** What the store holds of an artifact. Damage is said only of what was read twice: the way may have been at fault. */
async function readBytes(store: ArtifactStore, uri: string): Promise<Uint8Array | 'gone' | 'damaged'> {
  for (let look = 1; ; look += 1) {
    try {
      return await store.get(uri);
    } catch (error) {
      const code = error instanceof ThroughlineError ? error.code : null;
      if (code === 'ARTIFACT_UNKNOWN') return 'gone';
      if (code !== 'ARTIFACT_DAMAGED') throw error;
      if (look === 2) return 'damaged';
    }
  }
}

/** Without case and blanks; parameters count only where the proof names some. */
function isOfType(mediaType: string, wanted: string): boolean {
  const plain = (text: string): string => text.toLowerCase().replaceAll(/\s/g, '');
  return plain(wanted) === plain(wanted.includes(';') ? mediaType : (mediaType.split(';')[0] ?? ''));
}

/** Reads every artifact back from where it lives; digest and size say whether it is the one that this step recorded. */
async function readArtifacts(deps: ActivityDeps, claimed: CheckClaimed, proof: Extract<PlanProof, { kind: 'artifacts' }>): Promise<Finding> {
  const read: { name: string; found: boolean; ours: boolean; bytes: number; fits: boolean }[] = [];
  for (const artifact of claimed.artifacts) {
    const bytes = await readBytes(deps.artifacts, artifact.uri);
    const held = typeof bytes === 'string' ? null : bytes;
    const ours = held !== null && held.byteLength === artifact.bytes && createHash('sha256').update(held).digest('hex') === artifact.sha256;
    const fits = ours && held.byteLength >= proof.bytes_min && (proof.media_types.length === 0 || proof.media_types.some((wanted) => isOfType(artifact.mediaType, wanted)));
    read.push({ name: artifact.name, found: bytes !== 'gone', ours, bytes: held?.byteLength ?? 0, fits });
  }
  return {
    found: read.length > 0 && read.every(({ found }) => found),
    ours: read.every(({ ours }) => ours),
    minimum: read.filter(({ fits }) => fits).length >= proof.min,
    detail: { proof: 'artifacts', read },
  };
}

/** A check that ignores its signal counts as one that could not tell. */
async function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  work.catch(() => undefined);
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => {
      reject(signal.reason instanceof Error ? signal.reason : new DOMException('stopped', 'AbortError'));
    };
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
