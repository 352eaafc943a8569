-- What only a named person may do, with a reason: replay, confirm, correct.

-- What a replay asks beside its steps, in one form: two that ask the same are equal.
create or replace function throughline._replay_options(p jsonb) returns jsonb language sql immutable as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'void', (select jsonb_agg(distinct jsonb_build_object('effect', v.value ->> 'effect', 'item', coalesce(v.value ->> 'item', ''))) from jsonb_array_elements(coalesce(p -> 'void', '[]')) v),
    'drop_checkpoints', nullif((p ->> 'drop_checkpoints')::boolean, false)))
$$;

-- Replays dead steps: {id, by, why, step?, void?: [{effect, item}], drop_checkpoints?, bulk?}. Idempotent by id; a result per step.
create or replace function throughline.task_replay(p_task uuid, p jsonb) returns jsonb language plpgsql as $$
declare
  t throughline.task;
  s record;
  e record;
  v_now timestamptz;
  v_result jsonb := '[]';
  v_label text;
  v_refusal text;
  v_done integer := 0;
  v_options jsonb := throughline._replay_options(p);
  v_void jsonb;
  x throughline.replay;
begin
  t := throughline._lock(p_task);
  if t.id is null then return throughline._unknown(p_task); end if;
  perform from throughline.step where task_id = p_task order by ordinal for update;
  v_now := throughline.now();
  select * into x from throughline.replay where task_id = p_task and id = p ->> 'id';
  if found then
    if x.step is distinct from p ->> 'step' or x.options <> v_options then return jsonb_build_object('error', 'ID_CONFLICT', 'id', x.id); end if;
    return x.result || jsonb_build_object('repeated', true);
  end if;
  if p ->> 'step' is not null and not exists (select from throughline.step where task_id = p_task and name = p ->> 'step') then
    return jsonb_build_object('error', 'STEP_UNKNOWN', 'step', p ->> 'step');
  end if;
  -- What was never asked of the outside cannot be set aside: a slip of the pen must not pass for it.
  select v.value into e from jsonb_array_elements(coalesce(v_options -> 'void', '[]')) v
  where not exists (select from throughline.effect f join throughline.step st on st.task_id = f.task_id and st.name = f.step
    where f.task_id = p_task and f.name = v.value ->> 'effect' and f.item = v.value ->> 'item' and f.kind = 'effect' and (st.name = p ->> 'step' or (p ->> 'step' is null and st.state = 'dead')))
  limit 1;
  if found and exists (select from throughline.step where task_id = p_task and state = 'dead') then return jsonb_build_object('error', 'EFFECT_UNKNOWN') || e.value; end if;
  for s in select st.* from throughline.step st where st.task_id = p_task and (st.name = p ->> 'step' or (p ->> 'step' is null and st.state = 'dead')) order by st.ordinal loop
    v_refusal := case when s.state <> 'dead' then 'REPLAY_NOT_DEAD' when s.cancel_id is not null then 'REPLAY_CANCEL_SET' end;
    if v_refusal is null then
    begin
      v_void := '[]';
      for e in select f.id, v.value from throughline.effect f join jsonb_array_elements(coalesce(v_options -> 'void', '[]')) v on v.value ->> 'effect' = f.name and v.value ->> 'item' = f.item
        where f.task_id = p_task and f.step = s.name and f.live and f.kind = 'effect' loop
        perform throughline._end_generation(e.id, 'voided', v_now);
        v_void := v_void || e.value;
      end loop;
      if (p ->> 'drop_checkpoints')::boolean then delete from throughline.checkpoint where task_id = p_task and step = s.name; end if;
      v_label := throughline._move(p_task, s.name, 'replay', v_now, p ->> 'by', jsonb_build_object('facts', jsonb_strip_nulls(jsonb_build_object('why', p -> 'why', 'replay', p -> 'id', 'bulk', p -> 'bulk',
        'void', nullif(v_void, '[]'), 'drop_checkpoints', v_options -> 'drop_checkpoints', 'attempts_before', s.attempt))));
      if v_label is null then
        raise exception using errcode = 'TL901', message = case when (select open_count from throughline.step where task_id = p_task and name = s.name) > 0 then 'REPLAY_EFFECT_OPEN' else 'REPLAY_PROOF_ARRIVED' end;
      end if;
    exception when sqlstate 'TL901' then
      -- This step's part is undone (what was voided, too); the others' stays.
      v_refusal := sqlerrm;
    end;
    end if;
    if v_refusal is null then v_done := v_done + 1; end if;
    v_result := v_result || jsonb_build_array(jsonb_strip_nulls(jsonb_build_object('step', s.name, 'replayed', v_refusal is null, 'refused', v_refusal, 'rule', v_label)));
  end loop;
  if v_done = 0 then
    -- Nothing was replayed: nothing is written either (a voided effect would be half a replay).
    raise exception 'replay refused' using errcode = 'TL010', detail = jsonb_build_object('error', coalesce(v_result -> 0 ->> 'refused', 'REPLAY_NOT_DEAD'), 'steps', v_result, 'status', t.status)::text;
  end if;
  v_result := jsonb_build_object('task', p_task, 'id', p ->> 'id', 'steps', v_result);
  insert into throughline.replay (task_id, id, step, by, why, options, at, result)
  values (p_task, p ->> 'id', p ->> 'step', p ->> 'by', p ->> 'why', v_options, v_now, v_result);
  perform throughline._after(p_task, v_now, p ->> 'by', true);
  return v_result || jsonb_build_object('status', (select status from throughline.task where id = p_task));
