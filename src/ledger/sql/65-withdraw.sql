-- Withdraw: take back what was submitted. An effect of its own: asked by somebody, taken by one worker with permission to
-- send, answered; what is not answered in time is lost by the ledger's clock.

-- Opens a request of the withdrawal, to be sent from p_at on.
create or replace function throughline._withdrawal_due(p_withdrawal uuid, p_at timestamptz, p_now timestamptz) returns void language plpgsql as $$
declare
  s throughline.step;
begin
  select x.* into strict s from throughline.step x join throughline.effect w on w.task_id = x.task_id and w.step = x.name where w.id = p_withdrawal;
  insert into throughline.request (message_id, effect_id, task_id, step, attempt, epoch, intent_at) values (uuidv7(), p_withdrawal, s.task_id, s.name, s.attempt, s.epoch, p_now);
  update throughline.step set open_count = open_count + 1, withdraw_no = withdraw_no + 1, withdraw_due_at = p_at, withdraw_claim_id = null, withdraw_expires_at = null
  where task_id = s.task_id and name = s.name;
end $$;

-- What may be done instead, where a withdrawal may not.
create or replace function throughline._instead(p_state text) returns jsonb language sql immutable as $$
  select to_jsonb(array_remove(array[
    case when p_state not in ('succeeded', 'cancelled') then 'cancel' end,
    case when p_state in ('submitted', 'received', 'in_progress', 'unconfirmed') then 'abandon_wait' end], null))
$$;

-- Take back what was submitted: {id, by, why, step?}; without a step, what each step that can has submitted. Nothing is sent
-- here: a worker takes it. Asked again while one is in progress, it follows that one. Idempotent by id.
create or replace function throughline.task_withdraw(p_task uuid, p jsonb) returns jsonb language plpgsql as $$
declare
  t throughline.task;
  s throughline.step;
  e throughline.effect;
  v_now timestamptz;
  v_answer jsonb;
  v_plan jsonb;
  v_withdrawal uuid;
  v_steps text[] := '{}';
  v_declared boolean := false;
begin
  t := throughline._lock(p_task);
  if t.id is null then return throughline._unknown(p_task); end if;
  perform from throughline.step where task_id = p_task order by ordinal for update;
  v_now := throughline.now();
  if not exists (select from throughline.cancel where task_id = p_task and id = p ->> 'id') then
    for s in select * from throughline.step where task_id = p_task and (p ->> 'step' is null or name = p ->> 'step') order by ordinal loop
      v_declared := v_declared or s.has_withdraw;
      if s.has_withdraw and (s.withdraw_due_at is not null or (throughline._rule('withdraw', s.state, throughline._facts(s, 'withdraw', v_now, '{}'))).label is not null) then
        v_steps := v_steps || s.name;
      end if;
    end loop;
    if v_steps = '{}' and s.name is not null then
      return jsonb_strip_nulls(jsonb_build_object('error', case when v_declared then 'TRANSITION_REFUSED' else 'WITHDRAW_UNDECLARED' end, 'event', 'withdraw', 'step', p -> 'step',
        'state', case when p ->> 'step' is null then t.status else s.state end, 'instead', case when p ->> 'step' is null then
          to_jsonb(array['cancel'] || case when exists (select from throughline.step where task_id = p_task and state in ('submitted', 'received', 'in_progress', 'unconfirmed')) then array['abandon_wait'] else '{}' end)
        else throughline._instead(s.state) end));
    end if;
  end if;
  v_answer := throughline._cancel_open(p_task, p, 'withdraw', v_now);
  if v_answer is not null then return v_answer; end if;
  for s in select * from throughline.step where task_id = p_task and name = any (v_steps) order by ordinal loop
    insert into throughline.cancel_step (task_id, cancel_id, step, follows, found, in_flight, verdict, deadline_at)
    values (p_task, p ->> 'id', s.name, case when s.withdraw_due_at is not null then
        (select c.id from throughline.cancel c join throughline.cancel_step x on x.task_id = c.task_id and x.cancel_id = c.id
          where c.task_id = p_task and c.verb = 'withdraw' and x.step = s.name and x.follows is null and x.verdict = 'pending' order by c.at desc limit 1) end,
      s.state, throughline._in_flight(p_task, s.name), 'pending', v_now + throughline._interval(throughline._cancel_verdict_ms()));
    continue when s.withdraw_due_at is not null;
    perform throughline._move(p_task, s.name, 'withdraw', v_now, p ->> 'by', jsonb_build_object('cancel_id', p -> 'id', 'facts', jsonb_build_object('cancel', p -> 'id', 'why', p -> 'why')));
    v_plan := throughline._plan(p_task, s.ordinal) -> 'withdraw';
    e := throughline._submission(p_task, s.name);
    insert into throughline.effect (task_id, step, name, generation, kind, key, thread_id, submits, dedupe_window_ms, visible_within_ms, absence_is_proof, timeout_ms, first_intent_at, last_intent_at)
    select p_task, s.name, 'withdraw', g.n, 'withdrawal', concat_ws('/', p_task, s.name, 'withdraw', '', g.n), e.thread_id, false, (v_plan ->> 'dedupe_window_ms')::bigint,
      (v_plan ->> 'visible_within_ms')::bigint, e.absence_is_proof, (v_plan ->> 'timeout_ms')::bigint, v_now, v_now
    from (select coalesce(max(generation), 0) + 1 as n from throughline.effect where task_id = p_task and step = s.name and name = 'withdraw') g
    returning id into v_withdrawal;
    -- Looks from before say nothing of what comes after it: one that is under way is not listened to any more.
    update throughline.effect set absent_looks = 0 where id = e.id;
    update throughline.step set effects = effects + 1, check_no = check_no + case when check_claim_id is null then 0 else 1 end, check_claim_id = null, check_expires_at = null
    where task_id = p_task and name = s.name;
    perform throughline._withdrawal_due(v_withdrawal, v_now, v_now);
  end loop;
  perform throughline._after(p_task, v_now, p ->> 'by', true);
  return throughline.cancel_answer(p_task, p ->> 'id', v_now);
