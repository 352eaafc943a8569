-- The core of the door: clock, facts, the one move, roll-up, wake-up, view. Re-created by `migrate`.
-- Everything that starts with an underscore is private to the door.

-- The ledger's time. Tests shift it; everything else leaves the shift at zero.
create or replace function throughline.now() returns timestamptz language sql volatile as $$
  select clock_timestamp() + shift from throughline.clock
$$;

-- This call's commit need not wait for the disk: losing it with the server loses no promise. Whatever commits after it
-- and does wait (an intent, a settle) makes it durable as well.
create or replace function throughline._unhurried() returns void language sql volatile as $$
  select set_config('synchronous_commit', 'off', true)
$$;

create or replace function throughline._ms(p interval) returns bigint language sql immutable as $$
  select round(extract(epoch from p) * 1000)::bigint
$$;

create or replace function throughline._interval(p_ms numeric) returns interval language sql immutable as $$
  select make_interval(secs => (p_ms / 1000)::double precision)
$$;

-- The wait in ms before try n+1 of a schedule of the plan: jitter taken off, never below p_floor_ms.
create or replace function throughline._wait_ms(p_schedule jsonb, p_n integer, p_floor_ms numeric) returns numeric language sql volatile as $$
  select greatest(coalesce(p_floor_ms, 0),
    round((p_schedule -> 'schedule_ms' ->> (least(greatest(p_n, 1), jsonb_array_length(p_schedule -> 'schedule_ms')) - 1))::numeric
      * (1 - (p_schedule ->> 'jitter')::numeric * random()::numeric)))
$$;

-- A step's part of the plan in force.
create or replace function throughline._plan(p_task uuid, p_ordinal integer) returns jsonb language sql stable as $$
  select y.plan -> 'steps' -> p_ordinal from throughline.task t join throughline.task_type y using (type, version) where t.id = p_task
$$;

create or replace function throughline._log(
  p_task uuid, p_step text, p_kind text, p_at timestamptz, p_actor text, p_facts jsonb,
  p_state text default '-', p_reason text default null, p_attempt integer default null, p_epoch bigint default null, p_event text default null
) returns bigint language sql volatile as $$
  insert into throughline.timeline (task_id, step, kind, at, actor, facts, from_state, to_state, reason, attempt, epoch, event)
  values (p_task, p_step, p_kind, p_at, p_actor, coalesce(p_facts, '{}'), p_state, p_state, p_reason, p_attempt, p_epoch, p_event)
  returning id
$$;

-- Until when what is open may be repeated under its key; null: not at all.
create or replace function throughline._resend_until(p_task uuid, p_step text) returns timestamptz language sql stable as $$
  select case when count(*) > 0 and bool_and(e.dedupe_window_ms is not null and e.kind = 'effect')
    then min(e.first_intent_at + throughline._interval(e.dedupe_window_ms - throughline._send_permission_ms() - e.timeout_ms)) end
  from throughline.effect e
  where e.task_id = p_task and e.step = p_step and e.live
    and exists (select from throughline.request r where r.effect_id = e.id and r.outcome is null)
$$;

-- The live submitting effect; no row: none.
create or replace function throughline._submission(p_task uuid, p_step text) returns throughline.effect language sql stable as $$
  select e from throughline.effect e where e.task_id = p_task and e.step = p_step and e.live and e.submits and e.kind = 'effect'
  order by (e.status = 'confirmed') desc, e.last_intent_at desc limit 1
$$;

-- A matched, unapplied receipt of the live generation is stored.
create or replace function throughline._stored(p_task uuid, p_step text) returns boolean language sql stable as $$
  select exists (select from throughline.receipt r join throughline.effect e on e.id = r.effect_id
    where r.task_id = p_task and e.step = p_step and e.live and r.applied_at is null
      and r.verdict in ('matched', 'early', 'late_after_timeout') and r.kind in ('received', 'progress', 'completed', 'failed'))
$$;

-- The facts of a step at a moment; p_x carries what only the event knows.
create or replace function throughline._facts(s throughline.step, p_event text, p_now timestamptz, p_x jsonb) returns throughline.facts
language plpgsql volatile as $$
declare
  f throughline.facts;
  v_withdrawal text;
