"""How are records appended outside of a transaction? In the order in which they were handed over, one batch at a time.

Whatever waits for the same place while a batch is on its way goes into the next one together: order is kept, and a
thousand small requests cost a few batches. After a batch that failed the producer is replaced: aiokafka counts it as
sent, and the broker would refuse everything after the gap.

Nobody waits longer than for any request. aiokafka itself would try for ever, as long as it knows where a partition was.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from aiokafka import AIOKafkaProducer
from aiokafka.errors import MessageSizeTooLargeError, RecordListTooLargeError

from lightsched.event.record import Record
from lightsched.log.errors import NotAppended, TooLargeToAppend
from lightsched.log.kafka.clients import APPENDED_BYTES, BATCH_BYTES, appender, stop_producer
from lightsched.log.kafka.connection import Connection
from lightsched.log.kafka.directory import size_of
from lightsched.log.port import Place

log = logging.getLogger(__name__)


class _Request(NamedTuple):
    records: Sequence[Record]
    size: int
    done: "asyncio.Future[Appending]"


class Appending(NamedTuple):
    """Where records are."""

    first: int  # offset
    timestamp_ms: int  # the broker's


class Appender:
    """Appends records of a node, in order for each place."""

    def __init__(self, connection: Connection, most_bytes: Callable[[str], int]) -> None:
        """`most_bytes`: of a batch on a topic."""
        self._connection = connection
        self._most_bytes = most_bytes
        self._producer: AIOKafkaProducer = appender(connection)
        self._waiting: dict[Place, deque[_Request]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._replacing = asyncio.Lock()

    async def start(self) -> None:
        """Connect."""
        await self._producer.start()

    async def append(self, topic: str, partition: int, records: Sequence[Record]) -> Appending:
        """Append records, all or none."""
        size = sum(map(size_of, records))
        if len(records) > 1 and size > min(self._most_bytes(topic), APPENDED_BYTES):
            raise TooLargeToAppend(topic=topic, bytes=size)
        request = _Request(records, size, asyncio.get_running_loop().create_future())
        place = topic, partition
        if place in self._waiting:
            self._waiting[place].append(request)
        else:
            self._waiting[place] = deque([request])
            task = asyncio.create_task(self._send_all(place))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        try:
            async with asyncio.timeout(self._connection.request_timeout_ms / 1000):
                return await request.done  # given up before it was sent, it is not sent any more
        except TimeoutError:
            raise NotAppended(topic=topic, why="the brokers did not answer in time") from None

    async def close(self) -> None:
        """Finish what waits, and disconnect."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._connection.request_timeout_ms / 1000)
        await stop_producer(self._producer, "appender")

    async def _send_all(self, place: Place) -> None:
        """Send what waits for a place until nothing does."""
        waiting = self._waiting[place]
        while waiting:
            together = [waiting.popleft()]
            if together[0].done.cancelled():
                continue
            size = together[0].size
            while waiting and size + waiting[0].size <= min(BATCH_BYTES, self._most_bytes(place[0])):
                size += waiting[0].size
                together.append(waiting.popleft())
            await self._send(place, together)
        del self._waiting[place]

    async def _send(self, place: Place, together: list[_Request]) -> None:
        topic, partition = place
        producer = self._producer
        try:
            batch = producer.create_batch()
            for request in together:
                for record in request.records:
                    batch.append(timestamp=None, key=record.key, value=record.value, headers=list(record.headers))
            batch.close()
            assert batch.record_count() == sum(len(request.records) for request in together), "a batch was cut short"
            sent = await (await producer.send_batch(batch, topic, partition=partition))
        except Exception as error:  # noqa: BLE001 -- whatever it is, those who wait are told
            too_large = isinstance(error, MessageSizeTooLargeError | RecordListTooLargeError)
            failure = (
                TooLargeToAppend(topic=topic, bytes=sum(request.size for request in together))
                if too_large
                else NotAppended(topic=topic, why=repr(error))
            )
            for request in together:
                if not request.done.done():
                    request.done.set_exception(failure)
            await self._replace(producer)
            return
        first = sent.offset
        for request in together:
            if not request.done.done():
                request.done.set_result(Appending(first, sent.timestamp))
            first += len(request.records)

    async def _replace(self, failed: AIOKafkaProducer) -> None:
        async with self._replacing:
            if self._producer is not failed:
                return
            fresh = appender(self._connection)
            try:
                await fresh.start()
            except Exception as error:  # noqa: BLE001 -- the next batch fails like this one, and tries again
                log.warning("Kafka is not reached: %r", error)
                await asyncio.gather(fresh.stop(), return_exceptions=True)
                return
            self._producer = fresh
        closing = asyncio.create_task(stop_producer(failed, "appender"))
        self._tasks.add(closing)
        closing.add_done_callback(self._tasks.discard)
