-- The audit: what must hold for every row, asked of the live database. Reads only, and locks nothing: one statement is one
-- moment. Each function names what breaks a promise of its noun; the codes' meanings are in src/state/audit.ts.

-- p_task: one task alone; p_since: tasks that were open at some moment since then. Null: all.
create or replace function throughline._audited(p_id uuid, p_ended_at timestamptz, p_task uuid, p_since timestamptz) returns boolean language sql immutable as $$
  select (p_task is null or p_id = p_task) and (p_since is null or p_ended_at is null or p_ended_at >= p_since)
$$;

-- Somebody moved the step outside the door, and the timeline says so: what follows from the machine need not hold for it.
create or replace function throughline._by_hand(p_task uuid, p_step text) returns boolean language sql stable as $$
  select exists (select from throughline.timeline where task_id = p_task and step = p_step and kind = 'transition' and event = 'manual_correction')
$$;

create or replace function throughline._claimed(p_task uuid, p_step text, p_attempt integer, p_epoch bigint) returns boolean language sql stable as $$
  select exists (select from throughline.timeline where task_id = p_task and step = p_step and kind = 'transition' and event = 'claim' and attempt = p_attempt and epoch = p_epoch)
$$;

create or replace function throughline._audit_timeline(p_task uuid, p_since timestamptz) returns table (code text, task_id uuid, step text, facts jsonb) language sql stable as $$
  select 'chain_broken', x.task_id, x.step, jsonb_build_object('entry', x.id, 'from', x.from_state, 'before', x.before) from (
    select l.task_id, l.step, l.id, l.from_state, lag(l.to_state, 1, 'none') over (partition by l.task_id, l.step order by l.id) as before
    from throughline.task t join throughline.timeline l on l.task_id = t.id where l.kind = 'transition' and throughline._audited(t.id, t.ended_at, p_task, p_since)) x
  where x.from_state <> x.before
  union all
  select 'task_chain_broken', x.task_id, null, jsonb_build_object('entry', x.id, 'from', x.from_state, 'before', x.before, 'to', x.to_state, 'status', x.status) from (
    select l.task_id, l.id, l.from_state, l.to_state, t.status, lag(l.to_state, 1, 'none') over w as before, lead(l.id) over w as after
    from throughline.task t join throughline.timeline l on l.task_id = t.id where l.kind = 'parent' and throughline._audited(t.id, t.ended_at, p_task, p_since)
    window w as (partition by l.task_id order by l.id)) x
  where x.from_state <> x.before or (x.after is null and x.to_state <> x.status)
  union all
  select 'rule_unknown', l.task_id, l.step, jsonb_build_object('entry', l.id, 'rule', l.rule, 'from', l.from_state, 'to', l.to_state, 'reason', l.reason)
  from throughline.task t join throughline.timeline l on l.task_id = t.id
  where l.kind = 'transition' and throughline._audited(t.id, t.ended_at, p_task, p_since) and not exists (
    select from throughline.transition_edge g where g.rule = l.rule and g.part = l.part and g.from_state = l.from_state and g.to_state = l.to_state and g.reason = l.reason)
  union all
  select 'epoch_disordered', x.task_id, x.step, jsonb_build_object('entry', x.id, 'epoch', x.epoch, 'before', x.before) from (
    select l.task_id, l.step, l.id, l.epoch, lag(l.epoch, 1, 0) over (partition by l.task_id, l.step order by l.id) as before
    from throughline.task t join throughline.timeline l on l.task_id = t.id where l.kind = 'transition' and throughline._audited(t.id, t.ended_at, p_task, p_since)) x
  where x.epoch is null or x.epoch < x.before
  union all
  select 'moved_after_cancel', l.task_id, l.step, jsonb_build_object('entry', l.id, 'to', l.to_state, 'cancelled_by', c.id)
  from throughline.task t join throughline.timeline l on l.task_id = t.id
  cross join lateral (select min(c.id) as id from throughline.timeline c where c.task_id = l.task_id and c.step = l.step and c.kind = 'transition' and c.event in ('cancel', 'withdraw')) c
  where l.kind = 'transition' and l.to_state in ('queued', 'leased') and l.from_state <> l.to_state and c.id < l.id and throughline._audited(t.id, t.ended_at, p_task, p_since)
  union all
  select 'intent_after_cancel', i.task_id, i.step, jsonb_build_object('entry', i.id, 'cancel', c.facts -> 'cancel', 'effect', i.facts -> 'effect')
  from throughline.task t
  join throughline.timeline c on c.task_id = t.id and c.kind = 'cancel' and c.facts ->> 'verb' = 'cancel'
  join throughline.timeline i on i.task_id = t.id and i.kind = 'intent' and i.id > c.id and (c.step is null or c.step = i.step)
  where i.facts ->> 'effect' <> 'withdraw' and throughline._audited(t.id, t.ended_at, p_task, p_since)
  union all
  select 'cancel_out_of_order', i.task_id, i.step, jsonb_build_object('entry', i.id, 'at', i.at, 'cancel', c.id, 'cancel_at', c.at)
  from throughline.task t
  join throughline.timeline c on c.task_id = t.id and c.kind = 'cancel' and c.facts ->> 'verb' = 'cancel'
  join throughline.timeline i on i.task_id = t.id and i.kind = 'intent'
  where i.facts ->> 'effect' <> 'withdraw' and (i.id < c.id) <> (i.at <= c.at) and throughline._audited(t.id, t.ended_at, p_task, p_since)
  union all
  select 'replay_unattributed', l.task_id, l.step, jsonb_build_object('entry', l.id, 'replay', l.facts -> 'replay')
  from throughline.task t join throughline.timeline l on l.task_id = t.id
  where l.kind = 'transition' and l.event = 'replay' and throughline._audited(t.id, t.ended_at, p_task, p_since)
    and not exists (select from throughline.replay r where r.task_id = l.task_id and r.id = l.facts ->> 'replay' and (r.step is null or r.step = l.step))
  union all
  select 'person_unattributed', l.task_id, l.step, jsonb_build_object('entry', l.id, 'event', l.event)
  from throughline.task t join throughline.timeline l on l.task_id = t.id
  where l.kind = 'transition' and l.event in ('person_present', 'person_absent', 'abandon_wait') and l.facts ->> 'why' is null and throughline._audited(t.id, t.ended_at, p_task, p_since)
  union all
  select 'correction_dangling', l.task_id, l.step, jsonb_build_object('entry', l.id, 'corrects', l.facts -> 'corrects')
  from throughline.task t join throughline.timeline l on l.task_id = t.id
  where l.kind = 'correction' and throughline._audited(t.id, t.ended_at, p_task, p_since)
    and not exists (select from throughline.timeline c where c.task_id = l.task_id and c.id = (l.facts ->> 'corrects')::bigint and c.id < l.id)
  union all
  select 'entry_orphaned', l.task_id, l.step, jsonb_build_object('entry', l.id, 'kind', l.kind)
  from throughline.timeline l left join throughline.task t on t.id = l.task_id
  where (p_task is null or l.task_id = p_task) and (t.id is null and p_since is null
    or t.id is not null and l.step is not null and throughline._audited(t.id, t.ended_at, p_task, p_since)
      and not exists (select from throughline.step s where s.task_id = l.task_id and s.name = l.step))