end $$;

-- A worker takes the withdrawal that is due. The intent is written here; the answer says how long it permits the call, from before
-- it was asked. Answers: claimed with what the handler needs, not_yet_ms, held_ms, or refused. Idempotent by claim id.
create or replace function throughline.withdrawal_claim(p_task uuid, p_step text, p_claim uuid, p_holder text) returns jsonb language plpgsql as $$
declare
  t throughline.task;
  s throughline.step;
  w throughline.effect;
  e throughline.effect;
  r throughline.request;
  v_now timestamptz;
begin
  t := throughline._lock(p_task);
  if t.id is null then return throughline._unknown(p_task); end if;
  select * into s from throughline.step where task_id = p_task and name = p_step for update;
  if not found then return jsonb_build_object('error', 'STEP_UNKNOWN', 'step', p_step); end if;
  v_now := throughline.now();
  if s.withdraw_claim_id is distinct from p_claim then
    if s.withdraw_claim_id is not null and s.withdraw_expires_at <= v_now then
      perform throughline._tick(p_task, v_now, 'driver');
      select * into s from throughline.step where task_id = p_task and name = p_step;
    end if;
    if s.withdraw_due_at is null then
      return jsonb_build_object('refused', 'no_withdrawal_due', 'state', s.state, 'view', throughline._view(p_task, v_now));
    elsif s.withdraw_claim_id is not null then
      return jsonb_build_object('refused', 'held', 'held_ms', greatest(0, throughline._ms(s.withdraw_expires_at - v_now)), 'view', throughline._view(p_task, v_now));
    elsif s.withdraw_due_at > v_now then
      return jsonb_build_object('refused', 'not_yet', 'not_yet_ms', throughline._ms(s.withdraw_due_at - v_now), 'view', throughline._view(p_task, v_now));
    end if;
  end if;
  select * into strict w from throughline.effect where task_id = p_task and step = p_step and kind = 'withdrawal' and live;
  if s.withdraw_claim_id is distinct from p_claim then
    update throughline.request set claim_id = p_claim, intent_at = v_now where effect_id = w.id and outcome is null and claim_id is null returning * into strict r;
    update throughline.effect set last_intent_at = v_now,
      -- Nothing of it was ever sent: its window starts with this request.
      first_intent_at = case when exists (select from throughline.request o where o.effect_id = w.id and o.message_id <> r.message_id and o.claim_id is not null and o.outcome is distinct from 'not_sent')
        then first_intent_at else v_now end
    where id = w.id;
    update throughline.step set withdraw_claim_id = p_claim, withdraw_expires_at = v_now + throughline._interval(throughline._send_permission_ms() + w.timeout_ms + throughline._lease_margin_ms())
    where task_id = p_task and name = p_step;
    perform throughline._log(p_task, p_step, 'intent', v_now, 'worker:' || p_holder,
      jsonb_build_object('effect', 'withdraw', 'item', '', 'generation', w.generation, 'message_id', r.message_id, 'key', w.key, 'withdraw_no', s.withdraw_no), s.state, null, s.attempt, s.epoch);
  else
    select * into strict r from throughline.request where effect_id = w.id and claim_id = p_claim;
  end if;
  e := throughline._submission(p_task, p_step);
  return jsonb_build_object('claimed', true, 'message_id', r.message_id, 'key', w.key, 'thread_id', w.thread_id, 'generation', w.generation, 'timeout_ms', w.timeout_ms,
    -- The permission counts from the intent: an answer that was lost has used up its time.
    'send_within_ms', greatest(0, throughline._send_permission_ms() - throughline._ms(v_now - r.intent_at)),
    'type', t.type, 'version', t.version, 'input', t.input, 'raw', t.raw, 'attempt', s.attempt, 'epoch', s.epoch, 'result', s.result,
    'results', coalesce((select jsonb_object_agg(n.name, n.result) from throughline.step n where n.task_id = p_task and n.name = any (s.needs)), '{}'),
    'submission', jsonb_build_object('effect', e.name, 'item', e.item, 'key', e.key, 'external_id', e.external_id,
      'message_ids', (select jsonb_agg(q.message_id order by q.intent_at) from throughline.request q where q.effect_id = e.id)));
