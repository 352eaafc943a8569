/** The half of success that a step must declare: how it can be seen that it succeeded. */
import { LIMITS, type PlanProof, type PlanStep } from '../state/index.ts';
import { at, refuse, shown, type Place } from './place.ts';

const POINTERS_MAX = 50;
const MEDIA_TYPES_MAX = 50;
const MEDIA_TYPE = /^[\w!#$&^.+-]{1,63}\/[\w!#$&^.+-]{1,63}(\s*;[\x20-\x7e]{1,100})?$/;
/** RFC 6901, but each part must name something: `/a//b` and `/` are slips, not paths. */
const POINTER = /^(\/([^/~]|~[01])+)+$/;

function checkRecord(place: Place, requires: unknown): void {
  const where = at(place, 'record');
  if (!Array.isArray(requires) || requires.length === 0) refuse(where, 'a record proof names at least one JSON pointer into the result', `1 to ${POINTERS_MAX}`);
  if (requires.length > POINTERS_MAX) refuse(where, `a record proof names ${requires.length} JSON pointers`, `1 to ${POINTERS_MAX}`);
  for (const pointer of requires as readonly unknown[]) {
    // eslint-disable-next-line no-control-regex -- control characters are what is refused
    const wellFormed = typeof pointer === 'string' && POINTER.test(pointer) && !/[\u0000-\u001f]|\p{Surrogate}/u.test(pointer);
    if (!wellFormed) refuse(where, `${shown(pointer)} is no JSON pointer such as "/post/id"`);
    if (pointer.length > LIMITS.key_chars_max) refuse(where, `the JSON pointer ${shown(pointer)} is too long`, `at most ${LIMITS.key_chars_max} characters`);
  }
}

function checkArtifacts(place: Place, proof: Extract<PlanProof, { kind: 'artifacts' }>): void {
  const whole = (key: string, value: unknown, min: number, max: number): void => {
    const inRange = typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
    if (!inRange) refuse(at(place, 'artifacts', key), `artifacts.${key} is ${shown(value)}, but must be a whole number`, `${min} to ${max}`);
  };
  whole('min', proof.min, 1, LIMITS.artifacts_per_step_max);
  whole('minBytes', proof.bytes_min, 0, LIMITS.artifact_bytes_max);
  const types: unknown = proof.media_types;
  const where = at(place, 'artifacts', 'mediaTypes');
  if (!Array.isArray(types) || types.length > MEDIA_TYPES_MAX) refuse(where, 'artifacts.mediaTypes must be a list', `at most ${MEDIA_TYPES_MAX}`);
  for (const type of types as readonly unknown[]) {
    if (typeof type !== 'string' || !MEDIA_TYPE.test(type)) refuse(where, `${shown(type)} is no media type such as "text/html"`);
  }
}

/** Checks a step's proof. `place` points to the step's option `proof`. Errors: DEFINITION_INVALID. */
export function checkProof(place: Place, step: PlanStep): void {
  const proof = step.proof as PlanProof | null | undefined;
  if (typeof proof !== 'object' || proof === null) refuse(place, 'it declares no proof, so its success could only be claimed');
  const isVerdict = proof.kind === 'verdict';
  if (step.kind === 'review' && !isVerdict) refuse(place, `a review is proved by its stored verdict, not by ${shown(proof.kind)}`);
  if (step.kind === 'run' && isVerdict) refuse(place, 'only a review is proved by a verdict');
  switch (proof.kind) {
    case 'artifacts':
      checkArtifacts(place, proof);
      return;
    case 'record':
      checkRecord(place, proof.requires);
      return;
    case 'read_back':
    case 'verdict':
      return;
    default:
      refuse(place, `${shown((proof as { kind?: unknown }).kind)} is no kind of proof`);
  }
}
