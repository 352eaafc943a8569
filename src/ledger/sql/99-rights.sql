-- Who may call what. Every public function runs with the rights of the schema's owner, and is called by the roles named here alone;
-- private ones run with their caller's, who may read at most. So nothing moves but through the door. deploy/postgres/roles.sql makes the roles.

-- The least role for each function; throughline_client and throughline_worker contain throughline_reader, throughline_api and
-- throughline_operator contain throughline_client, and that contains throughline_enqueuer.
create or replace function throughline._rights() returns table (name text, roles text[]) language sql immutable as $$
  select u.name, r.roles from (values
    ('{throughline_enqueuer}'::text[], '{enqueue}'::text[]),
    ('{throughline_reader}', '{task_record,task_pruned,cancel_answer,ledger_gauges,ledger_activity,event_mark,audit}'),
    ('{throughline_client}', '{task_enqueue_batch,receipt_put,receipt_rematch,review_decide,task_withdraw,wait_abandon,task_replay,effect_confirm,timeline_correct,
      outbox_unpark,bulk_create,bulk_apply,bulk_abort,webhook_list,notification_unpark}'),
    ('{throughline_client,throughline_worker}', '{type_register,task_enqueue,task_cancel,bulk_advance}'),
    ('{throughline_worker}', '{task_look,step_claim,lease_renew,checkpoint_put,artifact_put,step_settle,effect_intend,effect_outcome,withdrawal_claim,withdrawal_outcome,
      check_claim,probe_result,accept_result,outbox_take,outbox_sent,outbox_failed,sweep_due,task_sweep,sweep_report,drift_take,drift_turn,drift_looked,driver_lost,
      worker_seen,gap_report,notification_find,notification_take,notification_body,notification_sent,notification_failed}'),
    ('{throughline_api}', '{token_use,sender_secrets}'),
    ('{throughline_operator}', '{token_add,token_revoke,token_list,sender_key_add,sender_key_revoke,sender_key_list,webhook_add,webhook_change,webhook_rotate,webhook_remove,
      webhook_test,task_prune,artifact_orphans_take,artifact_orphans_drop}')
  ) r (roles, names), unnest(r.names) u (name)
$$;

-- The tables without those that hold secrets: what a token is known by, what receipts and notifications are signed with.
create or replace function throughline._readable() returns setof regclass language sql stable as $$
  select c.oid::regclass from pg_class c where c.relnamespace = 'throughline'::regnamespace and c.relkind = 'r' and c.relname not in ('api_token', 'sender_key', 'webhook')
$$;

-- Makes the public functions what they are, and gives each role that exists what it needs, nothing else. Run by `migrate`, and by roles.sql.
-- `now` and `natural_key` read no table but the clock; whoever reaches the schema may call them.
create or replace function throughline._rights_grant() returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_all constant text[] := '{throughline_reader,throughline_enqueuer,throughline_client,throughline_worker,throughline_api,throughline_operator}';
  v_roles constant text[] := coalesce((select array_agg(rolname::text order by rolname) from pg_roles where rolname = any (v_all)), '{}');
  v_role text;
  f record;
begin
  foreach v_role in array v_roles loop
    execute format('revoke all on all tables in schema throughline from %1$I; revoke all on schema throughline from %1$I; grant usage on schema throughline to %1$I', v_role);
  end loop;
  if 'throughline_reader' = any (v_roles) then
    execute format('grant select on %s to throughline_reader', (select string_agg(t::text, ', ') from throughline._readable() t));
    -- Where notifications go, as their list shows it; never what they are signed with.
    grant select (id, url, not_before, removed_at) on throughline.webhook to throughline_reader;
  end if;
  for f in select p.oid::regprocedure as signature, r.roles from throughline._rights() r join pg_proc p on p.proname = r.name and p.pronamespace = 'throughline'::regnamespace order by 1 loop
    execute format('alter function %1$s security definer set search_path = pg_catalog, pg_temp; revoke all on function %1$s from public', f.signature);
    foreach v_role in array v_roles loop
      execute format(case when v_role = any (f.roles) then 'grant execute on function %s to %I' else 'revoke all on function %s from %I' end, f.signature, v_role);
    end loop;
  end loop;
end $$;