$$;

create or replace function throughline._audit_task(p_task uuid, p_since timestamptz) returns table (code text, task_id uuid, step text, facts jsonb) language sql stable as $$
  select 'status_contradicts_steps', t.id, null, jsonb_build_object('status', t.status, 'follows', p.status, 'at_rest', t.at_rest, 'states', to_jsonb(s.states))
  from throughline.task t
  left join lateral (select array_agg(x.state order by x.ordinal) as states, max(x.seq) as seq from throughline.step x where x.task_id = t.id) s on true
  left join lateral (select r.status from throughline.parent_rule r
    where case r.quantifier when 'any' then r.states && s.states when 'all' then s.states <@ r.states else true end order by r.ordinal limit 1) p on s.states is not null
  where throughline._audited(t.id, t.ended_at, p_task, p_since) and (t.status is distinct from p.status
    or t.at_rest <> not exists (select from unnest(s.states) u(x) where x not in ('succeeded', 'cancelled', 'dead') and not (x = 'waiting' and 'dead' = any (s.states)))
    or t.at_rest <> (t.ended_at is not null) or t.seq < s.seq)
  union all
  select 'step_contradicts_plan', t.id, coalesce(s.name, l.value ->> 'name'), jsonb_build_object('planned', l.value is not null, 'there', s.name is not null)
  from throughline.task t join throughline.task_type y on y.type = t.type and y.version = t.version
  cross join lateral jsonb_array_elements(y.plan -> 'steps') with ordinality l(value, n)
  full join throughline.step s on s.task_id = t.id and s.ordinal = l.n - 1
  where (t.id is not null and throughline._audited(t.id, t.ended_at, p_task, p_since)
      and (s.name is null or s.name <> l.value ->> 'name' or s.attempts_max <> (l.value ->> 'attempts')::integer or to_jsonb(s.needs) <> l.value -> 'needs'))
    or (t.id is null and p_since is null and (p_task is null or s.task_id = p_task))
  union all
  select 'dedupe_missing', t.id, null, jsonb_build_object('type', t.type, 'key', t.key, 'belongs_to', d.task_id)
  from throughline.task t left join throughline.dedupe d on d.type = t.type and d.key = t.key
  where t.key is not null and d.task_id is distinct from t.id and throughline._audited(t.id, t.ended_at, p_task, p_since)
  union all
  select 'replay_not_done', r.task_id, x.value ->> 'step', jsonb_build_object('replay', r.id)
  from throughline.task t join throughline.replay r on r.task_id = t.id
  cross join lateral jsonb_array_elements(coalesce(nullif(r.result -> 'steps', 'null'), '[]')) x
  where (x.value ->> 'replayed')::boolean and throughline._audited(t.id, t.ended_at, p_task, p_since) and not exists (
    select from throughline.timeline l where l.task_id = r.task_id and l.step = x.value ->> 'step' and l.kind = 'transition' and l.event = 'replay' and l.facts ->> 'replay' = r.id)
