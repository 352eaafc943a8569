-- Effects: intent before the call, outcome after it. They change no state, so they touch the step's row
-- alone (and collide there with a cancel); a late outcome, which may move a step, takes the task's lock.

-- Writes the intent: {claim, message_id, name, item, digest}. The step must still be leased by this claim, with
-- no cancel. Answers: permitted (send_within_ms, key, thread_id), reuse (a confirmed answer), or refused with a code.
create or replace function throughline.effect_intend(p_task uuid, p_step text, p jsonb) returns jsonb language plpgsql as $$
declare
  s throughline.step;
  v_now timestamptz;
  v_plan jsonb;
  e throughline.effect;
  v_claim uuid := (p ->> 'claim')::uuid;
  v_message uuid := (p ->> 'message_id')::uuid;
  v_item text := coalesce(p ->> 'item', '');
  v_open integer;
  v_sent boolean;
  v_timeout bigint;
  v_asked_at timestamptz;
begin
  select * into s from throughline.step where task_id = p_task and name = p_step for update;
  v_now := throughline.now();
  if s.claim_id is distinct from v_claim then return throughline._fenced(p_task, p_step, v_claim); end if;
  select r.intent_at into v_asked_at from throughline.request r where r.message_id = v_message and r.claim_id = v_claim;
  if found then
    -- The first answer was lost. The permission still counts from the intent: lease and probes count from there.
    select x.* into e from throughline.effect x join throughline.request r on r.effect_id = x.id where r.message_id = v_message;
    return jsonb_build_object('permitted', true, 'repeated', true, 'key', e.key, 'thread_id', e.thread_id, 'generation', e.generation,
      'timeout_ms', e.timeout_ms, 'send_within_ms', greatest(0, throughline._send_permission_ms() - throughline._ms(v_now - v_asked_at)));
  end if;
  if s.state = 'cancel_requested' then return jsonb_build_object('refused', 'cancel'); end if;

  select f.value into v_plan from jsonb_array_elements(throughline._plan(p_task, s.ordinal) -> 'effects') f where f.value ->> 'name' = p ->> 'name';
  if v_plan is null then return jsonb_build_object('refused', 'undeclared'); end if;
  v_timeout := (v_plan ->> 'timeout_ms')::bigint;
  select * into e from throughline.effect where task_id = p_task and step = p_step and name = p ->> 'name' and item = v_item and live;
  if e.status = 'confirmed' then
    return jsonb_build_object('reuse', true, 'external_id', e.external_id, 'result', e.result, 'generation', e.generation);
  end if;
  -- The submitting effect is the step's last: nothing else may be open, and nothing follows it.
  if exists (select from throughline.effect o where o.task_id = p_task and o.step = p_step and o.live and o.submits and o.kind = 'effect'
      and o.id is distinct from e.id
      and (o.status = 'confirmed' or exists (select from throughline.request r where r.effect_id = o.id and r.outcome is null))) then
    return jsonb_build_object('refused', 'after_submission');
  end if;
  -- Another item would be another key: what was sent before under the first one may still arrive.
  if (v_plan ->> 'submits')::boolean and exists (select from throughline.effect o where o.task_id = p_task and o.step = p_step and o.live and o.submits and o.id is distinct from e.id
      and exists (select from throughline.request r where r.effect_id = o.id and r.outcome is distinct from 'not_sent')) then
    return jsonb_build_object('refused', 'request_changed');
  end if;
  select count(*) into v_open from throughline.request r where r.effect_id = e.id and r.outcome is null;
  if (v_plan ->> 'submits')::boolean and s.open_count > v_open then return jsonb_build_object('refused', 'effect_open'); end if;
  v_sent := e.id is not null and exists (select from throughline.request r where r.effect_id = e.id and r.outcome is distinct from 'not_sent');
  if v_sent and e.digest is distinct from p ->> 'digest' then return jsonb_build_object('refused', 'request_changed'); end if;
  if v_open > 0 and not coalesce(e.first_intent_at + throughline._interval(e.dedupe_window_ms - throughline._send_permission_ms() - e.timeout_ms) > v_now, false) then
    return jsonb_build_object('refused', 'unanswered');
  end if;

  if e.id is null then
    insert into throughline.effect (task_id, step, name, item, generation, key, thread_id, submits, dedupe_window_ms, visible_within_ms, absence_is_proof, timeout_ms, digest, first_intent_at, last_intent_at)
    select p_task, p_step, p ->> 'name', v_item, g.n, concat_ws('/', p_task, p_step, p ->> 'name', v_item, g.n), p_task || '/' || p_step,
      (v_plan ->> 'submits')::boolean, (v_plan ->> 'dedupe_window_ms')::bigint, (v_plan ->> 'visible_within_ms')::bigint, (v_plan ->> 'absence_is_proof')::boolean, v_timeout,
      p ->> 'digest', v_now, v_now
    from (select coalesce(max(generation), 0) + 1 as n from throughline.effect where task_id = p_task and step = p_step and name = p ->> 'name' and item = v_item) g
    returning * into e;
  else
    update throughline.effect set status = 'open', closed_at = null, last_intent_at = v_now, absent_looks = 0, digest = coalesce(p ->> 'digest', digest),
      -- Nothing of this generation was ever sent: its window starts with this request.
      first_intent_at = case when v_sent then first_intent_at else v_now end
    where id = e.id returning * into e;
  end if;
  insert into throughline.request (message_id, effect_id, task_id, step, attempt, epoch, claim_id, intent_at)
  values (v_message, e.id, p_task, p_step, s.attempt, s.epoch, v_claim, v_now);
  update throughline.step set effects = effects + 1, open_count = open_count + 1,
    lease_expires_at = greatest(lease_expires_at, v_now + throughline._interval(throughline._send_permission_ms() + v_timeout + throughline._lease_margin_ms()))
  where task_id = p_task and name = p_step;
  perform throughline._log(p_task, p_step, 'intent', v_now, 'worker:' || s.holder,
    jsonb_build_object('effect', e.name, 'item', e.item, 'generation', e.generation, 'message_id', v_message, 'key', e.key, 'submits', e.submits, 'digest', e.digest),
    s.state, null, s.attempt, s.epoch);
  return jsonb_build_object('permitted', true, 'key', e.key, 'thread_id', e.thread_id, 'generation', e.generation, 'timeout_ms', v_timeout, 'send_within_ms', throughline._send_permission_ms());
