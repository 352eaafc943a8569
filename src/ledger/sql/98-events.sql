-- The event stream: the timeline of all tasks in the order of ids.

-- How far ids were given out, and which transactions may still be running. Ids are not commit order: a row may appear below others
-- that were read. Every writer of the timeline has its transaction id before its rows' ids (it locks or writes first). So after the
-- highest id was read, this takes a transaction id of its own: all who hold ids up to it are older. Once every transaction below
-- `xid` has ended (`xmin` of a later look), no row up to `id` can appear any more. A snapshot's own `xmax` would not do: it is the
-- last one that *ended*, and writers that are running may be above it. Where nothing is new, no transaction id is taken.
create or replace function throughline.event_mark(p_known bigint) returns jsonb language plpgsql volatile as $$
declare
  v_id bigint;
  v_xid xid8;
begin
  select case when is_called then last_value else 0 end into v_id from throughline.timeline_id_seq;
  if v_id > p_known then v_xid := pg_current_xact_id(); end if;
  return jsonb_build_object('id', v_id, 'xid', v_xid::text, 'xmin', pg_snapshot_xmin(pg_current_snapshot())::text);
end $$;
