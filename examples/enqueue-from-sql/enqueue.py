"""Starts a task from Python, in the same transaction as the program's own row.

    pip install 'psycopg[binary]'
    DATABASE_URL=postgres://… python enqueue.py 18
"""

import json
import os
import sys

import psycopg
from psycopg.types.json import Jsonb

ENQUEUE = "select id, state, created from throughline.enqueue(%s, %s, key => %s, by => 'service:orders')"


def order(connection: psycopg.Connection, order_id: int, note: str) -> dict:
    """One transaction. A 40001 (only above READ COMMITTED) means: run it again from its start."""
    with connection.transaction():
        connection.execute("create table if not exists example_order (id bigint primary key, note text not null)")
        connection.execute("insert into example_order (id, note) values (%s, %s) on conflict do nothing", (order_id, note))
        row = connection.execute(ENQUEUE, ("publish-note", Jsonb({"note": note}), f"order/{order_id}")).fetchone()
    return {"id": str(row[0]), "state": row[1], "created": row[2]}


def main() -> int:
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        try:
            answer = order(connection, int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "tides")
        except psycopg.Error as error:
            # Throughline's refusals: SQLSTATE TL010, a code of its error catalogue in DETAIL.
            if error.sqlstate != "TL010":
                raise
            print(error.diag.message_detail)
            return 4
    print(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
