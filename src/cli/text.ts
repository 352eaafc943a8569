/** Small texts that several commands show. */
import { isSuccess, REASONS } from '../state/index.ts';
import type { ParentStatus, ReasonCode, StepState } from '../state/index.ts';
import type { Tone } from '../client/explain/index.ts';
import type { Language } from '../config.ts';
import type { Colours, Paint } from './terminal.ts';

/** `2026-05-01 09:00:03Z`: to the second, in UTC; '-' where there is none. */
export const moment = (iso: string | null): string => (iso === null ? '-' : `${iso.slice(0, 19).replace('T', ' ')}Z`);

export const meaning = (code: ReasonCode, lang: Language): string => (lang === 'zh-CN' ? REASONS[code].zh : REASONS[code].en);

/** What asks for a person's eye. Everything else but success keeps the terminal's own colour. */
const PAINTS: Readonly<Partial<Record<ParentStatus | StepState, 'red' | 'yellow' | 'cyan' | 'dim'>>> = {
  dead: 'red', failed: 'red', unconfirmed: 'yellow', cancelling: 'yellow', cancel_requested: 'yellow', running: 'cyan', leased: 'cyan', cancelled: 'dim', waiting: 'dim',
};

const unpainted: Paint = (text) => text;

/** Green is for success alone. */
export function paintOf(state: ParentStatus | StepState, colours: Colours): Paint {
  if (isSuccess(state)) return colours.green;
  const name = PAINTS[state];
  return name === undefined ? unpainted : colours[name];
}

const TONES: Readonly<Record<Tone, (colours: Colours) => Paint>> = {
  success: ({ green }) => green,
  progress: ({ cyan }) => cyan,
  attention: ({ yellow }) => yellow,
  stopped: ({ dim }) => dim,
};

export const paintOfTone = (tone: Tone, colours: Colours): Paint => TONES[tone](colours);
