-- Retention: the one way in which a task leaves the ledger. Runs with the rights of the schema's owner, and only for those who were
-- granted it. The append-only triggers yield to the summary of the same transaction (05-guards.sql), and a summary can only be
-- written of a task that may go: there is no switch that somebody could set.

-- What hides behind an id that names no task: one that was pruned, or nothing.
create or replace function throughline._unknown(p_task uuid) returns jsonb language sql stable as $$
  select coalesce((select jsonb_build_object('error', 'TASK_PRUNED', 'id', p.task_id, 'type', p.type, 'state', p.status, 'reason', p.reason, 'ended_at', throughline._iso(p.ended_at), 'pruned_at', throughline._iso(p.pruned_at))
    from throughline.pruned p where p.task_id = p_task), jsonb_build_object('error', 'TASK_UNKNOWN', 'id', p_task))
$$;

-- Everything that is left of a pruned task; null: no task of this id was pruned.
create or replace function throughline.task_pruned(p_task uuid) returns jsonb language sql stable as $$
  select jsonb_build_object('id', p.task_id, 'type', p.type, 'version', p.version, 'key', p.key, 'status', p.status, 'reason', p.reason, 'seq', p.seq, 'steps', p.steps, 'counts', p.counts,
    'created_at', throughline._iso(p.created_at), 'created_by', p.created_by, 'ended_at', throughline._iso(p.ended_at), 'again_of', p.again_of, 'again_as', p.again_as, 'chain_head', p.chain_head,
    'pruned_at', throughline._iso(p.pruned_at), 'pruned_by', p.pruned_by)
  from throughline.pruned p where p.task_id = p_task
$$;

-- The end of a timeline's chain: SHA-256 of the hash before and the entry's canonical JSON, from the task's id on. An entry that was
-- changed, left out or added gives another end.
create or replace function throughline._chain_head(p_task uuid) returns text language plpgsql stable as $$
declare
  v_head bytea := sha256(convert_to(p_task::text, 'UTF8'));
  v_entry jsonb;
begin
  for v_entry in select throughline._entry(l) from throughline.timeline l where l.task_id = p_task order by l.id loop
    v_head := sha256(v_head || convert_to(throughline._canonical(v_entry, ''), 'UTF8'));
  end loop;
  return encode(v_head, 'hex');
end $$;

-- What ended lately is still measured, asked for and answered to.
create or replace function throughline._prune_age_min() returns interval language sql immutable as $$
  select interval '1 day'
$$;

-- Why a task must stay; null: it may go. The caller holds its lock.
create or replace function throughline._prune_hold(p_task uuid) returns text language sql volatile as $$
  select case
    when t.id is null then 'unknown'
    when not t.at_rest or t.ended_at is null then 'open'
    when t.ended_at > throughline.now() - throughline._prune_age_min() then 'recent'
    when exists (select from throughline.step s where s.task_id = t.id and (s.open_count > 0 or s.claim_id is not null))
      or exists (select from throughline.request r where r.task_id = t.id and r.outcome is null) then 'effect_open'
    when exists (select from throughline.step s where s.task_id = t.id and s.proof_since) then 'proof_arrived'
    when exists (select from throughline.receipt r where r.task_id = t.id and r.verdict is null)
      or exists (select from throughline.step s where s.task_id = t.id and s.state = 'dead' and throughline._stored(s.task_id, s.name)) then 'receipt_waiting'
    when exists (select from throughline.outbox o where o.task_id = t.id) then 'wake_waiting'
    when exists (select from throughline.cancel_step c where c.task_id = t.id and c.verdict = 'pending') then 'cancel_pending'
    when exists (select from throughline.notification n where n.task_id = t.id and n.status = 'pending') then 'notification_pending'
    when exists (select from throughline.task x where x.again_of = t.id and not x.at_rest) then 'successor_open'
  end
  from (select p_task as id) i left join throughline.task t using (id)
$$;

-- A summary says what is, not what its writer says: everything but who prunes is read from the task.
create or replace function throughline._pruned_summary() returns trigger language plpgsql as $$
declare
  t throughline.task;
  v_hold text;
