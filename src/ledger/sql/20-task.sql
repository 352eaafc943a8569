-- Tasks: registering a type, enqueueing, what the driver asks.

-- Registers a type in a version. Idempotent; the same version with another plan is refused.
create or replace function throughline.type_register(p jsonb) returns jsonb language plpgsql as $$
declare
  v_now timestamptz := throughline.now();
  v_digest text;
begin
  insert into throughline.task_type (type, version, plan, plan_digest, input_schema, input_bytes_max, registered_at, registered_by)
  values (p ->> 'type', (p ->> 'version')::integer, p -> 'plan', p ->> 'plan_digest', nullif(p -> 'input_schema', 'null'), (p ->> 'input_bytes_max')::integer, v_now, p ->> 'by')
  on conflict do nothing;
  select plan_digest into v_digest from throughline.task_type where type = p ->> 'type' and version = (p ->> 'version')::integer;
  if v_digest <> p ->> 'plan_digest' then
    return jsonb_build_object('error', 'PLAN_CHANGED', 'registered', v_digest);
  end if;
  return jsonb_build_object('registered', true);
end $$;

-- A step that takes a second at most, changes nothing outside and whose proof the ledger itself checks.
create or replace function throughline._quick(p_plan jsonb) returns boolean language sql immutable as $$
  select (p_plan ->> 'reentrant')::boolean and p_plan ->> 'kind' = 'run' and p_plan -> 'effects' = '[]' and p_plan -> 'receipt' = 'null'
    and not (p_plan ->> 'probe')::boolean and p_plan -> 'proof' ->> 'kind' = 'record' and (p_plan ->> 'timeout_ms')::bigint <= 1000
$$;

-- Accepts a task: {type, version?, key?, id?, input, raw?, digest, digests, run_at? | delay_ms?, deadline_at?, again_of?, priority?,
-- fairness_key?, fairness_weight?, trace_parent?, by}. Locks the repeated task first, then the key: every enqueue in this order.
-- Two statements for the dedupe key: one statement with a union would give the loser of a race no id.
create or replace function throughline.task_enqueue(p jsonb) returns jsonb language plpgsql as $$
declare
  v_now timestamptz;
  y throughline.task_type;
  v_id uuid := coalesce((p ->> 'id')::uuid, uuidv7());
  v_found record;
  v_run_at timestamptz;
  v_parent bigint;
