-- Receipts: stored first, then judged under the task's lock; never lost, and no terminal state moves.

-- Takes a receipt: {delivery_id, sender, task, step, thread_id?, in_reply_to?, kind, external_id?, code?, artifact?, body?,
-- retryable?, digest}. Idempotent by sender, delivery id and content. Answers with the verdict.
create or replace function throughline.receipt_put(p jsonb) returns jsonb language plpgsql as $$
declare
  v_now timestamptz := throughline.now();
  v_task uuid;
  c throughline.receipt;
begin
  begin
    v_task := (p ->> 'task')::uuid;
  exception when invalid_text_representation then v_task := null;
  end;
  if v_task is not null then
    v_task := coalesce((throughline._lock(v_task)).id, (select task_id from throughline.pruned where task_id = v_task));
    v_now := throughline.now();
  end if;
  insert into throughline.receipt as x (delivery_id, sender, content_digest, task_ref, task_id, step, thread_id, in_reply_to, kind, external_id, code, artifact, body, received_at)
  values (p ->> 'delivery_id', p ->> 'sender', p ->> 'digest', p ->> 'task', v_task, p ->> 'step', p ->> 'thread_id', p ->> 'in_reply_to', p ->> 'kind', p ->> 'external_id',
    p ->> 'code', p -> 'artifact', coalesce(p -> 'body', '{}') || jsonb_strip_nulls(jsonb_build_object('retryable', p -> 'retryable')), v_now)
  on conflict (sender, delivery_id, content_digest) do update set deliveries = x.deliveries + 1
  returning * into c;
  if c.deliveries > 1 and c.verdict is not null then
    return jsonb_build_object('id', c.id, 'verdict', c.verdict, 'repeated', true, 'deliveries', c.deliveries);
  end if;
  if not throughline._judge_safely(c.id, v_now) and v_task is not null then perform throughline._wake(v_task, v_now); end if;
  select * into c from throughline.receipt where id = c.id;
  return jsonb_build_object('id', c.id, 'verdict', c.verdict, 'facts', c.verdict_facts, 'applied', c.applied_at is not null,
    'state', (select state from throughline.step where task_id = c.task_id and name = c.step));
end $$;

-- A judgement that fails must not lose the receipt, nor stop the sweep of its task: it stays stored and is judged again.
create or replace function throughline._judge_safely(p_receipt uuid, p_now timestamptz) returns boolean language plpgsql as $$
declare
  v_error text;
begin
  perform throughline._judge(p_receipt, p_now);
  return true;
exception when others then
  get stacked diagnostics v_error = message_text;
  update throughline.receipt set verdict_facts = jsonb_build_object('judging_failed', left(v_error, 300)) where id = p_receipt;
  return false;
end $$;

create or replace function throughline._verdict(p_receipt uuid, p_verdict text, p_effect uuid, p_facts jsonb, p_now timestamptz) returns void language plpgsql as $$
declare
  c throughline.receipt;
begin
  update throughline.receipt set verdict = p_verdict, verdict_at = p_now, effect_id = p_effect, verdict_facts = coalesce(p_facts, '{}') where id = p_receipt returning * into c;
  if c.task_id is not null then
    perform throughline._log(c.task_id, case when exists (select from throughline.step where task_id = c.task_id and name = c.step) then c.step end, 'receipt', p_now, 'platform:' || c.sender,
      jsonb_strip_nulls(jsonb_build_object('receipt', c.id, 'delivery_id', c.delivery_id, 'receipt_kind', c.kind, 'verdict', p_verdict, 'in_reply_to', c.in_reply_to, 'external_id', c.external_id, 'code', c.code) || coalesce(p_facts, '{}')),
      coalesce((select state from throughline.step where task_id = c.task_id and name = c.step), '-'));
  end if;
end $$;

-- Judges one stored receipt; the caller holds the task's lock (if there is a task).
create or replace function throughline._judge(p_receipt uuid, p_now timestamptz) returns void language plpgsql as $$
declare
  c throughline.receipt;
  s throughline.step;
  r throughline.request;
  e throughline.effect;
  v_senders jsonb;
  v_earlier boolean;
  v_before record;
  v_facts jsonb;
