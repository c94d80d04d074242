"""How do subscribers without a Kafka client read? Through this node: records from given positions, and groups."""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import monotonic

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.structs import OffsetAndMetadata

from lightsched.event.record import Appended
from lightsched.log.kafka.clients import appended, reader
from lightsched.log.kafka.connection import Connection

_MOST_CONSUMERS = 64
"""Kept open between two reads; beyond that the one that was used longest ago is closed."""
_POLL_MS = 250
_ARRIVES_MS = 20
_FETCH_WAIT_MS = 100
"""How long a broker holds an empty answer back: a reader that goes elsewhere has to wait for it."""


@dataclass(slots=True)
class _Reader:
    """A consumer, and where the one who reads through it will go on."""

    consumer: AIOKafkaConsumer
    following: dict[TopicPartition, int] = field(default_factory=dict)

    def go_to(self, starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]) -> None:
        """Be where a read is to begin: mostly where the one before has ended."""
        if self.following == starts:
            return
        if self.consumer.assignment() != starts.keys():
            self.consumer.assign(list(starts))
        self.following = dict(starts)
        for place, start in starts.items():
            self.consumer.seek(place, min(start, ends[place]))  # beyond its end would be an error

    async def read(self, limit: int, *places: TopicPartition, timeout_ms: int) -> list[ConsumerRecord]:
        found = await self.consumer.getmany(*places, timeout_ms=timeout_ms, max_records=limit)
        records = []
        for place in sorted(found):
            records += [record for record in found[place] if record.offset >= self.following[place]]
        for record in records:
            self.following[TopicPartition(record.topic, record.partition)] = record.offset + 1
        return records


class Readers:
    """Consumers for those who read over HTTP."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._give_up_s = connection.request_timeout_ms / 1000
        self._idle: OrderedDict[str, _Reader] = OrderedDict()
        self._closed = False

    async def fetch(
        self, topic: str, positions: Mapping[int, int], limit: int, wait_s: float, *, partitions: int
    ) -> list[Appended]:
        """Committed records of a topic from these positions on; waits for the first."""
        places = [TopicPartition(topic, number) for number in range(partitions)]
        bounds = await self.ends(places)
        starts = {place: max(positions.get(place.partition, 0), bounds[place][0]) for place in places}
        ends = {place: bounds[place][1] for place in places}
        until = monotonic() + wait_s
        reading = self._idle.pop(topic, None) or await self._start(f"reader-{topic}")
        try:
            reading.go_to(starts, ends)
            records = await self._read_known(reading, ends, limit)
            while not records and monotonic() < until and not self._closed:
                timeout_ms = min(_POLL_MS, max(int((until - monotonic()) * 1000), 1))
                records = await reading.read(limit, *places, timeout_ms=timeout_ms)
        except BaseException:
            await reading.consumer.stop()
            raise
        await self._keep(topic, reading)
        records.sort(key=lambda record: record.partition)
        return [appended(record) for record in records]

    async def _read_known(
        self, reading: _Reader, ends: Mapping[TopicPartition, int], limit: int
    ) -> list[ConsumerRecord]:
        """What is known to be there. Fair to the partitions: none gets more than its share while another has more
        than it gets.
        """
        positions = {place: await reading.consumer.position(place) for place in ends}
        waiting = [place for place in ends if positions[place] < ends[place]]
        waiting.sort(key=lambda place: ends[place] - positions[place])
        until = monotonic() + self._give_up_s
        records: list[ConsumerRecord] = []
        for index, place in enumerate(waiting):
            share = -(-(limit - len(records)) // (len(waiting) - index))
            found: list[ConsumerRecord] = []
            while share > 0 and not found and monotonic() < until:
                found = await reading.read(share, place, timeout_ms=_ARRIVES_MS)
                if await reading.consumer.position(place) >= ends[place]:  # perhaps only markers were left
                    break
            records += found
        return records

    async def positions(self, group: str, places: list[TopicPartition]) -> dict[int, int]:
        """Where a group stands."""
        async with self._of(group) as consumer:
            consumer.assign(places)
            found = await asyncio.gather(*(consumer.committed(place) for place in places))
        return {place.partition: offset for place, offset in zip(places, found, strict=True) if offset is not None}

    async def acknowledge(self, group: str, topic: str, positions: Mapping[int, int]) -> None:
        """Move a group."""
        async with self._of(group) as consumer:
            places = {TopicPartition(topic, number): OffsetAndMetadata(at, "") for number, at in positions.items()}
            consumer.assign(list(places))
            if places:
                await consumer.commit(places)

    async def ends(self, places: list[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
        """The first offsets and those after the last committed record."""
        reading = self._idle.pop("", None) or await self._start("ends")
        try:
            firsts, lasts = await asyncio.gather(
                reading.consumer.beginning_offsets(places), reading.consumer.end_offsets(places)
            )
        except BaseException:
            await reading.consumer.stop()
            raise
        await self._keep("", reading)
        return {place: (firsts[place], lasts[place]) for place in places}

    async def close(self) -> None:
        """Let go of the connections; those that are in use, when they no longer are."""
        self._closed = True
        while self._idle:
            _, kept = self._idle.popitem()
            await kept.consumer.stop()

    async def _start(self, role: str) -> _Reader:
        consumer = reader(self._connection, role, fetch_max_wait_ms=_FETCH_WAIT_MS)
        await consumer.start()
        return _Reader(consumer)

    def _of(self, group: str) -> AIOKafkaConsumer:
        return reader(self._connection, "group", group_id=group)

    async def _keep(self, name: str, reading: _Reader) -> None:
        former = self._idle.pop(name, None)
        self._idle[name] = reading
        if len(self._idle) > (0 if self._closed else _MOST_CONSUMERS):
            _, former = self._idle.popitem(last=False)
        if former is not None:
            await former.consumer.stop()
