/** The audit finds each kind of corruption, by its own check and no other, and nothing in a healthy ledger. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { performance } from 'node:perf_hooks';
import { createClient, type ThroughlineClient } from '../../src/index.ts';
import { AUDIT_CHECKS, LIMITS, type AuditCode } from '../../src/state/index.ts';
import { HOUR, LEASE_MS, MINUTE, uuid, type Shape } from '../support/factories.ts';
import { openLedger, type Ledger } from '../support/ledger.ts';
import { Tale } from '../support/tale.ts';
import { waiting } from './scenarios/scenario.ts';

let ledger: Ledger;
let client: ThroughlineClient;
beforeAll(async () => {
  ledger = await openLedger();
  client = createClient({ databaseUrl: ledger.url, connectionsMax: 2 });
});
afterAll(async () => {
  await client.close();
  await ledger.close({ unaudited: 'rows are corrupted here' });
});

const FREE: Shape = { effects: 'none', probe: false, proof: { kind: 'record', requires: ['/url'] } };

/** Past every trigger and foreign key, as whoever owns the tables may. */
const corrupt = (tale: Tale, statements: readonly string[]): Promise<void> =>
  tale.ledger.database.withClient(async (db) => {
    await db.query('begin; set local session_replication_role = replica');
    for (const statement of statements) {
      const { rowCount } = await db.query(statement.replaceAll('TASK', `'${tale.task}'`));
      if (!statement.startsWith('alter') && (rowCount ?? 0) < 1) throw new Error(`nothing was corrupted by ${statement}`);
    }
    await db.query('commit');
  });
const codesOf = async (task: string): Promise<readonly string[]> => (await client.audit({ task })).findings.map(({ code }) => code);

/** Lives that each leave other rows behind; all through the door. */
const LIVES = {
  fresh: (shape: Shape = {}) => Tale.of(ledger, shape),
  keyed: () => Tale.of(ledger, FREE, { key: uuid() }),
  free: async () => (await (await Tale.of(ledger, FREE)).claim()).done(),
  leased: async () => (await Tale.of(ledger, FREE)).claim(),
  submitted: async () => {
    const tale = await Tale.of(ledger, { effects: 'picture+post' });
    await (await (await tale.claim()).confirmed('picture', '1')).confirmed();
    return tale.settle('submitted');
  },
  retried: async () => (await (await (await (await Tale.of(ledger, { attempts: 9 })).claim()).fail()).claim()).fail(),
  unconfirmed: async () => { const tale = await Tale.of(ledger); await waiting(tale, 'unconfirmed'); return tale; },
  succeeded: async () => { const tale = await Tale.of(ledger); await waiting(tale, 'received'); return (await tale.receives('completed')).accept(); },
  cancelled: async () => (await (await (await (await Tale.of(ledger)).claim()).fail()).cancels()),
  cancelling: async () => (await (await (await Tale.of(ledger)).claim()).cancels()),
  refused: async () => (await (await (await Tale.of(ledger, { attempts: 9 })).claim()).intend()).outcome('refused'),
  replayed: async () => (await (await (await (await Tale.of(ledger, FREE)).claim()).fail(false)).replays()),
  confirmedByHand: async () => { const tale = await Tale.of(ledger, { probe: false }); await waiting(tale, 'unconfirmed'); return tale.confirms(true); },
  two: async () => (await (await Tale.of(ledger, [{ ...FREE, name: 'a' }, { ...FREE, name: 'b', needs: ['a'] }])).about('a').claim()).done(),
  reviewed: async () => (await (await Tale.of(ledger, { review: true })).claim()).asks(),
  checkpointed: async () => {
    const tale = await (await Tale.of(ledger, FREE)).claim();
    await ledger.door.checkpointPut(tale.task, tale.step, tale.claimed.id, 'c', 1, 9);
    await ledger.door.artifactPut(tale.task, tale.step, tale.claimed.id, { name: 'a', sha256: 'a'.repeat(64), uri: `cas:sha256:${'a'.repeat(64)}`, media_type: 'text/plain', bytes: 1 }, 9);
    return tale.done();
  },
} as const satisfies Record<string, () => Promise<Tale>>;

