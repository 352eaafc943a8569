-- Checks: probes of the unconfirmed, acceptance of the completed. Claimed like attempts; a result names its check.

-- Takes the due check of a step. Answers: probe or accept with what the checker needs, not_yet_ms, held_ms, or refused.
create or replace function throughline.check_claim(p_task uuid, p_step text, p_check uuid, p_hold_ms bigint, p_holder text) returns jsonb language plpgsql as $$
declare
  t throughline.task;
  s throughline.step;
  v_now timestamptz;
  v_subject throughline.effect;
begin
  t := throughline._lock(p_task);
  if t.id is null then return throughline._unknown(p_task); end if;
  select * into s from throughline.step where task_id = p_task and name = p_step for update;
  v_now := throughline.now();
  -- While it is being taken back a look could not tell before from after.
  if s.state not in ('unconfirmed', 'completed') or s.next_check_at is null or s.withdraw_due_at is not null or (s.state = 'unconfirmed' and s.checks_used >= s.checks_max) then
    return jsonb_build_object('refused', 'no_check_due', 'state', s.state, 'view', throughline._view(p_task, v_now));
  end if;
  if s.check_claim_id is distinct from p_check then
    if s.check_claim_id is not null and s.check_expires_at > v_now then
      return jsonb_build_object('refused', 'held', 'held_ms', throughline._ms(s.check_expires_at - v_now), 'view', throughline._view(p_task, v_now));
    elsif s.check_claim_id is not null then
      -- The checker vanished: that is an inconclusive check.
      perform throughline._move(p_task, p_step, case s.state when 'completed' then 'not_checkable' else 'inconclusive' end, v_now, 'driver',
        jsonb_build_object('facts', jsonb_build_object('checker', 'vanished', 'check_no', s.check_no)));
      perform throughline._after(p_task, v_now, 'driver', false);
      return jsonb_build_object('refused', 'checker_vanished', 'view', throughline._view(p_task, v_now));
    elsif s.next_check_at > v_now then
      return jsonb_build_object('refused', 'not_yet', 'not_yet_ms', throughline._ms(s.next_check_at - v_now), 'view', throughline._view(p_task, v_now));
    end if;
    update throughline.step set check_claim_id = p_check, check_expires_at = v_now + throughline._interval(p_hold_ms) where task_id = p_task and name = p_step;
  end if;
  if s.state = 'unconfirmed' then
    -- What is open first; the submission last, since it decides.
    select e.* into v_subject from throughline.effect e where e.task_id = p_task and e.step = p_step and e.live and e.kind = 'effect'
      and (e.submits or exists (select from throughline.request r where r.effect_id = e.id and r.outcome is null))
    order by exists (select from throughline.request r where r.effect_id = e.id and r.outcome is null) desc, e.submits, e.first_intent_at limit 1;
  else
    v_subject := throughline._submission(p_task, p_step);
  end if;
  return jsonb_build_object('check', case s.state when 'completed' then 'accept' else 'probe' end, 'check_no', s.check_no, 'type', t.type, 'version', t.version,
    'input', t.input, 'raw', t.raw, 'attempt', s.attempt, 'epoch', s.epoch, 'external_id', v_subject.external_id,
    'result', s.result,
    'results', coalesce((select jsonb_object_agg(n.name, n.result) from throughline.step n where n.task_id = p_task and n.name = any (s.needs)), '{}'),
    'artifacts', coalesce((select jsonb_agg(jsonb_build_object('name', a.name, 'uri', a.uri, 'mediaType', a.media_type, 'bytes', a.bytes, 'sha256', a.sha256) order by a.name)
      from (select distinct on (name) * from throughline.artifact where task_id = p_task and step = p_step order by name, at desc) a), '[]'),
    'proof', throughline._plan(p_task, s.ordinal) -> 'proof',
    'subject', case when v_subject.id is null then null else jsonb_build_object('id', v_subject.id, 'effect', v_subject.name, 'item', v_subject.item, 'key', v_subject.key, 'thread_id', v_subject.thread_id,
      'submits', v_subject.submits, 'external_id', v_subject.external_id,
      'message_ids', (select jsonb_agg(r.message_id order by r.intent_at) from throughline.request r where r.effect_id = v_subject.id)) end);
end $$;

create or replace function throughline._check_current(s throughline.step, p jsonb) returns boolean language sql immutable as $$
  select s.check_claim_id is not distinct from (p ->> 'check')::uuid and s.check_claim_id is not null and s.check_no = (p ->> 'check_no')::integer
$$;

-- This very result was recorded before: the answer was lost, and the call is made again.
create or replace function throughline._check_recorded(p_task uuid, p_step text, p jsonb) returns boolean language sql stable as $$
  select exists (select from throughline.timeline l where l.task_id = p_task and l.step = p_step and l.kind = 'transition'
    and (p ? 'effect_id') = (l.event in ('present', 'absent', 'inconclusive', 'late_confirmed'))
    and l.facts -> 'check_no' = p -> 'check_no' and l.actor = 'worker:' || (p ->> 'holder'))
