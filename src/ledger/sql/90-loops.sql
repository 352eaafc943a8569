-- What the loops of every worker call: the outbox's dispatcher, the sweeper, the worker's sign of life.

-- Takes up to p_limit due wake-ups for p_hold_ms; another dispatcher passes over them meanwhile.
create or replace function throughline.outbox_take(p_limit integer, p_hold_ms bigint) returns jsonb language plpgsql as $$
declare
  v_now timestamptz := throughline.now();
  v_taken jsonb;
begin
  -- What is taken or reported twice is sent twice, and a repeated wake-up costs nothing.
  perform throughline._unhurried();
  with due as (
      select task_id from throughline.outbox where parked_at is null and not_before <= v_now and taken_until <= v_now
      order by not_before limit p_limit for update skip locked
    ), taken as (
      update throughline.outbox o set taken_until = v_now + throughline._interval(p_hold_ms) from due where o.task_id = due.task_id
      returning o.task_id, o.version, o.attempts, o.forced
    )
    select coalesce(jsonb_agg(jsonb_build_object('task', k.task_id, 'version', k.version, 'attempts', k.attempts, 'forced', k.forced)), '[]') into v_taken from taken k;
  -- A statement of its own: a row that was locked may be newer than what that statement saw, and the view must not be older than the row.
  select coalesce(jsonb_agg(k.value || jsonb_build_object('trace_parent', t.trace_parent,
    'priority', jsonb_strip_nulls(jsonb_build_object('priorityKey', t.priority, 'fairnessKey', t.fairness_key, 'fairnessWeight', t.fairness_weight)),
    'view', throughline._view(t.id, v_now))), '[]') into v_taken from jsonb_array_elements(v_taken) k join throughline.task t on t.id = (k.value ->> 'task')::uuid;
  return v_taken;
end $$;

-- Sent: [{task, version}]. A row that was asked for again meanwhile stays, to be sent again.
create or replace function throughline.outbox_sent(p jsonb) returns integer language plpgsql as $$
declare
  v_deleted integer;
begin
  perform throughline._unhurried();
  -- Locked in one order: two dispatchers that report the same rows must not wait for each other.
  perform from throughline.outbox o where o.task_id in (select (x.value ->> 'task')::uuid from jsonb_array_elements(p) x) order by o.task_id for update;
  delete from throughline.outbox o using jsonb_array_elements(p) x where o.task_id = (x.value ->> 'task')::uuid and o.version = (x.value ->> 'version')::bigint;
  get diagnostics v_deleted = row_count;
  update throughline.outbox o set taken_until = '-infinity', attempts = 0 from jsonb_array_elements(p) x where o.task_id = (x.value ->> 'task')::uuid;
  return v_deleted;
end $$;

-- Not sent: one row, tried again after p_retry_ms, or parked for a person where the fault is the row's own.
create or replace function throughline.outbox_failed(p_task uuid, p_error text, p_retry_ms bigint, p_counts boolean, p_attempts_max integer) returns jsonb language plpgsql as $$
declare
  v_now timestamptz := throughline.now();
  o throughline.outbox;
begin
  update throughline.outbox set attempts = attempts + case when p_counts then 1 else 0 end, last_error = left(p_error, 1000), taken_until = '-infinity',
    not_before = v_now + throughline._interval(p_retry_ms),
    parked_at = case when p_counts and attempts + 1 >= p_attempts_max then v_now end
  where task_id = p_task returning * into o;
  if o.parked_at = v_now then
    perform throughline._notify('wakeup.parked', p_task, null, throughline._ms_of(v_now), v_now, v_now, jsonb_build_object('attempts', o.attempts));
  end if;
  return jsonb_build_object('parked', o.parked_at is not null, 'attempts', o.attempts);
end $$;