begin
  select * into t from throughline.task where id = new.task_id for update;
  v_hold := throughline._prune_hold(new.task_id);
  if v_hold is not null then
    raise exception 'task % must stay: %', new.task_id, v_hold using errcode = 'TL002', hint = 'Only a task that has ended and that nothing waits for is pruned.';
  end if;
  new.type := t.type; new.version := t.version; new.key := t.key; new.status := t.status; new.reason := t.reason; new.seq := t.seq;
  new.created_at := t.created_at; new.created_by := t.created_by; new.ended_at := t.ended_at; new.again_of := t.again_of;
  new.again_as := coalesce((select id from throughline.task where again_of = t.id), (select task_id from throughline.pruned where again_of = t.id));
  select jsonb_agg(jsonb_build_object('name', s.name, 'state', s.state, 'reason', s.reason, 'attempt', s.attempt) order by s.ordinal) into new.steps from throughline.step s where s.task_id = t.id;
  new.counts := jsonb_build_object(
    'timeline', (select count(*) from throughline.timeline where task_id = t.id), 'effects', (select count(*) from throughline.effect where task_id = t.id),
    'requests', (select count(*) from throughline.request where task_id = t.id), 'receipts', (select count(*) from throughline.receipt where task_id = t.id),
    'artifacts', (select count(*) from throughline.artifact where task_id = t.id), 'cancels', (select count(*) from throughline.cancel where task_id = t.id));
  new.chain_head := throughline._chain_head(t.id);
  new.pruned_at := throughline.now();
  new.xid := pg_current_xact_id();
  return new;
end $$;

create or replace trigger pruned_summary before insert on throughline.pruned
  for each row execute function throughline._pruned_summary();
create or replace trigger pruned_append_only before update or delete on throughline.pruned
  for each row execute function throughline._append_only();
create or replace trigger pruned_no_truncate before truncate on throughline.pruned
  for each statement execute function throughline._append_only();

-- A summary stands in place of its task, never beside it, nor beside a part of it.
create or replace function throughline._pruned_whole() returns trigger language plpgsql as $$
begin
  if exists (select from throughline.task where id = new.task_id) or exists (select from throughline.timeline where task_id = new.task_id) then
    raise exception 'task % was pruned in part', new.task_id using errcode = 'TL002';
  end if;
  return null;
end $$;

drop trigger if exists pruned_whole on throughline.pruned;
create constraint trigger pruned_whole after insert on throughline.pruned deferrable initially deferred
  for each row execute function throughline._pruned_whole();

-- Looks at up to `limit` tasks, the oldest first, and prunes those that may go: {older_than_ms, types?, dead, limit, after?, dry_run, by}.
-- One transaction, so that it can be interrupted at any moment. What somebody else holds is passed over. Answers with what was
-- pruned, what was old enough and had to stay, and after which task the next call goes on; null: that was all.
create or replace function throughline.task_prune(p jsonb) returns jsonb language plpgsql as $$
declare
  v_now timestamptz := throughline.now();
  v_before timestamptz := v_now - throughline._interval((p ->> 'older_than_ms')::numeric);
  v_limit integer := (p ->> 'limit')::integer;
  v_statuses text[] := array['succeeded', 'cancelled'] || case when (p ->> 'dead')::boolean then array['dead'] else '{}'::text[] end;
  v_types text[] := (select array_agg(x) from jsonb_array_elements_text(coalesce(nullif(p -> 'types', 'null'), '[]')) x);
  v_examined integer := 0;
  v_gone uuid[] := '{}';
  v_kept jsonb := '{}';
  v_after jsonb;
  v_hold text;
  c record;
