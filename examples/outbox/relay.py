"""From the outbox to the events topic: every row, in order, and none of them twice in effect.

    python relay.py

One batch:
1. Read the first rows, at most one about each event.
2. Send them to Kafka, in one transaction, and wait until that is committed.
3. Delete them.

If the relay dies between 2 and 3, the same batch is sent again. That changes nothing: of each event it repeats the
*last* thing that was said about it. A schedule is then `UNCHANGED`, a cancel finds nothing to cancel. (Were a schedule
and its cancel in one batch, sending both again would schedule what was cancelled; hence "at most one".)

Any number of relays may run: one works, the others wait for its lock. A former one that was cut off from the database,
and does not know it yet, can send nothing any more: the next one has taken its transactional id.

Kafka is found by KAFKA and PREFIX, PostgreSQL by libpq's variables. The relay ends if either fails: start it again.
"""

import asyncio
import os
from typing import Any, NamedTuple

import psycopg
from aiokafka import AIOKafkaProducer
from psycopg.rows import namedtuple_row

KAFKA = os.environ.get("KAFKA", "127.0.0.1:9092")
PREFIX = os.environ.get("PREFIX", "lightsched.")
BATCH = 500
LOOK_AGAIN_S = 5  # even if nobody says so
LOCK = 20_261_116  # any number, the same for all relays of one outbox

FIRST_ROWS = """
SELECT seq, event::text, event ->> 'tenant' AS tenant, event ->> 'key' AS key, event ->> 'id' AS id
FROM outbox ORDER BY seq LIMIT %s
"""


class Row(NamedTuple):
    seq: int
    event: str
    tenant: str | None
    key: str | None
    id: str


async def main() -> None:
    async with await psycopg.AsyncConnection.connect(autocommit=True, row_factory=namedtuple_row) as db:
        print("waiting for the lock", flush=True)
        await db.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        await db.execute("LISTEN outbox")
        mine = f"{PREFIX}outbox-{db.info.dbname}"
        async with AIOKafkaProducer(bootstrap_servers=KAFKA, transactional_id=mine) as producer:
            print("relaying", flush=True)
            while True:
                while sent := await relay(db, producer):
                    print(f"sent {sent}", flush=True)
                async for _ in db.notifies(timeout=LOOK_AGAIN_S, stop_after=1):
                    pass


async def relay(db: psycopg.AsyncConnection[Any], producer: AIOKafkaProducer) -> int:
    """Send one batch; how many rows it had."""
    batch = one_of_each(await (await db.execute(FIRST_ROWS, [BATCH])).fetchall())
    if batch:
        async with producer.transaction():
            for row in batch:
                await producer.send(f"{PREFIX}events", key=(row.key or row.id).encode(), value=row.event.encode())
        await db.execute("DELETE FROM outbox WHERE seq = ANY(%s)", [[row.seq for row in batch]])
    return len(batch)


def one_of_each(rows: list[Row]) -> list[Row]:
    """The rows before the first that is the second about its event."""
    seen = set()
    for n, row in enumerate(rows):
        event = (row.tenant, row.key or row.id, row.id)
        if event in seen:
            return rows[:n]
        seen.add(event)
    return rows


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        print("stopped")