begin
  select * into strict c from throughline.receipt where id = p_receipt for update;
  if c.verdict is not null then return; end if;
  if c.task_id is null then perform throughline._verdict(c.id, 'unknown_task', null, null, p_now); return; end if;
  if exists (select from throughline.pruned where task_id = c.task_id) then
    -- Kept, but a pruned task gets no timeline again.
    update throughline.receipt set verdict = 'after_end', verdict_at = p_now, verdict_facts = (select jsonb_build_object('pruned_at', throughline._iso(pruned_at), 'state', status) from throughline.pruned where task_id = c.task_id) where id = c.id;
    return;
  end if;
  select * into s from throughline.step where task_id = c.task_id and name = c.step for update;
  if not found then perform throughline._verdict(c.id, 'wrong_step', null, jsonb_build_object('no_such_step', true), p_now); return; end if;
  v_senders := throughline._plan(c.task_id, s.ordinal) -> 'receipt' -> 'senders';
  if jsonb_array_length(coalesce(nullif(v_senders, 'null'), '[]')) > 0 and not v_senders ? c.sender then
    perform throughline._verdict(c.id, 'sender_not_allowed', null, null, p_now); return;
  end if;
  if s.inbox and c.sender not like 'reviewer:%' then perform throughline._verdict(c.id, 'sender_not_allowed', null, null, p_now); return; end if;
  -- The same delivery with another content.
  select x.id, x.kind into v_before from throughline.receipt x where x.sender = c.sender and x.delivery_id = c.delivery_id and x.id <> c.id limit 1;
  if found then perform throughline._verdict(c.id, 'contradicts', null, jsonb_build_object('same_delivery_as', v_before.id), p_now); return; end if;
  if c.kind = 'text' then perform throughline._verdict(c.id, 'text_only', null, null, p_now); return; end if;

  if c.in_reply_to ~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' then
    select * into r from throughline.request where message_id = c.in_reply_to::uuid;
  end if;
  if r.message_id is null or r.task_id <> c.task_id then
    perform throughline._verdict(c.id, 'wrong_message', null, jsonb_build_object('of_another_task', r.task_id is not null), p_now); return;
  end if;
  if r.step <> c.step then perform throughline._verdict(c.id, 'wrong_step', null, jsonb_build_object('message_is_of', r.step), p_now); return; end if;
  select * into strict e from throughline.effect where id = r.effect_id for update;
  if c.thread_id is distinct from e.thread_id then perform throughline._verdict(c.id, 'wrong_thread', null, jsonb_build_object('expected', e.thread_id), p_now); return; end if;
  if not e.submits then perform throughline._verdict(c.id, 'wrong_message', e.id, jsonb_build_object('not_the_submission', e.name), p_now); return; end if;
  if s.state = 'cancelled' then perform throughline._verdict(c.id, 'after_cancel', e.id, null, p_now); return; end if;
  -- Done, after the other side had said failed, and nothing was sent since: to send again would be a guess. It is believed, and
  -- then proven like any other. A decision of our own inbox stands.
  if not e.live and c.kind = 'completed' and e.status = 'failed' and not s.inbox
    and (e.external_id is null or c.external_id is null or e.external_id = c.external_id)
    and not exists (select from throughline.effect n where n.task_id = c.task_id and n.step = c.step and n.submits and n.kind = 'effect' and (n.live or n.first_intent_at > e.last_intent_at)) then
    update throughline.effect set live = true where id = e.id returning * into e;
    v_facts := jsonb_build_object('after', 'failed');
  end if;
  if not e.live then
    perform throughline._verdict(c.id, case when c.kind = 'completed' and e.status = 'failed' then 'contradicts' else 'wrong_message' end, e.id,
      jsonb_build_object('generation_ended', e.generation, 'with', e.status), p_now);
    return;
  end if;
  if e.external_id is not null and c.external_id is not null and e.external_id <> c.external_id then
    perform throughline._verdict(c.id, 'wrong_external_id', e.id, jsonb_build_object('expected', e.external_id), p_now); return;
  end if;
  if s.state = 'succeeded' then
    perform throughline._verdict(c.id, case when c.kind = 'failed' then 'contradicts' when c.kind = 'completed' then 'duplicate' else 'after_end' end, e.id, null, p_now); return;
  end if;
  if exists (select from throughline.receipt x where x.effect_id = e.id and x.kind = c.kind and x.id <> c.id and x.in_reply_to = c.in_reply_to
      and x.external_id is not distinct from c.external_id and x.verdict in ('matched', 'early', 'late_after_timeout') and x.received_at <= c.received_at) then
    perform throughline._verdict(c.id, 'duplicate', e.id, null, p_now); return;
  end if;
  if s.state = 'completed' then
    perform throughline._verdict(c.id, case when c.kind = 'failed' then 'contradicts' else 'duplicate' end, e.id, null, p_now); return;
  end if;
  -- Done was said before and is held, or came after the step's end: failed does not take it back.
  if c.kind = 'failed' and not s.inbox and (s.state = 'dead' and s.proof_since
    or exists (select from throughline.receipt x where x.effect_id = e.id and x.kind = 'completed' and x.applied_at is null and x.verdict in ('matched', 'early', 'late_after_timeout'))) then
    perform throughline._verdict(c.id, 'contradicts', e.id, null, p_now); return;
  end if;
  -- Without keys a receipt speaks of the one request that it names; an earlier one is only evidence.
  v_earlier := e.dedupe_window_ms is null and c.kind <> 'completed'
    and exists (select from throughline.request n where n.effect_id = e.id and n.intent_at > r.intent_at);
  if c.kind = 'delivered' or v_earlier then
    perform throughline._verdict(c.id, 'evidence', e.id, jsonb_build_object('earlier_request', v_earlier), p_now);
    if v_earlier and c.kind = 'failed' and r.outcome is null then
      update throughline.request set outcome = 'failed', outcome_at = p_now where message_id = r.message_id;
      update throughline.step set open_count = open_count - 1 where task_id = s.task_id and name = s.name;
    end if;
    return;
  end if;
  if s.state = 'dead' then
    perform throughline._verdict(c.id, 'after_end', e.id, v_facts, p_now);
    if c.kind = 'failed' then
      perform throughline._end_submission(s.task_id, s.name, 'failed', p_now);
    else
      perform throughline._confirm_effect(e.id, c.external_id, null, p_now);
      if c.kind = 'completed' then
        update throughline.effect set done = true where id = e.id;
        update throughline.step set proof_since = true where task_id = s.task_id and name = s.name;
      end if;
    end if;
    perform throughline._after(s.task_id, p_now, 'platform:' || c.sender, false);
    return;
  end if;
  perform throughline._verdict(c.id, case when s.state in ('leased', 'cancel_requested') then 'early' when s.state = 'unconfirmed' then 'late_after_timeout' else 'matched' end, e.id, v_facts, p_now);
  -- What it proves is applied at once; the move waits where a worker still holds the step.
  if c.kind <> 'failed' then
    perform throughline._confirm_effect(e.id, c.external_id, null, p_now);
    if c.kind = 'completed' then update throughline.effect set done = true where id = e.id; end if;
  end if;
  if s.state not in ('leased', 'cancel_requested') then
    perform throughline._apply_receipt(c.id, p_now);
    perform throughline._after(s.task_id, p_now, 'platform:' || c.sender, true);
  end if;
