/**
 * The facts that guard the rules: booleans computed by the ledger's door, after the evidence that the
 * event carries has been applied to the effects. Each is a nullable column of `transition_rule`.
 */
export const FACTS = {
  needs: 'a step that it needs has not succeeded yet',
  due: 'the time before which it must not start has passed',
  open: 'an effect or a withdrawal has an intent and no outcome',
  confirmed: 'the submitting effect of the live generation is confirmed',
  cancel: 'a cancel is set',
  left: 'charged attempts are left',
  tried: 'an attempt was made',
  resume: 'an uncharged continuation is due',
  receipt: 'a receipt is declared',
  inbox: 'the wait is on our own inbox (review)',
  verdict: 'a matched completion or verdict is stored',
  probe: 'a probe is declared',
  checks: 'checks are left',
  resendable: 'an open effect may be repeated under the same key inside its dedupe window',
  resolvable: 'a stored receipt, a probe or a repeat under the same key can resolve what is open',
  retryable: 'the category of the failure is retryable',
  reentrant: 'the code outside of effects is harmless to repeat',
  submits: 'the effect in question is the submitting one',
  done: 'the other side says that the work is done, not only taken',
  again: 'the submitting effect had been confirmed before this check',
  counts: 'absence is proof here',
  withdrawable: 'the submitting effect is confirmed or open, and nothing else is open',
  proof_since: 'a proof has arrived since the step died',
  no_way: 'no probe, no repeat, no stored receipt and no withdrawal can resolve it any more',
} as const;

export type Fact = keyof typeof FACTS;
export const FACT_NAMES = Object.keys(FACTS) as readonly Fact[];

/** All facts at one moment. */
export type Facts = Readonly<Record<Fact, boolean>>;

/** A guard: a conjunction; facts that are not named don't matter. */
export type Guard = Readonly<Partial<Record<Fact, boolean>>>;

export function holds(guard: Guard, facts: Facts): boolean {
  return FACT_NAMES.every((fact) => guard[fact] === undefined || guard[fact] === facts[fact]);
}
