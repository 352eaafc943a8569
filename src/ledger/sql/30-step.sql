-- Steps: claim, renew, checkpoint, artifact, settle. Every guard names the claim.

-- What a claim tells its holder.
create or replace function throughline._claim_answer(p_task uuid, p_step text, p_now timestamptz) returns jsonb language sql stable as $$
  select jsonb_build_object(
    'claimed', true, 'attempt', s.attempt, 'charged', s.charged, 'epoch', s.epoch, 'state', s.state,
    'lease_ms', (throughline._plan(p_task, s.ordinal) ->> 'lease_ms')::bigint, 'thread_id', s.task_id || '/' || s.name,
    'type', t.type, 'version', t.version, 'input', t.input, 'raw', t.raw,
    'results', coalesce((select jsonb_object_agg(n.name, n.result) from throughline.step n where n.task_id = s.task_id and n.name = any (s.needs)), '{}'),
    'checkpoints', coalesce((select jsonb_object_agg(c.name, c.value) from throughline.checkpoint c where c.task_id = s.task_id and c.step = s.name), '{}'),
    'effects', case when s.effects = 0 then '[]' else coalesce((select jsonb_agg(jsonb_build_object('name', e.name, 'item', e.item, 'generation', e.generation, 'status', e.status,
      'external_id', e.external_id, 'result', e.result)) from throughline.effect e where e.task_id = s.task_id and e.step = s.name and e.live and e.kind = 'effect'), '[]') end)
  from throughline.step s join throughline.task t on t.id = s.task_id where s.task_id = p_task and s.name = p_step
$$;

-- Takes a step for an attempt. Idempotent by claim id. Answers: claimed, held_ms, not_yet_ms, or refused.
create or replace function throughline.step_claim(p_task uuid, p_step text, p_claim uuid, p_holder text) returns jsonb language plpgsql as $$
declare
  t throughline.task;
  s throughline.step;
  v_now timestamptz;
  v_plan jsonb;
begin
  t := throughline._lock(p_task);
  if t.id is null then return throughline._unknown(p_task); end if;
  select * into s from throughline.step where task_id = p_task and name = p_step for update;
  if not found then return jsonb_build_object('error', 'STEP_UNKNOWN', 'step', p_step); end if;
  v_now := throughline.now();
  if s.claim_id = p_claim then return throughline._claim_answer(p_task, p_step, v_now); end if;
  if s.settled_claim_id = p_claim then return jsonb_build_object('refused', 'settled', 'view', throughline._view(p_task, v_now)); end if;
  if s.lease_expires_at < v_now or t.deadline_at <= v_now then
    perform throughline._tick(p_task, v_now, 'driver');
    select * into s from throughline.step where task_id = p_task and name = p_step;
  end if;
  if s.claim_id is not null then
    return jsonb_build_object('refused', 'held', 'held_ms', greatest(0, throughline._ms(throughline._rescue_at(s.lease_expires_at, (throughline._plan(p_task, s.ordinal) ->> 'lease_ms')::bigint) - v_now)), 'holder', s.holder, 'view', throughline._view(p_task, v_now));
  end if;
  if s.state in ('queued', 'unconfirmed') and s.next_run_at > v_now then
    return jsonb_build_object('refused', 'not_yet', 'not_yet_ms', throughline._ms(s.next_run_at - v_now), 'view', throughline._view(p_task, v_now));
  end if;
  v_plan := throughline._plan(p_task, s.ordinal);
  -- A claim that is lost with the server: its holder is fenced at its first intent or at its settle, and no intent can
  -- be durable without it. What is left is code that is harmless to repeat.
  if s.reentrant then perform throughline._unhurried(); end if;
  if throughline._move(p_task, p_step, 'claim', v_now, 'worker:' || p_holder,
    jsonb_build_object('claim_id', p_claim, 'holder', p_holder, 'lease_ms', v_plan -> 'lease_ms')) is null then
    return jsonb_build_object('refused', 'no_rule', 'state', s.state, 'view', throughline._view(p_task, v_now));
  end if;
  perform throughline._after(p_task, v_now, 'worker:' || p_holder, false);
  return throughline._claim_answer(p_task, p_step, v_now) || jsonb_build_object('waited_ms', throughline._ms(v_now - greatest(s.since, s.next_run_at)), 'after', s.reason);