begin
  f.needs := coalesce((p_x ->> 'needs')::boolean, false);
  f.due := s.next_run_at <= p_now;
  f.open := s.open_count > 0;
  f.cancel := s.cancel_id is not null;
  f."left" := s.charged < s.attempts_max;
  f.tried := s.attempt > 0;
  f.resume := s.resume;
  f.receipt := s.has_receipt;
  f.inbox := s.inbox;
  f.probe := s.has_probe;
  f.checks := case when p_event in ('overdue', 'withdrawal_lost') then s.checks_used < s.checks_max else s.checks_used + 1 < s.checks_max end;
  f.retryable := coalesce((p_x ->> 'retryable')::boolean, false);
  f.reentrant := s.reentrant;
  f.submits := coalesce((p_x ->> 'submits')::boolean, false);
  f.done := coalesce((p_x ->> 'done')::boolean, false);
  f.again := coalesce((p_x ->> 'again')::boolean, false);
  f.counts := coalesce((p_x ->> 'counts')::boolean, false);
  f.proof_since := s.proof_since;
  if s.effects = 0 then
    -- Nothing was ever asked of the outside: no query can find anything, and no look (a step set to unconfirmed by hand).
    f.confirmed := false; f.verdict := false; f.resendable := false; f.withdrawable := false;
    f.resolvable := s.has_probe; f.no_way := true;
    return f;
  end if;
  f.confirmed := exists (select from throughline.effect e where e.task_id = s.task_id and e.step = s.name and e.live and e.submits and e.status = 'confirmed');
  f.verdict := s.inbox and exists (select from throughline.receipt r join throughline.effect e on e.id = r.effect_id
    where r.task_id = s.task_id and e.step = s.name and e.live and r.kind = 'completed' and r.verdict in ('matched', 'early', 'late_after_timeout'));
  select e.status into v_withdrawal from throughline.effect e where e.task_id = s.task_id and e.step = s.name and e.kind = 'withdrawal' and e.live;
  f.resendable := s.open_count > 0 and f."left" and not f.cancel and v_withdrawal is null
    and coalesce(throughline._resend_until(s.task_id, s.name) > p_now, false);
  f.withdrawable := v_withdrawal is null and s.open_count <= (
    select count(*) from throughline.effect e join throughline.request r on r.effect_id = e.id
    where e.task_id = s.task_id and e.step = s.name and e.live and e.submits and r.outcome is null)
    and exists (select from throughline.effect e where e.task_id = s.task_id and e.step = s.name and e.live and e.submits
      and (e.status = 'confirmed' or exists (select from throughline.request r where r.effect_id = e.id and r.outcome is null)));
  f.resolvable := s.has_probe or f.resendable or throughline._stored(s.task_id, s.name);
  f.no_way := not (s.has_probe and s.checks_used < s.checks_max) and not f.resendable
    and not throughline._stored(s.task_id, s.name) and coalesce(v_withdrawal, 'lost') = 'lost';
  return f;
end $$;

-- The one way in which a step's state changes: asks the rules, writes the edges, then the row. Returns the
-- rule's label, or null if the machine refuses. The caller holds the task's lock.
create or replace function throughline._move(p_task uuid, p_step text, p_event text, p_now timestamptz, p_actor text, p_x jsonb default '{}')
returns text language plpgsql as $$
declare
  s throughline.step;
  f throughline.facts;
  r throughline.transition_rule;
  v_plan jsonb;
  v_id bigint;
  v_from text;
  v_entering boolean;
  v_leaves boolean;
  v_detail jsonb := coalesce(p_x -> 'facts', '{}');
  v_epoch bigint;
  v_wait numeric;
