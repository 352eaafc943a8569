import { ThroughlineError } from '../errors.ts';

const INSTEAD: Readonly<Record<string, string>> = { cancel: 'cancel', abandon_wait: 'abandon the wait' };

/** A refused withdrawal in words: why not, and what is possible instead. */
export function withdrawalRefused(error: unknown): unknown {
  if (!(error instanceof ThroughlineError) || (error.code !== 'TRANSITION_REFUSED' && error.code !== 'WITHDRAW_UNDECLARED')) return error;
  const { step, state, instead } = error.detail.facts ?? {};
  const named = typeof step === 'string';
  const why = error.code === 'WITHDRAW_UNDECLARED'
    ? named ? `Step ${step} declares no way to take back what it submitted` : 'No step of the task declares a way to take back what it submitted'
    : `${named ? `Step ${step}` : 'The task'} is ${String(state)}: nothing that it submitted waits to be taken back`;
  const words = (Array.isArray(instead) ? instead : []).flatMap((verb) => INSTEAD[String(verb)] ?? []);
  const possible = words.length === 0 ? 'Nothing is left to stop.' : `Possible: ${words.join(', or ')}.`;
  return new ThroughlineError(error.code, { ...error.detail, message: `${why}. ${possible}`, cause: error });
}
