-- Bulk replay and bulk cancel: what they are about is frozen when they are made, each item has a result of its own, and
-- whoever drives them (a worker's loop, a command line) does so by one call for a bounded batch.

-- What a replay of this step would meet now: {to} or {refused, details}.
create or replace function throughline._replay_foreseen(s throughline.step, p_void jsonb, p_now timestamptz) returns jsonb language plpgsql volatile as $$
declare
  f throughline.facts;
  r throughline.transition_rule;
begin
  if s.state <> 'dead' then return jsonb_build_object('refused', 'REPLAY_NOT_DEAD', 'state', s.state, 'reason', s.reason); end if;
  if s.cancel_id is not null then return jsonb_build_object('refused', 'REPLAY_CANCEL_SET', 'cancel', s.cancel_id); end if;
  f := throughline._facts(s, 'replay', p_now, '{}');
  if jsonb_array_length(p_void) > 0 and s.effects > 0 then
    -- As if the named effects had been voided.
    f.open := s.open_count > (select count(*) from throughline.effect e join throughline.request q on q.effect_id = e.id and q.outcome is null
      where e.task_id = s.task_id and e.step = s.name and e.live and e.kind = 'effect' and throughline._voids(p_void, e.name, e.item));
    f.confirmed := exists (select from throughline.effect e where e.task_id = s.task_id and e.step = s.name and e.live and e.submits and e.status = 'confirmed'
      and not throughline._voids(p_void, e.name, e.item));
  end if;
  r := throughline._rule('replay', s.state, f);
  if r.label is not null then return jsonb_build_object('to', r.to_state); end if;
  -- What a person would have to confirm first.
  return jsonb_build_object('refused', case when f.open then 'REPLAY_EFFECT_OPEN' else 'REPLAY_PROOF_ARRIVED' end, 'confirm', (
    select coalesce(jsonb_agg(jsonb_build_object('effect', e.name, 'item', e.item, 'open', e.open, 'external_id', e.external_id) order by e.first_intent_at), '[]') from (
      select x.name, x.item, x.external_id, x.submits, x.first_intent_at, exists (select from throughline.request q where q.effect_id = x.id and q.outcome is null) as open
      from throughline.effect x where x.task_id = s.task_id and x.step = s.name and x.live and x.kind = 'effect') e
    where case when f.open then e.open else e.submits end));
end $$;

create or replace function throughline._voids(p_void jsonb, p_effect text, p_item text) returns boolean language sql immutable as $$
  select exists (select from jsonb_array_elements(p_void) v where v.value ->> 'effect' = p_effect and coalesce(v.value ->> 'item', '') = p_item)
$$;

-- What a cancel of this task (or the one step) would be answered now: {verdict}, the worst of its steps'.
create or replace function throughline._cancel_foreseen(p_task uuid, p_step text, p_now timestamptz) returns jsonb language sql volatile as $$
  select jsonb_build_object('verdict', (select v from unnest(array['pending', 'needs_person', 'too_late', 'withdrawn', 'stopped_at_boundary', 'prevented', 'already_terminal']) with ordinality u(v, n)
    where u.v in (
      select case when s.state in ('succeeded', 'cancelled') then 'already_terminal' when s.cancel_id is not null then 'pending' else case r.to_state
        when 'cancelled' then (select c.cancel_verdict from throughline.reason c where c.code = r.reason) when 'completed' then 'too_late' when 'dead' then 'needs_person' else 'pending' end end
      from throughline.step s, throughline._rule('cancel', s.state, throughline._facts(s, 'cancel', p_now, '{}')) r
      where s.task_id = p_task and (p_step is null or s.name = p_step)) order by n limit 1))
$$;

-- A bulk as it stands, with counts.
create or replace function throughline._bulk_answer(p_id uuid, p_now timestamptz) returns jsonb language sql stable as $$
  select jsonb_build_object('id', b.id, 'kind', b.kind, 'filter', b.filter, 'by', b."by", 'why', b.why, 'options', b.options, 'rate_per_s', b.rate_per_s, 'status', b.status,
    'items', n.items, 'counts', jsonb_build_object('pending', n.pending, 'done', n.done, 'refused', n.refused, 'skipped', n.skipped),
    'refused', (select coalesce(jsonb_agg(jsonb_build_object('code', x.code, 'items', x.items) order by x.items desc, x.code), '[]')
      from (select code, count(*) as items from throughline.bulk_item where bulk_id = b.id and result = 'refused' group by code) x),
    'foreseen', (select coalesce(jsonb_agg(x.foreseen || jsonb_build_object('items', x.items) order by x.items desc, x.foreseen), '[]')
      from (select jsonb_strip_nulls(jsonb_build_object('refused', i.foreseen -> 'refused', 'to', i.foreseen -> 'to', 'verdict', i.foreseen -> 'verdict')) as foreseen, count(*) as items
        from throughline.bulk_item i where i.bulk_id = b.id group by 1) x),
    'created_at', throughline._iso(b.created_at), 'applied_at', throughline._iso(b.applied_at), 'applied_by', b.applied_by, 'aborted_at', throughline._iso(b.aborted_at), 'aborted_by', b.aborted_by,
    'aborted_why', b.aborted_why, 'ended_at', throughline._iso(b.ended_at), 'next_in_ms', case when b.status = 'running' then greatest(0, throughline._ms(b.next_at - p_now)) end, 'as_of', throughline._iso(p_now))
  from throughline.bulk b cross join lateral (select count(*) as items, count(*) filter (where result = 'pending') as pending, count(*) filter (where result = 'done') as done,
    count(*) filter (where result = 'refused') as refused, count(*) filter (where result = 'skipped') as skipped from throughline.bulk_item where bulk_id = b.id) n
  where b.id = p_id
$$;

-- Makes a bulk and changes nothing else: {id, kind, filter: {reason?, category?, type?, step?, status?, from?, to?, tasks?}, by, why, options: {void?, drop_checkpoints?}, rate_per_s}.
-- Of a replay: dead steps, from and to are when they died. Of a cancel: tasks not at rest, from and to are when they were accepted.
-- Idempotent by id.
create or replace function throughline.bulk_create(p jsonb, p_items_max integer) returns jsonb language plpgsql as $$
declare
  v_now timestamptz := throughline.now();
  v_id uuid := (p ->> 'id')::uuid;
  k jsonb := p -> 'filter';
  v_void jsonb := coalesce(p #> '{options,void}', '[]');
  v_from timestamptz := coalesce((k ->> 'from')::timestamptz, '-infinity');
  v_to timestamptz := coalesce((k ->> 'to')::timestamptz, 'infinity');
  v_tasks uuid[] := case when k ? 'tasks' then array(select x.id::uuid from jsonb_array_elements_text(k -> 'tasks') x(id)) end;
  v_items integer;
  b throughline.bulk;
begin
  if k ->> 'type' is not null and not exists (select from throughline.task_type where type = k ->> 'type') then
    return jsonb_build_object('error', 'TYPE_UNKNOWN', 'path', '/filter/type', 'type', k -> 'type');
  end if;
  insert into throughline.bulk (id, kind, filter, by, why, options, rate_per_s, created_at)
  values (v_id, p ->> 'kind', k, p ->> 'by', p ->> 'why', p -> 'options', (p ->> 'rate_per_s')::numeric, v_now) on conflict (id) do nothing;
  if not found then
    select * into b from throughline.bulk where id = v_id;
    if b.kind <> p ->> 'kind' or b.filter <> k or b.options <> p -> 'options' or b.rate_per_s <> (p ->> 'rate_per_s')::numeric then
      return jsonb_build_object('error', 'ID_CONFLICT', 'id', v_id);
    end if;
    return throughline._bulk_answer(v_id, v_now) || jsonb_build_object('repeated', true);
  end if;
  if p ->> 'kind' = 'replay' then
    insert into throughline.bulk_item (bulk_id, ordinal, task_id, step, found, foreseen)
    select v_id, row_number() over (order by d.since, d.task_id, d.ordinal), d.task_id, d.name, jsonb_build_object('state', d.state, 'reason', d.reason, 'since', d.since), throughline._replay_foreseen(d, v_void, v_now)
    from (
      select s.* from throughline.step s join throughline.task t on t.id = s.task_id
      where s.state = 'dead' and (v_tasks is null or s.task_id = any(v_tasks)) and s.since >= v_from and s.since < v_to and (k ->> 'reason' is null or s.reason = k ->> 'reason') and (k ->> 'type' is null or t.type = k ->> 'type')
        and (k ->> 'category' is null or s.error ->> 'category' = k ->> 'category') and (k ->> 'step' is null or s.name = k ->> 'step') and (k ->> 'status' is null or t.status = k ->> 'status')
      order by s.since, s.task_id, s.ordinal limit p_items_max + 1) d;
  else
    insert into throughline.bulk_item (bulk_id, ordinal, task_id, step, found, foreseen)
    select v_id, row_number() over (order by d.created_at, d.id), d.id, k ->> 'step', jsonb_build_object('state', d.status, 'reason', d.reason, 'since', d.since), throughline._cancel_foreseen(d.id, k ->> 'step', v_now)
    from (
      select t.* from throughline.task t
      where not t.at_rest and (v_tasks is null or t.id = any(v_tasks)) and t.created_at >= v_from and t.created_at < v_to and (k ->> 'reason' is null or t.reason = k ->> 'reason') and (k ->> 'type' is null or t.type = k ->> 'type')
        and (k ->> 'status' is null or t.status = k ->> 'status')
        and (k ->> 'step' is null or exists (select from throughline.step s where s.task_id = t.id and s.name = k ->> 'step' and s.state not in ('succeeded', 'cancelled')))
        and (k ->> 'category' is null or exists (select from throughline.step s where s.task_id = t.id and s.error ->> 'category' = k ->> 'category' and (k ->> 'step' is null or s.name = k ->> 'step')))
      order by t.created_at, t.id limit p_items_max + 1) d;
  end if;
  get diagnostics v_items = row_count;
  if v_items > p_items_max then
    raise exception 'bulk refused' using errcode = 'TL010', detail = jsonb_build_object('error', 'BULK_TOO_LARGE', 'path', '/filter', 'limit', p_items_max || ' items')::text;
  end if;
  return throughline._bulk_answer(v_id, v_now);
end $$;

-- A person has it done: {by}. Idempotent.
create or replace function throughline.bulk_apply(p_id uuid, p_kind text, p jsonb) returns jsonb language plpgsql as $$
declare
  v_now timestamptz;
  b throughline.bulk;
begin
  select * into b from throughline.bulk where id = p_id and kind = p_kind for no key update;
  if not found then return jsonb_build_object('error', 'BULK_UNKNOWN', 'id', p_id); end if;
  v_now := throughline.now();
  if b.status = 'aborted' then return jsonb_build_object('error', 'BULK_ENDED', 'id', p_id, 'status', b.status, 'aborted_by', b.aborted_by, 'aborted_why', b.aborted_why); end if;
  if b.status <> 'planned' then return throughline._bulk_answer(p_id, v_now) || jsonb_build_object('repeated', true); end if;
  if exists (select from throughline.bulk_item where bulk_id = p_id) then
    update throughline.bulk set status = 'running', next_at = v_now, applied_at = v_now, applied_by = p ->> 'by' where id = p_id;
  else
    update throughline.bulk set status = 'done', applied_at = v_now, applied_by = p ->> 'by', ended_at = v_now where id = p_id;
  end if;
  return throughline._bulk_answer(p_id, v_now);
end $$;

-- A person stops it: {by, why}. What is pending is skipped; what was done stays. Idempotent.
create or replace function throughline.bulk_abort(p_id uuid, p_kind text, p jsonb) returns jsonb language plpgsql as $$
declare
  v_now timestamptz;
  b throughline.bulk;
begin
  -- Waits for a batch in progress, which is short.
  select * into b from throughline.bulk where id = p_id and kind = p_kind for no key update;
  if not found then return jsonb_build_object('error', 'BULK_UNKNOWN', 'id', p_id); end if;
  v_now := throughline.now();
  if b.status = 'done' then return jsonb_build_object('error', 'BULK_ENDED', 'id', p_id, 'status', b.status); end if;
  if b.status = 'aborted' then return throughline._bulk_answer(p_id, v_now) || jsonb_build_object('repeated', true); end if;
  update throughline.bulk_item set result = 'skipped', at = v_now where bulk_id = p_id and result = 'pending';
  update throughline.bulk set status = 'aborted', next_at = null, aborted_at = v_now, aborted_by = p ->> 'by', aborted_why = p ->> 'why', ended_at = v_now where id = p_id;
  return throughline._bulk_answer(p_id, v_now);
end $$;

-- One item, by the same functions as for a single task. What refuses it is its result; whoever else holds the task has it put off.
create or replace function throughline._bulk_item(b throughline.bulk, i throughline.bulk_item) returns text language plpgsql as $$
declare
  s throughline.step;
  v_row jsonb := jsonb_strip_nulls(jsonb_build_object('id', concat_ws('/', 'bulk', b.id, i.step), 'bulk', b.id, 'by', b."by", 'why', b.why, 'step', i.step)) || b.options;
  v_answer jsonb;
  v_text text;
  v_code text;
  v_details jsonb := '{}';
begin
  begin
    perform from throughline.task where id = i.task_id for no key update skip locked;
    if not found and exists (select from throughline.task where id = i.task_id) then
      update throughline.bulk_item set tries = tries + 1 where bulk_id = i.bulk_id and ordinal = i.ordinal;
      return 'busy';
    end if;
    if b.kind = 'replay' then
      select * into s from throughline.step where task_id = i.task_id and name = i.step;
      if found then v_details := throughline._replay_foreseen(s, coalesce(b.options -> 'void', '[]'), throughline.now()) - 'refused' - 'to'; end if;
      if s.state = 'dead' and s.cancel_id is null and s.since <> (i.found ->> 'since')::timestamptz then
        -- Another death than the one that was frozen: nobody has decided about it.
        v_answer := jsonb_build_object('error', 'BULK_ITEM_CHANGED', 'reason', s.reason, 'since', throughline._iso(s.since));
      else
        -- Of what is set aside, each item's own: the others have never asked for it.
        v_row := v_row - 'void' || coalesce((select jsonb_build_object('void', jsonb_agg(v.value)) from jsonb_array_elements(coalesce(b.options -> 'void', '[]')) v
          where exists (select from throughline.effect e where e.task_id = i.task_id and e.step = i.step and e.kind = 'effect' and throughline._voids(jsonb_build_array(v.value), e.name, e.item)) having count(*) > 0), '{}');
        v_answer := throughline.task_replay(i.task_id, v_row);
      end if;
    else
      v_answer := throughline.task_cancel(i.task_id, v_row);
    end if;
  exception
    when sqlstate 'TL010' then
      get stacked diagnostics v_text = pg_exception_detail;
      v_answer := v_text::jsonb;
    when others then
      -- What met another transaction, or a server that is full, has its turn again.
      if left(sqlstate, 2) in ('40', '53', '55') then
        update throughline.bulk_item set tries = tries + 1 where bulk_id = i.bulk_id and ordinal = i.ordinal;
        return 'busy';
      end if;
      v_answer := jsonb_build_object('error', 'INVARIANT_BROKEN', 'sqlstate', sqlstate, 'message', left(sqlerrm, 500));
  end;
  v_code := v_answer ->> 'error';
  if v_code is not null then v_details := v_details || (v_answer - 'error' - 'steps');
  elsif b.kind = 'replay' then v_details := jsonb_build_object('replay', v_row -> 'id', 'rule', v_answer #> '{steps,0,rule}');
  else v_details := jsonb_build_object('cancel', v_row -> 'id', 'verdict', v_answer -> 'verdict');
  end if;
  update throughline.bulk_item set result = case when v_code is null then 'done' else 'refused' end, code = v_code, details = v_details, at = throughline.now()
  where bulk_id = i.bulk_id and ordinal = i.ordinal;
  return case when v_code is null then 'done' else 'refused' end;
end $$;

-- The next due items of a bulk (null: of the one that has been due longest), at most p_limit. Any number of drivers may call it: one at a time
-- has the bulk, and the pace is in its row. What was missed while nobody drove is not caught up with, beyond one second's worth.
create or replace function throughline.bulk_advance(p_id uuid, p_limit integer) returns jsonb language plpgsql as $$
declare
  v_now timestamptz := throughline.now();
  b throughline.bulk;
  i throughline.bulk_item;
  v_from timestamptz;
  v_due integer;
  v_turn jsonb := '{"done": 0, "refused": 0, "busy": 0}';
  v_taken integer := 0;
  v_result text;
begin
  if p_id is null then
    select * into b from throughline.bulk where status = 'running' and next_at <= v_now order by next_at limit 1 for no key update skip locked;
    if not found then return jsonb_build_object('bulk', null, 'taken', 0); end if;
  else
    select * into b from throughline.bulk where id = p_id for no key update skip locked;
    if not found then
      if not exists (select from throughline.bulk where id = p_id) then return jsonb_build_object('error', 'BULK_UNKNOWN', 'id', p_id); end if;
      return jsonb_build_object('bulk', throughline._bulk_answer(p_id, v_now), 'taken', 0);
    end if;
    if b.status <> 'running' then return jsonb_build_object('bulk', throughline._bulk_answer(p_id, v_now), 'taken', 0); end if;
  end if;
  v_now := throughline.now();
  v_from := greatest(b.next_at, v_now - interval '1 second');
  v_due := case when v_from > v_now then 0 else least(p_limit, floor(extract(epoch from v_now - v_from) * b.rate_per_s) + 1) end;
  if v_due > 0 then
    for i in select * from throughline.bulk_item where bulk_id = b.id and result = 'pending' order by tries, ordinal limit v_due loop
      v_result := throughline._bulk_item(b, i);
      v_turn := jsonb_set(v_turn, array[v_result], to_jsonb((v_turn ->> v_result)::integer + 1));
      v_taken := v_taken + 1;
    end loop;
    if exists (select from throughline.bulk_item where bulk_id = b.id and result = 'pending') then
      update throughline.bulk set next_at = v_from + throughline._interval(1000 * v_taken / b.rate_per_s) where id = b.id;
    else
      update throughline.bulk set status = 'done', next_at = null, ended_at = throughline.now() where id = b.id;
    end if;
  end if;
  return v_turn || jsonb_build_object('bulk', throughline._bulk_answer(b.id, throughline.now()), 'taken', v_taken);
end $$;