end $$;

-- A person knows what happened outside: {id, step, effect, item?, present, external_id?, result?, evidence, by, why}. Idempotent by id.
create or replace function throughline.effect_confirm(p_task uuid, p jsonb) returns jsonb language plpgsql as $$
declare
  t throughline.task;
  s throughline.step;
  e throughline.effect;
  w throughline.effect;
  v_now timestamptz;
  v_present boolean := (p ->> 'present')::boolean;
  v_event text := case when (p ->> 'present')::boolean then 'person_present' else 'person_absent' end;
  v_open boolean;
  v_label text;
  l throughline.timeline;
  -- What is said: the same again under the same id is a repeat, anything else is not.
  v_said jsonb := jsonb_strip_nulls(jsonb_build_object('effect', p -> 'effect', 'item', coalesce(p ->> 'item', ''), 'external_id', p -> 'external_id', 'evidence', p -> 'evidence',
    'result_sha256', encode(sha256(convert_to((p -> 'result')::text, 'utf8')), 'hex')));
begin
  t := throughline._lock(p_task);
  if t.id is null then return throughline._unknown(p_task); end if;
  select x.* into l from throughline.timeline x where x.task_id = p_task and x.kind = 'transition' and x.event in ('person_present', 'person_absent') and x.facts ->> 'confirmation' = p ->> 'id';
  if found then
    if l.step is distinct from p ->> 'step' or l.event <> v_event or l.facts - array['confirmation', 'why', 'generation'] <> v_said then
      return jsonb_build_object('error', 'ID_CONFLICT', 'id', p ->> 'id');
    end if;
    return jsonb_build_object('task', p_task, 'id', p ->> 'id', 'step', l.step, 'rule', l.rule, 'state', (select state from throughline.step where task_id = p_task and name = l.step), 'repeated', true);
  end if;
  select * into s from throughline.step where task_id = p_task and name = p ->> 'step' for update;
  if not found then return jsonb_build_object('error', 'STEP_UNKNOWN', 'step', p ->> 'step'); end if;
  v_now := throughline.now();
  select * into e from throughline.effect where task_id = p_task and step = s.name and name = p ->> 'effect' and item = coalesce(p ->> 'item', '') and live and kind = 'effect';
  if not found then return jsonb_build_object('error', 'EFFECT_UNKNOWN', 'effect', p ->> 'effect', 'item', coalesce(p ->> 'item', '')); end if;
  v_open := exists (select from throughline.request r where r.effect_id = e.id and r.outcome is null);
  if s.state not in ('dead', 'unconfirmed') or not (v_open or e.submits) then
    return jsonb_build_object('error', 'TRANSITION_REFUSED', 'state', s.state, 'event', v_event, 'effect_status', e.status);
  end if;
  if v_present and e.external_id <> p ->> 'external_id' then
    return jsonb_build_object('error', 'EXTERNAL_ID_CONFLICT', 'known', e.external_id, 'given', p -> 'external_id');
  end if;
  select * into w from throughline.effect where task_id = p_task and step = s.name and kind = 'withdrawal' and live;
  if v_present then
    perform throughline._confirm_effect(e.id, p ->> 'external_id', p -> 'result', v_now);
    if e.submits then update throughline.effect set done = true where id = e.id; end if;
    -- One that is under way may still act: it stays open.
    if e.submits and w.status in ('lost', 'confirmed') then perform throughline._end_generation(w.id, 'refused', v_now); end if;
  elsif e.submits and w.status in ('lost', 'confirmed') then
    perform throughline._end_submission(p_task, s.name, 'withdrawn', v_now);
  elsif e.status = 'confirmed' then
    perform throughline._end_generation(e.id, 'voided', v_now);
  else
    perform throughline._close_effect(e.id, 'absent', v_now);
  end if;
  v_label := throughline._move(p_task, s.name, v_event, v_now, p ->> 'by',
    jsonb_build_object('submits', e.submits, 'facts', v_said || jsonb_build_object('confirmation', p -> 'id', 'why', p -> 'why', 'generation', e.generation)));
  if v_label is null then
    raise exception 'refused' using errcode = 'TL010', detail = jsonb_build_object('error', 'TRANSITION_REFUSED', 'state', s.state, 'event', v_event)::text;
  end if;
  perform throughline._after(p_task, v_now, p ->> 'by', true);
  return jsonb_build_object('task', p_task, 'id', p ->> 'id', 'step', s.name, 'rule', v_label, 'state', (select state from throughline.step where task_id = p_task and name = s.name));