begin
  if v_before > v_now - throughline._prune_age_min() then
    return jsonb_build_object('error', 'TIME_INVALID', 'path', '/olderThan', 'limit', throughline._ms(throughline._prune_age_min()) || ' ms at least');
  end if;
  for c in
    select t.id, t.created_at, (t.ended_at <= v_before and t.at_rest and t.status = any (v_statuses) and (v_types is null or t.type = any (v_types))) as fits
    from throughline.task t
    where t.created_at <= v_before and (p -> 'after' ->> 'id' is null or (t.created_at, t.id) > ((p -> 'after' ->> 'created_at')::timestamptz, (p -> 'after' ->> 'id')::uuid))
    order by t.created_at, t.id limit v_limit
  loop
    v_examined := v_examined + 1;
    v_after := jsonb_build_object('created_at', c.created_at, 'id', c.id);
    continue when c.fits is not true;
    if (p ->> 'dry_run')::boolean then
      v_hold := throughline._prune_hold(c.id);
    else
      perform from throughline.task t where t.id = c.id and t.at_rest and t.ended_at <= v_before for update skip locked;
      v_hold := case when found then throughline._prune_hold(c.id) else 'busy' end;
    end if;
    if v_hold is null then
      v_gone := v_gone || c.id;
    else
      v_kept := v_kept || jsonb_build_object(v_hold, coalesce((v_kept ->> v_hold)::integer, 0) + 1);
    end if;
  end loop;
  if not (p ->> 'dry_run')::boolean and v_gone <> '{}' then
    insert into throughline.pruned (task_id, pruned_by) select x, p ->> 'by' from unnest(v_gone) x;
    insert into throughline.artifact_orphan (sha256, uri, since) select distinct on (a.sha256) a.sha256, a.uri, v_now from throughline.artifact a where a.task_id = any (v_gone) on conflict do nothing;
    delete from throughline.acceptance where task_id = any (v_gone);
    delete from throughline.artifact where task_id = any (v_gone);
    delete from throughline.checkpoint where task_id = any (v_gone);
    delete from throughline.receipt where task_id = any (v_gone);
    delete from throughline.request where task_id = any (v_gone);
    delete from throughline.effect where task_id = any (v_gone);
    delete from throughline.cancel_step where task_id = any (v_gone);
    delete from throughline.cancel where task_id = any (v_gone);
    delete from throughline.replay where task_id = any (v_gone);
    delete from throughline.recovery where task_id = any (v_gone);
    delete from throughline.notification where task_id = any (v_gone);
    delete from throughline.step where task_id = any (v_gone);
    delete from throughline.timeline where task_id = any (v_gone);
    delete from throughline.task where id = any (v_gone);
  end if;
  return jsonb_build_object('examined', v_examined, 'pruned', cardinality(v_gone), 'kept', v_kept, 'after', case when v_examined = v_limit then v_after end);
end $$;

-- Takes up to `limit` artifacts that no task refers to any more, so that their removal from the store may begin until `hold_ms`
-- have passed. Until they are dropped, or ten times as long, nobody may refer to them (artifact_put).
create or replace function throughline.artifact_orphans_take(p_limit integer, p_hold_ms bigint) returns jsonb language plpgsql as $$
declare
  v_now timestamptz := throughline.now();
  v_taken jsonb := '[]';
  o record;
begin
  for o in
    select sha256, uri from throughline.artifact_orphan where taken_at is null or taken_at < v_now - 10 * throughline._interval(p_hold_ms) order by sha256 limit p_limit for update skip locked
  loop
    perform pg_advisory_xact_lock(throughline._artifact_lock(o.sha256));
    if exists (select from throughline.artifact where sha256 = o.sha256) then
      delete from throughline.artifact_orphan where sha256 = o.sha256;
    else
      update throughline.artifact_orphan set taken_at = v_now, hold_ms = p_hold_ms where sha256 = o.sha256;
      v_taken := v_taken || jsonb_build_object('sha256', o.sha256, 'uri', o.uri);
    end if;
  end loop;
  return v_taken;
end $$;

-- They are gone from the store: [sha256]. Whoever stores the same content from now on stores it anew.
create or replace function throughline.artifact_orphans_drop(p_digests jsonb) returns integer language plpgsql as $$
declare
  v_dropped integer;
begin
  delete from throughline.artifact_orphan where sha256 in (select jsonb_array_elements_text(p_digests)) and taken_at is not null;
  get diagnostics v_dropped = row_count;
  return v_dropped;
end $$;

create or replace function throughline._artifact_lock(p_sha256 text) returns bigint language sql immutable as $$
  select hashtextextended(p_sha256, 7461903551)
$$;

-- Whether the store may be losing this content at this moment: it must then be stored once more. The lock makes that decision and
-- the new reference one after the other.
create or replace function throughline._artifact_leaving(p_sha256 text) returns boolean language plpgsql volatile as $$
begin
  perform pg_advisory_xact_lock(throughline._artifact_lock(p_sha256));
  return exists (select from throughline.artifact_orphan where sha256 = p_sha256 and taken_at > throughline.now() - 10 * throughline._interval(hold_ms));
end $$;