end $$;

-- Moves the step by a matched receipt. False: held until what is open is closed.
create or replace function throughline._apply_receipt(p_receipt uuid, p_now timestamptz) returns boolean language plpgsql as $$
declare
  c throughline.receipt;
  v_label text;
  v_code text;
begin
  select * into strict c from throughline.receipt where id = p_receipt for update;
  if c.kind = 'failed' then
    perform throughline._end_submission(c.task_id, c.step, 'failed', p_now);
    v_code := c.code;
  end if;
  -- Marked before the move: the move itself looks for stored receipts.
  update throughline.receipt set applied_at = p_now where id = c.id;
  v_label := throughline._move(c.task_id, c.step, 'receipt_' || c.kind, p_now, 'platform:' || c.sender, jsonb_strip_nulls(jsonb_build_object(
    'retryable', coalesce((c.body ->> 'retryable')::boolean, false),
    'retry_after_ms', c.body -> 'retry_after_ms',
    'facts', jsonb_strip_nulls(jsonb_build_object('receipt', c.id, 'delivery_id', c.delivery_id, 'external_id', c.external_id, 'code', c.code, 'by', c.body -> 'by', 'why', c.body -> 'why')),
    'error', case when c.kind = 'failed' then jsonb_strip_nulls(jsonb_build_object('category', case when c.sender like 'reviewer:%' then 'rejected' else coalesce(c.body ->> 'category', 'rejected') end,
      'stage', 'receive', 'code', c.code, 'message', coalesce(c.body ->> 'why', c.body ->> 'text', 'the other side reported a failure'))) end)
    || case when c.kind = 'completed' and c.sender like 'reviewer:%' then jsonb_build_object('result', jsonb_build_object('verdict', 'approved', 'by', c.body ->> 'by', 'why', c.body ->> 'why')) else '{}' end));
  if v_label is null or v_label like '%.held' then
    update throughline.receipt set applied_at = null where id = c.id;
    return false;
  end if;
  return true;