end $$;

-- The request under way has no answer that settles it: {answer: not_sent | refused | lost}. It is sent again where that can't
-- act twice: nothing arrived, or the other side dedupes the key; otherwise a look or a person finds out. p_again false: the other
-- side's no is final, but an earlier request may still arrive.
create or replace function throughline._withdrawal_unanswered(p_task uuid, p_step text, p_again boolean, p_retry_after_ms numeric, p_facts jsonb, p_now timestamptz, p_actor text) returns text language plpgsql as $$
declare
  s throughline.step;
  w throughline.effect;
  v_plan jsonb;
  v_sent boolean;
  v_tries integer;
  v_wait numeric;
begin
  select * into strict s from throughline.step where task_id = p_task and name = p_step;
  select * into strict w from throughline.effect where task_id = p_task and step = p_step and kind = 'withdrawal' and live;
  v_plan := throughline._plan(p_task, s.ordinal);
  v_sent := exists (select from throughline.request where effect_id = w.id and outcome is null);
  select count(*) into v_tries from throughline.request where effect_id = w.id;
  v_wait := throughline._wait_ms(v_plan -> 'backoff', v_tries, p_retry_after_ms);
  if p_again and v_tries < (v_plan -> 'withdraw' ->> 'attempts')::integer and (not v_sent or coalesce(
      w.first_intent_at + throughline._interval(w.dedupe_window_ms - throughline._send_permission_ms() - w.timeout_ms - v_wait) > p_now, false)) then
    perform throughline._log(p_task, p_step, 'note', p_now, p_actor, p_facts || jsonb_build_object('what', 'withdrawal_again', 'wait_ms', v_wait), s.state, null, s.attempt, s.epoch);
    perform throughline._withdrawal_due(w.id, p_now + throughline._interval(v_wait), p_now);
    return null;
  elsif v_sent then
    update throughline.effect set status = 'lost' where id = w.id;
    update throughline.step set withdraw_due_at = null, withdraw_claim_id = null, withdraw_expires_at = null where task_id = p_task and name = p_step;
    return throughline._move(p_task, p_step, 'withdrawal_lost', p_now, p_actor, jsonb_build_object('facts', p_facts || jsonb_build_object('tries', v_tries)));
  end if;
  return throughline._withdrawal_refused(w.id, p_facts || jsonb_build_object('tries', v_tries), p_now, p_actor);
end $$;

-- It was not taken back: the withdrawal ends, its askers have their answer, and the step waits on.
create or replace function throughline._withdrawal_refused(p_withdrawal uuid, p_facts jsonb, p_now timestamptz, p_actor text) returns text language plpgsql as $$
declare
  w throughline.effect;
begin
  select * into strict w from throughline.effect where id = p_withdrawal;
  perform throughline._end_generation(w.id, p_facts ->> 'answer', p_now);
  update throughline.cancel_step x set verdict = 'too_late', reason = 'withdrawal_refused', verdict_at = p_now, deadline_at = null
  from throughline.cancel c where c.task_id = w.task_id and c.id = x.cancel_id and c.verb = 'withdraw' and x.task_id = w.task_id and x.step = w.step and x.verdict = 'pending';
  return throughline._move(w.task_id, w.step, 'withdrawal_refused', p_now, p_actor, jsonb_build_object('facts', p_facts));
end $$;

-- The step is dead: what of a withdrawal was not sent never will be; what was sent is left to a late answer or a person.
create or replace function throughline._withdrawal_left(p_task uuid, p_step text, p_now timestamptz) returns void language plpgsql as $$
declare
  w throughline.effect;
  v_unsent integer;
begin
  select * into w from throughline.effect where task_id = p_task and step = p_step and kind = 'withdrawal' and live;
  if not found then return; end if;
  update throughline.request set outcome = 'not_sent', outcome_at = p_now where effect_id = w.id and outcome is null and claim_id is null;
  get diagnostics v_unsent = row_count;
  update throughline.step set open_count = open_count - v_unsent where task_id = p_task and name = p_step and v_unsent > 0;
  if exists (select from throughline.request where effect_id = w.id and outcome is null) then
    update throughline.effect set status = 'lost' where id = w.id;
  else
    perform throughline._end_generation(w.id, 'not_sent', p_now);
  end if;