test('a healthy ledger of varied tasks has no finding', async () => {
  const { ok, findings, checks, tasks } = await (async () => {
    for (const live of Object.values(LIVES)) await live();
    return client.audit();
  })();
  expect(findings).toEqual([]);
  expect({ ok, checks, tasks: tasks >= Object.keys(LIVES).length }).toEqual({ ok: true, checks: Object.keys(AUDIT_CHECKS).length, tasks: true });
});

interface Corruption {
  readonly life: keyof typeof LIVES;
  readonly sql: readonly string[];
  readonly found: readonly AuditCode[];
}
const step = (set: string): string => `update throughline.step set ${set} where task_id = TASK`;
const LAST = '(select max(id) from throughline.timeline where task_id = TASK and kind = \'transition\')';

const CORRUPTIONS: Readonly<Record<string, Corruption>> = {
  'a transition in the middle is gone': { life: 'retried', sql: ["delete from throughline.timeline where task_id = TASK and id = (select min(id) from throughline.timeline where task_id = TASK and reason = 'attempt_failed')"], found: ['chain_broken'] },
  'a transition tells another state': { life: 'leased', sql: ["update throughline.timeline set from_state = 'waiting' where task_id = TASK and event = 'claim'"], found: ['chain_broken', 'rule_unknown'] },
  'a transition has another reason': { life: 'leased', sql: ["update throughline.timeline set reason = 'resend_same_key' where task_id = TASK and event = 'claim'"], found: ['rule_unknown', 'state_without_transition'] },
  "the task's own entry is gone": { life: 'free', sql: ["delete from throughline.timeline where task_id = TASK and kind = 'parent' and from_state = 'queued'"], found: ['task_chain_broken'] },
  'the state was set': { life: 'leased', sql: [step("state = 'succeeded', claim_id = null, holder = null, lease_expires_at = null")], found: ['state_without_transition', 'status_contradicts_steps', 'success_unproven'] },
  'the state refers to another entry': { life: 'leased', sql: [step('seq = 1')], found: ['state_without_transition'] },
  'an epoch went back': { life: 'retried', sql: ['update throughline.timeline set epoch = 0 where task_id = TASK and attempt = 2'], found: ['epoch_contradicts_timeline', 'epoch_disordered'] },
  "the step's epoch was lowered": { life: 'leased', sql: [step('epoch = epoch - 1')], found: ['epoch_contradicts_timeline'] },
  'attempts were forgotten': { life: 'retried', sql: [step('attempt = 0')], found: ['attempts_miscounted'] },
  'a charged attempt was given back': { life: 'retried', sql: [step('charged = charged - 1')], found: ['charges_miscounted'] },
  'more attempts are charged than were made': { life: 'retried', sql: [step('charged = charged + 1')], found: ['charges_miscounted'] },
  'a held step has nobody who holds it': { life: 'leased', sql: ['alter table throughline.step drop constraint step_check, drop constraint step_check1', step('claim_id = null')], found: ['lease_contradicts_state'] },
  'a cancel was taken off': { life: 'cancelling', sql: ['alter table throughline.step drop constraint step_check2', step('cancel_id = null')], found: ['cancel_lost'] },
  'a cancelled step was made to run again': {
    life: 'cancelled',
    sql: [
      "insert into throughline.timeline (task_id, step, kind, at, event, rule, part, from_state, to_state, reason, attempt, epoch, actor) select task_id, step, kind, at, 'replay', 'replay.queued', 1, 'cancelled', 'queued', 'replayed', attempt, epoch, 'x' from throughline.timeline where task_id = TASK and id = " + LAST,
    ],
    found: ['charges_miscounted', 'moved_after_cancel', 'replay_unattributed', 'rule_unknown', 'state_without_transition'],
  },
  'a request was announced after the cancel': {
    life: 'cancelled',
    sql: ["insert into throughline.timeline (task_id, step, kind, at, actor, facts) select task_id, 'publish', 'intent', at, 'worker:x', jsonb_build_object('effect', 'post', 'message_id', gen_random_uuid()) from throughline.timeline where task_id = TASK and kind = 'cancel'"],
    found: ['cancel_out_of_order', 'intent_after_cancel', 'intent_without_request'],
  },
  'the open count is wrong': { life: 'unconfirmed', sql: [step('open_count = 0')], found: ['open_miscounted'] },
  'a request was opened again at rest': { life: 'succeeded', sql: ['update throughline.request set outcome = null where task_id = TASK'], found: ['effect_contradicts_requests', 'open_at_rest', 'open_miscounted'] },
  'the submission of a cancelled step was confirmed': {
    life: 'refused',
    sql: ["update throughline.effect set live = true, status = 'confirmed' where task_id = TASK", step("state = 'queued', claim_id = null, holder = null, lease_expires_at = null")],
    found: ['state_without_transition', 'status_contradicts_steps', 'submission_ignored'],
  },
  'the accepted check is gone': { life: 'succeeded', sql: ['delete from throughline.acceptance where task_id = TASK'], found: ['success_unproven'] },
  'a check says that it was never due': { life: 'succeeded', sql: ['update throughline.acceptance set check_no = 99 where task_id = TASK'], found: ['acceptance_orphaned'] },
  'the status was set': { life: 'fresh', sql: ["update throughline.task set status = 'dead' where id = TASK"], found: ['status_contradicts_steps', 'task_chain_broken'] },
  'an open task was given an end': { life: 'fresh', sql: ['update throughline.task set ended_at = created_at where id = TASK'], found: ['status_contradicts_steps'] },
  'a step is gone': { life: 'two', sql: ["delete from throughline.step where task_id = TASK and name = 'b'"], found: ['entry_orphaned', 'status_contradicts_steps', 'step_contradicts_plan'] },
  'a step may try more often than planned': { life: 'fresh', sql: [step('attempts_max = 99')], found: ['step_contradicts_plan'] },
  'a step went on before what it needs': { life: 'two', sql: ["update throughline.step set state = 'dead' where task_id = TASK and name = 'a'"], found: ['dependent_contradicts_needs', 'state_without_transition', 'status_contradicts_steps'] },
  'the key is no longer reserved': { life: 'keyed', sql: ['delete from throughline.dedupe where task_id = TASK'], found: ['dedupe_missing'] },
  'the replay is not on record': { life: 'replayed', sql: ['delete from throughline.replay where task_id = TASK'], found: ['replay_unattributed'] },
  'the replay speaks of another step': { life: 'replayed', sql: ["update throughline.replay set result = jsonb_set(result, '{steps,0,step}', '\"other\"') where task_id = TASK"], found: ['replay_not_done'] },
  "a person's reason is gone": { life: 'confirmedByHand', sql: ["update throughline.timeline set facts = facts - 'why' where task_id = TASK and event = 'person_present'"], found: ['person_unattributed'] },
  'a correction points nowhere': { life: 'fresh', sql: ["insert into throughline.timeline (task_id, step, kind, at, actor, facts) values (TASK, 'publish', 'correction', now(), 'x', '{\"corrects\": 1}')"], found: ['correction_dangling'] },
  'a checkpoint of an attempt that nobody made': { life: 'checkpointed', sql: ['update throughline.checkpoint set attempt = 7 where task_id = TASK'], found: ['checkpoint_orphaned'] },
  'an artifact of an attempt that nobody made': { life: 'checkpointed', sql: ['update throughline.artifact set epoch = 7 where task_id = TASK'], found: ['artifact_orphaned'] },
  'a generation was skipped': { life: 'submitted', sql: ["update throughline.effect set generation = 2, key = replace(key, '/post//1', '/post//2') where task_id = TASK and submits"], found: ['generations_disordered'] },
  'a generation ended because it looked absent': { life: 'refused', sql: ["update throughline.effect set status = 'absent' where task_id = TASK"], found: ['generation_ended_unproven'] },
  'the key belongs to another task': { life: 'submitted', sql: ["update throughline.effect set key = 'x' || key where task_id = TASK and submits"], found: ['key_wrong'] },
  'an effect is open without a request': { life: 'submitted', sql: ["update throughline.effect set status = 'open', closed_at = null where task_id = TASK and name = 'picture'"], found: ['effect_contradicts_requests'] },
  'two submissions of one step': { life: 'submitted', sql: ["update throughline.effect set submits = true where task_id = TASK and name = 'picture'"], found: ['submitted_twice', 'intent_after_submission'] },
  'a picture was sent after the post': { life: 'submitted', sql: ["update throughline.request set intent_at = intent_at + interval '1 hour' where task_id = TASK and effect_id = (select id from throughline.effect where task_id = TASK and name = 'picture')"], found: ['intent_after_submission'] },
  'a request of an attempt that nobody made': { life: 'submitted', sql: ['update throughline.request set attempt = 5 where task_id = TASK'], found: ['request_misplaced'] },
  'an intent is gone': { life: 'submitted', sql: ["delete from throughline.timeline where task_id = TASK and kind = 'intent'"], found: ['request_without_intent'] },
  'a request is gone': { life: 'unconfirmed', sql: ['delete from throughline.request where task_id = TASK'], found: ['effect_contradicts_requests', 'intent_without_request', 'open_miscounted'] },
  'a receipt was never judged': { life: 'succeeded', sql: ["update throughline.receipt set verdict = null, applied_at = null where task_id = TASK and kind = 'completed'"], found: ['receipt_unjudged'] },
  'a receipt was applied that may not be': { life: 'succeeded', sql: ["update throughline.receipt set verdict = 'text_only' where task_id = TASK and kind = 'received'"], found: ['receipt_contradicts_timeline', 'receipt_misapplied'] },
  'a receipt answers a request of another task': { life: 'succeeded', sql: ["update throughline.receipt set in_reply_to = gen_random_uuid()::text where task_id = TASK and kind = 'received'"], found: ['receipt_cross_matched'] },
  'a receipt was applied twice': { life: 'succeeded', sql: ["update throughline.timeline l set facts = x.facts from throughline.timeline x where x.task_id = TASK and x.event = 'receipt_completed' and l.task_id = TASK and l.event = 'receipt_received'"], found: ['receipt_applied_twice'] },
  "a cancel's verdict was changed": { life: 'cancelling', sql: ["update throughline.cancel_step set verdict = 'prevented' where task_id = TASK"], found: ['verdict_contradicts_state'] },
  'a cancel has no entry': { life: 'cancelling', sql: ["delete from throughline.timeline where task_id = TASK and kind = 'cancel'"], found: ['cancel_unrecorded'] },
  'a review waits although it was cancelled': { life: 'reviewed', sql: [step("cancel_id = 'c'")], found: ['inbox_after_cancel'] },
  'a cancel is pending for too long': { life: 'cancelling', sql: ["update throughline.cancel_step set deadline_at = throughline.now() - interval '1 hour' where task_id = TASK"], found: ['cancel_overdue'] },
  'a lease ran out long ago': { life: 'leased', sql: [step("lease_expires_at = throughline.now() - interval '1 hour'")], found: ['lease_overdue'] },
  'a due step has lost its driver': { life: 'fresh', sql: ['delete from throughline.outbox where task_id = TASK', step("next_run_at = throughline.now() - interval '1 hour'")], found: ['driver_overdue'] },
};