begin
  select * into strict s from throughline.step where task_id = p_task and name = p_step for update;
  f := throughline._facts(s, p_event, p_now, p_x);
  r := throughline._rule(p_event, s.state, f);
  if r.label is null then return null; end if;

  v_entering := r.to_state <> s.state;
  v_leaves := s.claim_id is not null and r.to_state not in ('leased', 'cancel_requested');
  -- The rules above all rows, asserted: a table that broke them must not get through.
  if v_entering then
    if f.cancel and r.to_state in ('queued', 'leased') then raise exception 'broken promise: rule 1 (%)', r.label using errcode = 'TL001'; end if;
    if f.open and r.to_state in ('queued', 'submitted', 'completed', 'cancelled') then raise exception 'broken promise: rule 2 (%)', r.label using errcode = 'TL001'; end if;
    if f.confirmed and r.to_state in ('queued', 'cancelled') and r.reason <> 'wait_withdrawn' then raise exception 'broken promise: rule 3 (%)', r.label using errcode = 'TL001'; end if;
    if s.inbox and f.cancel and not f.verdict and r.to_state in ('submitted', 'received', 'in_progress') then raise exception 'broken promise: rule 5 (%)', r.label using errcode = 'TL001'; end if;
  end if;

  v_epoch := case when p_event = 'claim' or (v_leaves and p_event = 'expire') then s.epoch + 1 else s.epoch end;
  v_from := s.state;
  if r.via_state is not null then
    insert into throughline.timeline (task_id, step, kind, at, event, rule, part, from_state, to_state, reason, attempt, epoch, actor, facts)
    values (p_task, p_step, 'transition', p_now, p_event, r.label, 1, v_from, r.via_state, r.via_reason, s.attempt, v_epoch, p_actor, v_detail);
    v_from := r.via_state;
    v_detail := '{}';
  end if;

  if r.to_state in ('queued', 'unconfirmed', 'completed') or (s.has_receipt and r.to_state in ('submitted', 'received', 'in_progress')) then
    v_plan := throughline._plan(p_task, s.ordinal);
  end if;
  if r.to_state = 'queued' and v_entering then
    if r.reason in ('retry_scheduled', 'probe_absent') then
      v_wait := throughline._wait_ms(v_plan -> 'backoff', greatest(s.charged, 1), (p_x ->> 'retry_after_ms')::numeric);
      v_detail := v_detail || jsonb_build_object('wait_ms', v_wait);
    else
      v_wait := 0;
    end if;
  elsif r.to_state = 'unconfirmed' and v_entering then
    v_wait := throughline._wait_ms(v_plan -> 'backoff', greatest(s.charged, 1), (p_x ->> 'retry_after_ms')::numeric);
  end if;

  insert into throughline.timeline (task_id, step, kind, at, event, rule, part, from_state, to_state, reason, attempt, epoch, actor, facts)
  values (p_task, p_step, 'transition', p_now, p_event, r.label, case when r.via_state is null then 1 else 2 end, v_from, r.to_state, r.reason,
    s.attempt + case when p_event = 'claim' then 1 else 0 end, v_epoch, p_actor, v_detail)
  returning id into v_id;

  -- Budget and continuation.
  if p_event = 'claim' then
    s.attempt := s.attempt + 1;
    s.charging := not s.resume;
    s.charged := s.charged + case when s.charging then 1 else 0 end;
    s.resume := false;
    s.checks_used := 0;
    s.claim_id := (p_x ->> 'claim_id')::uuid;
    s.holder := p_x ->> 'holder';
    s.lease_expires_at := p_now + throughline._interval((p_x ->> 'lease_ms')::numeric);
  elsif p_event = 'release' and r.to_state in ('queued', 'unconfirmed') then
    s.resume := r.to_state = 'queued' and not s.charging;
    if s.charging then s.charged := greatest(0, s.charged - 1); end if;
    s.charging := false;
  end if;
  if r.to_state = 'queued' and v_entering then
    s.resume := r.label in ('present.other', 'person.present.other') or (p_event = 'release' and s.resume);
  end if;
  if p_event in ('replay', 'person_present', 'person_absent') and v_entering then s.charged := 0; end if;
  if p_event = 'replay' then s.proof_since := false; end if;

  -- Cancel is set by the events that ask for it, for the rest of the step's life.
  if p_event in ('cancel', 'withdraw') and s.cancel_id is null and s.state not in ('succeeded', 'cancelled') then s.cancel_id := p_x ->> 'cancel_id'; end if;

  if v_leaves then
    s.settled_claim_id := s.claim_id;
    s.claim_id := null; s.holder := null; s.lease_expires_at := null; s.charging := false;
  end if;

  -- Checks, waits and what is due next.
  if v_entering then
    s.check_claim_id := null; s.check_expires_at := null; s.next_check_at := null; s.receipt_due_at := null;
    if r.to_state = 'queued' then
      s.checks_used := 0;
      s.next_run_at := case when p_event = 'upstream_succeeded' then greatest(s.next_run_at, p_now) else p_now + throughline._interval(v_wait) end;
    elsif r.to_state = 'unconfirmed' then
      if p_event <> 'overdue' then s.checks_used := 0; end if;
      s.next_run_at := p_now + throughline._interval(v_wait);
      s.next_check_at := case when s.has_probe then throughline._first_check_at(p_task, p_step, p_now) end;
      s.check_no := s.check_no + 1;
    elsif r.to_state = 'completed' then
      s.checks_used := 0;
      s.next_check_at := p_now;
      s.check_no := s.check_no + 1;
    end if;
  elsif p_event in ('inconclusive', 'not_checkable') or (p_event in ('present', 'absent') and s.state = 'unconfirmed') then
    if p_event in ('inconclusive', 'not_checkable') then s.checks_used := least(s.checks_used + 1, s.checks_max); end if;
    v_plan := coalesce(v_plan, throughline._plan(p_task, s.ordinal));
    s.check_no := s.check_no + 1;
    s.check_claim_id := null; s.check_expires_at := null;
    s.next_check_at := p_now + throughline._interval(throughline._wait_ms(v_plan -> 'checks', greatest(s.checks_used, 1), (p_x ->> 'check_after_ms')::numeric));
  end if;
  if p_event = 'present' and (p_x ->> 'again')::boolean then s.checks_used := least(s.checks_used + 1, s.checks_max); end if;
  if p_event in ('receipt_received', 'receipt_progress') and r.reason <> 'receipt_held' then s.checks_used := 0; end if;
  if s.has_receipt and r.to_state in ('submitted', 'received', 'in_progress') and (v_entering or p_event in ('receipt_received', 'receipt_progress', 'overdue')) then
    s.receipt_due_at := p_now + throughline._interval((v_plan -> 'receipt' ->> 'within_ms')::numeric);
  end if;
  if p_event = 'cancel' and s.state = 'unconfirmed' and s.has_probe and s.check_claim_id is null then
    s.next_check_at := least(s.next_check_at, throughline._first_check_at(p_task, p_step, p_now));
  end if;
  -- What a look finds before the withdrawal could have arrived says nothing of it.
  if p_event = 'withdrawal_lost' and r.to_state = 'unconfirmed' and not v_entering then s.next_check_at := throughline._first_check_at(p_task, p_step, p_now); end if;

  update throughline.step set
    state = r.to_state, seq = v_id, reason = r.reason, since = case when v_entering then p_now else since end,
    attempt = s.attempt, charged = s.charged, charging = s.charging, resume = s.resume, epoch = v_epoch,
    claim_id = s.claim_id, holder = s.holder, lease_expires_at = s.lease_expires_at, settled_claim_id = s.settled_claim_id,
    next_run_at = s.next_run_at, cancel_id = s.cancel_id, check_no = s.check_no, checks_used = s.checks_used,
    next_check_at = s.next_check_at, check_claim_id = s.check_claim_id, check_expires_at = s.check_expires_at,
    receipt_due_at = s.receipt_due_at, proof_since = s.proof_since,
    withdraw_due_at = case when r.to_state in ('submitted', 'received', 'in_progress', 'unconfirmed') then withdraw_due_at end,
    withdraw_claim_id = case when r.to_state in ('submitted', 'received', 'in_progress', 'unconfirmed') then withdraw_claim_id end,
    withdraw_expires_at = case when r.to_state in ('submitted', 'received', 'in_progress', 'unconfirmed') then withdraw_expires_at end,
    -- Where the attempt ended without the handler's own result, what the submission returned is the result.
    result = case when p_x ? 'result' then p_x -> 'result' when v_entering and r.to_state = 'queued' then null
      when s.effects > 0 and r.to_state in ('submitted', 'received', 'in_progress', 'completed') then coalesce(result, (throughline._submission(p_task, p_step)).result)
      else result end,
    error = case when p_x ? 'error' then p_x -> 'error' else error end
  where task_id = p_task and name = p_step;

  if r.to_state = 'dead' and s.withdraw_due_at is not null then perform throughline._withdrawal_left(p_task, p_step, p_now); end if;
  if r.reason = 'wait_withdrawn' then perform throughline._end_submission(p_task, p_step, 'withdrawn', p_now); end if;
  if s.cancel_id is not null then perform throughline._answer_cancels(p_task, p_step, r.to_state, r.reason, p_now); end if;
  if (v_entering and r.to_state in ('queued', 'submitted', 'received', 'in_progress', 'unconfirmed') or p_event = 'withdrawal_refused') and s.effects > 0 then
    perform throughline._apply_stored(p_task, p_step, p_now);
  end if;
  if v_entering and r.to_state = 'completed' then perform throughline._accept_inline(p_task, p_step, p_now); end if;
  return r.label;
