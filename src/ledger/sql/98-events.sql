-- The event stream: the timeline of all tasks in the order of ids.

-- How far ids were given out, and which transactions may still be running. Ids are not commit order: a row may appear below others
-- that were read. Every writer of the timeline has its transaction id before its rows' ids (it locks or writes first), so once all
-- transactions below a mark's `xmax` have ended, no row up to the mark's `id` can appear any more. The id is read first.
create or replace function throughline.event_mark() returns jsonb language plpgsql volatile as $$
declare
  v_id bigint;
  v_snapshot pg_snapshot;
begin
  select case when is_called then last_value else 0 end into v_id from throughline.timeline_id_seq;
  v_snapshot := pg_current_snapshot();
  return jsonb_build_object('id', v_id, 'xmin', pg_snapshot_xmin(v_snapshot)::text, 'xmax', pg_snapshot_xmax(v_snapshot)::text);
end $$;
