"""When can a read-committed consumer read how many deliveries?

The counter takes CPU from what it measures, on a machine with two cores, so it does as little as it can: it fetches
read-committed, notes the time, and counts by the heads of the record batches. Unpacking is left for later, when nothing
is measured any more: `deliveries` then says when each one arrived, for which due and which id.
"""

import asyncio
import time
from collections.abc import Iterator
from typing import NamedTuple

from aiokafka import TopicPartition
from aiokafka.client import AIOKafkaClient
from aiokafka.consumer.fetcher import READ_COMMITTED, PartitionRecords
from aiokafka.errors import for_code
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.record.memory_records import MemoryRecords

WAIT_MS = 500
MOST_BYTES = 32 << 20
MOST_PARTITION_BYTES = 4 << 20


class Arrival(NamedTuple):
    """What one answer held of one partition."""

    at_ms: float
    partition: int
    offset: int
    aborted: list[tuple[int, int]]
    content: bytes


class Delivery(NamedTuple):
    """One of them."""

    at_ms: float  # when it could be read
    due_ms: int
    id: bytes
    partition: int

    @property
    def late_ms(self) -> float:
        """How long after its due."""
        return self.at_ms - self.due_ms


class Counter:
    """Reads a topic of a cluster with one broker, from its beginning."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self.count = 0
        self._topic = topic
        self._client = AIOKafkaClient(bootstrap_servers=bootstrap)
        self._offsets = dict.fromkeys(range(partitions), 0)
        self._arrivals: list[Arrival] = []
        self._arrived = asyncio.Event()
        self._reading: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self._client.bootstrap()
        await self._client.set_topics([self._topic])
        self._reading = asyncio.create_task(self._read())

    async def stop(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        await self._client.close()

    def restart(self) -> None:
        """Count from zero again, from here on."""
        self.count = 0
        self._arrivals.clear()

    async def reach(self, count: int, within_s: float) -> float:
        """Wait for this many; when the last one could be read (ms since epoch)."""
        assert self._reading is not None
        try:
            async with asyncio.timeout(within_s):
                while self.count < count:
                    self._arrived.clear()
                    waiting = asyncio.create_task(self._arrived.wait())
                    await asyncio.wait({waiting, self._reading}, return_when=asyncio.FIRST_COMPLETED)
                    waiting.cancel()
                    if self._reading.done():
                        self._reading.result()
        except TimeoutError:
            raise RuntimeError(f"{self.count} of {count} deliveries after {within_s:.0f} s") from None
        return self._arrivals[-1].at_ms

    def deliveries(self) -> Iterator[Delivery]:
        """What was counted since the last restart. Takes its time."""
        for arrival in self._arrivals:
            for record in self._unpacked(arrival):
                headers = dict(record.headers)
                yield Delivery(arrival.at_ms, int(headers["ls_due"]), headers["ls_id"], arrival.partition)

    async def _read(self) -> None:
        broker = self._client.cluster.leader_for_partition(TopicPartition(self._topic, 0))
        while True:
            places = [(partition, offset, MOST_PARTITION_BYTES) for partition, offset in self._offsets.items()]
            request = FetchRequest(WAIT_MS, 1, MOST_BYTES, READ_COMMITTED, [(self._topic, places)])
            answer = await self._client.send(broker, request)
            at_ms = time.time_ns() / 1e6
            for _, partitions in answer.topics:
                for partition, error, _highwater, *_, aborted, _replica, content in partitions:
                    if error and not for_code(error).retriable:
                        raise for_code(error)(f"{self._topic}-{partition}")
                    if error:  # a fresh topic has no leader yet
                        await asyncio.sleep(WAIT_MS / 1000)
                    if content:
                        self._take(Arrival(at_ms, partition, self._offsets[partition], aborted or [], content))
            self._arrived.set()

    def _take(self, arrival: Arrival) -> None:
        count, batches = 0, MemoryRecords(arrival.content)
        while batches.has_next():
            batch = batches.next_batch()
            self._offsets[arrival.partition] = batch.next_offset
            if not batch.is_control_batch:
                count += batch.next_offset - batch.base_offset
        if arrival.aborted:  # seldom: then only unpacking tells which
            count = sum(1 for _ in self._unpacked(arrival))
        if count:
            self.count += count
            self._arrivals.append(arrival)

    def _unpacked(self, arrival: Arrival) -> PartitionRecords:
        return PartitionRecords(
            TopicPartition(self._topic, arrival.partition),
            MemoryRecords(arrival.content),
            arrival.aborted,
            arrival.offset,
            key_deserializer=None,
            value_deserializer=None,
            check_crcs=False,
            isolation_level=READ_COMMITTED,
        )
