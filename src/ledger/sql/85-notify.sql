-- Notifications: the outbox's second kind, with its own order, claims and parking. A row is written in the transaction of
-- what it tells of; nothing is written while no webhook wants it.

create or replace function throughline._ms_of(p timestamptz) returns text language sql immutable as $$
  select (extract(epoch from p) * 1000)::bigint::text
$$;

-- One row for each webhook that wants the event, once in its window. p_at: when what it tells of happened; a webhook is not
-- told what was there before it.
create or replace function throughline._notify(p_event text, p_task uuid, p_step text, p_window text, p_at timestamptz, p_now timestamptz, p_facts jsonb default '{}')
returns void language sql volatile as $$
  insert into throughline.notification (webhook_id, event, task_id, step, subject, window_key, at, not_before, facts)
  select w.id, p_event, p_task, p_step, p_task || coalesce('/' || p_step, ''), p_window, p_at, p_now,
    jsonb_build_object('type', t.type, 'version', t.version, 'status', t.status, 'at_rest', t.at_rest) || p_facts
  from throughline.webhook w join throughline.task t on t.id = p_task
  where w.enabled and p_event = any (w.events) and (w.types = '{}' or t.type = any (w.types)) and w.created_at <= p_at
  on conflict do nothing
$$;

-- A task has come to rest, or one of its steps is dead.
create or replace function throughline._notify_ends(p_task uuid, p_now timestamptz) returns void language plpgsql as $$
declare
  t throughline.task;
  s record;
begin
  if not exists (select from throughline.webhook where enabled) then return; end if;
  select * into strict t from throughline.task where id = p_task;
  for s in select name, reason, since, attempt, error ->> 'category' as category from throughline.step where task_id = p_task and state = 'dead' order by ordinal loop
    perform throughline._notify('step.dead', p_task, s.name, throughline._ms_of(s.since), s.since, p_now,
      jsonb_strip_nulls(jsonb_build_object('state', 'dead', 'reason', s.reason, 'attempt', s.attempt, 'category', s.category)));
  end loop;
  if t.at_rest then
    perform throughline._notify('task.' || t.status, p_task, null, throughline._ms_of(t.ended_at), t.ended_at, p_now,
      jsonb_strip_nulls(jsonb_build_object('reason', t.reason, 'held_by', t.held_by)));
  end if;
end $$;

-- A review was reminded of. From the third time on it is escalated as well.
create or replace function throughline._notify_review(p_task uuid, p_step text, p_now timestamptz) returns void language plpgsql as $$
declare
  s throughline.step;
  v_reminders integer;
  v_facts jsonb;
begin
  if not exists (select from throughline.webhook where enabled) then return; end if;
  select * into strict s from throughline.step where task_id = p_task and name = p_step;
  if not s.inbox or s.reason <> 'review_reminded' then return; end if;
  select count(*) into v_reminders from throughline.timeline where task_id = p_task and step = p_step and reason = 'review_reminded' and at >= s.since;
  v_facts := jsonb_build_object('state', s.state, 'reason', s.reason, 'waiting_since', throughline._iso(s.since), 'reminders', v_reminders);
  perform throughline._notify(case s.state when 'submitted' then 'review.unopened' else 'review.undecided' end, p_task, p_step, s.seq::text, p_now, p_now, v_facts);
  if v_reminders >= 3 then perform throughline._notify('review.escalated', p_task, p_step, s.seq::text, p_now, p_now, v_facts); end if;
end $$;

-- What becomes worth telling by the mere passing of time: steps that have been unconfirmed for longer than p_after_ms, once
-- in each p_window_ms. Bounded.
create or replace function throughline.notification_find(p_after_ms bigint, p_window_ms bigint, p_limit integer) returns integer language plpgsql as $$
declare
  v_now timestamptz := throughline.now();
  v_found integer;
begin
  if not exists (select from throughline.webhook where enabled and 'step.unconfirmed' = any (events)) then return 0; end if;
  insert into throughline.notification (webhook_id, event, task_id, step, subject, window_key, at, not_before, facts)
  select w.id, 'step.unconfirmed', s.task_id, s.name, s.task_id || '/' || s.name, k.window_key, v_now, v_now, jsonb_strip_nulls(jsonb_build_object(
    'type', t.type, 'version', t.version, 'status', t.status, 'at_rest', t.at_rest, 'state', s.state, 'reason', s.reason, 'attempt', s.attempt,
    'unconfirmed_since', throughline._iso(s.since), 'next_check_at', throughline._iso(s.next_check_at)))
  from throughline.step s
  join throughline.task t on t.id = s.task_id
  join throughline.webhook w on w.enabled and 'step.unconfirmed' = any (w.events) and (w.types = '{}' or t.type = any (w.types))
  cross join lateral (select throughline._ms_of(s.since) || '/' || floor((throughline._ms(v_now - s.since) - p_after_ms) / p_window_ms::numeric) as window_key) k
  where s.state = 'unconfirmed' and s.since <= v_now - throughline._interval(p_after_ms)
    and not exists (select from throughline.notification n where n.subject = s.task_id || '/' || s.name and n.event = 'step.unconfirmed' and n.window_key = k.window_key and n.webhook_id = w.id)
  order by s.since limit p_limit
  on conflict do nothing;
  get diagnostics v_found = row_count;
  return v_found;
end $$;

-- Takes due notifications for p_hold_ms, of each webhook at most p_each, so that one that hangs does not hold up the others.
create or replace function throughline.notification_take(p_limit integer, p_each integer, p_hold_ms bigint) returns jsonb language plpgsql as $$
declare
  v_now timestamptz;
  v_taken jsonb;
