-- The roles of a ledger, each with the least that it needs. Run it in the ledger's database, as a superuser, before the first `throughline migrate`
-- or at any time after; it may be repeated. None can log in: give each process a user of its own, as docs/security.md shows.
--
--   psql "$ADMIN_URL" --set ON_ERROR_STOP=1 --single-transaction --file deploy/postgres/roles.sql
--
-- throughline_owner     owns the schema; `throughline migrate` runs as it
-- throughline_worker    claims, sends, sweeps; reads
-- throughline_api       what the client does, and the checks of tokens and of signed receipts
-- throughline_operator  what the client does; tokens, senders' keys, webhooks, prune
-- throughline_client    what a service may do in its own process; reads
-- throughline_reader    reads: explain, status, history, list, audit, doctor
-- throughline_enqueuer  throughline.enqueue(…) and nothing else
do $$
declare
  v_role text;
  v_member text[];
  o record;
begin
  foreach v_role in array '{throughline_owner,throughline_worker,throughline_api,throughline_operator,throughline_client,throughline_reader,throughline_enqueuer}'::text[] loop
    if not exists (select from pg_roles where rolname = v_role) then execute format('create role %I nologin', v_role); end if;
  end loop;
  foreach v_member slice 1 in array '{{throughline_reader,throughline_client},{throughline_enqueuer,throughline_client},{throughline_reader,throughline_worker},
    {throughline_client,throughline_api},{throughline_client,throughline_operator}}'::text[] loop
    if not pg_has_role(v_member[2], v_member[1], 'usage') then execute format('grant %I to %I', v_member[1], v_member[2]); end if;
  end loop;

  execute format('grant create on database %I to throughline_owner', current_database());
  if to_regnamespace('throughline') is null then
    create schema throughline authorization throughline_owner;
    return;
  end if;
  -- A ledger that was migrated before: what stands there changes its owner. Sequences follow their columns.
  alter schema throughline owner to throughline_owner;
  for o in
    select format('alter table %s owner to throughline_owner', c.oid::regclass) as change from pg_class c where c.relnamespace = 'throughline'::regnamespace and c.relkind = 'r'
    union all select format('alter type %s owner to throughline_owner', c.reltype::regtype) from pg_class c where c.relnamespace = 'throughline'::regnamespace and c.relkind = 'c'
    union all select format('alter function %s owner to throughline_owner', p.oid::regprocedure) from pg_proc p where p.pronamespace = 'throughline'::regnamespace and p.prokind = 'f'
  loop
    execute o.change;
  end loop;
  if to_regprocedure('throughline._rights_grant()') is not null then perform throughline._rights_grant(); end if;
end $$;