describe('is found by its own check and no other', () => {
  test.each(Object.entries(CORRUPTIONS))('%s', async (_name, { life, sql, found }) => {
    const tale = await LIVES[life]();
    expect(await codesOf(tale.task)).toEqual([]);
    await corrupt(tale, sql);
    expect(await codesOf(tale.task)).toEqual([...found].sort());
  });

  test('each check is the reason for at least one finding above', () => {
    const covered = new Set(Object.values(CORRUPTIONS).flatMap(({ found }) => found));
    expect(Object.keys(AUDIT_CHECKS).filter((code) => !covered.has(code as AuditCode))).toEqual([]);
  });
});

test('a finding is counted in full and shown in part', async () => {
  const own = await openLedger();
  for (let n = 0; n < 5; n += 1) await Tale.of(own, FREE, { key: `k${String(n)}` });
  await own.query('delete from throughline.dedupe');
  const reader = createClient({ databaseUrl: own.url, connectionsMax: 1 });
  const { findings } = await reader.audit({ rows: 2 });
  expect(findings.map(({ code, kind, count, rows }) => [code, kind, count, rows.length])).toEqual([['dedupe_missing', 'broken', 5, 2]]);
  await reader.close();
  await own.close({ unaudited: 'keys were taken away' });
});

test('tasks that ended before --since are left out, open ones never; unknown tasks and bad filters are refused', async () => {
  const own = await openLedger();
  await Tale.of(own, FREE);
  await (await (await Tale.of(own, FREE)).claim()).done();
  await own.shiftClock(HOUR);
  const [{ at } = { at: '' }] = await own.query<{ at: string }>("select throughline._iso(throughline.now() - interval '1 minute') as at");
  const reader = createClient({ databaseUrl: own.url, connectionsMax: 1 });
  expect([(await reader.audit()).tasks, (await reader.audit({ since: at })).tasks]).toEqual([2, 1]);
  await expect(reader.audit({ task: uuid() })).rejects.toMatchObject({ code: 'TASK_UNKNOWN' });
  await expect(reader.audit({ since: 'yesterday' })).rejects.toMatchObject({ code: 'TIME_INVALID' });
  await expect(reader.audit({ rows: 0 })).rejects.toMatchObject({ code: 'FILTER_INVALID' });
  await reader.close();
  await own.close();
});