$$;

-- Evidence from outside: {check, check_no, effect_id, answer: present|completed|absent|unknown, external_id?, result?, detail?, holder}.
create or replace function throughline.probe_result(p_task uuid, p_step text, p jsonb) returns jsonb language plpgsql as $$
declare
  s throughline.step;
  e throughline.effect;
  w throughline.effect;
  v_now timestamptz;
  v_label text;
  v_again boolean;
  v_lost boolean;
  v_counts boolean;
  v_from timestamptz;
  v_actor text := 'worker:' || (p ->> 'holder');
  v_answer text := p ->> 'answer';
  v_facts jsonb;
begin
  perform throughline._lock(p_task);
  select * into s from throughline.step where task_id = p_task and name = p_step for update;
  v_now := throughline.now();
  select * into e from throughline.effect where id = (p ->> 'effect_id')::uuid and task_id = p_task and step = p_step;
  if throughline._check_recorded(p_task, p_step, p) then return jsonb_build_object('recorded', true, 'repeated', true, 'view', throughline._view(p_task, v_now)); end if;
  v_facts := jsonb_strip_nulls(jsonb_build_object('effect', e.name, 'item', e.item, 'generation', e.generation, 'answer', v_answer, 'external_id', p -> 'external_id', 'detail', p -> 'detail', 'check_no', p -> 'check_no'));
  if not throughline._check_current(s, p) or s.state <> 'unconfirmed' or e.live is not true then
    perform throughline._log(p_task, p_step, 'late', v_now, v_actor, v_facts || jsonb_build_object('what', 'probe', 'current_check_no', s.check_no), s.state, null, s.attempt, s.epoch);
    return jsonb_build_object('refused', 'check_not_current', 'check_no', s.check_no, 'view', throughline._view(p_task, v_now));
  end if;
  v_again := e.status = 'confirmed';
  select * into w from throughline.effect where task_id = p_task and step = p_step and kind = 'withdrawal' and live;
  v_lost := w.status is not distinct from 'lost' and e.submits;
  if v_answer in ('present', 'completed') then
    perform throughline._confirm_effect(e.id, p ->> 'external_id', p -> 'result', v_now);
    if v_answer = 'completed' then update throughline.effect set done = true where id = e.id; end if;
    if v_lost then perform throughline._end_generation(w.id, 'refused', v_now); end if;
    v_label := throughline._move(p_task, p_step, case when not e.submits and throughline._submission_stands(p_task, p_step) then 'late_confirmed' else 'present' end, v_now, v_actor, jsonb_build_object('submits', e.submits, 'done', v_answer = 'completed', 'again', v_again, 'facts', v_facts));
  elsif v_answer = 'absent' then
    v_from := e.last_intent_at + throughline._interval(throughline._send_permission_ms() + e.timeout_ms + e.visible_within_ms);
    if v_lost then v_from := greatest(v_from, w.last_intent_at + throughline._interval(throughline._send_permission_ms() + w.timeout_ms + w.visible_within_ms)); end if;
    if v_now < v_from or e.absent_looks = 0 then
      -- Too early to prove anything, or seen only once: it could still arrive or become visible.
      if v_now >= v_from then update throughline.effect set absent_looks = 1 where id = e.id; end if;
      v_label := throughline._move(p_task, p_step, 'inconclusive', v_now, v_actor, jsonb_build_object(
        'check_after_ms', case when v_now < v_from then throughline._ms(v_from - v_now) else least(e.visible_within_ms, 60000) end,
        'facts', v_facts || jsonb_build_object('look', case when v_now < v_from then 'too_early' else 'first' end)));
    else
      v_counts := e.absence_is_proof and (not v_again or v_lost);
      if v_counts and v_lost then
        perform throughline._end_submission(p_task, p_step, 'withdrawn', v_now);
      elsif v_counts then
        perform throughline._close_effect(e.id, 'absent', v_now);
      end if;
      v_label := throughline._move(p_task, p_step, case when v_counts and not e.submits and throughline._submission_stands(p_task, p_step) then 'late_confirmed' else 'absent' end, v_now, v_actor, jsonb_build_object('submits', e.submits, 'again', v_again, 'counts', v_counts, 'facts', v_facts || jsonb_build_object('look', 'second')));
    end if;
  else
    v_label := throughline._move(p_task, p_step, 'inconclusive', v_now, v_actor, jsonb_build_object('facts', v_facts));
  end if;
  perform throughline._after(p_task, v_now, v_actor, false);
  return jsonb_build_object('recorded', true, 'rule', v_label, 'view', throughline._view(p_task, v_now));
end $$;

