/** The platform's own access log against the ledger's touches: what was asked, what was done, what is said of it. */
import type { AccessEntry } from '../../examples/note-publishing/platform/types.ts';
import type { CancelAnswer, TaskRecord, TouchRow } from '../../src/index.ts';

const WRITES: ReadonlySet<string> = new Set(['upload_picture', 'publish_post', 'withdraw_post']);

const groupBy = <T>(rows: readonly T[], key: (row: T) => string): Map<string, T[]> => {
  const groups = new Map<string, T[]>();
  for (const row of rows) groups.set(key(row), [...(groups.get(key(row)) ?? []), row]);
  return groups;
};

function ofRequest(entry: AccessEntry, touch: TouchRow): string[] {
  const wrong = (what: string, said: unknown, was: unknown): string[] => (said === was ? [] : [`request ${touch.message_id}: ${what} is ${String(was)} on the platform, ${String(said)} in the ledger`]);
  const outcome =
    touch.outcome === 'not_sent' ? [`request ${touch.message_id} arrived, and the ledger says that it was not sent`]
    : touch.outcome === 'absent' && entry.did === 'acted' ? [`request ${touch.message_id} acted, and the ledger says absent`]
    : touch.outcome === 'refused' && entry.did !== 'refused' ? [`request ${touch.message_id} ${entry.did}, and the ledger says refused`]
    : [];
  return [
    ...wrong('the key', touch.key, entry.key),
    ...wrong('the thread', touch.thread_id, entry.threadId),
    ...wrong('the step', touch.step, entry.step),
    ...wrong('the item', touch.item, entry.item ?? ''),
    ...outcome,
  ];
}

/**
 * What does not agree; empty: the books do. Every request that arrived has its intent, none arrived twice, each
 * key acted at most once, and what the ledger calls confirmed is there exactly once under the id that it names.
 */
export function disagreements(record: TaskRecord, log: readonly AccessEntry[]): string[] {
  const wrong: string[] = [];
  const writes = log.filter(({ route }) => WRITES.has(route));
  const touches = new Map(record.touches.map((touch) => [touch.message_id, touch]));
  for (const [message, entries] of groupBy(writes, (entry) => entry.messageId ?? 'none')) {
    if (entries.length > 1) wrong.push(`request ${message} arrived ${String(entries.length)} times`);
    const touch = touches.get(message);
    for (const entry of entries) wrong.push(...(touch === undefined ? [`request ${message} (${entry.route}) has no intent`] : ofRequest(entry, touch)));
  }
  const acted = groupBy(writes.filter(({ did }) => did === 'acted'), (entry) => entry.key ?? 'none');
  for (const [key, entries] of acted) if (entries.length > 1) wrong.push(`${key} acted ${String(entries.length)} times`);
  const inbox = new Set(record.steps.filter((step) => step.inbox).map(({ name }) => name));
  const outside = record.touches.filter((touch) => !inbox.has(touch.step));
  for (const [key, requests] of groupBy(outside, (touch) => touch.key)) {
    const [there] = acted.get(key) ?? [];
    const confirmed = requests.find(({ outcome }) => outcome === 'confirmed');
    if (confirmed === undefined) continue;
    if (there === undefined) wrong.push(`${key} is confirmed, and the platform did nothing`);
    else if (there.externalId !== confirmed.external_id) wrong.push(`${key} is ${String(confirmed.external_id)} in the ledger, ${String(there.externalId)} on the platform`);
  }
  // What was taken back on the platform is withdrawn in the ledger, and the other way round.
  for (const [key, requests] of groupBy(outside.filter(({ kind }) => kind === 'withdrawal'), (touch) => touch.key)) {
    const taken = requests.some(({ outcome }) => outcome === 'withdrawn' || outcome === 'confirmed');
    if (taken !== acted.has(key) && record.task.at_rest) wrong.push(`${key} ${acted.has(key) ? 'acted' : 'did nothing'} on the platform, and the ledger says ${String(requests.at(-1)?.outcome)}`);
  }
  const ended = record.task.status === 'succeeded';
  for (const key of acted.keys()) {
    if (ended && !outside.some((touch) => touch.key === key && touch.outcome === 'confirmed')) wrong.push(`${key} acted, and the ledger of the succeeded task does not know`);
  }
  return wrong;
}

/** What an answered cancel promises, against what came of it. Empty: it was kept. */
export function brokenPromises(answer: CancelAnswer, record: TaskRecord): string[] {
  return answer.steps.flatMap(({ step, found, verdict }) => {
    const wrong: string[] = [];
    const now = record.steps.find(({ name }) => name === step);
    const kept = record.cancels.find(({ id }) => id === answer.id)?.steps.find((one) => one.step === step);
    const say = (text: string): void => {
      wrong.push(`${record.task.id}/${step}, found ${found}, answered ${verdict}, in the end ${String(kept?.verdict)} and ${String(now?.state)}: ${text}`);
    };
    if (verdict !== 'pending' && kept?.verdict !== verdict && verdict !== 'needs_person') say('the verdict has changed');
    const state = { prevented: 'cancelled', stopped_at_boundary: 'cancelled', withdrawn: 'cancelled', too_late: 'succeeded', already_terminal: found, needs_person: 'dead', pending: 'no end' }[kept?.verdict ?? 'pending'];
    if (now?.state !== state) say(`not ${state}`);
    const asked = record.timeline.find(({ kind, facts }) => kind === 'cancel' && facts['cancel'] === answer.id)?.id ?? 0;
    const after = record.timeline.filter((row) => row.id > asked && row.step === step && (row.kind === 'intent' || ['queued', 'leased'].includes(row.to_state)) && row.kind !== 'receipt');
    for (const { kind, to_state: to } of after.filter((row) => row.kind === 'intent' || (row.kind === 'transition' && row.from_state !== row.to_state))) say(`${kind} (${to}) after the answer`);
    return wrong;
  });
}
