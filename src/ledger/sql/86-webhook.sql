-- Webhooks: who is told what. Secrets go in and come out to the sender alone; no answer here shows one.

create or replace function throughline._webhook_answer(p_id uuid) returns jsonb language sql stable as $$
  select jsonb_build_object('id', w.id, 'url', w.url, 'events', w.events, 'types', w.types, 'enabled', w.enabled, 'disabled_why', w.disabled_why,
    'secrets', (select count(*) from jsonb_array_elements(w.secrets) x where x.value ->> 'until' is null or (x.value ->> 'until')::timestamptz > throughline.now()),
    'created_at', throughline._iso(w.created_at), 'created_by', w.created_by, 'changed_at', throughline._iso(w.changed_at), 'changed_by', w.changed_by,
    'quiet_until', case when w.not_before > throughline.now() then throughline._iso(w.not_before) end,
    'pending', (select count(*) from throughline.notification n where n.webhook_id = w.id and n.status = 'pending'),
    'parked', (select count(*) from throughline.notification n where n.webhook_id = w.id and n.status = 'parked'))
  from throughline.webhook w where w.id = p_id
$$;

-- Those in use.
create or replace function throughline.webhook_list() returns jsonb language sql volatile as $$
  select coalesce(jsonb_agg(throughline._webhook_answer(w.id) order by w.created_at, w.id), '[]') from throughline.webhook w where w.removed_at is null
$$;

-- Adds a webhook: {id, url, secret, events, types, by}. Idempotent by id.
create or replace function throughline.webhook_add(p jsonb) returns jsonb language plpgsql as $$
declare
  v_now timestamptz := throughline.now();
  v_id uuid := (p ->> 'id')::uuid;
begin
  insert into throughline.webhook (id, url, secrets, events, types, created_at, created_by, changed_at, changed_by)
  values (v_id, p ->> 'url', jsonb_build_array(jsonb_build_object('secret', p -> 'secret', 'until', null)),
    array(select jsonb_array_elements_text(p -> 'events')), array(select jsonb_array_elements_text(p -> 'types')), v_now, p ->> 'by', v_now, p ->> 'by')
  on conflict (id) do nothing;
  if not found and not exists (select from throughline.webhook where id = v_id and url = p ->> 'url' and removed_at is null) then
    return jsonb_build_object('error', 'ID_CONFLICT', 'id', v_id);
  end if;
  return throughline._webhook_answer(v_id);
end $$;

-- Changes what is given: {url?, events?, types?, enabled?, why?, by}.
create or replace function throughline.webhook_change(p_id uuid, p jsonb) returns jsonb language plpgsql as $$
begin
  update throughline.webhook set
    url = coalesce(p ->> 'url', url),
    events = case when p ? 'events' then array(select jsonb_array_elements_text(p -> 'events')) else events end,
    types = case when p ? 'types' then array(select jsonb_array_elements_text(p -> 'types')) else types end,
    enabled = coalesce((p ->> 'enabled')::boolean, enabled),
    disabled_why = case (p ->> 'enabled')::boolean when false then coalesce(p ->> 'why', 'disabled') when true then null else disabled_why end,
    not_before = case when (p ->> 'enabled')::boolean then '-infinity' else not_before end,
    changed_at = throughline.now(), changed_by = p ->> 'by'
  where id = p_id and removed_at is null;
  if not found then return jsonb_build_object('error', 'WEBHOOK_UNKNOWN', 'id', p_id); end if;
  return throughline._webhook_answer(p_id);
end $$;

-- A new secret: {secret, overlap_ms, by}. The one before signs as well until the overlap is over; older ones go. Idempotent by the secret.
create or replace function throughline.webhook_rotate(p_id uuid, p jsonb) returns jsonb language plpgsql as $$
declare
  v_now timestamptz;
  w throughline.webhook;
begin
  select * into w from throughline.webhook where id = p_id and removed_at is null for no key update;
  if not found then return jsonb_build_object('error', 'WEBHOOK_UNKNOWN', 'id', p_id); end if;
  v_now := throughline.now();
  if w.secrets -> 0 ->> 'secret' <> p ->> 'secret' then
    update throughline.webhook set
      secrets = jsonb_build_array(jsonb_build_object('secret', p -> 'secret', 'until', null),
        jsonb_build_object('secret', w.secrets -> 0 -> 'secret', 'until', v_now + throughline._interval((p ->> 'overlap_ms')::numeric))),
      changed_at = v_now, changed_by = p ->> 'by'
    where id = p_id;
  end if;
  return throughline._webhook_answer(p_id);
end $$;

-- Nothing is sent there any more, and its secrets are forgotten; what was sent stays on record. {by}
create or replace function throughline.webhook_remove(p_id uuid, p jsonb) returns jsonb language plpgsql as $$
declare
  v_now timestamptz := throughline.now();
  v_dropped integer;
begin
  update throughline.webhook set enabled = false, disabled_why = 'removed', secrets = '[]', removed_at = v_now, changed_at = v_now, changed_by = p ->> 'by'
  where id = p_id and removed_at is null;
  if not found then return jsonb_build_object('error', 'WEBHOOK_UNKNOWN', 'id', p_id); end if;
  update throughline.notification set status = 'dropped', ended_at = v_now where webhook_id = p_id and status in ('pending', 'parked');
  get diagnostics v_dropped = row_count;
  return jsonb_build_object('removed', true, 'dropped', v_dropped);
end $$;

-- A notification that tells of nothing, sent as all others are: {id, by}. Idempotent by id.
create or replace function throughline.webhook_test(p_id uuid, p jsonb) returns jsonb language plpgsql as $$
declare
  v_now timestamptz := throughline.now();
begin
  if not exists (select from throughline.webhook where id = p_id and removed_at is null) then return jsonb_build_object('error', 'WEBHOOK_UNKNOWN', 'id', p_id); end if;
  insert into throughline.notification (id, webhook_id, event, subject, window_key, at, not_before, facts)
  values ((p ->> 'id')::uuid, p_id, 'webhook.test', 'webhook/' || p_id, p ->> 'id', v_now, v_now, jsonb_build_object('by', p -> 'by'))
  on conflict do nothing;
  return jsonb_build_object('notification', p -> 'id', 'enabled', (select enabled from throughline.webhook where id = p_id));
end $$;