-- A person sends a parked wake-up again: {id?, by, why}. Idempotent by id.
create or replace function throughline.outbox_unpark(p_task uuid, p jsonb) returns jsonb language plpgsql as $$
begin
  if (throughline._lock(p_task)).id is null then return throughline._unknown(p_task); end if;
  if exists (select from throughline.timeline where task_id = p_task and kind = 'note' and facts ->> 'what' = 'unparked' and facts ->> 'unpark' = p ->> 'id') then
    return jsonb_build_object('unparked', true, 'repeated', true);
  end if;
  update throughline.outbox set parked_at = null, attempts = 0, forced = true, not_before = throughline.now(), version = version + 1 where task_id = p_task and parked_at is not null;
  if not found then return jsonb_build_object('unparked', false); end if;
  perform throughline._log(p_task, null, 'note', throughline.now(), p ->> 'by', jsonb_strip_nulls(jsonb_build_object('what', 'unparked', 'why', p -> 'why', 'unpark', p -> 'id')));
  return jsonb_build_object('unparked', true);
end $$;

-- Tasks that may need the sweeper: expired leases, overdue receipts, unjudged receipts, due rows whose driver is silent. Bounded.
create or replace function throughline.sweep_due(p_limit integer, p_silence_ms bigint) returns jsonb language plpgsql as $$
declare
  v_now timestamptz := throughline.now();
  v_silent timestamptz := v_now - throughline._interval(p_silence_ms);
  c record;
begin
  for c in select id from throughline.receipt where verdict is null and task_id is null order by id limit p_limit for update skip locked loop
    perform throughline._judge_safely(c.id, v_now);
  end loop;
  return (select coalesce(jsonb_agg(d.task_id), '[]') from (
    select distinct x.task_id from (
      (select task_id from throughline.step where claim_id is not null and lease_expires_at < v_now order by lease_expires_at limit p_limit)
      union all (select task_id from throughline.step where receipt_due_at < v_silent and withdraw_due_at is null order by receipt_due_at limit p_limit)
      union all (select s.task_id from throughline.task t join throughline.step s on s.task_id = t.id
        where t.deadline_at < v_now and not t.at_rest and s.state in ('waiting', 'queued') order by t.deadline_at limit p_limit)
      -- A driver that was woken for it is not woken again soon: rows that nobody can run must not hide the others.
      union all (select task_id from throughline.step s where state in ('queued', 'unconfirmed') and (state = 'queued' or next_check_at is null) and next_run_at < v_silent
        and not throughline._woken(s.task_id, next_run_at, v_now) order by next_run_at limit p_limit)
      union all (select task_id from throughline.step s where withdraw_expires_at < v_now or (withdraw_claim_id is null and withdraw_due_at < v_silent
        and not throughline._woken(s.task_id, withdraw_due_at, v_now)) order by withdraw_due_at limit p_limit)
      union all (select task_id from throughline.step s where greatest(next_check_at, check_expires_at) < v_silent and next_check_at < v_silent and withdraw_due_at is null
        and not throughline._woken(s.task_id, greatest(next_check_at, check_expires_at), v_now) order by next_check_at limit p_limit)
      union all (select task_id from throughline.receipt where verdict is null and task_id is not null and received_at < v_silent order by verdict_facts <> '{}', received_at limit p_limit)
    ) x) d);
end $$;

-- Whether the task's driver was woken after p_due, and is left alone for now.
create or replace function throughline._woken(p_task uuid, p_due timestamptz, p_now timestamptz) returns boolean language sql stable as $$
  select exists (select from throughline.recovery r where r.task_id = p_task and r.step = '' and r.kind = 'driver_silent' and r.until > p_now and r.at >= p_due)
$$;

-- Since when the newest due thing of a step waits for a driver that has been silent; null: nothing does.
create or replace function throughline._silent_since(s throughline.step, p_silent timestamptz) returns timestamptz language sql immutable as $$
  select max(due) from (values
    (case when s.state = 'queued' or (s.state = 'unconfirmed' and s.next_check_at is null) then s.next_run_at end),
    (case when s.withdraw_claim_id is null then s.withdraw_due_at end),
    (case when s.withdraw_due_at is null and s.next_check_at is not null then greatest(s.next_check_at, s.check_expires_at) end)) d (due) where due < p_silent
$$;