end $$;

-- Applies what is stored for the live generation; the strongest word first.
create or replace function throughline._apply_stored(p_task uuid, p_step text, p_now timestamptz) returns void language plpgsql as $$
declare
  c record;
  v_state text;
  v_open integer;
begin
  for c in
    select r.id, r.kind from throughline.receipt r join throughline.effect e on e.id = r.effect_id
    where r.task_id = p_task and e.step = p_step and e.live and r.applied_at is null
      and r.verdict in ('matched', 'early', 'late_after_timeout') and r.kind in ('received', 'progress', 'completed', 'failed')
      and (r.kind = 'completed' or e.dedupe_window_ms is not null or not exists (
        select from throughline.request n join throughline.request o on o.message_id = r.in_reply_to::uuid where n.effect_id = e.id and n.intent_at > o.intent_at))
    order by array_position(array['completed', 'failed', 'progress', 'received'], r.kind), r.received_at
  loop
    select state, open_count into v_state, v_open from throughline.step where task_id = p_task and name = p_step;
    exit when v_state not in ('queued', 'submitted', 'received', 'in_progress', 'unconfirmed');
    continue when v_open > 0 and c.kind <> 'failed';
    continue when v_state = 'queued' and c.kind in ('received', 'progress');
    -- The generation may have ended by the receipt before.
    continue when not exists (select from throughline.receipt r join throughline.effect e on e.id = r.effect_id where r.id = c.id and r.applied_at is null and e.live);
    -- A weaker word after a stronger one says nothing new.
    if c.kind = 'received' and v_state in ('received', 'in_progress') or c.kind = 'progress' and v_state = 'in_progress' then
      update throughline.receipt set applied_at = p_now where id = c.id;
      continue;
    end if;
    perform throughline._apply_receipt(c.id, p_now);
  end loop;
end $$;

-- A review opens its request in our own inbox: {note?, decision?: {verdict, by, why}}. The caller has locked task and step.
create or replace function throughline._review_open(p_task uuid, p_step text, p jsonb, p_now timestamptz, p_actor text) returns void language plpgsql as $$
declare
  s throughline.step;
  e throughline.effect;
  v_message uuid := uuidv7();
  v_generation integer;
