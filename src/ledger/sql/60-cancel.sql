-- Cancel, withdraw, abandon wait: three intents, each an object with a verdict per step.

-- The step moved: open cancels of this step learn their verdict.
create or replace function throughline._answer_cancels(p_task uuid, p_step text, p_state text, p_reason text, p_now timestamptz) returns void language plpgsql as $$
declare
  v_verdict text := case
    when p_state = 'cancelled' then (select cancel_verdict from throughline.reason where code = p_reason)
    when p_state in ('completed', 'succeeded') then 'too_late'
    when p_state = 'dead' then 'needs_person'
    end;
begin
  if v_verdict is null then return; end if;
  update throughline.cancel_step set verdict = v_verdict, reason = p_reason, verdict_at = p_now, deadline_at = null
  where task_id = p_task and step = p_step and verdict <> v_verdict
    -- Too late stands, unless what had completed was found missing and a person confirmed that it never happened.
    and (verdict in ('pending', 'needs_person') or (verdict = 'too_late' and p_state = 'cancelled'));
end $$;

-- What is open outside of a step, for the cancel's answer.
create or replace function throughline._in_flight(p_task uuid, p_step text) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(jsonb_build_object('effect', e.name, 'item', e.item, 'message_id', r.message_id, 'attempt', r.attempt) order by r.intent_at), '[]')
  from throughline.effect e join throughline.request r on r.effect_id = e.id where e.task_id = p_task and e.step = p_step and e.live and r.outcome is null
$$;

-- A cancel as it stands: one verdict for the whole, and each step's own.
create or replace function throughline.cancel_answer(p_task uuid, p_id text, p_now timestamptz) returns jsonb language sql stable as $$
  select jsonb_build_object('id', c.id, 'task', c.task_id, 'verb', c.verb, 'step', c.step, 'by', c.by, 'why', c.why, 'status', t.status,
    'verdict', (select v from unnest(array['pending', 'needs_person', 'too_late', 'withdrawn', 'stopped_at_boundary', 'prevented', 'already_terminal']) with ordinality u(v, n)
      where exists (select from throughline.cancel_step x where x.task_id = c.task_id and x.cancel_id = c.id and x.verdict = u.v) order by n limit 1),
    'steps', (select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('step', x.step, 'found', x.found, 'state', s.state, 'in_flight', x.in_flight, 'verdict', x.verdict, 'reason', coalesce(x.reason, s.reason),
        'follows', x.follows, 'next_check_in_ms', case when x.verdict = 'pending' then greatest(0, throughline._ms(coalesce(s.lease_expires_at, s.withdraw_expires_at, s.withdraw_due_at, s.next_check_at, s.receipt_due_at) - p_now)) end,
        'deadline_in_ms', case when x.verdict = 'pending' then throughline._ms(x.deadline_at - p_now) end)) order by s.ordinal)
      from throughline.cancel_step x join throughline.step s on s.task_id = x.task_id and s.name = x.step where x.task_id = c.task_id and x.cancel_id = c.id))
  from throughline.cancel c join throughline.task t on t.id = c.task_id where c.task_id = p_task and c.id = p_id
$$;

-- Records the request; null if its id was used before for the same, an error if for something else.
create or replace function throughline._cancel_open(p_task uuid, p jsonb, p_verb text, p_now timestamptz) returns jsonb language plpgsql as $$
declare
  c throughline.cancel;
begin
  select * into c from throughline.cancel where task_id = p_task and id = p ->> 'id';
  if found then
    if c.verb <> p_verb or c.step is distinct from p ->> 'step' then return jsonb_build_object('error', 'ID_CONFLICT', 'id', c.id); end if;
    return throughline.cancel_answer(p_task, c.id, p_now) || jsonb_build_object('repeated', true);
  end if;
  if p ->> 'step' is not null and not exists (select from throughline.step where task_id = p_task and name = p ->> 'step') then
    return jsonb_build_object('error', 'STEP_UNKNOWN', 'step', p ->> 'step');
  end if;
  insert into throughline.cancel (task_id, id, verb, step, by, why, at) values (p_task, p ->> 'id', p_verb, p ->> 'step', p ->> 'by', p ->> 'why', p_now);
  perform throughline._log(p_task, p ->> 'step', 'cancel', p_now, p ->> 'by', jsonb_strip_nulls(jsonb_build_object('cancel', p -> 'id', 'verb', p_verb, 'why', p -> 'why', 'bulk', p -> 'bulk')),
    coalesce((select state from throughline.step where task_id = p_task and name = p ->> 'step'), '-'));
  return null;
end $$;

-- Don't do what isn't done: {id, by, why, step?, bulk?}. Answers at once; idempotent by id.
create or replace function throughline.task_cancel(p_task uuid, p jsonb) returns jsonb language plpgsql as $$
declare
  t throughline.task;
  s record;
  v_now timestamptz;
  v_answer jsonb;
