/** What a person may do to a task from its page: which fields are asked for, and which call of the client it is. */
import type { ThroughlineClient } from '../../client/client.ts';
import type { Permission } from '../../state/index.ts';

export const ACTION_NAMES = ['cancel', 'withdraw', 'abandon-wait', 'decide', 'replay', 'confirm', 'correct', 'unpark', 'rematch'] as const;
export type ActionName = (typeof ACTION_NAMES)[number];

/** What can be answered: each has its button, and says by itself what it would do. */
export type Variant = 'cancel' | 'withdraw' | 'abandon' | 'approved' | 'rejected' | 'replay' | 'present' | 'absent' | 'correct' | 'unpark' | 'rematch';

/** What a form asks for besides who and why. */
export type FieldName = 'step' | 'effect' | 'evidence' | 'externalId' | 'result' | 'entry' | 'reason' | 'receipt' | 'message' | 'void' | 'drop';

/** As the form has it; empty text: not said. */
export interface Asked {
  /** Of the action: the same form sent twice is the same action. */
  readonly id: string;
  readonly by: string;
  readonly why: string;
  readonly step: string;
  /** EFFECT or EFFECT/ITEM. */
  readonly effect: string;
  readonly evidence: string;
  readonly externalId: string;
  /** JSON. */
  readonly result: string;
  readonly entry: string;
  readonly reason: string;
  readonly receipt: string;
  readonly message: string;
  /** Each EFFECT or EFFECT/ITEM. */
  readonly void: readonly string[];
  readonly drop: boolean;
}

export interface ActionSpec {
  readonly name: ActionName;
  readonly permission: Permission;
  readonly variants: readonly Variant[];
  readonly fields: readonly FieldName[];
  /** It can be asked at any moment and is never held up by what has changed since the page was shown. */
  readonly always?: true;
  act(client: ThroughlineClient, task: string, asked: Asked, variant: Variant): Promise<unknown>;
}