begin
  select * into strict s from throughline.step where task_id = p_task and name = p_step;
  select * into e from throughline.effect where task_id = p_task and step = p_step and name = 'request' and live;
  if e.id is null then
    select coalesce(max(generation), 0) + 1 into v_generation from throughline.effect where task_id = p_task and step = p_step and name = 'request';
    insert into throughline.effect (task_id, step, name, generation, key, thread_id, submits, visible_within_ms, absence_is_proof, timeout_ms, status, external_id, note, first_intent_at, last_intent_at, closed_at)
    values (p_task, p_step, 'request', v_generation, concat_ws('/', p_task, p_step, 'request', '', v_generation), p_task || '/' || p_step, true, 0, true, 0, 'confirmed', v_message::text,
      nullif(p -> 'note', 'null'), p_now, p_now, p_now) returning * into e;
    insert into throughline.request (message_id, effect_id, task_id, step, attempt, epoch, claim_id, intent_at, outcome, outcome_at)
    values (v_message, e.id, p_task, p_step, s.attempt, s.epoch, s.claim_id, p_now, 'confirmed', p_now);
    update throughline.step set effects = effects + 1 where task_id = p_task and name = p_step;
    perform throughline._log(p_task, p_step, 'intent', p_now, p_actor, jsonb_build_object('effect', 'request', 'item', '', 'generation', e.generation, 'message_id', v_message, 'inbox', true), s.state, null, s.attempt, s.epoch);
    perform throughline._log(p_task, p_step, 'outcome', p_now, p_actor, jsonb_build_object('effect', 'request', 'item', '', 'generation', e.generation, 'message_id', v_message, 'outcome', 'confirmed', 'inbox', true), s.state, null, s.attempt, s.epoch);
  else
    select message_id into v_message from throughline.request where effect_id = e.id order by intent_at desc limit 1;
  end if;
  if p -> 'decision' is not null then
    perform throughline.receipt_put(jsonb_build_object('delivery_id', 'automatic/' || v_message, 'sender', 'reviewer:' || (p -> 'decision' ->> 'by'), 'task', p_task, 'step', p_step,
      'thread_id', e.thread_id, 'in_reply_to', v_message, 'kind', case when p -> 'decision' ->> 'verdict' = 'approved' then 'completed' else 'failed' end,
      'code', case when p -> 'decision' ->> 'verdict' = 'approved' then 'approved' else 'review_rejected' end, 'external_id', e.external_id,
      'body', jsonb_build_object('by', p -> 'decision' ->> 'by', 'why', p -> 'decision' ->> 'why'), 'digest', 'automatic'));
  end if;
end $$;

-- A reviewer opens or decides: {step, id, by, why?, message_id?, verdict: opened | approved | rejected}. A receipt to our own inbox.
create or replace function throughline.review_decide(p_task uuid, p jsonb) returns jsonb language plpgsql as $$
declare
  t throughline.task;
  s throughline.step;
  e throughline.effect;
  v_message uuid;
  v_answer jsonb;
  v_verdict text := p ->> 'verdict';
begin
  t := throughline._lock(p_task);
  if t.id is null then return throughline._unknown(p_task); end if;
  select * into s from throughline.step where task_id = p_task and name = p ->> 'step' for update;
  if not found then return jsonb_build_object('error', 'STEP_UNKNOWN', 'step', p ->> 'step'); end if;
  if not s.inbox then return jsonb_build_object('error', 'REVIEW_NOT_OPEN', 'state', s.state, 'reason', 'not_a_review'); end if;
  if exists (select from throughline.receipt where sender = 'reviewer:' || (p ->> 'by') and delivery_id = p ->> 'id' and (task_id <> p_task or content_digest <> p ->> 'digest')) then
    return jsonb_build_object('error', 'ID_CONFLICT', 'id', p ->> 'id');
  end if;
  if not exists (select from throughline.receipt where sender = 'reviewer:' || (p ->> 'by') and delivery_id = p ->> 'id')
    and s.state not in ('submitted', 'received', 'in_progress') then
    return jsonb_build_object('error', 'REVIEW_NOT_OPEN', 'state', s.state, 'reason', s.reason);
  end if;
  select x.* into e from throughline.effect x where x.task_id = p_task and x.step = s.name and x.name = 'request' order by x.generation desc limit 1;
  select message_id into v_message from throughline.request where effect_id = e.id order by intent_at desc limit 1;
  v_answer := throughline.receipt_put(jsonb_build_object('delivery_id', p ->> 'id', 'sender', 'reviewer:' || (p ->> 'by'), 'task', p_task, 'step', s.name, 'thread_id', e.thread_id,
    'in_reply_to', coalesce(p ->> 'message_id', v_message::text), 'kind', case v_verdict when 'opened' then 'received' when 'approved' then 'completed' else 'failed' end,
    'code', case v_verdict when 'rejected' then 'review_rejected' else v_verdict end, 'external_id', e.external_id,
    'body', jsonb_strip_nulls(jsonb_build_object('by', p ->> 'by', 'why', p ->> 'why')), 'digest', p ->> 'digest'));
  return v_answer || jsonb_build_object('state', (select state from throughline.step where task_id = p_task and name = s.name));
end $$;
