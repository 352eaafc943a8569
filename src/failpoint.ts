/**
 * Named points at which a process can be made to vanish, so that a test can show what follows. Without
 * THROUGHLINE_FAILPOINT nothing happens; with `NAME` or `NAME:N` the process kills itself (SIGKILL) at the Nth
 * passage. It is for tests only: whoever may set a worker's environment may stop it anyway.
 */

/** Calls of the ledger's door: before it is made, and after it was answered but before anything is done with that. */
const DOOR = [
  'step_claim', 'lease_renew', 'checkpoint_put', 'effect_intend', 'effect_outcome', 'step_settle', 'check_claim', 'probe_result', 'accept_result', 'task_look', 'outbox_take', 'outbox_sent',
] as const;
/** The call of the other side by a handler, and the wake-up sent to Temporal. */
const OUTSIDE = ['effect_call', 'signal'] as const;

/** Every failpoint's name. */
export const FAILPOINTS: readonly string[] = [...DOOR, ...OUTSIDE].flatMap((name) => [`${name}.before`, `${name}.after`]);

const [armed = '', passages = '1'] = (process.env['THROUGHLINE_FAILPOINT'] ?? '').split(':');
let left = Number(passages);

/** The process ends here, if it was told to. */
export function failpoint(name: string): void {
  if (armed === '' || name !== armed) return;
  left -= 1;
  if (left === 0) process.kill(process.pid, 'SIGKILL');
}