-- The acceptance's finding: {check, check_no, found, ours, minimum (each true, false or null), detail?, result?, holder}.
create or replace function throughline.accept_result(p_task uuid, p_step text, p jsonb) returns jsonb language plpgsql as $$
declare
  s throughline.step;
  v_now timestamptz;
  v_label text;
  v_actor text := 'worker:' || (p ->> 'holder');
begin
  perform throughline._lock(p_task);
  select * into s from throughline.step where task_id = p_task and name = p_step for update;
  v_now := throughline.now();
  if throughline._check_recorded(p_task, p_step, p) then return jsonb_build_object('recorded', true, 'repeated', true, 'view', throughline._view(p_task, v_now)); end if;
  if not throughline._check_current(s, p) or s.state <> 'completed' then
    perform throughline._log(p_task, p_step, 'late', v_now, v_actor, jsonb_build_object('what', 'acceptance', 'check_no', p -> 'check_no', 'current_check_no', s.check_no), s.state, null, s.attempt, s.epoch);
    return jsonb_build_object('refused', 'check_not_current', 'check_no', s.check_no, 'view', throughline._view(p_task, v_now));
  end if;
  v_label := throughline._accept(p_task, p_step, s.check_no, (p ->> 'found')::boolean, (p ->> 'ours')::boolean, (p ->> 'minimum')::boolean, coalesce(p -> 'detail', '{}'), nullif(p -> 'result', 'null'), v_now, v_actor);
  perform throughline._after(p_task, v_now, v_actor, false);
  return jsonb_build_object('recorded', true, 'rule', v_label, 'view', throughline._view(p_task, v_now));
end $$;

create or replace function throughline._accept(p_task uuid, p_step text, p_check_no integer, p_found boolean, p_ours boolean, p_minimum boolean, p_detail jsonb, p_result jsonb, p_now timestamptz, p_actor text)
returns text language plpgsql as $$
declare
  e throughline.effect;
begin
  insert into throughline.acceptance (task_id, step, check_no, at, found, ours, minimum, detail) values (p_task, p_step, p_check_no, p_now, p_found, p_ours, p_minimum, p_detail);
  if p_result is not null then update throughline.step set result = p_result where task_id = p_task and name = p_step and result is null; end if;
  e := throughline._submission(p_task, p_step);
  return throughline._move(p_task, p_step, case
    -- What was just made may not be visible yet.
    when p_found is false and p_now < e.last_intent_at + throughline._interval(throughline._send_permission_ms() + e.timeout_ms + e.visible_within_ms) then 'not_checkable'
    when p_found is false then 'missing'
    when p_ours is false then 'not_ours'
    when p_minimum is false then 'below_minimum'
    when p_found and p_ours and p_minimum then 'accepted'
    else 'not_checkable' end, p_now, p_actor, jsonb_build_object('facts', jsonb_build_object('check_no', p_check_no, 'found', p_found, 'ours', p_ours, 'minimum', p_minimum)));
end $$;

-- Proofs that live in the ledger itself are checked in the same call: a record's named fields, a stored verdict.
create or replace function throughline._accept_inline(p_task uuid, p_step text, p_now timestamptz) returns void language plpgsql as $$
declare
  s throughline.step;
  v_proof jsonb;
  v_missing text[];
  v_by text;
begin
  select * into strict s from throughline.step where task_id = p_task and name = p_step;
  v_proof := throughline._plan(p_task, s.ordinal) -> 'proof';
  if v_proof ->> 'kind' = 'record' then
    select array_agg(x.p) into v_missing from (
      -- A JSON pointer: split first, since an escaped slash is part of a name.
      select q.p, s.result #> array(select replace(replace(u.part, '~1', '/'), '~0', '~') from unnest(string_to_array(substr(q.p, 2), '/')) with ordinality u(part, n) order by u.n) as v
      from jsonb_array_elements_text(v_proof -> 'requires') q(p)) x
    where x.v is null or x.v in ('null', '""', '[]', '{}');
    perform throughline._accept(p_task, p_step, s.check_no, s.result is not null, s.result is not null, v_missing is null and s.result is not null,
      jsonb_strip_nulls(jsonb_build_object('proof', 'record', 'missing', to_jsonb(v_missing), 'sha256', encode(sha256(convert_to(s.result::text, 'UTF8')), 'hex'))), null, p_now, 'ledger');
  elsif v_proof ->> 'kind' = 'verdict' then
    select c.sender into v_by from throughline.receipt c join throughline.effect e on e.id = c.effect_id
    where c.task_id = p_task and e.step = p_step and e.live and c.kind = 'completed' and c.verdict in ('matched', 'early', 'late_after_timeout') order by c.received_at limit 1;
    perform throughline._accept(p_task, p_step, s.check_no, v_by is not null, v_by is not null, v_by is not null, jsonb_strip_nulls(jsonb_build_object('proof', 'verdict', 'by', v_by)), null, p_now, 'ledger');
  end if;
end $$;