test('an audit waits for no writer, and sees one moment', async () => {
  const tale = await LIVES.leased();
  await ledger.database.withClient(async (db) => {
    await db.query('begin');
    await db.query('lock table throughline.step, throughline.timeline, throughline.task in row exclusive mode');
    await db.query('select from throughline.task where id = $1 for update', [tale.task]);
    expect(await codesOf(tale.task)).toEqual([]);
    await db.query('rollback');
  });
});

test('some thousand tasks are audited in a time that is told', async () => {
  const own = await openLedger();
  await (await (await (await (await Tale.of(own, FREE)).claim()).fail()).claim()).done();
  // The same life two thousand times, under other ids: what is audited is the rows, whoever wrote them.
  const id = "md5(r.task_id::text || n)::uuid";
  const copy = (table: string, changed: string, more = ''): string =>
    `insert into throughline.${table} ${more} select x.* from throughline.${table} r, generate_series(1, 2000) n, lateral jsonb_populate_record(r, jsonb_build_object(${changed})) x`;
  await own.database.withClient(async (db) => {
    await db.query('begin; set local session_replication_role = replica');
    await db.query(copy('task', `'id', ${id.replace('task_id', 'id')}, 'seq', r.seq + n * 1000`));
    await db.query(copy('step', `'task_id', ${id}, 'seq', r.seq + n * 1000`));
    await db.query(copy('timeline', `'task_id', ${id}, 'id', r.id + n * 1000`, 'overriding system value'));
    await db.query(copy('acceptance', `'task_id', ${id}`));
    await db.query('commit; analyze');
  });
  const reader = createClient({ databaseUrl: own.url, connectionsMax: 1 });
  const before = performance.now();
  const { tasks, ok } = await reader.audit();
  process.stderr.write(`audit of ${String(tasks)} tasks: ${(performance.now() - before).toFixed(0)} ms\n`);
  expect({ tasks, ok }).toEqual({ tasks: 2_001, ok: true });
  await reader.close();
  await own.close();
});

test('late is what is several sweeps old, and shorter than a person would wait', () => {
  expect(LIMITS.audit_late_ms).toBeGreaterThan(LEASE_MS + 3 * LIMITS.driver_silence_ms);
  expect(LIMITS.audit_late_ms).toBeLessThan(10 * MINUTE);
});