$$;

create or replace function throughline._audit_step(p_task uuid, p_since timestamptz) returns table (code text, task_id uuid, step text, facts jsonb) language sql stable as $$
  select 'state_without_transition', s.task_id, s.name, jsonb_build_object('state', s.state, 'seq', s.seq, 'reason', s.reason, 'last', x.id, 'to', x.to_state)
  from throughline.task t join throughline.step s on s.task_id = t.id
  left join lateral (select l.id, l.to_state, l.reason from throughline.timeline l where l.task_id = s.task_id and l.step = s.name and l.kind = 'transition' order by l.id desc limit 1) x on true
  where throughline._audited(t.id, t.ended_at, p_task, p_since) and (x.id is null or s.seq <> x.id or s.state <> x.to_state or s.reason <> x.reason)
  union all
  select 'epoch_contradicts_timeline', s.task_id, s.name, jsonb_build_object('epoch', s.epoch, 'last', x.epoch)
  from throughline.task t join throughline.step s on s.task_id = t.id
  cross join lateral (select max(l.epoch) as epoch from throughline.timeline l where l.task_id = s.task_id and l.step = s.name and l.kind = 'transition') x
  where throughline._audited(t.id, t.ended_at, p_task, p_since) and s.epoch is distinct from x.epoch
  union all
  -- Each attempt has one claim, and each claim an epoch of its own.
  select 'attempts_miscounted', s.task_id, s.name, jsonb_build_object('attempt', s.attempt, 'claims', x.claims, 'numbers', x.numbers, 'epochs', x.epochs)
  from throughline.task t join throughline.step s on s.task_id = t.id
  cross join lateral (select count(*) as claims, count(distinct l.attempt) as numbers, count(distinct l.epoch) as epochs, coalesce(max(l.attempt), 0) as newest
    from throughline.timeline l where l.task_id = s.task_id and l.step = s.name and l.kind = 'transition' and l.event = 'claim') x
  where throughline._audited(t.id, t.ended_at, p_task, p_since) and (s.attempt <> x.claims or x.numbers <> x.claims or x.epochs <> x.claims or x.newest <> x.claims)
  union all
  -- Since the budget was last renewed: no more than claims, and no fewer than those that nothing excuses.
  select 'charges_miscounted', s.task_id, s.name, jsonb_build_object('charged', s.charged, 'attempts_max', s.attempts_max, 'claims', x.claims, 'excused', x.excused)
  from throughline.task t join throughline.step s on s.task_id = t.id
  cross join lateral (select coalesce(max(l.id), 0) as id from throughline.timeline l where l.task_id = s.task_id and l.step = s.name and l.kind = 'transition'
    and l.event in ('replay', 'person_present', 'person_absent') and l.from_state <> l.to_state) fresh
  cross join lateral (select count(*) filter (where l.event = 'claim') as claims,
      count(*) filter (where l.event = 'release' or l.rule in ('present.other', 'person.present.other')) as excused
    from throughline.timeline l where l.task_id = s.task_id and l.step = s.name and l.kind = 'transition' and l.id >= fresh.id) x
  where throughline._audited(t.id, t.ended_at, p_task, p_since) and (s.charged > s.attempts_max or s.charged > x.claims or s.charged < x.claims - x.excused)
  union all
  select 'lease_contradicts_state', s.task_id, s.name, jsonb_build_object('state', s.state, 'holder', s.holder, 'lease_expires_at', s.lease_expires_at)
  from throughline.task t join throughline.step s on s.task_id = t.id
  where throughline._audited(t.id, t.ended_at, p_task, p_since) and ((s.state in ('leased', 'cancel_requested')) <> (s.claim_id is not null)
    or (s.claim_id is null) <> (s.holder is null) or (s.claim_id is null) <> (s.lease_expires_at is null))
  union all
  select 'cancel_lost', s.task_id, s.name, jsonb_build_object('state', s.state)
  from throughline.task t join throughline.step s on s.task_id = t.id
  where s.cancel_id is null and throughline._audited(t.id, t.ended_at, p_task, p_since)
    and exists (select from throughline.timeline l where l.task_id = s.task_id and l.step = s.name and l.kind = 'transition' and l.event in ('cancel', 'withdraw'))
  union all
  select 'open_miscounted', s.task_id, s.name, jsonb_build_object('open_count', s.open_count, 'open', x.open)
  from throughline.task t join throughline.step s on s.task_id = t.id
  cross join lateral (select count(*) as open from throughline.request r where r.task_id = s.task_id and r.step = s.name and r.outcome is null) x
  where throughline._audited(t.id, t.ended_at, p_task, p_since) and s.open_count <> x.open
  union all
  select 'open_at_rest', s.task_id, s.name, jsonb_build_object('state', s.state, 'message_id', r.message_id)
  from throughline.task t join throughline.step s on s.task_id = t.id join throughline.request r on r.task_id = s.task_id and r.step = s.name and r.outcome is null
  where s.state in ('waiting', 'queued', 'completed', 'cancelled', 'succeeded') and throughline._audited(t.id, t.ended_at, p_task, p_since)
  union all
  select 'submission_ignored', s.task_id, s.name, jsonb_build_object('state', s.state, 'effect', e.name, 'external_id', e.external_id)
  from throughline.task t join throughline.step s on s.task_id = t.id join throughline.effect e on e.task_id = s.task_id and e.step = s.name
  where s.state in ('waiting', 'cancelled', 'queued') and e.live and e.submits and e.status = 'confirmed' and throughline._audited(t.id, t.ended_at, p_task, p_since)
    and not throughline._by_hand(s.task_id, s.name)
    -- Evidence that came after the end moves nothing: a request that was thought absent arrived after all.
    and not (s.state = 'cancelled' and exists (select from throughline.request r where r.effect_id = e.id and r.late and r.outcome = 'confirmed' and r.outcome_at >= s.since))
  union all
  select 'inbox_after_cancel', s.task_id, s.name, jsonb_build_object('state', s.state, 'cancel', s.cancel_id)
  from throughline.task t join throughline.step s on s.task_id = t.id
  where s.inbox and s.cancel_id is not null and s.state in ('submitted', 'received', 'in_progress') and throughline._audited(t.id, t.ended_at, p_task, p_since)
    and not throughline._by_hand(s.task_id, s.name)
    and not exists (select from throughline.receipt c join throughline.effect e on e.id = c.effect_id
      where c.task_id = s.task_id and e.step = s.name and e.live and c.kind = 'completed' and c.verdict in ('matched', 'early', 'late_after_timeout'))
  union all
  select 'success_unproven', s.task_id, s.name, jsonb_build_object('accepted', x.accepted, 'completed', x.completed, 'evidence', x.evidence)
  from throughline.task t join throughline.step s on s.task_id = t.id
  cross join lateral (select throughline._plan(s.task_id, s.ordinal) -> 'proof' as proof) p
  cross join lateral (select
    exists (select from throughline.acceptance a where a.task_id = s.task_id and a.step = s.name and a.found and a.ours and a.minimum) as accepted,
    exists (select from throughline.timeline l where l.task_id = s.task_id and l.step = s.name and l.kind = 'transition' and l.to_state = 'completed') as completed,
    case p.proof ->> 'kind'
      when 'artifacts' then (select count(*) from throughline.artifact a where a.task_id = s.task_id and a.step = s.name) >= (p.proof ->> 'min')::integer
      when 'record' then s.result is not null
      when 'verdict' then exists (select from throughline.receipt c join throughline.effect e on e.id = c.effect_id
        where c.task_id = s.task_id and e.step = s.name and e.live and c.kind = 'completed' and c.verdict in ('matched', 'early', 'late_after_timeout'))
          or exists (select from throughline.timeline l where l.task_id = s.task_id and l.step = s.name and l.kind = 'transition' and l.event = 'person_present')
      else true end
    and (not s.has_receipt or exists (select from throughline.effect e where e.task_id = s.task_id and e.step = s.name and e.live and e.submits and e.status = 'confirmed')) as evidence) x
  where s.state = 'succeeded' and not (x.accepted and x.completed and x.evidence) and throughline._audited(t.id, t.ended_at, p_task, p_since)
    and not throughline._by_hand(s.task_id, s.name)
  union all
  select 'dependent_contradicts_needs', w.task_id, w.name, jsonb_build_object('state', w.state, 'needs', x.states)
  from throughline.task t join throughline.step w on w.task_id = t.id
  cross join lateral (select jsonb_object_agg(n.name, n.state) as states, bool_and(n.state = 'succeeded') as ready, bool_or(n.state = 'cancelled') as lost, bool_or(throughline._by_hand(n.task_id, n.name)) as by_hand
    from throughline.step n where n.task_id = w.task_id and n.name = any (w.needs)) x
  where w.needs <> '{}' and throughline._audited(t.id, t.ended_at, p_task, p_since) and (w.state = 'waiting' and (x.ready or x.lost)
    or w.state not in ('waiting', 'cancelled') and not x.ready and not x.by_hand and not throughline._by_hand(w.task_id, w.name))
  union all
  select 'checkpoint_orphaned', c.task_id, c.step, jsonb_build_object('name', c.name, 'attempt', c.attempt, 'epoch', c.epoch)
  from throughline.task t join throughline.checkpoint c on c.task_id = t.id
  where throughline._audited(t.id, t.ended_at, p_task, p_since) and not throughline._claimed(c.task_id, c.step, c.attempt, c.epoch)
  union all
  select 'artifact_orphaned', a.task_id, a.step, jsonb_build_object('name', a.name, 'attempt', a.attempt, 'epoch', a.epoch)
  from throughline.artifact a left join throughline.task t on t.id = a.task_id
  where (t.id is null and p_task is null and p_since is null)
    or (t.id is not null and throughline._audited(t.id, t.ended_at, p_task, p_since) and not throughline._claimed(a.task_id, a.step, a.attempt, a.epoch))
  union all
  select 'acceptance_orphaned', a.task_id, a.step, jsonb_build_object('check_no', a.check_no, 'newest', s.check_no)
  from throughline.task t join throughline.acceptance a on a.task_id = t.id left join throughline.step s on s.task_id = a.task_id and s.name = a.step
  where throughline._audited(t.id, t.ended_at, p_task, p_since) and (s.name is null or a.check_no > s.check_no)
