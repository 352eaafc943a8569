/** What every part of a page may need to know: language, caller, the form token, the moment. */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Caller } from '../api/caller.ts';
import type { Permission } from '../state/index.ts';
import { mayDo } from '../state/index.ts';
import type { Messages, PageLanguage } from './messages/index.ts';

export interface Frame {
  readonly lang: PageLanguage;
  readonly m: Messages;
  /** null: nobody has signed in. */
  readonly caller: Caller | null;
  /** Each form carries it. */
  readonly csrf: string;
  /** The page's own address, with its query. */
  readonly here: string;
  readonly temporalUi: { readonly url: string; readonly namespace: string } | null;
}

export const FrameContext = createContext<Frame | null>(null);

export function useFrame(): Frame {
  const frame = useContext(FrameContext);
  if (frame === null) throw new Error('Broken promise: a page is rendered in its frame');
  return frame;
}

/** What this caller is offered; the same table refuses at the door. */
export const mayHere = ({ caller }: Frame, permission: Permission): boolean => caller !== null && mayDo(caller.token.role, permission);