-- One task of the sweep, in a transaction of its own: ticks it, and wakes its driver: ever later while nothing else happens.
create or replace function throughline.task_sweep(p_task uuid, p_holder text, p_silence_ms bigint, p_silence_max_ms bigint) returns jsonb language plpgsql as $$
declare
  t throughline.task;
  v_now timestamptz;
  v_moves integer;
  v_judged integer := 0;
  v_due boolean;
  v_wakes integer;
  c record;
begin
  select * into t from throughline.task where id = p_task for no key update skip locked;
  if not found then return jsonb_build_object('busy', true); end if;
  v_now := throughline.now();
  for c in select id from throughline.receipt where task_id = p_task and verdict is null order by received_at, id loop
    if throughline._judge_safely(c.id, v_now) then v_judged := v_judged + 1; end if;
  end loop;
  v_moves := throughline._tick(p_task, v_now, 'sweeper:' || p_holder);
  v_due := exists (select from throughline.step s where s.task_id = p_task
      and not throughline._woken(p_task, throughline._silent_since(s, v_now - throughline._interval(p_silence_ms)), v_now)
      and throughline._silent_since(s, v_now - throughline._interval(p_silence_ms)) is not null)
    and not exists (select from throughline.outbox where task_id = p_task);
  if v_due then
    select count(*) into v_wakes from throughline.recovery where task_id = p_task and step = '' and kind = 'driver_silent'
      and at > (select max(at) from throughline.timeline where task_id = p_task and kind <> 'note');
    insert into throughline.recovery (task_id, kind, window_key, at, until, by)
    values (p_task, 'driver_silent', throughline._ms_of(v_now), v_now,
      v_now + throughline._interval(least(3 * p_silence_ms * 2 ^ least(v_wakes, 20), p_silence_max_ms)::bigint), p_holder) on conflict do nothing;
    v_due := found;
  end if;
  if v_moves + v_judged > 0 or v_due then perform throughline._wake(p_task, v_now, true); end if;
  return jsonb_build_object('moves', v_moves, 'judged', v_judged, 'woken', v_due);
end $$;

-- A worker could not reach the ledger: for one lease length nobody's lease is rescued, since its holder could not renew it either.
create or replace function throughline.gap_report(p_by text) returns jsonb language plpgsql as $$
begin
  update throughline.ledger_gap set ended_at = throughline.now(), reported_by = p_by;
  return jsonb_build_object('reported', true);
end $$;

-- A worker shows itself, what it offers, and its clock (ms since the epoch) beside the ledger's.
create or replace function throughline.worker_seen(p_id text, p_offers jsonb, p_queue text, p_clock_ms bigint, p_stopping boolean) returns jsonb language plpgsql as $$
declare
  v_skew bigint := p_clock_ms - (extract(epoch from clock_timestamp()) * 1000)::bigint;
begin
  perform throughline._unhurried();
  insert into throughline.worker (id, offers, task_queue, seen_at, clock_skew_ms, stopping) values (p_id, p_offers, p_queue, throughline.now(), v_skew, p_stopping)
  on conflict (id) do update set offers = excluded.offers, seen_at = excluded.seen_at, clock_skew_ms = excluded.clock_skew_ms, stopping = excluded.stopping;
  delete from throughline.worker where seen_at < throughline.now() - interval '1 day';
  return jsonb_build_object('clock_skew_ms', v_skew);
end $$;

-- Where the timeline ends now; or, after p_after, which moves one sweeper made, by reason, and which wake-ups wait to be sent.
create or replace function throughline.sweep_report(p_after bigint, p_actor text) returns jsonb language sql volatile as $$
  select case when p_after is null then jsonb_build_object('mark', coalesce((select max(id) from throughline.timeline), 0))
    else jsonb_build_object(
      'moves', (select coalesce(jsonb_object_agg(reason, n), '{}') from (
        select reason, count(*) as n from throughline.timeline where id > p_after and actor = p_actor and kind = 'transition' and reason is not null group by reason) m),
      'wakeups_waiting', (select count(*) from throughline.outbox where parked_at is null),
      'wakeups_parked', (select count(*) from throughline.outbox where parked_at is not null)) end
$$;