$$;

create or replace function throughline._audit_effect(p_task uuid, p_since timestamptz) returns table (code text, task_id uuid, step text, facts jsonb) language sql stable as $$
  select 'generations_disordered', e.task_id, e.step, jsonb_build_object('effect', e.name, 'item', e.item, 'generations', count(*), 'newest', max(e.generation), 'live', count(*) filter (where e.live))
  from throughline.task t join throughline.effect e on e.task_id = t.id where throughline._audited(t.id, t.ended_at, p_task, p_since)
  group by e.task_id, e.step, e.name, e.item
  having count(*) <> max(e.generation) or count(*) filter (where e.live) > 1 or max(e.generation) filter (where e.live) < max(e.generation)
  union all
  -- A further request of a generation that merely looked absent could still arrive: only proof ends one.
  select 'generation_ended_unproven', e.task_id, e.step, jsonb_build_object('effect', e.name, 'item', e.item, 'generation', e.generation, 'status', e.status)
  from throughline.task t join throughline.effect e on e.task_id = t.id
  where e.kind = 'effect' and not e.live and e.status not in ('refused', 'failed', 'withdrawn', 'voided') and throughline._audited(t.id, t.ended_at, p_task, p_since)
  union all
  select 'key_wrong', e.task_id, e.step, jsonb_build_object('effect', e.name, 'item', e.item, 'generation', e.generation, 'key', e.key, 'thread_id', e.thread_id)
  from throughline.task t join throughline.effect e on e.task_id = t.id
  where throughline._audited(t.id, t.ended_at, p_task, p_since)
    and (e.key <> concat_ws('/', e.task_id, e.step, e.name, e.item, e.generation) or e.thread_id <> e.task_id || '/' || e.step)
  union all
  select 'effect_contradicts_requests', e.task_id, e.step, jsonb_build_object('effect', e.name, 'item', e.item, 'generation', e.generation, 'status', e.status, 'requests', x.requests, 'open', x.open)
  from throughline.task t join throughline.effect e on e.task_id = t.id
  cross join lateral (select count(*) as requests, count(*) filter (where r.outcome is null) as open from throughline.request r where r.effect_id = e.id) x
  where throughline._audited(t.id, t.ended_at, p_task, p_since)
    and (x.requests = 0 or (e.status in ('open', 'lost')) <> (x.open > 0) or (e.closed_at is null) <> (e.status in ('open', 'lost')))
  union all
  select 'submitted_twice', e.task_id, e.step, jsonb_build_object('effects', jsonb_agg(e.name || '/' || e.item))
  from throughline.task t join throughline.effect e on e.task_id = t.id
  where e.live and e.submits and e.status = 'confirmed' and throughline._audited(t.id, t.ended_at, p_task, p_since) group by e.task_id, e.step having count(*) > 1
  union all
  select 'intent_after_submission', r.task_id, r.step, jsonb_build_object('submission', e.name, 'effect', o.name, 'message_id', r.message_id)
  from throughline.task t join throughline.effect e on e.task_id = t.id
  join throughline.effect o on o.task_id = e.task_id and o.step = e.step and o.kind = 'effect' and o.id <> e.id
  join throughline.request r on r.effect_id = o.id and r.intent_at > e.closed_at
  where e.live and e.submits and e.status = 'confirmed' and throughline._audited(t.id, t.ended_at, p_task, p_since)
  union all
  select 'request_misplaced', r.task_id, r.step, jsonb_build_object('message_id', r.message_id, 'attempt', r.attempt, 'epoch', r.epoch, 'effect_of', e.task_id || '/' || e.step)
  from throughline.task t join throughline.request r on r.task_id = t.id left join throughline.effect e on e.id = r.effect_id
  where throughline._audited(t.id, t.ended_at, p_task, p_since)
    and (e.id is null or e.task_id <> r.task_id or e.step <> r.step or (r.claim_id is not null and e.kind = 'effect' and not throughline._claimed(r.task_id, r.step, r.attempt, r.epoch)))
  union all
  select 'request_without_intent', r.task_id, r.step, jsonb_build_object('message_id', r.message_id)
  from throughline.task t join throughline.request r on r.task_id = t.id
  where throughline._audited(t.id, t.ended_at, p_task, p_since)
    -- A withdrawal that no worker has taken yet is not sent.
    and (r.claim_id is not null or r.outcome <> 'not_sent')
    and not exists (select from throughline.timeline l where l.task_id = r.task_id and l.step = r.step and l.kind = 'intent' and l.facts ->> 'message_id' = r.message_id::text)
  union all
  select 'intent_without_request', l.task_id, l.step, jsonb_build_object('entry', l.id, 'message_id', l.facts -> 'message_id')
  from throughline.task t join throughline.timeline l on l.task_id = t.id
  where l.kind = 'intent' and throughline._audited(t.id, t.ended_at, p_task, p_since)
    and not exists (select from throughline.request r where r.message_id = (l.facts ->> 'message_id')::uuid)