end $$;

-- Applies an outcome to its request and generation. Returns the generation as it was found.
create or replace function throughline._outcome(p jsonb, p_late boolean, p_now timestamptz) returns throughline.effect language plpgsql as $$
declare
  r throughline.request;
  e throughline.effect;
  v_outcome text := p ->> 'outcome';
  v_open integer;
  v_was_open boolean;
begin
  select * into strict r from throughline.request where message_id = (p ->> 'message_id')::uuid for update;
  select * into strict e from throughline.effect where id = r.effect_id for update;
  v_was_open := r.outcome is null;
  perform throughline._log(r.task_id, r.step, 'outcome', p_now, 'worker:' || (p ->> 'holder'),
    jsonb_strip_nulls(jsonb_build_object('effect', e.name, 'item', e.item, 'generation', e.generation, 'message_id', r.message_id, 'outcome', v_outcome,
      'external_id', p -> 'external_id', 'late', p_late, 'after', r.outcome, 'error', p -> 'error' -> 'category', 'status', p -> 'error' -> 'http_status')),
    (select state from throughline.step where task_id = r.task_id and name = r.step), null, r.attempt, r.epoch);
  if not e.live then return e; end if;
  if v_outcome = 'confirmed' then
    perform throughline._confirm_effect(e.id, p ->> 'external_id', p -> 'result', p_now);
    update throughline.request set outcome = 'confirmed', outcome_at = p_now, late = p_late where message_id = r.message_id;
    if (p ->> 'done')::boolean then update throughline.effect set done = true where id = e.id; end if;
    return e;
  end if;
  if not v_was_open then return e; end if;
  update throughline.request set outcome = v_outcome, outcome_at = p_now, late = p_late, error = p -> 'error' where message_id = r.message_id;
  update throughline.step set open_count = open_count - 1 where task_id = r.task_id and name = r.step;
  select count(*) into v_open from throughline.request where effect_id = e.id and outcome is null;
  if v_open = 0 and e.status <> 'confirmed' then
    update throughline.effect set status = v_outcome, closed_at = p_now where id = e.id;
    -- A refusal ends the generation only if no other request of it may still arrive.
    if v_outcome = 'refused' and not e.absent_established and not exists (
      select from throughline.request o where o.effect_id = e.id and o.outcome = 'absent') then
      perform throughline._end_generation(e.id, 'refused', p_now);
    end if;
  end if;
  return e;
