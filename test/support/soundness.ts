/** What must hold for every task of a ledger at any moment, whatever happened to it. */
import { atRest, rollUp, type RestState } from '../../src/state/index.ts';
import type { Ledger, Row } from './ledger.ts';

/** Each finding names the rows that break a promise; empty: sound. */
const FINDINGS: Readonly<Record<string, string>> = {
  'each transition starts where the one before it ended': `
    select task_id, step, id from (
      select task_id, step, id, from_state, lag(to_state, 1, 'none') over (partition by task_id, step order by id) as before
      from throughline.timeline where kind = 'transition') x where from_state <> before`,
  'a step is where its last transition ended, and says so': `
    select s.task_id, s.name, s.state, s.seq from throughline.step s
    cross join lateral (select l.id, l.to_state from throughline.timeline l where l.task_id = s.task_id and l.step = s.name and l.kind = 'transition' order by l.id desc limit 1) x
    where s.seq <> x.id or s.state <> x.to_state`,
  'what is open is counted': `
    select s.task_id, s.name, s.open_count from throughline.step s
    where s.open_count <> (select count(*) from throughline.request r where r.task_id = s.task_id and r.step = s.name and r.outcome is null)`,
  'no intent is written after an answered cancel': `
    select i.task_id, i.step, i.id from throughline.timeline i join throughline.timeline c
      on c.task_id = i.task_id and c.kind = 'cancel' and c.facts ->> 'verb' = 'cancel' and (c.step is null or c.step = i.step) and c.id < i.id
    where i.kind = 'intent' and i.facts ->> 'effect' <> 'withdraw'`,
  'intents and cancels stand in the order of their times': `
    select i.task_id, i.id, i.at, c.id as cancel_id, c.at as cancelled_at from throughline.timeline i join throughline.timeline c on c.task_id = i.task_id
    where i.kind = 'intent' and c.kind = 'cancel' and c.facts ->> 'verb' = 'cancel' and i.facts ->> 'effect' <> 'withdraw' and (i.id < c.id) <> (i.at <= c.at)`,
  'each attempt has one claim, and each claim an epoch of its own': `
    select task_id, step, attempt from throughline.timeline where event = 'claim' group by task_id, step, attempt having count(*) > 1 or count(distinct epoch) <> count(*)`,
  'no more executions are charged than allowed': 'select task_id, name from throughline.step where charged > attempts_max',
  'at most one live confirmed submission': `
    select task_id, step from throughline.effect where live and submits and status = 'confirmed' group by task_id, step having count(*) > 1`,
  'nothing is cancelled or queued with a confirmed submission': `
    select s.task_id, s.name from throughline.step s join throughline.effect e on e.task_id = s.task_id and e.step = s.name
    where s.state in ('cancelled', 'queued') and e.live and e.submits and e.status = 'confirmed'`,
  'a cancel\'s verdict agrees with its step': `
    select x.* from throughline.cancel_step x join throughline.step s on s.task_id = x.task_id and s.name = x.step
    where (x.verdict in ('prevented', 'stopped_at_boundary', 'withdrawn') and s.state <> 'cancelled')
       or (x.verdict = 'too_late' and s.state not in ('completed', 'succeeded', 'dead'))
       or (x.verdict = 'pending' and s.state in ('completed', 'succeeded', 'cancelled', 'dead'))`,
  'every receipt is judged': "select id, verdict_facts from throughline.receipt where verdict is null",
};

export async function findings(ledger: Ledger): Promise<Readonly<Record<string, readonly Row[]>>> {
  const found: Record<string, readonly Row[]> = {};
  for (const [promise, sql] of Object.entries(FINDINGS)) {
    const rows = await ledger.query(sql);
    if (rows.length > 0) found[promise] = rows.slice(0, 3);
  }
  const tasks = await ledger.query<Row & { id: string; status: string; at_rest: boolean; states: RestState[] }>(
    'select t.id, t.status, t.at_rest, array_agg(s.state order by s.ordinal) as states from throughline.task t join throughline.step s on s.task_id = t.id group by t.id',
  );
  const wrong = tasks.filter(({ status, at_rest, states }) => status !== rollUp(states) || at_rest !== atRest(states));
  if (wrong.length > 0) found['the parent follows from its steps'] = wrong.slice(0, 3);
  return found;
}