$$;

create or replace function throughline._audit_receipt(p_task uuid, p_since timestamptz) returns table (code text, task_id uuid, step text, facts jsonb) language sql stable as $$
  -- Stored and judged in one transaction: what is left was not judged because that failed.
  select 'receipt_unjudged', c.task_id, c.step, jsonb_build_object('receipt', c.id, 'facts', c.verdict_facts)
  from throughline.receipt c left join throughline.task t on t.id = c.task_id
  where c.verdict is null and (case when t.id is null then p_task is null and p_since is null else throughline._audited(t.id, t.ended_at, p_task, p_since) end)
  union all
  select 'receipt_misapplied', c.task_id, c.step, jsonb_build_object('receipt', c.id, 'verdict', c.verdict, 'effect', c.effect_id)
  from throughline.task t join throughline.receipt c on c.task_id = t.id
  where throughline._audited(t.id, t.ended_at, p_task, p_since)
    and (c.applied_at is not null and coalesce(c.verdict, '') not in ('matched', 'early', 'late_after_timeout')
      or c.effect_id is null and c.verdict in ('matched', 'early', 'late_after_timeout'))
  union all
  -- The request that it answers is of this task, of this step and of the generation that it was matched with.
  select 'receipt_cross_matched', c.task_id, c.step, jsonb_build_object('receipt', c.id, 'verdict', c.verdict, 'effect', c.effect_id, 'effect_of', e.task_id || '/' || e.step)
  from throughline.task t join throughline.receipt c on c.task_id = t.id left join throughline.effect e on e.id = c.effect_id
  where c.effect_id is not null and throughline._audited(t.id, t.ended_at, p_task, p_since)
    and (e.id is null or e.task_id <> c.task_id or e.step <> c.step
      or not exists (select from throughline.request r where r.effect_id = e.id and r.message_id::text = lower(c.in_reply_to)))
  union all
  select 'receipt_applied_twice', l.task_id, l.step, jsonb_build_object('receipt', l.facts -> 'receipt', 'entries', jsonb_agg(l.id order by l.id))
  from throughline.task t join throughline.timeline l on l.task_id = t.id
  where l.kind = 'transition' and l.event like 'receipt\_%' and l.facts ->> 'receipt' is not null and l.reason <> 'receipt_held' and throughline._audited(t.id, t.ended_at, p_task, p_since)
  group by l.task_id, l.step, l.facts -> 'receipt' having count(*) > 1
  union all
  select 'receipt_contradicts_timeline', c.task_id, c.step, jsonb_build_object('receipt', c.id, 'verdict', c.verdict, 'told', x.verdict)
  from throughline.task t join throughline.receipt c on c.task_id = t.id
  left join lateral (select l.facts ->> 'verdict' as verdict from throughline.timeline l where l.task_id = c.task_id and l.kind = 'receipt' and l.facts ->> 'receipt' = c.id::text order by l.id desc limit 1) x on true
  where c.verdict is not null and c.verdict is distinct from x.verdict and throughline._audited(t.id, t.ended_at, p_task, p_since)