end $$;

-- When a look outside can prove something: a look before the permission, the call and the visibility window
-- are over could only waste a check.
create or replace function throughline._first_check_at(p_task uuid, p_step text, p_now timestamptz) returns timestamptz language sql stable as $$
  select greatest(p_now, max(e.last_intent_at + throughline._interval(throughline._send_permission_ms() + e.timeout_ms + e.visible_within_ms)))
  from throughline.effect e
  where e.task_id = p_task and e.step = p_step and e.live
    and exists (select from throughline.request r where r.effect_id = e.id and r.outcome is null)
$$;

-- The live generation of the submitting effect ends, and with it an open withdrawal.
create or replace function throughline._end_submission(p_task uuid, p_step text, p_status text, p_now timestamptz) returns void language plpgsql as $$
declare
  e record;
begin
  for e in select id from throughline.effect where task_id = p_task and step = p_step and live and (submits or kind = 'withdrawal') loop
    perform throughline._end_generation(e.id, p_status, p_now);
  end loop;
  update throughline.step set proof_since = false where task_id = p_task and name = p_step and proof_since;
end $$;

-- Everything open of a generation is closed with one status; the generation stays live.
create or replace function throughline._close_effect(p_effect uuid, p_status text, p_now timestamptz) returns void language plpgsql as $$
declare
  v_closed integer;
  e throughline.effect;
