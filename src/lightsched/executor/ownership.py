"""Whose is a partition? Its committed position carries the name of the producer that commits it.

Claiming partitions, in this order:
1. Read their positions, and by whom they were committed.
2. Fence those who have not given them up: they died, or do not know yet that the group went on without them. That also
   finishes what they have left open, which readers of the reports would wait for.
3. Read the positions again: these are final, and nothing before them is taken.
4. Put one's own name to them, as a member of the group's present generation: one that is not is refused.

What this executor has committed itself it knows, and does not ask for: the broker answers a commit before the positions
in it can be read, so whoever asks at once may get the former ones, and would set the group back by writing them again.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError
from aiokafka.structs import OffsetAndMetadata

log = logging.getLogger(__name__)

FREE = ""


class Ownership:
    """The partitions of one executor."""

    def __init__(self, settings: Mapping[str, Any], group: str) -> None:
        self._settings = settings
        self._group = group
        self._admin: AIOKafkaAdminClient | None = None
        self._mine: set[TopicPartition] = set()
        self._moved: dict[TopicPartition, int] = {}  # how far, by this executor's own commits

    async def claim(
        self, consumer: AIOKafkaConsumer, partitions: Iterable[TopicPartition], me: str
    ) -> dict[TopicPartition, int]:
        """Become the owner of partitions; from which position on."""
        partitions = list(partitions)
        if not partitions:
            return {}
        found = await self._committed(partitions)
        others = {committed.metadata for committed in found.values() if committed.metadata not in (FREE, me)}
        for other in others:
            log.info("fences %s", other)
            await self._fence(other)
        if others:
            found = await self._committed(partitions)
        first = {
            place: max(committed.offset, self._moved.get(place, 0)) if committed.metadata == me else committed.offset
            for place, committed in found.items()
            if committed.offset >= 0
        }
        # Not the consumer's own position: it may have fetched already, while nobody was there to take it.
        first |= await consumer.beginning_offsets([place for place in partitions if place not in first])
        try:
            await consumer.commit({place: OffsetAndMetadata(offset, me) for place, offset in first.items()})
        except (CommitFailedError, IllegalStateError) as error:
            log.info("the group has changed again: %r", error)
        self._mine = set(first)
        self._moved |= first
        return first

    def moved(self, offsets: Mapping[TopicPartition, int]) -> None:
        """This executor has committed positions."""
        self._moved |= offsets

    async def release(self, consumer: AIOKafkaConsumer) -> None:
        """Give up all partitions: what was to be committed is."""
        mine, self._mine = self._mine, set()
        if not mine:
            return
        try:
            await consumer.commit({place: OffsetAndMetadata(self._moved[place], FREE) for place in mine})
        except (CommitFailedError, IllegalStateError) as error:
            log.info("the group did not wait: %r", error)

    async def close(self) -> None:
        """Let go of the connection."""
        if self._admin is not None:
            await self._admin.close()

    async def _committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata]:
        if self._admin is None:
            self._admin = AIOKafkaAdminClient(**self._settings)
            await self._admin.start()
        found: dict[TopicPartition, OffsetAndMetadata]
        found = await self._admin.list_consumer_group_offsets(self._group, partitions=list(partitions))
        return found

    async def _fence(self, other: str) -> None:
        producer = AIOKafkaProducer(transactional_id=other, **self._settings)
        try:
            await producer.start()
            await producer.begin_transaction()  # waits until it is the only one of its name
            await producer.abort_transaction()
        except KafkaError as error:
            log.warning("%s was not fenced: %r", other, error)
        finally:
            await producer.stop()