$$;

create or replace function throughline._audit_cancel(p_task uuid, p_since timestamptz) returns table (code text, task_id uuid, step text, facts jsonb) language sql stable as $$
  select 'verdict_contradicts_state', x.task_id, x.step, jsonb_build_object('cancel', x.cancel_id, 'verdict', x.verdict, 'state', s.state)
  from throughline.task t join throughline.cancel_step x on x.task_id = t.id left join throughline.step s on s.task_id = x.task_id and s.name = x.step
  where throughline._audited(t.id, t.ended_at, p_task, p_since) and (s.name is null
    or not throughline._by_hand(x.task_id, x.step) and (x.verdict in ('prevented', 'stopped_at_boundary', 'withdrawn') and s.state <> 'cancelled'
      or x.verdict = 'too_late' and x.reason is distinct from 'withdrawal_refused' and s.state not in ('completed', 'succeeded', 'dead')
      or x.verdict = 'pending' and s.state in ('completed', 'succeeded', 'cancelled', 'dead')))
  union all
  select 'cancel_unrecorded', c.task_id, c.step, jsonb_build_object('cancel', c.id, 'verb', c.verb)
  from throughline.task t join throughline.cancel c on c.task_id = t.id
  where throughline._audited(t.id, t.ended_at, p_task, p_since)
    and (not exists (select from throughline.timeline l where l.task_id = c.task_id and l.kind = 'cancel' and l.facts ->> 'cancel' = c.id)
      or not exists (select from throughline.cancel_step x where x.task_id = c.task_id and x.cancel_id = c.id))