begin
  select * into y from throughline.task_type where type = p ->> 'type' and (p ->> 'version' is null or version = (p ->> 'version')::integer)
  order by version desc limit 1;
  if not found then return jsonb_build_object('error', 'TYPE_UNKNOWN', 'type', p ->> 'type', 'version', p -> 'version'); end if;
  -- As stored it has spaces, and numbers without exponents; what counts is compact JSON.
  if octet_length((p -> 'input')::text) > y.input_bytes_max and octet_length(throughline._canonical(p -> 'input', '/input')) > y.input_bytes_max then
    return jsonb_build_object('error', 'INPUT_TOO_LARGE', 'path', '/input', 'limit', y.input_bytes_max);
  end if;
  if p ->> 'again_of' is not null then perform throughline._lock((p ->> 'again_of')::uuid); end if;
  if p ->> 'key' is not null then
    insert into throughline.dedupe (type, key, task_id, digest, digests, at)
    values (y.type, p ->> 'key', v_id, p ->> 'digest', p -> 'digests', throughline.now()) on conflict do nothing;
    if not found then
      select d.task_id, d.digest, d.digests, coalesce(t.status, g.status) as status into strict v_found
      from throughline.dedupe d left join throughline.task t on t.id = d.task_id left join throughline.pruned g on g.task_id = d.task_id where d.type = y.type and d.key = p ->> 'key';
      if v_found.digest <> p ->> 'digest' then
        return jsonb_build_object('error', 'DEDUPE_CONFLICT', 'id', v_found.task_id, 'state', v_found.status, 'digests', v_found.digests);
      end if;
      return jsonb_build_object('id', v_found.task_id, 'state', v_found.status, 'created', false);
    end if;
  end if;
  if p ->> 'again_of' is not null then
    if not exists (select from throughline.task where id = (p ->> 'again_of')::uuid) then
      if p ->> 'key' is not null then delete from throughline.dedupe where type = y.type and key = p ->> 'key' and task_id = v_id; end if;
      select g.again_as as id, coalesce(t.status, s.status) as status into v_found
      from throughline.pruned g left join throughline.task t on t.id = g.again_as left join throughline.pruned s on s.task_id = g.again_as
      where g.task_id = (p ->> 'again_of')::uuid and g.again_as is not null;
      if found then return jsonb_build_object('error', 'AGAIN_TAKEN', 'id', v_found.id, 'state', v_found.status); end if;
      return throughline._unknown((p ->> 'again_of')::uuid);
    end if;
    select id, status into v_found from (select id, status, again_of from throughline.task union all select task_id, status, again_of from throughline.pruned) x where x.again_of = (p ->> 'again_of')::uuid;
    if found then
      if p ->> 'key' is not null then delete from throughline.dedupe where type = y.type and key = p ->> 'key' and task_id = v_id; end if;
      return jsonb_build_object('error', 'AGAIN_TAKEN', 'id', v_found.id, 'state', v_found.status);
    end if;
  end if;

  v_now := throughline.now();
  v_run_at := coalesce((p ->> 'run_at')::timestamptz, v_now + throughline._interval((p ->> 'delay_ms')::numeric), v_now);
  insert into throughline.task (id, type, version, key, input, status, reason, since, deadline_at, created_at, created_by, again_of, raw, priority, fairness_key, fairness_weight, trace_parent)
  values (v_id, y.type, y.version, p ->> 'key', p -> 'input', 'queued', 'new_task', v_now, (p ->> 'deadline_at')::timestamptz, v_now, p ->> 'by', (p ->> 'again_of')::uuid,
    coalesce((p ->> 'raw')::boolean, false), (p ->> 'priority')::smallint, p ->> 'fairness_key', (p ->> 'fairness_weight')::double precision, p ->> 'trace_parent')
  on conflict (id) do nothing;
  if not found then
    -- The caller's own id was used before: the same call again (its answer was lost), or another task.
    if p ->> 'key' is not null then delete from throughline.dedupe where type = y.type and key = p ->> 'key' and task_id = v_id; end if;
    select id, status into v_found from throughline.task
    where id = v_id and type = y.type and key is not distinct from p ->> 'key' and input = p -> 'input';
    if not found then return jsonb_build_object('error', 'ID_CONFLICT', 'id', v_id); end if;
    return jsonb_build_object('id', v_found.id, 'state', v_found.status, 'created', false);
  end if;
  if exists (select from throughline.pruned where task_id = v_id) then
    -- Looked for after the insert, which waits for a prune of this id.
    delete from throughline.task where id = v_id;
    if p ->> 'key' is not null then delete from throughline.dedupe where type = y.type and key = p ->> 'key' and task_id = v_id; end if;
    return jsonb_build_object('error', 'ID_CONFLICT', 'id', v_id);
  end if;
  with planned as (
    select e.value as plan, (e.ordinality - 1)::smallint as ordinal, e.value ->> 'name' as name,
      array(select jsonb_array_elements_text(e.value -> 'needs')) as needs
    from jsonb_array_elements(y.plan -> 'steps') with ordinality e
  ), entry as (
    insert into throughline.timeline (task_id, step, kind, at, event, rule, part, from_state, to_state, reason, attempt, epoch, actor)
    select v_id, name, 'transition', v_now, 'enqueue', case when needs = '{}' then 'enqueue.free' else 'enqueue.needs' end, 1, 'none',
      case when needs = '{}' then 'queued' else 'waiting' end, 'new_task', 0, 0, p ->> 'by'
    from planned order by ordinal
    returning id, step, to_state
  )
  insert into throughline.step (task_id, name, ordinal, kind, state, seq, reason, since, needs, reentrant, attempts_max, has_receipt, inbox, has_probe, has_withdraw, quick, checks_max, next_run_at)
  select v_id, l.name, l.ordinal, l.plan ->> 'kind', n.to_state, n.id, 'new_task', v_now, l.needs, (l.plan ->> 'reentrant')::boolean, (l.plan ->> 'attempts')::integer,
    l.plan -> 'receipt' <> 'null', coalesce((l.plan -> 'receipt' ->> 'inbox')::boolean, false), (l.plan ->> 'probe')::boolean, l.plan ? 'withdraw', throughline._quick(l.plan), (l.plan -> 'checks' ->> 'attempts')::integer, v_run_at
  from planned l join entry n on n.step = l.name;
  insert into throughline.timeline (task_id, kind, at, actor, from_state, to_state, reason, facts)
  values (v_id, 'parent', v_now, p ->> 'by', 'none', 'queued', 'new_task', jsonb_strip_nulls(jsonb_build_object('type', y.type, 'version', y.version, 'key', p ->> 'key',
    'run_at', case when v_run_at > v_now then to_jsonb(v_run_at) end, 'again_of', p ->> 'again_of')))
  returning id into v_parent;
  update throughline.task set seq = v_parent, held_by = (select name from throughline.step where task_id = v_id and state = 'queued' order by ordinal limit 1) where id = v_id;
  insert into throughline.outbox (task_id, not_before) values (v_id, v_now);
  return jsonb_build_object('id', v_id, 'state', 'queued', 'created', true);
end $$;

-- Many tasks in one round trip and one transaction: {rows: [as for task_enqueue], again: [ids]}. Keys are taken in one
-- order, and before them the repeated tasks, so that two batches never wait for each other. Answers in the order of rows.
create or replace function throughline.task_enqueue_batch(p jsonb) returns jsonb language plpgsql as $$
declare
  r record;
  v_answers jsonb[] := array_fill(null::jsonb, array[jsonb_array_length(p -> 'rows')]);
