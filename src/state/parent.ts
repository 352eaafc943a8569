import type { ParentStatus, RestState } from './states.ts';

/** One row of the parent's table: the first row whose quantifier holds decides. */
export interface ParentRule {
  readonly status: ParentStatus;
  readonly quantifier: 'any' | 'all' | 'otherwise';
  readonly states: readonly RestState[];
  readonly en: string;
  readonly zh: string;
}

export const PARENT_RULES: readonly ParentRule[] = [
  { status: 'dead', quantifier: 'any', states: ['dead'], en: 'a step needs a person', zh: '有步骤需要人工处理' },
  { status: 'unconfirmed', quantifier: 'any', states: ['unconfirmed'], en: 'a step may have acted outside; being resolved', zh: '有步骤可能已在外部执行；正在查明' },
  { status: 'cancelling', quantifier: 'any', states: ['cancel_requested'], en: 'a stop was asked and is not confirmed yet', zh: '已要求停止，尚未确认' },
  { status: 'running', quantifier: 'any', states: ['leased', 'completed'], en: 'a step is executing or its proof is being checked', zh: '有步骤正在执行或其证明正在核对' },
  { status: 'awaiting_receipt', quantifier: 'any', states: ['submitted', 'received', 'in_progress'], en: 'a step waits for the other side', zh: '有步骤在等待对方' },
  { status: 'queued', quantifier: 'any', states: ['queued', 'waiting'], en: 'a step is eligible or will be', zh: '有步骤可执行或即将可执行' },
  { status: 'succeeded', quantifier: 'all', states: ['succeeded'], en: 'every step succeeded', zh: '所有步骤都已成功' },
  { status: 'cancelled', quantifier: 'otherwise', states: [], en: 'no step will produce a side effect any more', zh: '不会再有步骤产生外部效果' },
];

/** The task's status from its steps' states (at least one step; a task without steps is refused). */
export function rollUp(states: readonly RestState[]): ParentStatus {
  const holds = (rule: ParentRule): boolean => {
    switch (rule.quantifier) {
      case 'any':
        return states.some((state) => rule.states.includes(state));
      case 'all':
        return states.length > 0 && states.every((state) => rule.states.includes(state));
      case 'otherwise':
        return true;
    }
  };
  const rule = PARENT_RULES.find(holds);
  if (rule === undefined) throw new Error('Broken promise: the parent table is total');
  return rule.status;
}

const AT_REST: ReadonlySet<RestState> = new Set(['succeeded', 'cancelled', 'dead']);

/**
 * At rest: each step succeeded, cancelled, dead, or waiting on a dead one. Needs form no cycle and a
 * cancelled need cancels its dependents at once, so "waiting and some step dead, all others final"
 * is the same as "waiting on a dead one".
 */
export function atRest(states: readonly RestState[]): boolean {
  const anyDead = states.includes('dead');
  return states.every((state) => AT_REST.has(state) || (state === 'waiting' && anyDead));
}