$$;

-- What is right and late: nobody has seen to it for longer than p_late_ms after it was due.
create or replace function throughline._audit_late(p_task uuid, p_since timestamptz, p_late timestamptz) returns table (code text, task_id uuid, step text, facts jsonb) language sql stable as $$
  select 'cancel_overdue', x.task_id, x.step, jsonb_build_object('cancel', x.cancel_id, 'deadline_at', x.deadline_at)
  from throughline.task t join throughline.cancel_step x on x.task_id = t.id
  where x.verdict = 'pending' and x.deadline_at < p_late and throughline._audited(t.id, t.ended_at, p_task, p_since)
  union all
  select 'lease_overdue', s.task_id, s.name, jsonb_build_object('holder', s.holder, 'lease_expires_at', s.lease_expires_at)
  from throughline.task t join throughline.step s on s.task_id = t.id
  where s.claim_id is not null and s.lease_expires_at < p_late and throughline._audited(t.id, t.ended_at, p_task, p_since)
  union all
  -- Due, no wake-up on its way, and no driver has asked since.
  select 'driver_overdue', s.task_id, s.name, jsonb_build_object('state', s.state, 'due_at', d.at, 'driver_seen_at', t.driver_seen_at)
  from throughline.task t join throughline.step s on s.task_id = t.id
  cross join lateral (select case
      when s.state = 'queued' then s.next_run_at
      when s.withdraw_due_at is not null then greatest(s.withdraw_due_at, s.withdraw_expires_at)
      when s.next_check_at is not null then greatest(s.next_check_at, s.check_expires_at)
      when s.state = 'unconfirmed' then s.next_run_at
      when s.state in ('submitted', 'received', 'in_progress') then s.receipt_due_at end as at) d
  where d.at < p_late and coalesce(t.driver_seen_at < d.at, true) and throughline._audited(t.id, t.ended_at, p_task, p_since)
    and not exists (select from throughline.outbox o where o.task_id = t.id)