begin
  -- Without a claim it is a withdrawal's that nobody has sent.
  update throughline.request set outcome = case when claim_id is null then 'not_sent' else p_status end, outcome_at = p_now where effect_id = p_effect and outcome is null;
  get diagnostics v_closed = row_count;
  update throughline.effect set status = p_status, closed_at = p_now, absent_established = absent_established or p_status = 'absent'
  where id = p_effect returning * into e;
  update throughline.step set open_count = open_count - v_closed where task_id = e.task_id and name = e.step and v_closed > 0;
  if e.kind = 'withdrawal' then
    update throughline.step set withdraw_due_at = null, withdraw_claim_id = null, withdraw_expires_at = null where task_id = e.task_id and name = e.step and withdraw_due_at is not null;
  end if;
end $$;

-- A generation ends: what is open is closed with p_status; the next intent opens the next generation.
create or replace function throughline._end_generation(p_effect uuid, p_status text, p_now timestamptz) returns void language plpgsql as $$
begin
  perform throughline._close_effect(p_effect, p_status, p_now);
  update throughline.effect set live = false where id = p_effect;
end $$;

-- What was recorded outside is also recorded as the effect's answer.
create or replace function throughline._confirm_effect(p_effect uuid, p_external_id text, p_result jsonb, p_now timestamptz) returns void language plpgsql as $$
begin
  perform throughline._close_effect(p_effect, 'confirmed', p_now);
  update throughline.effect set external_id = coalesce(external_id, p_external_id), result = coalesce(result, p_result) where id = p_effect;