begin
  if not exists (select from throughline.webhook where enabled) then return '[]'; end if;
  v_now := throughline.now();
  with due as (
    select d.id from throughline.webhook w cross join lateral (
      select n.id from throughline.notification n where n.webhook_id = w.id and n.status = 'pending' and n.not_before <= v_now and n.taken_until <= v_now
      order by n.not_before, n.id limit p_each for update skip locked) d
    where w.enabled and w.not_before <= v_now limit p_limit
  ), taken as (
    update throughline.notification n set taken_until = v_now + throughline._interval(p_hold_ms), takes = takes + 1 from due where n.id = due.id returning n.*
  )
  select coalesce(jsonb_agg(jsonb_build_object(
    'id', k.id, 'take', k.takes, 'attempts', k.attempts, 'event', k.event, 'task', k.task_id, 'step', k.step, 'at', throughline._iso(k.at), 'facts', k.facts, 'body', k.body,
    'now', throughline._iso(v_now), 'webhook', k.webhook_id, 'url', w.url,
    'secrets', (select jsonb_agg(x.value ->> 'secret' order by x.ordinality) from jsonb_array_elements(w.secrets) with ordinality x
      where x.value ->> 'until' is null or (x.value ->> 'until')::timestamptz > v_now)) order by k.id), '[]')
  into v_taken from taken k join throughline.webhook w on w.id = k.webhook_id;
  return v_taken;
end $$;

-- The body as it will be sent, this time and each time after; the first one stays.
create or replace function throughline.notification_body(p_id uuid, p_body text) returns jsonb language sql volatile as $$
  update throughline.notification set body = coalesce(body, p_body) where id = p_id returning jsonb_build_object('body', body)
$$;

-- The endpoint took it: true whoever says so, and however late.
create or replace function throughline.notification_sent(p_id uuid, p_http_status integer) returns jsonb language plpgsql as $$
begin
  update throughline.notification set status = 'sent', attempts = attempts + 1, http_status = p_http_status, last_error = null, taken_until = '-infinity', ended_at = throughline.now()
  where id = p_id and status in ('pending', 'parked');
  return jsonb_build_object('recorded', found);
end $$;

-- Not sent: {take, error, http_status?, retry_ms, quiet_ms?, park?, gone?, attempts_max}. quiet_ms: the endpoint asked to be left alone.
-- gone: it said that it is no more, and is asked nothing any more.
create or replace function throughline.notification_failed(p_id uuid, p jsonb) returns jsonb language plpgsql as $$
declare
  v_now timestamptz := throughline.now();
  n throughline.notification;
begin
  update throughline.notification set attempts = attempts + 1, http_status = (p ->> 'http_status')::integer, last_error = left(p ->> 'error', 1000), taken_until = '-infinity',
    not_before = v_now + throughline._interval((p ->> 'retry_ms')::numeric),
    status = case when (p ->> 'park')::boolean or attempts + 1 >= (p ->> 'attempts_max')::integer then 'parked' else status end,
    ended_at = case when (p ->> 'park')::boolean or attempts + 1 >= (p ->> 'attempts_max')::integer then v_now end
  where id = p_id and takes = (p ->> 'take')::integer and status = 'pending' returning * into n;
  if not found then return jsonb_build_object('recorded', false, 'parked', false); end if;
  if p ->> 'quiet_ms' is not null then
    update throughline.webhook set not_before = greatest(not_before, v_now + throughline._interval((p ->> 'quiet_ms')::numeric)) where id = n.webhook_id;
  end if;
  if (p ->> 'gone')::boolean then
    update throughline.webhook set enabled = false, disabled_why = 'the endpoint answered 410 Gone', changed_at = v_now, changed_by = 'endpoint' where id = n.webhook_id and enabled;
  end if;
  if n.status = 'parked' and n.event not in ('notification.parked', 'webhook.test') then
    -- The others are told; not of what could not be told about what could not be told.
    insert into throughline.notification (webhook_id, event, task_id, step, subject, window_key, at, not_before, facts)
    select w.id, 'notification.parked', n.task_id, n.step, 'notification/' || n.id, throughline._ms_of(v_now), v_now, v_now,
      n.facts || jsonb_build_object('notification', n.id, 'webhook', n.webhook_id, 'event', n.event, 'attempts', n.attempts)
    from throughline.webhook w where w.enabled and w.id <> n.webhook_id and 'notification.parked' = any (w.events) and (w.types = '{}' or n.facts ->> 'type' = any (w.types))
    on conflict do nothing;
  end if;
  return jsonb_build_object('recorded', true, 'parked', n.status = 'parked', 'attempts', n.attempts);
end $$;

-- A person sends a parked notification again: {by, why}.
create or replace function throughline.notification_unpark(p_id uuid, p jsonb) returns jsonb language plpgsql as $$
declare
  n throughline.notification;
  v_now timestamptz;
begin
  select * into n from throughline.notification where id = p_id;
  if not found then return jsonb_build_object('error', 'NOTIFICATION_UNKNOWN', 'id', p_id); end if;
  if n.task_id is not null then perform throughline._lock(n.task_id); end if;
  v_now := throughline.now();
  update throughline.notification set status = 'pending', attempts = 0, not_before = v_now, taken_until = '-infinity', ended_at = null where id = p_id and status = 'parked';
  if not found then return jsonb_build_object('unparked', false, 'status', n.status); end if;
  if n.task_id is not null then
    perform throughline._log(n.task_id, null, 'note', v_now, p ->> 'by', jsonb_build_object('what', 'unparked', 'why', p -> 'why', 'notification', n.id, 'event', n.event));
  end if;
  return jsonb_build_object('unparked', true);
end $$;