$$;

-- All checks at one moment: {task?, since?, rows, late_ms}. Of each code that was found: how many rows, and the first of them.
create or replace function throughline.audit(p jsonb) returns jsonb language plpgsql stable set plan_cache_mode = force_custom_plan set jit = off as $$
declare
  v_now timestamptz := throughline.now();
  v_task uuid := (p ->> 'task')::uuid;
  v_since timestamptz := (p ->> 'since')::timestamptz;
  v_late timestamptz := v_now - throughline._interval((p ->> 'late_ms')::numeric);
  v_found jsonb;
  v_tasks bigint;
begin
  select coalesce(jsonb_agg(jsonb_build_object('code', y.code, 'count', y.count, 'rows', y.rows) order by y.code), '[]') into v_found from (
    select x.code, count(*) as count,
      jsonb_agg(jsonb_build_object('task', x.task_id, 'step', x.step, 'facts', x.facts) order by x.n) filter (where x.n <= (p ->> 'rows')::integer) as rows
    from (
      select a.code, a.task_id, a.step, a.facts, row_number() over (partition by a.code order by a.task_id, a.step) as n from (
        select * from throughline._audit_timeline(v_task, v_since)
        union all select * from throughline._audit_task(v_task, v_since)
        union all select * from throughline._audit_step(v_task, v_since)
        union all select * from throughline._audit_effect(v_task, v_since)
        union all select * from throughline._audit_receipt(v_task, v_since)
        union all select * from throughline._audit_cancel(v_task, v_since)
        union all select * from throughline._audit_late(v_task, v_since, v_late)) a) x
    group by x.code) y;
  select count(*) into v_tasks from throughline.task t where throughline._audited(t.id, t.ended_at, v_task, v_since);
  if v_task is not null and v_tasks = 0 then return throughline._unknown(v_task); end if;
  return jsonb_build_object('as_of', throughline._iso(v_now), 'tasks', v_tasks, 'found', v_found);
end $$;
