-- Triggers: what no statement may do, whoever sends it.

create or replace function throughline._append_only() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'TL002', hint = 'Append a correction that points at the entry.';
end $$;

-- Deleted only together with the whole task, in the transaction that wrote its summary (92-prune.sql).
create or replace function throughline._delete_pruned() returns trigger language plpgsql as $$
begin
  if not exists (select from throughline.pruned where task_id = old.task_id and xid = pg_current_xact_id()) then
    raise exception '% is append-only', tg_table_name using errcode = 'TL002', hint = 'Append a correction that points at the entry; old tasks are pruned as a whole.';
  end if;
  return old;
end $$;

create or replace trigger timeline_append_only before update on throughline.timeline
  for each row execute function throughline._append_only();
create or replace trigger timeline_pruned before delete on throughline.timeline
  for each row execute function throughline._delete_pruned();
create or replace trigger timeline_no_truncate before truncate on throughline.timeline
  for each statement execute function throughline._append_only();
create or replace trigger task_type_append_only before update or delete on throughline.task_type
  for each row execute function throughline._append_only();
create or replace trigger acceptance_append_only before update on throughline.acceptance
  for each row execute function throughline._append_only();
create or replace trigger acceptance_pruned before delete on throughline.acceptance
  for each row execute function throughline._delete_pruned();

-- A state that changed while its timeline entry did not was changed by hand: it gets its entry, fences the
-- holder, rolls up and wakes the driver.
create or replace function throughline._manual_correction() returns trigger language plpgsql as $$
declare
  v_now timestamptz := throughline.now();
begin
  insert into throughline.timeline (task_id, step, kind, at, event, rule, part, from_state, to_state, reason, attempt, epoch, actor, facts)
  values (new.task_id, new.name, 'transition', v_now, 'manual_correction', 'manual', 1, old.state, new.state, 'manual_correction',
    old.attempt, old.epoch + 1, 'database:' || session_user, jsonb_build_object('application', current_setting('application_name')))
  returning id into new.seq;
  new.reason := 'manual_correction';
  new.since := v_now;
  new.epoch := old.epoch + 1;
  new.settled_claim_id := old.claim_id;
  new.claim_id := null; new.holder := null; new.lease_expires_at := null; new.charging := false;
  new.check_claim_id := null; new.check_expires_at := null; new.check_no := old.check_no + 1;
  new.checks_used := 0;
  new.next_check_at := case when new.state = 'completed' or (new.state = 'unconfirmed' and new.has_probe and new.effects > 0) then v_now end;
  new.receipt_due_at := case when new.has_receipt and new.state in ('submitted', 'received', 'in_progress')
    then v_now + throughline._interval((throughline._plan(new.task_id, new.ordinal) -> 'receipt' ->> 'within_ms')::numeric) end;
  if new.state not in ('submitted', 'received', 'in_progress', 'unconfirmed') then
    new.withdraw_due_at := null; new.withdraw_claim_id := null; new.withdraw_expires_at := null;
  end if;
  new.next_run_at := case when new.state = 'queued' then v_now else new.next_run_at end;
  return new;
end $$;

create or replace trigger step_manual before update of state on throughline.step
  for each row when (old.state is distinct from new.state and old.seq = new.seq) execute function throughline._manual_correction();

create or replace function throughline._manual_after() returns trigger language plpgsql as $$
begin
  perform throughline._lock(new.task_id);
  if new.cancel_id is not null then perform throughline._answer_cancels(new.task_id, new.name, new.state, 'manual_correction', throughline.now()); end if;
  perform throughline._after(new.task_id, throughline.now(), 'database:' || session_user, true);
  return null;
end $$;

create or replace trigger step_manual_after after update of state on throughline.step
  for each row when (old.state is distinct from new.state and new.reason = 'manual_correction' and old.seq is distinct from new.seq)
  execute function throughline._manual_after();
