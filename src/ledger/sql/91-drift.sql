-- Drift: what Temporal says of a task's driver, and what the ledger makes of it.

-- The next open tasks whose drivers were not heard of for p_quiet_ms, in a walk over all of them that starts again at most every p_cycle_ms.
-- One walker at a time; what it took and lost is met again on the next walk. Answers {tasks: [{task, seen_at}], cycle: whether the walk ended}.
create or replace function throughline.drift_take(p_limit integer, p_quiet_ms bigint, p_cycle_ms bigint) returns jsonb language plpgsql as $$
declare
  d throughline.drift;
  v_now timestamptz;
  v_tasks jsonb;
  v_last uuid;
  v_read integer;
begin
  perform throughline._unhurried();
  select * into d from throughline.drift for update skip locked;
  if not found then return jsonb_build_object('tasks', '[]'::jsonb, 'ended', true); end if;
  v_now := throughline.now();
  if d.after is null and d.started_at + throughline._interval(p_cycle_ms) > v_now then return jsonb_build_object('tasks', '[]'::jsonb, 'ended', true); end if;
  with page as (
    select id, driver_seen_at, created_at from throughline.task where not at_rest and (d.after is null or id > d.after) order by id limit p_limit
  ) select (select id from page order by id desc limit 1), (select count(*) from page), coalesce((
      select jsonb_agg(jsonb_build_object('task', p.id, 'seen_at', throughline._iso(p.driver_seen_at)) order by p.id) from page p
      where greatest(p.driver_seen_at, p.created_at) < v_now - throughline._interval(p_quiet_ms)
        and not exists (select from throughline.outbox o where o.task_id = p.id)), '[]')
    into v_last, v_read, v_tasks;
  update throughline.drift set started_at = case when d.after is null then v_now else d.started_at end,
    after = case when v_read = p_limit then v_last end;
  return jsonb_build_object('tasks', v_tasks, 'ended', v_read < p_limit);
end $$;

-- Whose turn it is to ask Temporal: one worker's every p_interval_ms. Answers {turn, since: when terminated runs were last looked for, now}.
create or replace function throughline.drift_turn(p_interval_ms bigint) returns jsonb language plpgsql as $$
declare
  d throughline.drift;
  v_now timestamptz;
begin
  perform throughline._unhurried();
  select * into d from throughline.drift for update skip locked;
  v_now := throughline.now();
  if d.one is null or d.turn_at > v_now then return jsonb_build_object('turn', false); end if;
  update throughline.drift set turn_at = v_now + throughline._interval(p_interval_ms);
  return jsonb_build_object('turn', true, 'since', throughline._iso(d.terminations_since), 'now', throughline._iso(v_now));
end $$;

-- Terminated runs were looked for up to here.
create or replace function throughline.drift_looked(p_to timestamptz) returns jsonb language plpgsql as $$
begin
  perform throughline._unhurried();
  update throughline.drift set terminations_since = p_to where terminations_since < p_to;
  return jsonb_build_object('looked', found);
end $$;

-- A driver's run is over or gone though its task is not: {status, run_id, seen_at, by}. It is started again, ever later while nothing else
-- happens; after p_restarts_max of them it is said that the driver is failing. Nothing happens where the driver was heard of since.
create or replace function throughline.driver_lost(p_task uuid, p jsonb, p_backoff_ms bigint, p_backoff_max_ms bigint, p_restarts_max integer) returns jsonb language plpgsql as $$
declare
  t throughline.task;
  v_now timestamptz;
  v_progress timestamptz;
  v_restarts integer;
  v_last timestamptz;
begin
  t := throughline._lock(p_task);
  if t.id is null or t.at_rest then return jsonb_build_object('restarted', false); end if;
  v_now := throughline.now();
  if throughline._iso(t.driver_seen_at) is distinct from p ->> 'seen_at' or exists (select from throughline.outbox where task_id = p_task) then
    return jsonb_build_object('restarted', false);
  end if;
  select max(at) into v_progress from throughline.timeline where task_id = p_task and kind <> 'note';
  select count(*), max(at) into v_restarts, v_last from throughline.recovery where task_id = p_task and step = '' and kind = 'driver_lost' and at > v_progress;
  if v_last + throughline._interval(least(p_backoff_ms * 2 ^ least(v_restarts, 20), p_backoff_max_ms)::bigint) > v_now then return jsonb_build_object('restarted', false, 'restarts', v_restarts); end if;
  insert into throughline.recovery (task_id, kind, window_key, at, by) values (p_task, 'driver_lost', throughline._ms_of(v_now), v_now, p ->> 'by') on conflict do nothing;
  perform throughline._log(p_task, null, 'note', v_now, p ->> 'by', jsonb_build_object('what', 'driver_lost', 'status', p -> 'status', 'run_id', p -> 'run_id', 'restarts', v_restarts + 1));
  if v_restarts + 1 >= p_restarts_max then
    insert into throughline.recovery (task_id, kind, window_key, at, by) values (p_task, 'driver_failing', to_char(v_now at time zone 'UTC', 'YYYY-MM-DD'), v_now, p ->> 'by') on conflict do nothing;
    if found then
      perform throughline._log(p_task, null, 'note', v_now, p ->> 'by', jsonb_build_object('what', 'driver_failing', 'status', p -> 'status', 'restarts', v_restarts + 1));
      perform throughline._notify('driver.failing', p_task, null, to_char(v_now at time zone 'UTC', 'YYYY-MM-DD'), v_now, v_now, jsonb_build_object('restarts', v_restarts + 1, 'status', p -> 'status'));
    end if;
  end if;
  perform throughline._wake(p_task, v_now, true);
  return jsonb_build_object('restarted', true, 'restarts', v_restarts + 1, 'failing', v_restarts + 1 >= p_restarts_max);
end $$;

-- How often a driver had to be started again since the task last moved, and whether that is too often.
create or replace function throughline._driver_restarts(p_task uuid) returns integer language sql stable as $$
  select count(*)::integer from throughline.recovery where task_id = p_task and step = '' and kind = 'driver_lost'
    and at > (select max(at) from throughline.timeline where task_id = p_task and kind <> 'note')
$$;