begin
  t := throughline._lock(p_task);
  if t.id is null then return throughline._unknown(p_task); end if;
  perform from throughline.step where task_id = p_task order by ordinal for update;
  v_now := throughline.now();
  v_answer := throughline._cancel_open(p_task, p, 'cancel', v_now);
  if v_answer is not null then return v_answer; end if;
  for s in select name, state, cancel_id from throughline.step where task_id = p_task and (p ->> 'step' is null or name = p ->> 'step') order by ordinal loop
    if s.state in ('succeeded', 'cancelled') then
      insert into throughline.cancel_step (task_id, cancel_id, step, found, verdict, verdict_at) values (p_task, p ->> 'id', s.name, s.state, 'already_terminal', v_now);
    elsif s.cancel_id is not null then
      -- One open cancel per step: a later one follows it and shares its verdict.
      insert into throughline.cancel_step (task_id, cancel_id, step, follows, found, in_flight, verdict, reason, verdict_at, deadline_at)
      -- (A refused withdrawal has its verdict; a cancel still waits for what becomes of the submission.)
      select p_task, p ->> 'id', s.name, s.cancel_id, s.state, throughline._in_flight(p_task, s.name),
        case when w.refused then 'pending' else x.verdict end, case when not w.refused then x.reason end, case when not w.refused then x.verdict_at end,
        case when w.refused then v_now + throughline._interval(throughline._cancel_verdict_ms()) else x.deadline_at end
      from throughline.cancel_step x cross join lateral (select x.reason is not distinct from 'withdrawal_refused' as refused) w
      where x.task_id = p_task and x.cancel_id = s.cancel_id and x.step = s.name;
    else
      insert into throughline.cancel_step (task_id, cancel_id, step, found, in_flight, verdict, deadline_at)
      values (p_task, p ->> 'id', s.name, s.state, throughline._in_flight(p_task, s.name), 'pending', v_now + throughline._interval(throughline._cancel_verdict_ms()));
      perform throughline._move(p_task, s.name, 'cancel', v_now, p ->> 'by', jsonb_build_object('cancel_id', p -> 'id', 'facts', jsonb_build_object('cancel', p -> 'id', 'why', p -> 'why')));
    end if;
  end loop;
  perform throughline._after(p_task, v_now, p ->> 'by', true);
  return throughline.cancel_answer(p_task, p ->> 'id', v_now);
end $$;

-- A person stops the waiting; it may still happen: {id, by, why, step?}; without a step, of each step that waits.
create or replace function throughline.wait_abandon(p_task uuid, p jsonb) returns jsonb language plpgsql as $$
declare
  t throughline.task;
  s throughline.step;
  v_now timestamptz;
  v_answer jsonb;
  v_steps text[] := '{}';
begin
  t := throughline._lock(p_task);
  if t.id is null then return throughline._unknown(p_task); end if;
  perform from throughline.step where task_id = p_task order by ordinal for update;
  v_now := throughline.now();
  if not exists (select from throughline.cancel where task_id = p_task and id = p ->> 'id') then
    for s in select * from throughline.step where task_id = p_task and (p ->> 'step' is null or name = p ->> 'step') order by ordinal loop
      if (throughline._rule('abandon_wait', s.state, throughline._facts(s, 'abandon_wait', v_now, '{}'))).label is not null then v_steps := v_steps || s.name; end if;
    end loop;
    if v_steps = '{}' and s.name is not null then
      return jsonb_strip_nulls(jsonb_build_object('error', 'TRANSITION_REFUSED', 'event', 'abandon_wait', 'step', p -> 'step', 'state', case when p ->> 'step' is null then t.status else s.state end));
    end if;
  end if;
  v_answer := throughline._cancel_open(p_task, p, 'abandon_wait', v_now);
  if v_answer is not null then return v_answer; end if;
  insert into throughline.cancel_step (task_id, cancel_id, step, found, in_flight, verdict, reason, verdict_at)
  select p_task, p ->> 'id', x.name, x.state, throughline._in_flight(p_task, x.name), 'needs_person', 'wait_abandoned', v_now
  from throughline.step x where x.task_id = p_task and x.name = any (v_steps) order by x.ordinal;
  for s in select * from throughline.step where task_id = p_task and name = any (v_steps) order by ordinal loop
    perform throughline._move(p_task, s.name, 'abandon_wait', v_now, p ->> 'by', jsonb_build_object('facts', jsonb_build_object('why', p -> 'why')));
  end loop;
  perform throughline._after(p_task, v_now, p ->> 'by', true);
  return throughline.cancel_answer(p_task, p ->> 'id', v_now);
end $$;
