"""What lies at these offsets? Pieces of many topics, read in one go by one consumer, for a person to look at.

A reader for each topic would wait for a fetch in each, and go on fetching when nobody reads any more. This one fetches
from all places together, asks only for what is there, and between two looks is assigned to nothing.
"""

import asyncio
from collections.abc import Callable, Mapping
from time import monotonic

from aiokafka import AIOKafkaConsumer, TopicPartition

from lightsched.event.record import Appended
from lightsched.log.kafka.clients import appended, check_fetching, read_together, reader, stop_consumer
from lightsched.log.kafka.connection import Connection

_FETCH_WAIT_MS = 10
"""How long a broker holds an empty answer back: what is looked for is there."""
_FETCH_BYTES = 4 * 1024 * 1024
"""Of one answer, and of what is in memory at a time."""
_ARRIVES_MS = 50
_AT_ONCE = 250
"""Records that are made of what was fetched without giving others their turn: a few milliseconds."""


class Looking:
    """The consumer of those who look. They take turns."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._give_up_s = connection.request_timeout_ms / 1000
        self._one_at_a_time = asyncio.Lock()
        self._consumer: AIOKafkaConsumer | None = None

    async def look(self, spans: Mapping[TopicPartition, range], take: Callable[[list[Appended]], None]) -> None:
        """Hand out the committed records at these offsets, for no longer than a request may take.

        A place is done when the position is behind its span: what lies there may be the ends of transactions.
        """
        async with self._one_at_a_time:
            try:
                consumer = await self._started()
                consumer.assign(list(spans))
                for place, span in spans.items():
                    consumer.seek(place, span.start)
                await self._read(consumer, spans, take)
                consumer.assign([])
            except BaseException:
                await self._stop()
                raise

    async def _read(
        self,
        consumer: AIOKafkaConsumer,
        spans: Mapping[TopicPartition, range],
        take: Callable[[list[Appended]], None],
    ) -> None:
        until = monotonic() + self._give_up_s
        reading = set(spans)
        while reading and monotonic() < until:
            check_fetching(consumer)
            found = await consumer.getmany(*reading, timeout_ms=_ARRIVES_MS, max_records=_AT_ONCE)
            for place, records in found.items():
                take([appended(record) for record in records if record.offset in spans[place]])
            over = {place for place in reading if await consumer.position(place) >= spans[place].stop}
            consumer.pause(*over)
            reading -= over

    async def close(self) -> None:
        """Let go of the connection."""
        async with self._one_at_a_time:
            await self._stop()

    async def _started(self) -> AIOKafkaConsumer:
        if self._consumer is None:
            self._consumer = reader(
                self._connection, "looking", fetch_max_wait_ms=_FETCH_WAIT_MS, fetch_max_bytes=_FETCH_BYTES
            )
            await self._consumer.start()
            read_together(self._consumer)
        return self._consumer

    async def _stop(self) -> None:
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            await stop_consumer(consumer)
