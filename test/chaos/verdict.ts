/** What a chaos run came to: the platforms' own logs against the ledger, and every promise that was made to a user. */
import type { AccessEntry } from '../../examples/note-publishing/platform/types.ts';
import type { PlatformAdmin } from '../../examples/note-publishing/platform/admin-client.ts';
import type { TaskRecord } from '../../src/index.ts';
import { brokenPromises, disagreements } from '../support/e2e-books.ts';
import { findings } from '../support/soundness.ts';
import type { Struck } from './faults.ts';
import type { Accepted, Load } from './load.ts';
import type { Surroundings } from './surroundings.ts';

export interface Verdict {
  readonly ends: Readonly<Record<string, number>>;
  /** Accepted, and not known to the ledger, or neither at rest nor driven. */
  readonly lost: readonly string[];
  /** Said to have succeeded, without its post on the platform. */
  readonly false_successes: readonly string[];
  /** An answered cancel that was not kept, and intents after it. */
  readonly broken_cancels: readonly string[];
  /** An item of an effect that acted more than once, by how the platform could have known. */
  readonly duplicates: { readonly with_keys: readonly string[]; readonly without_keys: readonly string[]; readonly without_keys_by_a_freeze: readonly string[] };
  /** Where the platforms' logs and the ledger differ otherwise. */
  readonly disagreements: readonly string[];
  readonly audit: Readonly<Record<string, unknown>>;
  readonly counts: Readonly<Record<string, number>>;
}

const AT_ONCE = 16;

/** All requests that a platform saw, by task. */
async function logOf(admin: PlatformAdmin): Promise<Map<string, AccessEntry[]>> {
  const byTask = new Map<string, AccessEntry[]>();
  for (let after = 0; ; ) {
    const page = await admin.log({ after });
    for (const entry of page) byTask.set(entry.taskId ?? 'none', [...(byTask.get(entry.taskId ?? 'none') ?? []), entry]);
    const last = page.at(-1);
    if (last === undefined) return byTask;
    after = last.n;
  }
}

/** A freeze of a worker between its last check and the arrival of what it sent. */
const byFreeze = (record: TaskRecord, entry: AccessEntry, struck: readonly Struck[]): boolean => {
  const touch = record.touches.find(({ message_id: message }) => message === entry.messageId);
  if (touch === undefined) return false;
  const [from, to] = [Date.parse(touch.intent_at), Date.parse(entry.arrivedAt)];
  return struck.some((one) => one.fault === 'worker_frozen' && one.to >= from && one.from <= to);
};

interface Found {
  readonly lost: string[];
  readonly false_successes: string[];
  readonly broken_cancels: string[];
  readonly with_keys: string[];
  readonly without_keys: string[];
  readonly without_keys_by_a_freeze: string[];
  readonly disagreements: string[];
  readonly ends: Record<string, number>;
}

function judge({ id, kind, cancels }: Accepted, record: TaskRecord, log: readonly AccessEntry[], struck: readonly Struck[], found: Found): void {
  const { status, at_rest: rests } = record.task;
  found.ends[status] = (found.ends[status] ?? 0) + 1;
  const about = `${id} (${kind}, ${status})`;
  if (!rests) found.lost.push(`${about}: ${record.steps.map((step) => `${step.name} ${step.state} (${step.reason})`).join(', ')}`);
  for (const answer of cancels) found.broken_cancels.push(...(rests ? brokenPromises(answer, record) : []));
  const acted = new Map<string, AccessEntry[]>();
  for (const entry of log.filter(({ did, route }) => did === 'acted' && (route === 'upload_picture' || route === 'publish_post'))) {
    const item = `${entry.route} ${entry.item ?? ''}`;
    acted.set(item, [...(acted.get(item) ?? []), entry]);
  }
  let frozen = false;
  for (const [item, entries] of acted) {
    if (entries.length < 2) continue;
    const late = entries.slice(1).every((entry) => byFreeze(record, entry, struck)) || entries.slice(0, 1).some((entry) => byFreeze(record, entry, struck));
    frozen ||= late && kind.endsWith('without-keys');
    const where = !kind.endsWith('without-keys') ? found.with_keys : late ? found.without_keys_by_a_freeze : found.without_keys;
    where.push(`${about}: ${item} ${String(entries.length)} times`);
  }
  const publishes = kind !== 'plain' && kind !== 'quick';
  if (status === 'succeeded' && publishes && ![...acted.keys()].some((item) => item.startsWith('publish_post'))) found.false_successes.push(about);
  // What a freeze did twice differs from the ledger, too; it has been counted.
  if (!frozen) found.disagreements.push(...disagreements(record, log).map((one) => `${about}: ${one}`));
}

export async function verdictOf(all: Surroundings, load: Load, struck: readonly Struck[]): Promise<Verdict> {
  const logs = { keyed: await logOf(all.platform.admin), keyless: await logOf(all.keyless.admin) };
  const found: Found = { lost: [], false_successes: [], broken_cancels: [], with_keys: [], without_keys: [], without_keys_by_a_freeze: [], disagreements: [], ends: {} };
  const accepted = [...load.accepted.values()];
  while (accepted.length > 0) {
    await Promise.all(accepted.splice(0, AT_ONCE).map(async (one) => {
      const record = await all.client.record(one.id).catch((error: unknown) => String(error));
      if (typeof record === 'string') found.lost.push(`${one.id}: ${record}`);
      else judge(one, record, (one.kind.endsWith('without-keys') ? logs.keyless : logs.keyed).get(one.id) ?? [], struck, found);
    }));
  }
  const [counts] = await all.ledger.query<Record<string, number>>(`
    select count(*) filter (where event = 'claim')::int as attempts, count(*) filter (where event = 'expire')::int as rescued_leases, count(*) filter (where reason = 'resend_same_key')::int as sent_again_under_the_key,
      count(*) filter (where event in ('present', 'absent', 'inconclusive'))::int as looks_outside, count(*) filter (where to_state = 'unconfirmed' and from_state <> 'unconfirmed')::int as answers_lost
    from throughline.timeline where kind = 'transition'`);
  const entries = [...logs.keyed.values(), ...logs.keyless.values()].flat().filter(({ route }) => route === 'upload_picture' || route === 'publish_post');
  return {
    ends: found.ends, lost: found.lost, false_successes: found.false_successes, broken_cancels: found.broken_cancels, disagreements: found.disagreements,
    duplicates: { with_keys: found.with_keys, without_keys: found.without_keys, without_keys_by_a_freeze: found.without_keys_by_a_freeze },
    audit: await findings(all.ledger),
    counts: { ...counts, requests: entries.length, acted: entries.filter(({ did }) => did === 'acted').length, deduped: entries.filter(({ did }) => did === 'deduped').length },
  };
}