end $$;

-- Records the outcome: {claim, holder, message_id, outcome: confirmed|refused|not_sent, external_id?, result?, error?}. Idempotent.
create or replace function throughline.effect_outcome(p_task uuid, p_step text, p jsonb) returns jsonb language plpgsql as $$
declare
  s throughline.step;
  r throughline.request;
  e throughline.effect;
  v_now timestamptz;
  v_current boolean := false;
  v_was_open boolean;
  v_label text;
begin
  select * into r from throughline.request where message_id = (p ->> 'message_id')::uuid and task_id = p_task and step = p_step;
  if not found then return jsonb_build_object('error', 'EFFECT_UNKNOWN', 'message_id', p -> 'message_id'); end if;
  -- A receipt or a look may have confirmed it before, without the result that the worker brings.
  if r.outcome = p ->> 'outcome' and not (r.outcome = 'confirmed' and p ? 'result' and (select result is null from throughline.effect where id = r.effect_id)) then
    return jsonb_build_object('recorded', true, 'repeated', true);
  end if;
  begin
    select * into s from throughline.step where task_id = p_task and name = p_step for update;
    v_current := s.claim_id = (p ->> 'claim')::uuid and s.claim_id = r.claim_id;
    -- Not current: give the row lock back before the task's lock is taken, or two calls could wait for each other.
    if v_current is not true then raise exception 'late' using errcode = 'TL900'; end if;
    perform throughline._outcome(p, false, throughline.now());
    return jsonb_build_object('recorded', true);
  exception when sqlstate 'TL900' then
    v_current := false;
  end;

  perform throughline._lock(p_task);
  select * into s from throughline.step where task_id = p_task and name = p_step for update;
  v_now := throughline.now();
  select outcome is null into v_was_open from throughline.request where message_id = r.message_id;
  e := throughline._outcome(p, true, v_now);
  -- Only what is new may move a step: an answer to what was closed, or confirmed before, is kept and that is all.
  if e.live and (v_was_open or (p ->> 'outcome' = 'confirmed' and e.status <> 'confirmed')) then
    v_label := throughline._after_evidence(p_task, p_step, e.id, v_now, 'worker:' || (p ->> 'holder'));
  end if;
  perform throughline._after(p_task, v_now, 'worker:' || (p ->> 'holder'), true);
  return jsonb_build_object('recorded', true, 'late', true, 'moved', v_label, 'epoch', s.epoch, 'claim_epoch', r.epoch);
end $$;

-- Nothing is open any more and the submission stands confirmed: it decides, whatever was closed last.
create or replace function throughline._submission_stands(p_task uuid, p_step text) returns boolean language sql stable as $$
  select s.open_count = 0 and exists (select from throughline.effect e where e.task_id = p_task and e.step = p_step and e.live and e.submits and e.status = 'confirmed')
  from throughline.step s where s.task_id = p_task and s.name = p_step
$$;

-- Evidence has been applied to a generation: what follows for a step that nobody holds.
create or replace function throughline._after_evidence(p_task uuid, p_step text, p_effect uuid, p_now timestamptz, p_actor text) returns text language plpgsql as $$
declare
  s throughline.step;
  e throughline.effect;
begin
  select * into strict s from throughline.step where task_id = p_task and name = p_step;
  select * into strict e from throughline.effect where id = p_effect;
  if s.state = 'queued' and e.submits and e.live and e.status = 'confirmed' then
    return throughline._move(p_task, p_step, 'late_confirmed', p_now, p_actor);
  elsif s.state = 'unconfirmed' then
    if (e.live and e.status = 'confirmed' and e.submits) or throughline._submission_stands(p_task, p_step) then
      return throughline._move(p_task, p_step, 'late_confirmed', p_now, p_actor);
    elsif e.live and e.status = 'confirmed' then
      return throughline._move(p_task, p_step, 'present', p_now, p_actor, jsonb_build_object('submits', false));
    elsif s.open_count = 0 then
      -- Refused or not sent: the answer itself proves absence.
      return throughline._move(p_task, p_step, 'absent', p_now, p_actor, jsonb_build_object('counts', true, 'submits', e.submits));
    end if;
  end if;
  return null;
end $$;
