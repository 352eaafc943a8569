import type { CheckAnswer, ClaimAnswer, WithdrawalAnswer } from '../ledger/index.ts';
import type { ActivityAnswer } from './types.ts';

/** A claim, a check or a withdrawal that was not granted, as the driver's answer. */
export function notGranted(answer: Extract<ClaimAnswer | CheckAnswer | WithdrawalAnswer, { refused: string }>): ActivityAnswer {
  switch (answer.refused) {
    case 'held':
      return { outcome: 'held', ms: answer.held_ms, view: answer.view };
    case 'not_yet':
      return { outcome: 'not_yet', ms: answer.not_yet_ms, view: answer.view };
    case 'settled':
    case 'no_rule':
    case 'no_check_due':
    case 'no_withdrawal_due':
    case 'checker_vanished':
      return { outcome: 'settled', ms: 0, view: answer.view };
  }
}