end $$;

-- A wrong reason is corrected by an appended entry that points at it: {entry, by, why, reason?, id?}. Idempotent by id, and by
-- what is said: the same person says the same of the same entry once.
create or replace function throughline.timeline_correct(p_task uuid, p jsonb) returns jsonb language plpgsql as $$
declare
  l throughline.timeline;
  c throughline.timeline;
  v_said jsonb;
  v_id bigint;
begin
  if (throughline._lock(p_task)).id is null then return throughline._unknown(p_task); end if;
  select * into l from throughline.timeline where task_id = p_task and id = (p ->> 'entry')::bigint;
  if not found then return jsonb_build_object('error', 'ENTRY_UNKNOWN', 'entry', p -> 'entry'); end if;
  v_said := jsonb_strip_nulls(jsonb_build_object('corrects', l.id, 'why', p -> 'why', 'was', l.reason, 'is', p -> 'reason'));
  select x.* into c from throughline.timeline x where x.task_id = p_task and x.kind = 'correction' and x.facts ->> 'correction' = p ->> 'id';
  if found and c.facts - 'correction' <> v_said then return jsonb_build_object('error', 'ID_CONFLICT', 'id', p ->> 'id'); end if;
  if not found then
    select x.* into c from throughline.timeline x where x.task_id = p_task and x.kind = 'correction' and x.actor = p ->> 'by' and x.facts - 'correction' = v_said;
  end if;
  if found then return jsonb_build_object('entry', c.id, 'corrects', l.id, 'repeated', true); end if;
  if p ->> 'reason' = l.reason then return jsonb_build_object('error', 'INPUT_INVALID', 'path', '/reason', 'entry', l.id, 'reason', l.reason); end if;
  v_id := throughline._log(p_task, l.step, 'correction', throughline.now(), p ->> 'by', v_said || jsonb_strip_nulls(jsonb_build_object('correction', p -> 'id')),
    coalesce((select state from throughline.step where task_id = p_task and name = l.step), '-'));
  return jsonb_build_object('entry', v_id, 'corrects', l.id);
end $$;