end $$;

-- Dependents, roll-up and wake-up: after the moves of a call, in later statements under the same lock.
create or replace function throughline._after(p_task uuid, p_now timestamptz, p_actor text, p_wake boolean) returns void language plpgsql as $$
declare
  d record;
  v_moved boolean := true;
  t throughline.task;
  v_states text[];
  v_status text;
  v_at_rest boolean;
  v_seq bigint;
  v_held record;
  v_reason text;
begin
  while v_moved loop
    v_moved := false;
    for d in
      select w.name,
        exists (select from throughline.step n where n.task_id = p_task and n.name = any (w.needs) and n.state = 'cancelled') as lost,
        not exists (select from throughline.step n where n.task_id = p_task and n.name = any (w.needs) and n.state <> 'succeeded') as ready
      from throughline.step w where w.task_id = p_task and w.state = 'waiting' order by w.ordinal
    loop
      if d.lost then
        perform throughline._move(p_task, d.name, 'upstream_cancelled', p_now, 'driver');
        v_moved := true;
      elsif d.ready then
        perform throughline._move(p_task, d.name, 'upstream_succeeded', p_now, 'driver');
        v_moved := true;
      end if;
    end loop;
  end loop;

  select array_agg(state order by ordinal), max(seq) into v_states, v_seq from throughline.step where task_id = p_task;
  select p.status into strict v_status from throughline.parent_rule p
  where case p.quantifier when 'any' then p.states && v_states when 'all' then v_states <@ p.states else true end
  order by p.ordinal limit 1;
  v_at_rest := not exists (select from unnest(v_states) u(x) where x not in ('succeeded', 'cancelled', 'dead')
    and not (x = 'waiting' and 'dead' = any (v_states)));
  -- The step that holds the task: the first one whose state decides the status.
  select s.name, s.reason into v_held from throughline.step s, throughline.parent_rule p
  where s.task_id = p_task and p.status = v_status and (p.quantifier <> 'any' or s.state = any (p.states))
    and (v_status <> 'cancelled' or s.state = 'cancelled')
  order by (s.state <> 'waiting') desc, s.ordinal limit 1;
  select s.reason into v_reason from throughline.step s where s.task_id = p_task order by s.seq desc limit 1;
  v_reason := case when v_status in ('queued', 'running') then v_reason else coalesce(v_held.reason, v_reason) end;

  select * into strict t from throughline.task where id = p_task;
  if t.status <> v_status or t.at_rest <> v_at_rest then
    insert into throughline.timeline (task_id, kind, at, actor, from_state, to_state, reason, facts)
    values (p_task, 'parent', p_now, p_actor, t.status, v_status, v_reason, jsonb_build_object('held_by', v_held.name, 'at_rest', v_at_rest))
    returning id into v_seq;
  end if;
  update throughline.task set
    status = v_status, at_rest = v_at_rest, reason = v_reason, held_by = case when v_status = 'succeeded' then null else v_held.name end,
    seq = greatest(seq, v_seq), since = case when status <> v_status then p_now else since end,
    ended_at = case when not v_at_rest then null when at_rest then ended_at else p_now end
  where id = p_task;
  if v_at_rest or 'dead' = any (v_states) then perform throughline._notify_ends(p_task, p_now); end if;
  if p_wake then perform throughline._wake(p_task, p_now); end if;
end $$;

-- p_forced: the driver must ask, even if it has read the newest entry (it may have lost its way).
create or replace function throughline._wake(p_task uuid, p_now timestamptz, p_forced boolean default false) returns void language sql as $$
  insert into throughline.outbox as o (task_id, not_before, forced) values (p_task, p_now, p_forced)
  on conflict (task_id) do update set version = o.version + 1, not_before = least(o.not_before, excluded.not_before), forced = o.forced or excluded.forced
$$;

-- Locks a task; null if there is none. Everything that changes a state starts here, then locks steps.
create or replace function throughline._lock(p_task uuid) returns throughline.task language sql volatile as $$
  select t from throughline.task t where t.id = p_task for no key update
