-- What the reader asks: everything of one task in one statement, so that it is one moment. Reads only.

create or replace function throughline._iso(p timestamptz) returns text language sql immutable as $$
  select case when p = 'infinity' or p = '-infinity' then null else to_char(p at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') end
$$;

-- An entry of the timeline as everybody reads it, and as its chain is made of it.
create or replace function throughline._entry(l throughline.timeline) returns jsonb language sql immutable as $$
  select jsonb_build_object('id', l.id, 'step', l.step, 'kind', l.kind, 'at', throughline._iso(l.at), 'event', l.event, 'rule', l.rule, 'from_state', l.from_state, 'to_state', l.to_state,
        'reason', l.reason, 'attempt', l.attempt, 'epoch', l.epoch, 'actor', l.actor, 'facts', l.facts)
$$;

create or replace function throughline.task_record(p_task uuid, p_worker_seen_ms bigint) returns jsonb language sql volatile as $$
  select jsonb_build_object(
    'as_of', throughline._iso(c.at),
    'task', jsonb_build_object('id', t.id, 'type', t.type, 'version', t.version, 'key', t.key, 'input', t.input, 'status', t.status, 'at_rest', t.at_rest, 'reason', t.reason, 'held_by', t.held_by, 'seq', t.seq,
      'since', throughline._iso(t.since), 'deadline_at', throughline._iso(t.deadline_at), 'created_at', throughline._iso(t.created_at), 'created_by', t.created_by, 'ended_at', throughline._iso(t.ended_at),
      'priority', t.priority, 'fairness_key', t.fairness_key, 'fairness_weight', t.fairness_weight, 'again_of', t.again_of, 'again_as', coalesce((select id from throughline.task x where x.again_of = t.id), (select task_id from throughline.pruned x where x.again_of = t.id)), 'driver_seen_at', throughline._iso(t.driver_seen_at), 'driver_run_id', t.driver_run_id, 'driver_restarts', case when t.at_rest then 0 else throughline._driver_restarts(t.id) end),
    'steps', (select jsonb_agg(jsonb_build_object('name', s.name, 'ordinal', s.ordinal, 'kind', s.kind, 'state', s.state, 'seq', s.seq, 'reason', s.reason, 'since', throughline._iso(s.since), 'needs', s.needs,
        'reentrant', s.reentrant, 'attempts_max', s.attempts_max, 'has_receipt', s.has_receipt, 'inbox', s.inbox, 'has_probe', s.has_probe, 'checks_max', s.checks_max, 'attempt', s.attempt, 'charged', s.charged,
        'resume', s.resume, 'epoch', s.epoch, 'holder', s.holder, 'lease_expires_at', throughline._iso(s.lease_expires_at), 'next_run_at', throughline._iso(s.next_run_at), 'open_count', s.open_count, 'cancel_id', s.cancel_id,
        'check_no', s.check_no, 'checks_used', s.checks_used, 'next_check_at', throughline._iso(s.next_check_at), 'receipt_due_at', throughline._iso(s.receipt_due_at),
        'has_withdraw', s.has_withdraw, 'withdraw_due_at', throughline._iso(s.withdraw_due_at), 'withdraw_expires_at', throughline._iso(s.withdraw_expires_at), 'proof_since', s.proof_since,
        'resend_until', case when s.state = 'unconfirmed' and s.cancel_id is null and s.charged < s.attempts_max then throughline._iso(throughline._resend_until(s.task_id, s.name)) end,
        'result', s.result, 'error', s.error) order by s.ordinal) from throughline.step s where s.task_id = t.id),
    'timeline', (select jsonb_agg(throughline._entry(l) order by l.id) from throughline.timeline l where l.task_id = t.id),
    'touches', coalesce((select jsonb_agg(jsonb_build_object('step', e.step, 'effect', e.name, 'item', e.item, 'generation', e.generation, 'kind', e.kind, 'key', e.key, 'thread_id', e.thread_id, 'message_id', r.message_id,
        'submits', e.submits, 'live', e.live, 'attempt', r.attempt, 'epoch', r.epoch, 'intent_at', throughline._iso(r.intent_at), 'outcome', r.outcome, 'outcome_at', throughline._iso(r.outcome_at), 'late', r.late, 'sent', r.claim_id is not null,
        'external_id', e.external_id, 'done', e.done, 'dedupe_window_ms', e.dedupe_window_ms) order by r.intent_at, r.message_id)
      from throughline.request r join throughline.effect e on e.id = r.effect_id where r.task_id = t.id), '[]'),
    'receipts', coalesce((select jsonb_agg(jsonb_build_object('id', x.id, 'delivery_id', x.delivery_id, 'sender', x.sender, 'step', x.step, 'kind', x.kind, 'thread_id', x.thread_id, 'in_reply_to', x.in_reply_to, 'as_sent', x.as_sent,
        'external_id', x.external_id, 'code', x.code, 'received_at', throughline._iso(x.received_at), 'deliveries', x.deliveries, 'verdict', x.verdict, 'verdict_facts', x.verdict_facts,
        'applied_at', throughline._iso(x.applied_at), 'body', x.body) order by x.received_at, x.id) from throughline.receipt x where x.task_id = t.id), '[]'),
    'cancels', coalesce((select jsonb_agg(jsonb_build_object('id', n.id, 'verb', n.verb, 'step', n.step, 'by', n.by, 'why', n.why, 'at', throughline._iso(n.at),
        'steps', (select coalesce(jsonb_agg(jsonb_build_object('step', y.step, 'follows', y.follows, 'found', y.found, 'in_flight', y.in_flight, 'verdict', y.verdict, 'reason', y.reason,
          'verdict_at', throughline._iso(y.verdict_at), 'deadline_at', throughline._iso(y.deadline_at)) order by y.step), '[]') from throughline.cancel_step y where y.task_id = n.task_id and y.cancel_id = n.id)) order by n.at)
      from throughline.cancel n where n.task_id = t.id), '[]'),
    'artifacts', coalesce((select jsonb_agg(jsonb_build_object('step', a.step, 'name', a.name, 'uri', a.uri, 'media_type', a.media_type, 'bytes', a.bytes, 'sha256', a.sha256, 'attempt', a.attempt, 'at', throughline._iso(a.at)) order by a.step, a.name, a.at)
      from throughline.artifact a where a.task_id = t.id), '[]'),
    'acceptances', coalesce((select jsonb_agg(jsonb_build_object('step', q.step, 'check_no', q.check_no, 'at', throughline._iso(q.at), 'found', q.found, 'ours', q.ours, 'minimum', q.minimum, 'detail', q.detail) order by q.at)
      from throughline.acceptance q where q.task_id = t.id), '[]'),
    'outbox', (select jsonb_build_object('since', throughline._iso(o.not_before), 'attempts', o.attempts, 'last_error', o.last_error, 'parked_at', throughline._iso(o.parked_at)) from throughline.outbox o where o.task_id = t.id),
    'offers', (select count(*) from throughline.worker w where not w.stopping and w.seen_at > c.at - throughline._interval(p_worker_seen_ms) and w.offers @> jsonb_build_array(jsonb_build_object('type', t.type, 'version', t.version))),
    'workers', (select count(*) from throughline.worker w where not w.stopping and w.seen_at > c.at - throughline._interval(p_worker_seen_ms)))
  from throughline.task t, (select throughline.now() as at) c where t.id = p_task
$$;
