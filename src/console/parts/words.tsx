/** @jsxRuntime automatic @jsxImportSource preact */
/** Small things that are said in many places: states, moments, names. */
import type { ComponentChildren } from 'preact';
import { PHRASES } from '../../client/explain/reading.ts';
import type { ParentStatus, StepState } from '../../state/index.ts';
import type { Tone } from '../../client/explain/index.ts';
import { useFrame } from '../frame.ts';
import { distance, moment } from '../time.ts';

/** Green belongs to a proven success alone; `tone` of an explanation knows better than the state where there is one. */
const TONES: Readonly<Record<ParentStatus | StepState, Tone | 'waiting'>> = {
  dead: 'attention', unconfirmed: 'attention', failed: 'attention',
  cancelling: 'progress', running: 'progress', awaiting_receipt: 'progress', leased: 'progress', submitted: 'progress', received: 'progress', in_progress: 'progress', completed: 'progress', cancel_requested: 'progress',
  queued: 'waiting', waiting: 'waiting',
  succeeded: 'success',
  cancelled: 'stopped',
};

export const toneOf = (state: ParentStatus | StepState): Tone | 'waiting' => TONES[state];

export function State({ state, tone, of = 'task' }: { readonly state: ParentStatus | StepState; readonly tone?: Tone; readonly of?: 'task' | 'step' }) {
  const { lang } = useFrame();
  const words: Readonly<Record<string, string>> = of === 'task' ? PHRASES[lang].statuses : PHRASES[lang].states;
  return <span class={`state ${tone === undefined || tone === 'progress' ? toneOf(state) : tone}`} title={state}>{words[state] ?? state}</span>;
}

/** A moment by the ledger's clock; `from`: also how far it lies from there. */
export function Time({ at, from, only }: { readonly at: string; readonly from?: string; readonly only?: 'distance' | 'moment' }) {
  const { lang, m } = useFrame();
  const text = moment(at);
  const said = from === undefined ? null : distance(at, from, lang);
  if (only === 'distance' && said !== null) return <time dateTime={at} title={`${text} ${m.utc}`}>{said}</time>;
  return (
    <time dateTime={at}>
      {text}
      {said === null || only === 'moment' ? null : <span class="quiet"> {said}</span>}
    </time>
  );
}

/** Content of somebody else's, as it is, in a direction of its own. */
export const Name = ({ children }: { readonly children: string }) => <bdi class="name">{children}</bdi>;

export const Code = ({ children }: { readonly children: ComponentChildren }) => <code><bdi>{children}</bdi></code>;

/** A term of a list of facts, with what is said of it. */
export const Pair = ({ term, children }: { readonly term: string; readonly children: ComponentChildren }) => (
  <div>
    <dt>{term}</dt>
    <dd>{children}</dd>
  </div>
);