begin
  perform from throughline.task where id in (select x::uuid from jsonb_array_elements_text(p -> 'again') x) order by id for no key update;
  for r in
    select e.value as row, e.ordinality::integer as n from jsonb_array_elements(p -> 'rows') with ordinality e
    order by e.value ->> 'type' collate "C", e.value ->> 'key' collate "C" nulls last, e.ordinality
  loop
    v_answers[r.n] := throughline.task_enqueue(r.row);
  end loop;
  return to_jsonb(v_answers);
end $$;

-- What is due without a worker: expired leases, overdue receipts, deadlines, what nothing can resolve any more.
-- The caller holds the task's lock. Returns how many moves were made.
create or replace function throughline._tick(p_task uuid, p_now timestamptz, p_actor text) returns integer language plpgsql as $$
declare
  s record;
  v_moves integer := 0;
  v_applied boolean := false;
  v_event text;
begin
  for s in
    select st.name, st.state, st.seq, st.lease_expires_at, st.receipt_due_at, st.withdraw_due_at, st.withdraw_expires_at, st.effects, st.ordinal, t.deadline_at,
      st.lease_expires_at < p_now as lease_over
    from throughline.step st join throughline.task t on t.id = st.task_id where st.task_id = p_task order by st.ordinal
  loop
    v_event := case
      when s.lease_over and throughline._may_rescue(p_task, s.ordinal, p_now) then 'expire'
      -- What is being taken back is not waited for: the answer to that comes first.
      when s.receipt_due_at <= p_now and s.withdraw_due_at is null and s.state in ('submitted', 'received', 'in_progress') then 'overdue'
      when s.deadline_at <= p_now and s.state in ('waiting', 'queued') then 'deadline'
      when s.state = 'unconfirmed' then 'no_way_left'
    end;
    if s.withdraw_expires_at <= p_now and throughline._may_rescue(p_task, s.ordinal, p_now) then
      -- Its worker vanished, or the answer did.
      perform throughline._withdrawal_unanswered(p_task, s.name, true, null, jsonb_build_object('answer', 'lost'), p_now, p_actor);
      v_moves := v_moves + 1;
      continue;
    end if;
    if v_event = 'expire' then
      -- A renewal or an intent takes the step's lock alone: one that came first keeps the lease.
      perform from throughline.step where task_id = p_task and name = s.name and lease_expires_at < p_now for update;
      if not found then v_event := null; end if;
    end if;
    if v_event is not null then
      if throughline._move(p_task, s.name, v_event, p_now, p_actor, case when v_event = 'expire'
        then jsonb_build_object('error', jsonb_build_object('category', 'worker_lost', 'stage', 'execute', 'message', 'the worker stopped renewing its lease')) else '{}' end) is not null then
        v_moves := v_moves + 1;
        if v_event = 'overdue' then perform throughline._notify_review(p_task, s.name, p_now); end if;
      end if;
    end if;
    if s.effects > 0 then
      perform throughline._apply_stored(p_task, s.name, p_now);
      if exists (select from throughline.step where task_id = p_task and name = s.name and seq <> s.seq) then v_applied := true; end if;
    end if;
  end loop;
  if v_moves = 0 and v_applied then v_moves := 1; end if;
  if v_moves > 0 then perform throughline._after(p_task, p_now, p_actor, false); end if;
  return v_moves;
end $$;

-- When a lease may be rescued: not for one lease length after the ledger itself was away, since its holders could not renew.
create or replace function throughline._rescue_at(p_lease timestamptz, p_lease_ms bigint) returns timestamptz language sql stable as $$
  select greatest(p_lease, greatest(g.ended_at, pg_postmaster_start_time()) + throughline._interval(p_lease_ms)) from throughline.ledger_gap g
$$;

create or replace function throughline._may_rescue(p_task uuid, p_ordinal integer, p_now timestamptz) returns boolean language sql volatile as $$
  select p_now > throughline._rescue_at('-infinity', (throughline._plan(p_task, p_ordinal) ->> 'lease_ms')::bigint)
$$;

-- The driver asks what is due: does what needs no worker, and answers with the view.
create or replace function throughline.task_look(p_task uuid, p_run_id text) returns jsonb language plpgsql as $$
declare
  t throughline.task;
  v_now timestamptz;
begin
  t := throughline._lock(p_task);
  if t.id is null then return throughline._unknown(p_task); end if;
  v_now := throughline.now();
  perform throughline._tick(p_task, v_now, 'driver');
  update throughline.task set driver_seen_at = v_now, driver_run_id = coalesce(p_run_id, driver_run_id) where id = p_task;
  return throughline._view(p_task, v_now);
end $$;
