-- psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -v order_id=17 -f enqueue.sql
-- The order and the task that handles it are one transaction: both are there, or neither.
begin;

create table if not exists example_order (id bigint primary key, note text not null);
insert into example_order (id, note) values (:order_id, 'tides') on conflict do nothing;

select id, state, created
from throughline.enqueue(
  'publish-note',
  jsonb_build_object('note', (select note from example_order where id = :order_id)),
  key => 'order/' || :order_id,
  priority => 2,
  fairness_key => 'tenant-a',
  by => 'service:orders'
);

commit;
