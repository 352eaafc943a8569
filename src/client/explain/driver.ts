/** Who moves the task: whether its hand-over happened, whether a worker offers it, whether Temporal agrees. */
import { LIMITS } from '../../state/index.ts';
import type { ParentStatus } from '../../state/index.ts';
import type { DriverCode, TemporalCode } from './codes.ts';
import type { Reading, StepReading } from './reading.ts';
import type { DriverExplanation, TemporalTrouble } from './types.ts';
import { noWorkerClause, waitOf } from './waits.ts';
import { joined, moment, name, said } from './words.ts';

/** What waits for a worker by itself; a step that waits for another, or for the other side, does not. */
const NEEDS_WORKER: ReadonlySet<string> = new Set(['hand_over', 'worker', 'same_key', 'look', 'proof_check', 'rescue', 'claim', 'due_time', 'overdue']);

const lateStep = (r: Reading): StepReading | undefined => r.steps.find((s) => waitOf(s, r).on === 'overdue');

function codeOf(r: Reading): DriverCode {
  const { task, outbox } = r.record;
  if (task.at_rest) return 'at_rest';
  if (r.parked) return 'parked';
  if (r.handOver) return 'hand_over_pending';
  if (task.driver_restarts >= LIMITS.driver_restarts_max) return 'failing';
  const waits = r.steps.some((s) => NEEDS_WORKER.has(waitOf(s, r).on));
  if (r.noWorker && waits) return r.record.workers === 0 ? 'no_workers' : 'no_worker';
  if (lateStep(r) !== undefined) return 'overdue';
  return outbox === null ? 'driven' : 'wake_pending';
}

const OPEN: ReadonlySet<string> = new Set(['RUNNING', 'CONTINUED_AS_NEW', 'PAUSED']);

/** How a workflow closes whose task came to rest with a status; the others never rest. */
const CLOSES_AS: Partial<Readonly<Record<ParentStatus, string>>> = { succeeded: 'COMPLETED', dead: 'FAILED', cancelled: 'CANCELED' };
const expectedOf = (status: ParentStatus, atRest: boolean): string => (atRest ? CLOSES_AS[status] : undefined) ?? 'RUNNING';

/** The SDK spells it with two l, the server with one. */
const spelled = (status: string): string => (status === 'CANCELLED' ? 'CANCELED' : status);
/** What says nothing. */
const UNSAID: ReadonlySet<string> = new Set(['UNKNOWN', 'UNSPECIFIED']);

function temporalCode(r: Reading, status: string, trouble?: TemporalTrouble): TemporalCode {
  const { task, outbox } = r.record;
  const onItsWay = outbox !== null && outbox.parked_at === null;
  if (status === 'PAUSED') return 'paused';
  if (!task.at_rest && status === 'RUNNING' && trouble !== undefined) return trouble;
  if (status === 'NOT_FOUND') {
    if (task.at_rest) return 'forgotten';
    if (r.handOver) return 'not_started';
    return onItsWay ? 'catching_up' : 'gone';
  }
  const expected = expectedOf(task.status, task.at_rest);
  if (status === expected || (!task.at_rest && OPEN.has(status))) return 'fits';
  if (!task.at_rest) return onItsWay ? 'catching_up' : 'closed_early';
  if (!OPEN.has(status)) return 'differs';
  const fresh = task.ended_at !== null && Date.parse(r.asOf) - Date.parse(task.ended_at) < LIMITS.driver_silence_ms;
  return fresh || onItsWay ? 'closing' : 'still_open';
}

const AGREES: Readonly<Record<TemporalCode, DriverExplanation['agrees_with_temporal']>> = {
  not_asked: 'not_asked', unreachable: 'unknown', fits: 'yes', not_started: 'yes', closing: 'yes', catching_up: 'unknown', forgotten: 'unknown', differs: 'no', gone: 'no',
  closed_early: 'no', still_open: 'no', paused: 'no', wedged: 'no', activity_paused: 'no', no_poller: 'no',
};

function temporalOf(r: Reading): Pick<DriverExplanation, 'agrees_with_temporal' | 'temporal'> {
  const { temporal: sight } = r;
  const { task } = r.record;
  const answer = (code: TemporalCode, status: string | null, run_id: string | null, error = ''): ReturnType<typeof temporalOf> => ({
    agrees_with_temporal: AGREES[code],
    temporal: { code, status, run_id, sentence: r.p.temporal[code]({ status: name(status ?? ''), expected: expectedOf(task.status, task.at_rest), error }) },
  });
  if (sight === undefined) return answer('not_asked', null, null);
  if ('error' in sight) return answer('unreachable', null, null, said(sight.error, 200));
  const status = spelled(sight.status);
  if (UNSAID.has(status)) return answer('unreachable', status, sight.run_id, status);
  return answer(temporalCode(r, status, sight.trouble), status, sight.run_id);
}

export function driverOf(r: Reading): DriverExplanation {
  const { task, outbox, offers, workers } = r.record;
  const code = codeOf(r);
  const late = lateStep(r);
  const error = said(outbox?.last_error ?? null, 200);
  const words = { offer: r.offer, step: late?.row.name ?? '', ago: late === undefined ? '' : moment(r.p, late.row.next_run_at, r.asOf), tries: outbox?.attempts ?? 0, restarts: task.driver_restarts, error };
  return {
    code,
    handed_over: !r.handOver,
    sentence: joined(r.p, [r.p.drivers[code](words), code === 'hand_over_pending' && r.noWorker && noWorkerClause(r)]),
    parked: outbox !== null && outbox.parked_at !== null,
    last_error: error === '' ? null : error,
    seen_at: task.driver_seen_at,
    run_id: task.driver_run_id,
    offers,
    workers,
    ...temporalOf(r),
  };
}
