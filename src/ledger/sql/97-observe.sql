-- What is measured of the ledger as a whole: one read of bounded size for all gauges. Reads only.

-- Tasks that are open or dead by type and status, what waits and for how long, what is stuck. Each part reads at most
-- p_rows_max rows; "truncated" says that a count stopped there.
create or replace function throughline.ledger_gauges(p_rows_max integer, p_worker_seen_ms bigint, p_window_ms bigint) returns jsonb language plpgsql volatile as $$
declare
  v_now timestamptz := throughline.now();
  v_from timestamptz := v_now - throughline._interval(p_window_ms);
  v_open jsonb;
  v_open_rows bigint;
  v_queued jsonb;
  v_steps jsonb;
  v_rest jsonb;
begin
  with open as (select type, status from throughline.task where not at_rest limit p_rows_max),
    dead as (
      -- By their dead steps, each task once: a task can rest on two of them.
      select t.type, t.status from (select distinct task_id from (select task_id from throughline.step where state = 'dead' limit p_rows_max) s) d
      join throughline.task t on t.id = d.task_id where t.at_rest
    ), counted as (select type, status, count(*) as tasks from (select * from open union all select * from dead) x group by type, status)
  select coalesce(jsonb_agg(jsonb_build_object('type', type, 'status', status, 'tasks', tasks)), '[]'), coalesce(sum(tasks), 0) into v_open, v_open_rows from counted;

  -- Due longest first: the oldest are among the rows read, however many there are.
  select coalesce(jsonb_agg(jsonb_build_object('type', type, 'steps', steps, 'oldest_ms', oldest_ms)), '[]') into v_queued from (
    select t.type, count(*) as steps, max(throughline._ms(v_now - greatest(s.since, s.next_run_at))) as oldest_ms
    from (select task_id, since, next_run_at from throughline.step where state = 'queued' and next_run_at <= v_now order by next_run_at limit p_rows_max) s
    join throughline.task t on t.id = s.task_id group by t.type) q;

  select coalesce(jsonb_agg(jsonb_build_object('state', state, 'reason', reason, 'steps', steps, 'oldest_ms', oldest_ms)), '[]') into v_steps from (
    select state, reason, count(*) as steps, max(throughline._ms(v_now - since)) as oldest_ms
    from (select state, reason, since from throughline.step where state in ('unconfirmed', 'dead') order by state desc, since limit p_rows_max) s group by state, reason) q;

  select jsonb_build_object(
    'ended', (select coalesce(jsonb_agg(jsonb_build_object('type', type, 'status', status, 'tasks', tasks)), '[]') from (
      select type, status, count(*) as tasks from (select type, status from throughline.task where ended_at > v_from limit p_rows_max) e group by type, status) q),
    'receipts', (select coalesce(jsonb_agg(jsonb_build_object('verdict', verdict, 'receipts', receipts)), '[]') from (
      select coalesce(verdict, 'unjudged') as verdict, count(*) as receipts from (select verdict from throughline.receipt where received_at > v_from limit p_rows_max) r group by 1) q),
    'outbox', (select jsonb_build_object('waiting', count(*) filter (where parked_at is null), 'parked', count(*) filter (where parked_at is not null),
        'lag_ms', coalesce(max(throughline._ms(v_now - not_before)) filter (where parked_at is null and not_before <= v_now), 0))
      from (select parked_at, not_before from throughline.outbox order by not_before limit p_rows_max) o),
    'cancels_overdue', (select count(*) from (select from throughline.cancel_step where verdict = 'pending' and deadline_at < v_now limit p_rows_max) c),
    'receipts_overdue', (select count(*) from (select from throughline.step where receipt_due_at < v_now limit p_rows_max) s),
    'leases', (select jsonb_build_object('held', count(*), 'expired', count(*) filter (where lease_expires_at < v_now))
      from (select lease_expires_at from throughline.step where claim_id is not null limit p_rows_max) l),
    'workers', (select jsonb_build_object('seen', count(*), 'clock_skew_ms', coalesce(max(abs(clock_skew_ms)), 0))
      from (select clock_skew_ms from throughline.worker where not stopping and seen_at > v_now - throughline._interval(p_worker_seen_ms) limit p_rows_max) w)) into v_rest;
  return v_rest || jsonb_build_object('as_of', throughline._iso(v_now), 'window_ms', p_window_ms, 'tasks', v_open, 'queued', v_queued, 'troubled', v_steps, 'truncated', v_open_rows >= p_rows_max);
end $$;

-- Attempts begun and leases that ran out, by equal spans of the window, oldest first. Looks at the newest p_rows_max entries
-- of the timeline: "since" is later than the window's beginning where they reach less far back.
create or replace function throughline.ledger_activity(p_rows_max integer, p_window_ms bigint, p_spans integer) returns jsonb language plpgsql volatile as $$
declare
  v_now timestamptz := throughline.now();
  v_from timestamptz := v_now - throughline._interval(p_window_ms);
  v_oldest timestamptz;
  v_spans jsonb;
begin
  with newest as (select at, event, part from throughline.timeline order by id desc limit p_rows_max),
    counted as (
      select least(floor(extract(epoch from at - v_from) * 1000 / (p_window_ms::numeric / p_spans)), p_spans - 1)::int as span,
        count(*) filter (where event = 'claim') as attempts, count(*) filter (where event = 'expire') as rescues
      from newest where at >= v_from and part = 1 and event in ('claim', 'expire') group by 1
    )
  select (select case when count(*) = p_rows_max then min(at) end from newest),
    (select jsonb_agg(jsonb_build_object('at', throughline._iso(v_from + throughline._interval(p_window_ms * s / p_spans)), 'attempts', coalesce(c.attempts, 0), 'rescues', coalesce(c.rescues, 0)) order by s)
      from generate_series(0, p_spans - 1) s left join counted c on c.span = s)
  into v_oldest, v_spans;
  return jsonb_build_object('as_of', throughline._iso(v_now), 'since', throughline._iso(greatest(v_oldest, v_from)), 'span_ms', p_window_ms / p_spans, 'spans', v_spans);
end $$;