$$;

-- What the driver needs to know: states, and what is due in how many milliseconds. Ids and codes only.
create or replace function throughline._view(p_task uuid, p_now timestamptz) returns jsonb language sql stable as $$
  select jsonb_build_object(
    'task', t.id, 'type', t.type, 'version', t.version, 'seq', t.seq, 'status', t.status, 'at_rest', t.at_rest, 'reason', t.reason, 'held_by', t.held_by,
    'as_of', to_char(p_now at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'steps', (
      select jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
        'name', s.name, 'state', s.state, 'reason', s.reason, 'attempt', s.attempt, 'epoch', s.epoch, 'seq', s.seq,
        'next', case
          -- A deadline that comes before the step may start decides first.
          when s.state = 'waiting' and t.deadline_at is not null or s.state = 'queued' and t.deadline_at < s.next_run_at
            then jsonb_build_object('do', 'watch', 'in_ms', greatest(0, throughline._ms(t.deadline_at - p_now)))
          when s.state = 'queued' then jsonb_build_object('do', 'attempt', 'in_ms', greatest(0, throughline._ms(s.next_run_at - p_now)), 'quick', nullif(s.quick, false),
            'timeout_ms', (y.plan -> 'steps' -> s.ordinal ->> 'timeout_ms')::bigint, 'lease_ms', (y.plan -> 'steps' -> s.ordinal ->> 'lease_ms')::bigint)
          when s.state in ('leased', 'cancel_requested') then jsonb_build_object('do', 'watch', 'in_ms',
            greatest(0, throughline._ms(throughline._rescue_at(s.lease_expires_at, (y.plan -> 'steps' -> s.ordinal ->> 'lease_ms')::bigint) - p_now)))
          when s.withdraw_claim_id is not null then jsonb_build_object('do', 'watch', 'in_ms',
            greatest(0, throughline._ms(throughline._rescue_at(s.withdraw_expires_at, (y.plan -> 'steps' -> s.ordinal ->> 'lease_ms')::bigint) - p_now)))
          when s.withdraw_due_at is not null then jsonb_build_object('do', 'withdraw', 'in_ms', greatest(0, throughline._ms(s.withdraw_due_at - p_now)), 'withdraw_no', s.withdraw_no,
            'timeout_ms', (y.plan -> 'steps' -> s.ordinal -> 'withdraw' ->> 'timeout_ms')::bigint)
          when s.state = 'completed' then jsonb_build_object('do', 'check', 'in_ms', greatest(0, throughline._ms(greatest(s.next_check_at, s.check_expires_at) - p_now)), 'check_no', s.check_no)
          when s.state = 'unconfirmed' and s.cancel_id is null and s.charged < s.attempts_max and s.open_count > 0
            and not exists (select from throughline.effect e where e.task_id = s.task_id and e.step = s.name and e.live and e.kind = 'withdrawal')
            and throughline._resend_until(s.task_id, s.name) > greatest(p_now, s.next_run_at)
            then jsonb_build_object('do', 'attempt', 'in_ms', greatest(0, throughline._ms(s.next_run_at - p_now)),
              'timeout_ms', (y.plan -> 'steps' -> s.ordinal ->> 'timeout_ms')::bigint, 'lease_ms', (y.plan -> 'steps' -> s.ordinal ->> 'lease_ms')::bigint)
          when s.state = 'unconfirmed' and s.has_probe and s.checks_used < s.checks_max
            then jsonb_build_object('do', 'check', 'in_ms', greatest(0, throughline._ms(greatest(s.next_check_at, s.check_expires_at) - p_now)), 'check_no', s.check_no)
          when s.state = 'unconfirmed' then jsonb_build_object('do', 'watch', 'in_ms', 1000)
          when s.receipt_due_at is not null then jsonb_build_object('do', 'watch', 'in_ms', greatest(0, throughline._ms(s.receipt_due_at - p_now)))
          end)) order by s.ordinal)
      from throughline.step s where s.task_id = p_task))
  from throughline.task t join throughline.task_type y using (type, version) where t.id = p_task
$$;
