import type { Presence } from '../../client/operator.ts';
import { ThroughlineError } from '../../errors.ts';
import type { ReasonCode } from '../../state/index.ts';
import { ACTION_NAMES } from './spec.ts';
import type { ActionName, ActionSpec, Asked } from './spec.ts';

/** Names of effects have no slash, items may. */
function effectOf(name: string): { readonly effect: string; readonly item?: string } {
  const at = name.indexOf('/');
  return at < 0 ? { effect: name } : { effect: name.slice(0, at), item: name.slice(at + 1) };
}

/** Throws INPUT_INVALID. */
function resultOf(text: string): Pick<Presence, 'result'> {
  if (text.trim() === '') return {};
  try {
    return { result: JSON.parse(text) as NonNullable<Presence['result']> };
  } catch (cause) {
    throw new ThroughlineError('INPUT_INVALID', { path: '/result', message: 'The result must be JSON.', cause });
  }
}

const deed = ({ id, by, why }: Asked) => ({ id, by, why });
const action = (asked: Asked) => ({ ...deed(asked), ...(asked.step === '' ? {} : { step: asked.step }) });

const SPECS: Readonly<Record<ActionName, Omit<ActionSpec, 'name'>>> = {
  cancel: { permission: 'cancel', variants: ['cancel'], fields: ['step'], always: true, act: (client, task, asked) => client.cancel(task, action(asked)) },
  withdraw: { permission: 'withdraw', variants: ['withdraw'], fields: ['step'], act: (client, task, asked) => client.withdraw(task, action(asked)) },
  'abandon-wait': { permission: 'abandon_wait', variants: ['abandon'], fields: ['step'], act: (client, task, asked) => client.abandonWait(task, action(asked)) },
  decide: {
    permission: 'decide', variants: ['approved', 'rejected'], fields: ['step'],
    act: (client, task, asked, variant) => client.decide(task, { ...deed(asked), step: asked.step, verdict: variant === 'approved' ? 'approved' : 'rejected' }),
  },
  replay: {
    permission: 'replay', variants: ['replay'], fields: ['step', 'void', 'drop'],
    act: (client, task, asked) => client.replay(task, { ...action(asked), ...(asked.void.length === 0 ? {} : { void: asked.void.map(effectOf) }), ...(asked.drop ? { dropCheckpoints: true } : {}) }),
  },
  confirm: {
    permission: 'confirm', variants: ['present', 'absent'], fields: ['step', 'effect', 'evidence', 'externalId', 'result'],
    act(client, task, asked, variant) {
      const seen = { ...deed(asked), step: asked.step, ...effectOf(asked.effect), evidence: asked.evidence };
      if (variant === 'absent') return client.confirmAbsent(task, seen);
      return client.confirmEffect(task, { ...seen, ...(asked.externalId === '' ? {} : { externalId: asked.externalId }), ...resultOf(asked.result) });
    },
  },
  correct: {
    permission: 'correct', variants: ['correct'], fields: ['entry', 'reason'],
    act: (client, task, asked) => client.correct(task, { ...deed(asked), entry: asked.entry, ...(asked.reason === '' ? {} : { reason: asked.reason as ReasonCode }) }),
  },
  unpark: { permission: 'unpark', variants: ['unpark'], fields: [], act: (client, task, asked) => client.unpark(task, deed(asked)) },
  rematch: {
    permission: 'rematch_receipt', variants: ['rematch'], fields: ['receipt', 'step', 'message'],
    act: (client, task, asked) => client.rematchReceipt(asked.receipt, { ...deed(asked), task, step: asked.step, ...(asked.message === '' ? {} : { message: asked.message }) }),
  },
};

export const ACTIONS: readonly ActionSpec[] = ACTION_NAMES.map((name) => ({ name, ...SPECS[name] }));
export const actionOf = (name: ActionName): ActionSpec => ({ name, ...SPECS[name] });