end $$;

-- Extends a lease. Touches the step's row alone, so that it collides with a cancel; changes no state.
-- p_gap: the holder could not reach the ledger since its last renewal.
create or replace function throughline.lease_renew(p_task uuid, p_step text, p_claim uuid, p_lease_ms bigint, p_gap boolean, p_holder text) returns jsonb language plpgsql as $$
declare
  v_now timestamptz;
  s record;
begin
  if p_gap then update throughline.ledger_gap set ended_at = throughline.now(), reported_by = p_holder; end if;
  -- After a loss of the server no lease is rescued for one lease length.
  perform throughline._unhurried();
  perform from throughline.step where task_id = p_task and name = p_step for update;
  v_now := throughline.now();
  update throughline.step set lease_expires_at = greatest(lease_expires_at, v_now + throughline._interval(p_lease_ms))
  where task_id = p_task and name = p_step and claim_id = p_claim
  returning state, cancel_id, lease_expires_at, epoch into s;
  if not found then
    select epoch, state into s from throughline.step where task_id = p_task and name = p_step;
    return jsonb_build_object('refused', 'fenced', 'epoch', s.epoch, 'state', s.state);
  end if;
  return jsonb_build_object('renewed', true, 'cancel', s.state = 'cancel_requested', 'lease_ms', throughline._ms(s.lease_expires_at - v_now));
end $$;

create or replace function throughline._fenced(p_task uuid, p_step text, p_claim uuid) returns jsonb language sql stable as $$
  select jsonb_build_object('refused', 'fenced', 'epoch', s.epoch, 'state', s.state, 'held_by', s.holder)
  from throughline.step s where s.task_id = p_task and s.name = p_step
$$;

-- Stores progress under the lease; the first value of a name stays.
create or replace function throughline.checkpoint_put(p_task uuid, p_step text, p_claim uuid, p_name text, p_value jsonb, p_max integer) returns jsonb language plpgsql as $$
declare
  s throughline.step;
  v_value jsonb;
begin
  select * into s from throughline.step where task_id = p_task and name = p_step and claim_id = p_claim for no key update;
  if not found then return throughline._fenced(p_task, p_step, p_claim); end if;
  if (select count(*) >= p_max and not coalesce(bool_or(name = p_name), false) from throughline.checkpoint where task_id = p_task and step = p_step) then
    return jsonb_build_object('error', 'RESULT_TOO_LARGE', 'path', '/checkpoints', 'limit', p_max);
  end if;
  insert into throughline.checkpoint (task_id, step, name, value, attempt, epoch, at)
  values (p_task, p_step, p_name, p_value, s.attempt, s.epoch, throughline.now()) on conflict do nothing;
  select value into v_value from throughline.checkpoint where task_id = p_task and step = p_step and name = p_name;
  return jsonb_build_object('value', v_value);
end $$;

-- Records what the step made, under the lease.
create or replace function throughline.artifact_put(p_task uuid, p_step text, p_claim uuid, p jsonb, p_max integer) returns jsonb language plpgsql as $$
declare
  s throughline.step;
begin
  select * into s from throughline.step where task_id = p_task and name = p_step and claim_id = p_claim for no key update;
  if not found then return throughline._fenced(p_task, p_step, p_claim); end if;
  if (select count(*) >= p_max and not coalesce(bool_or(name = p ->> 'name' and sha256 = p ->> 'sha256'), false) from throughline.artifact where task_id = p_task and step = p_step) then
    return jsonb_build_object('error', 'RESULT_TOO_LARGE', 'path', '/artifacts', 'limit', p_max);
  end if;
  if throughline._artifact_leaving(p ->> 'sha256') then return jsonb_build_object('leaving', true); end if;
  insert into throughline.artifact as a (task_id, step, name, sha256, uri, media_type, bytes, attempt, epoch, at)
  values (p_task, p_step, p ->> 'name', p ->> 'sha256', p ->> 'uri', p ->> 'media_type', (p ->> 'bytes')::bigint, s.attempt, s.epoch, throughline.now())
  on conflict (task_id, step, name, sha256) do update set attempt = excluded.attempt, epoch = excluded.epoch, at = excluded.at where a.epoch <> excluded.epoch;
  return jsonb_build_object('stored', true);
