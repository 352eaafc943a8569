-- A receipt that matched nothing because of its address (task, step, thread, message) is matched again by a person. Only the
-- address is theirs to say: who sent it, what it says, and every rule of the judgement stay as they are.

-- The stored receipts that a person may match again: what was wrong is whom they are for.
create or replace function throughline._misaddressed(p_verdict text) returns boolean language sql immutable as $$
  select coalesce(p_verdict in ('unknown_task', 'wrong_step', 'wrong_thread', 'wrong_message', 'wrong_external_id', 'sender_not_allowed'), false)
$$;

-- {id, receipt, sender?, step, message_id?, by, why}; receipt is its own id or its delivery id. Idempotent by id. Where the
-- judgement still refuses it, nothing is written.
create or replace function throughline.receipt_rematch(p_task uuid, p jsonb) returns jsonb language plpgsql as $$
declare
  s throughline.step;
  c throughline.receipt;
  r throughline.request;
  l throughline.timeline;
  v_now timestamptz;
  v_ids uuid[];
  v_named text := p ->> 'receipt';
  v_was text;
  v_no text;
  v_uuid constant text := '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$';
begin
  if (throughline._lock(p_task)).id is null then return throughline._unknown(p_task); end if;
  select x.* into l from throughline.timeline x where x.task_id = p_task and x.kind = 'note' and x.facts ->> 'what' = 'rematched' and x.facts ->> 'rematch' = p ->> 'id';
  if found then
    if v_named not in (l.facts ->> 'receipt', l.facts ->> 'delivery_id') or l.step is distinct from p ->> 'step' or l.facts ->> 'asked' is distinct from p ->> 'message_id' then
      return jsonb_build_object('error', 'ID_CONFLICT', 'id', p ->> 'id');
    end if;
    return throughline._rematched(p_task, p ->> 'id', (l.facts ->> 'receipt')::uuid, l.facts ->> 'was') || jsonb_build_object('repeated', true);
  end if;
  select * into s from throughline.step where task_id = p_task and name = p ->> 'step' for update;
  if not found then return jsonb_build_object('error', 'STEP_UNKNOWN', 'step', p ->> 'step'); end if;
  select array_agg(x.id order by x.id) into v_ids from throughline.receipt x
  where (x.delivery_id = v_named or (v_named ~ v_uuid and x.id = (case when v_named ~ v_uuid then v_named end)::uuid)) and x.sender = coalesce(p ->> 'sender', x.sender);
  if v_ids is null then return jsonb_build_object('error', 'RECEIPT_UNKNOWN', 'receipt', v_named); end if;
  if cardinality(v_ids) > 1 then return jsonb_build_object('error', 'RECEIPT_AMBIGUOUS', 'receipts', to_jsonb(v_ids[1:20])); end if;
  select * into strict c from throughline.receipt where id = v_ids[1] for update;
  v_now := throughline.now();

  -- Which request it answers: the one that it names, if that is one of ours; else the one that the person names, else the
  -- submission's last one before it came.
  if c.in_reply_to ~ v_uuid then select * into r from throughline.request where message_id = c.in_reply_to::uuid; end if;
  v_no := case
    when c.applied_at is not null or not throughline._misaddressed(c.verdict) then 'verdict'
    when coalesce(c.task_id, (select t.id from throughline.task t where t.id::text = lower(c.task_ref))) <> p_task then 'of_another_task'
    when r.task_id <> p_task then 'answers_another_task'
    when r.message_id <> (p ->> 'message_id')::uuid then 'answers_another_message'
    end;
  if v_no is null and r.message_id is null then
    select q.* into r from throughline.request q join throughline.effect e on e.id = q.effect_id
    where q.task_id = p_task and q.step = s.name and e.submits and e.kind = 'effect' and q.message_id = coalesce((p ->> 'message_id')::uuid, q.message_id)
      and (p ->> 'message_id' is not null or (e.live and q.intent_at <= c.received_at))
    order by q.intent_at desc limit 1;
  end if;
  v_no := coalesce(v_no, case when r.message_id is null then 'no_request' when r.step <> s.name then 'answers_another_step' when r.intent_at > c.received_at then 'came_before_the_request' end);
  if v_no is not null then return jsonb_build_object('error', 'RECEIPT_NOT_REMATCHABLE', 'receipt', c.id, 'verdict', c.verdict, 'because', v_no); end if;

  v_was := c.verdict;
  perform throughline._log(p_task, s.name, 'note', v_now, p ->> 'by', jsonb_strip_nulls(jsonb_build_object('what', 'rematched', 'rematch', p -> 'id', 'receipt', c.id, 'delivery_id', c.delivery_id,
    'sender', c.sender, 'was', v_was, 'sent_in_reply_to', c.in_reply_to, 'message_id', r.message_id, 'asked', p -> 'message_id', 'why', p -> 'why')), s.state);
  update throughline.receipt set
    as_sent = coalesce(as_sent, jsonb_build_object('step', step, 'thread_id', thread_id, 'in_reply_to', in_reply_to)),
    task_id = p_task, step = s.name, in_reply_to = r.message_id::text, thread_id = (select thread_id from throughline.effect where id = r.effect_id),
    verdict = null, verdict_at = null, verdict_facts = '{}', effect_id = null
  where id = c.id;
  perform throughline._judge(c.id, v_now);
  select * into strict c from throughline.receipt where id = c.id;
  -- What it says of a dead step is evidence, too; all else is refused as it would have been under this address.
  if c.verdict not in ('matched', 'early', 'late_after_timeout', 'evidence') and not (c.verdict = 'after_end' and s.state = 'dead') then
    raise exception 'refused' using errcode = 'TL010', detail = (jsonb_build_object('error', 'RECEIPT_REMATCH_REFUSED', 'receipt', c.id, 'verdict', v_was, 'would_be', c.verdict) || jsonb_build_object('facts', c.verdict_facts))::text;
  end if;
  return throughline._rematched(p_task, p ->> 'id', c.id, v_was);
end $$;

create or replace function throughline._rematched(p_task uuid, p_id text, p_receipt uuid, p_was text) returns jsonb language sql stable as $$
  select jsonb_build_object('task', p_task, 'id', p_id, 'receipt', c.id, 'delivery_id', c.delivery_id, 'step', c.step, 'was', p_was, 'verdict', c.verdict, 'applied', c.applied_at is not null,
    'state', (select state from throughline.step where task_id = p_task and name = c.step))
  from throughline.receipt c where c.id = p_receipt
$$;
