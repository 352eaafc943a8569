/** Which actions a page offers: what the role may, and what the state leaves to do. The door decides, whatever was offered. */
import type { Explanation } from '../../client/explain/index.ts';
import type { RestState } from '../../state/index.ts';
import { mayHere } from '../frame.ts';
import type { Frame } from '../frame.ts';
import type { TaskRecord } from '../types.ts';
import { actionOf } from './specs.ts';
import type { ActionName } from './spec.ts';

export interface Offer {
  readonly action: ActionName;
  /** null: the whole task. */
  readonly step: string | null;
  readonly effect?: string;
}

type Step = Explanation['steps'][number];

const WAITS_OUTSIDE: ReadonlySet<RestState> = new Set<RestState>(['submitted', 'received', 'in_progress', 'unconfirmed']);
const OVER: ReadonlySet<RestState> = new Set<RestState>(['succeeded', 'cancelled']);
const ASKS_PERSON: ReadonlySet<RestState> = new Set<RestState>(['unconfirmed', 'dead']);

const isReviewing = ({ kind, state }: Step): boolean => kind === 'review' && WAITS_OUTSIDE.has(state) && state !== 'unconfirmed';

/** Effects of a step that are in force, as EFFECT or EFFECT/ITEM; those whose end is unknown first. */
export function effectsOf(record: TaskRecord, step: string): readonly string[] {
  const touches = record.touches.filter((touch) => touch.step === step && touch.live && touch.kind === 'effect');
  const names = [...touches].sort((a, b) => Number(a.outcome !== null) - Number(b.outcome !== null)).map(({ effect, item }) => (item === '' ? effect : `${effect}/${item}`));
  return [...new Set(names)];
}

export function offersOf(frame: Frame, e: Explanation, record: TaskRecord): readonly Offer[] {
  const open = e.steps.filter(({ state }) => !OVER.has(state));
  const each = (action: ActionName, steps: readonly Step[]): Offer[] => steps.map(({ name }) => ({ action, step: name }));
  const offers: readonly Offer[] = [
    ...each('decide', open.filter(isReviewing)),
    ...(e.driver.parked ? [{ action: 'unpark', step: null } as const] : []),
    ...each('replay', open.filter(({ state }) => state === 'dead')),
    ...open.filter(({ state }) => ASKS_PERSON.has(state)).flatMap(({ name }) => effectsOf(record, name).slice(0, 1).map((effect) => ({ action: 'confirm', step: name, effect }) as const)),
    ...each('withdraw', open.filter((step) => WAITS_OUTSIDE.has(step.state) && step.kind !== 'review')),
    ...each('abandon-wait', open.filter((step) => WAITS_OUTSIDE.has(step.state) && step.kind !== 'review')),
    ...(open.length > 0 ? [{ action: 'cancel', step: null } as const] : []),
    ...(open.length > 0 && e.steps.length > 1 ? each('cancel', open) : []),
  ];
  return offers.filter(({ action }) => mayHere(frame, actionOf(action).permission));
}