end $$;

-- Ends an attempt: {claim, epoch, how, result?, error?, retryable?, retry_after_ms?, review?}. Idempotent by claim id.
-- how: done | submitted | boundary | failed | lost | release | review.
create or replace function throughline.step_settle(p_task uuid, p_step text, p jsonb) returns jsonb language plpgsql as $$
declare
  s throughline.step;
  v_now timestamptz;
  v_claim uuid := (p ->> 'claim')::uuid;
  v_how text := p ->> 'how';
  v_x jsonb;
  v_label text;
  v_actor text;
begin
  perform throughline._lock(p_task);
  select * into s from throughline.step where task_id = p_task and name = p_step for update;
  if not found then return jsonb_build_object('error', 'STEP_UNKNOWN', 'step', p_step); end if;
  v_now := throughline.now();
  -- Settled before: the same call again, its answer was lost. Each claim has an epoch of its own, so the entry is its own.
  if s.claim_id is distinct from v_claim and exists (select from throughline.timeline where task_id = p_task and step = p_step and kind = 'transition'
      and epoch = (p ->> 'epoch')::bigint and (event like 'settle_%' or event = 'release')) then
    return jsonb_build_object('settled', true, 'repeated', true, 'view', throughline._view(p_task, v_now));
  end if;
  if s.claim_id is distinct from v_claim then
    perform throughline._log(p_task, p_step, 'late', v_now, 'worker:' || (p ->> 'holder'), jsonb_build_object('what', 'settle', 'how', v_how, 'claim_epoch', p -> 'epoch', 'current_epoch', s.epoch, 'error', p -> 'error'),
      s.state, null, s.attempt, (p ->> 'epoch')::bigint);
    return throughline._fenced(p_task, p_step, v_claim) || jsonb_build_object('view', throughline._view(p_task, v_now));
  end if;
  v_actor := 'worker:' || s.holder;
  if v_how = 'review' then
    -- Our own inbox is opened conditionally on claim and cancel: it can't be asked after a cancel was answered.
    if s.state = 'leased' then
      perform throughline._review_open(p_task, p_step, p -> 'review', v_now, v_actor);
      v_how := 'submitted';
    else
      v_how := 'boundary';
    end if;
  end if;
  v_x := jsonb_strip_nulls(jsonb_build_object('retryable', p -> 'retryable', 'retry_after_ms', p -> 'retry_after_ms', 'error', p -> 'error'));
  if v_how in ('done', 'submitted') and p ? 'result' then v_x := v_x || jsonb_build_object('result', p -> 'result'); end if;
  if p -> 'error' is not null then
    v_x := v_x || jsonb_build_object('facts', jsonb_strip_nulls(jsonb_build_object('category', p -> 'error' -> 'category', 'stage', p -> 'error' -> 'stage', 'code', p -> 'error' -> 'code', 'message', left(p -> 'error' ->> 'message', 300))));
  end if;
  v_label := throughline._move(p_task, p_step, case v_how when 'release' then 'release' else 'settle_' || v_how end, v_now, v_actor, v_x);
  if v_label is null then
    return jsonb_build_object('refused', 'no_rule', 'state', s.state, 'view', throughline._view(p_task, v_now));
  end if;
  perform throughline._after(p_task, v_now, v_actor, false);
  return jsonb_build_object('settled', true, 'rule', v_label, 'view', throughline._view(p_task, v_now));
end $$;