end $$;

-- The withdrawal's outcome: {message_id, holder, outcome: confirmed | refused | not_sent | lost, again?, retry_after_ms?, error?}.
-- again: what refused it may not do so the next time. Idempotent; a late one is evidence, and moves what still waits for it.
create or replace function throughline.withdrawal_outcome(p_task uuid, p_step text, p jsonb) returns jsonb language plpgsql as $$
declare
  s throughline.step;
  w throughline.effect;
  r throughline.request;
  v_now timestamptz;
  v_label text;
  v_outcome text := p ->> 'outcome';
  v_final boolean := p ->> 'outcome' = 'refused' and not coalesce((p ->> 'again')::boolean, false);
  v_actor text := 'worker:' || (p ->> 'holder');
  v_facts jsonb;
  v_four boolean;
  v_current boolean;
  v_open boolean;
begin
  perform throughline._lock(p_task);
  select * into s from throughline.step where task_id = p_task and name = p_step for update;
  v_now := throughline.now();
  select q.* into r from throughline.request q join throughline.effect f on f.id = q.effect_id
  where q.message_id = (p ->> 'message_id')::uuid and q.task_id = p_task and q.step = p_step and f.kind = 'withdrawal' and q.claim_id is not null;
  if not found then return jsonb_build_object('error', 'EFFECT_UNKNOWN', 'message_id', p -> 'message_id'); end if;
  select * into strict w from throughline.effect where id = r.effect_id;
  v_current := s.withdraw_claim_id is not distinct from r.claim_id;
  if r.outcome = v_outcome or (r.outcome = 'withdrawn' and v_outcome = 'confirmed') or (v_outcome = 'lost' and not v_current) then
    return jsonb_build_object('recorded', true, 'repeated', true, 'view', throughline._view(p_task, v_now));
  end if;
  perform throughline._log(p_task, p_step, 'outcome', v_now, v_actor, jsonb_strip_nulls(jsonb_build_object('effect', 'withdraw', 'item', '', 'generation', w.generation, 'message_id', r.message_id, 'outcome', v_outcome,
    'late', nullif(not v_current, false), 'after', r.outcome, 'error', p -> 'error' -> 'category', 'status', p -> 'error' -> 'http_status', 'code', p -> 'error' -> 'code')), s.state, null, r.attempt, r.epoch);
  if not w.live then return jsonb_build_object('recorded', true, 'late', true, 'view', throughline._view(p_task, v_now)); end if;
  v_four := s.state in ('submitted', 'received', 'in_progress', 'unconfirmed');
  v_facts := jsonb_strip_nulls(jsonb_build_object('answer', v_outcome, 'category', p -> 'error' -> 'category', 'code', p -> 'error' -> 'code', 'message', left(p -> 'error' ->> 'message', 300)));
  if v_outcome = 'confirmed' then
    if v_four then
      perform throughline._end_submission(p_task, p_step, 'withdrawn', v_now);
      v_label := throughline._move(p_task, p_step, 'withdrawal_confirmed', v_now, v_actor);
    else
      -- A dead step does not move by itself; a person who confirms the absence finds this.
      perform throughline._close_effect(w.id, 'confirmed', v_now);
    end if;
  elsif v_outcome = 'lost' then
    v_label := throughline._withdrawal_unanswered(p_task, p_step, true, null, v_facts, v_now, v_actor);
  else
    if r.outcome is null then
      update throughline.request set outcome = v_outcome, outcome_at = v_now, late = not v_current, error = p -> 'error' where message_id = r.message_id;
      update throughline.step set open_count = open_count - 1 where task_id = p_task and name = p_step;
    end if;
    v_open := exists (select from throughline.request where effect_id = w.id and outcome is null and claim_id is not null);
    if v_current and not (v_final and not v_open) then
      v_label := throughline._withdrawal_unanswered(p_task, p_step, not v_final, (p ->> 'retry_after_ms')::numeric, v_facts, v_now, v_actor);
    elsif not v_open and (v_final or s.withdraw_due_at is null) then
      if v_four then v_label := throughline._withdrawal_refused(w.id, v_facts, v_now, v_actor);
      else perform throughline._end_generation(w.id, v_outcome, v_now); end if;
    end if;
  end if;
  perform throughline._after(p_task, v_now, v_actor, not v_current);
  return jsonb_strip_nulls(jsonb_build_object('recorded', true, 'late', nullif(not v_current, false), 'moved', v_label)) || jsonb_build_object('view', throughline._view(p_task, v_now));
end $$;
