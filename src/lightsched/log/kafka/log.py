"""What is the log on Kafka? Topics on the brokers, a store for each partition it owns, and a place in the group."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import monotonic

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from lightsched.event.delivery import Delivery
from lightsched.event.record import Appended, Record
from lightsched.event.topics import Topics
from lightsched.log.errors import LogClosed, NoSuchPartition, NotRead, PartitionTaken
from lightsched.log.kafka.appending import Appender, Appending
from lightsched.log.kafka.atomically import AtomicAppender
from lightsched.log.kafka.clients import admin, reader, unreachable
from lightsched.log.kafka.connection import Connection, Group
from lightsched.log.kafka.directory import Directory
from lightsched.log.kafka.errors import NothingFetched, NotMine
from lightsched.log.kafka.listener import Listener
from lightsched.log.kafka.looking import Looking
from lightsched.log.kafka.membership import Membership
from lightsched.log.kafka.pace import Pace
from lightsched.log.kafka.partition import KafkaPartition
from lightsched.log.kafka.readers import Readers
from lightsched.log.kafka.registry import Registry
from lightsched.log.kafka.restoring import stored_in
from lightsched.log.kafka.taking import Taking
from lightsched.log.kafka.topics import check_room, ensure, wanted
from lightsched.log.peer import Peer
from lightsched.log.port import Place
from lightsched.reaching import NOT_REACHED
from lightsched.store.rocks import Memory

log = logging.getLogger(__name__)

_LOOK_AGAIN_S = 0.5
"""Whether a topic that somebody waits for is there."""
_MOST_NAMED = 10


class KafkaLog:
    """Topics and partitions on Kafka. Implements `lightsched.log.port.Log`."""

    def __init__(
        self,
        connection: Connection,
        path: Path,
        *,
        topics: Topics,
        partitions: int,
        group: Group,
        clock_ms: Callable[[], int],
        listener: Listener,
        go_on: bool = False,
        fault: Callable[[str], None] | None = None,
    ) -> None:
        self.partitions = partitions
        self.topics = topics
        self.clock_ms = clock_ms
        self._connection = connection
        self._path = path
        self._fault = fault
        self._admin: AIOKafkaAdminClient = admin(connection)
        self._offsets: AIOKafkaConsumer = reader(connection, "offsets", committed=False)
        self._readers = Readers(connection)
        self._looking = Looking(connection)
        self.pace = Pace()
        self.directory = Directory(self._admin, partitions)
        self._appender = Appender(connection, self.directory.most_bytes)
        own = f"{topics.prefix}inputs-{connection.client_id}"
        self._atomic = AtomicAppender(connection, own, self.directory.most_bytes, clock_ms)
        self._member = Membership(
            connection, topics.events, partitions, group, path=path, stored=partial(stored_in, path)
        )
        self._registry = Registry(connection, topics.nodes, self._said, listener.time)
        self._taking = Taking(
            connection=connection,
            path=path,
            memory=Memory().divided(partitions),
            offsets=self._offsets,
            committed=partial(self._readers.positions, group.name),
            listener=listener,
            go_on=go_on,
        )
        self._own_id = ""
        self._taken: dict[int, KafkaPartition | None] = {}
        self.fenced: set[int] = set()  # partitions that another node may have taken
        self._closed = False

    @classmethod
    async def open(
        cls,
        connection: Connection,
        path: Path,
        *,
        partitions: int,
        clock_ms: Callable[[], int],
        prefix: str = "lightsched.",
        replication: int = 1,
        retention_ms: int,
        create_topics: bool = True,
        most_payload: int = 0,
        go_on_without_lost_inputs: bool = False,
        group: Group | None = None,
        listener: Listener | None = None,
        fault: Callable[[str], None] | None = None,
    ) -> "KafkaLog":
        """Connect, see that the topics are right, and join the group."""
        opened = cls(
            connection,
            path,
            topics=Topics(prefix),
            partitions=partitions,
            group=group or Group(),
            clock_ms=clock_ms,
            listener=listener or Listener(),
            go_on=go_on_without_lost_inputs,
            fault=fault,
        )
        try:
            await opened._start(replication, retention_ms, most_payload, create_topics=create_topics)
        except NOT_REACHED as error:
            await opened.close()
            raise await unreachable(connection, error) from error
        except BaseException:
            await opened.close()
            raise
        return opened

    async def _start(self, replication: int, retention_ms: int, most_payload: int, *, create_topics: bool) -> None:
        await self._admin.start()
        own = wanted(self.topics, self.partitions, retention_ms)
        found, _ = await ensure(self._admin, own, replication, create_missing=create_topics)
        check_room(self.topics, found, most_payload)
        self.directory.know(found)
        await self._offsets.start()
        await self._appender.start()
        self._atomic.start()
        await self._member.start(self._admin)

    # other nodes

    @property
    def peers(self) -> list[Peer]:
        """The other nodes, as far as they were heard of lately."""
        return [peer for peer in self._registry.peers() if peer.id != self._own_id]

    @property
    def keeps_submitted(self) -> bool:
        """It is on the topic."""
        return True

    async def announce(self, own: Callable[[], Peer]) -> None:
        """Tell the other nodes about this one from now on."""
        self._own_id = own().id
        await self._registry.start(own)

    def watch(self, told: Callable[[str, bytes | None], None]) -> None:
        """Say what all nodes share, by key, whenever it is heard: all of it before `announce` returns."""
        self._registry.watch(told)

    async def share(self, key: str, value: bytes | None) -> None:
        """Let all nodes know something; durable and known here on return."""
        self._check()
        await self._registry.share(key, value)

    def moved(self) -> None:
        """A partition was taken or given up: tell the others at once."""
        self._registry.changed()

    async def _said(self, record: Record) -> Appending:
        return await self._appender.append(self.topics.nodes, 0, [record])

    # ownership

    @property
    def owned(self) -> frozenset[int]:
        """The partitions that are this node's to take."""
        return self._member.owned

    async def changed(self) -> None:
        """Wait until `owned` may have changed."""
        await self._member.changed()

    @property
    def joined(self) -> bool:
        """Is it known which partitions are this node's? Not any more, once the group may have given them to others."""
        return self._member.current

    @property
    def lost(self) -> bool:
        """Kafka comes back: nothing is ever lost for good."""
        return False

    @property
    def known_topics(self) -> list[str]:
        """Its own topics, and those that this node has delivered to."""
        return self.directory.names

    def refuse(self, delivery: Delivery) -> str:
        """Why a delivery cannot be made, empty if it can."""
        return self.directory.refuse(delivery)

    async def take(self, number: int) -> KafkaPartition:
        """Become the only writer of a partition."""
        self._check()
        if not 0 <= number < self.partitions:
            raise NoSuchPartition(partition=number, topic="the log", partitions=self.partitions)
        if number in self._taken:
            raise PartitionTaken(partition=number)
        self._taken[number] = None
        try:
            await self._confirm(number)
            taken = self._taken[number] = await self._taking.take(self, number)
        except BaseException:
            self._taken.pop(number, None)
            raise
        return taken

    async def _confirm(self, number: int) -> None:
        """Whoever was fenced asks the group before it fences another: what it knows of the group may be old."""
        if number in self.fenced and not await self._member.confirmed():
            raise NotMine(partition=number)
        self.fenced.discard(number)

    def give_up(self, partition: KafkaPartition) -> None:
        """A partition was closed and may be taken again."""
        if self._taken.get(partition.number) is partition:
            del self._taken[partition.number]
            self._registry.changed()

    def note(self, number: int, offset: int) -> None:
        """How far a partition's inputs are read: for those who watch the group's lag."""
        self._member.note({number: offset})

    # records

    async def append(self, topic: str, partition: int, records: Sequence[Record]) -> int:
        """Append records, all or none, durable on return; the offset of the first."""
        await self._check_place(topic, partition)
        return (await self._appender.append(topic, partition, records)).first

    async def submit(self, topic: str, partition: int, records: Sequence[Record]) -> int:
        """Append records for a worker of this process."""
        return await self.append(topic, partition, records)

    async def append_all(self, topic: str, placed: Mapping[int, Sequence[Record]]) -> dict[int, int]:
        """Append records to several partitions of a topic, all or none, durable on return; the first offset in each."""
        for number in placed:
            await self._check_place(topic, number)
        return await self._atomic.append(topic, placed)

    async def fetch(self, topic: str, positions: Mapping[int, int], limit: int, wait_s: float) -> list[Appended]:
        """Committed records of a topic from these positions on; waits for the first, and for the topic."""
        until = monotonic() + wait_s
        with self._reading(topic):
            while not (count := await self.directory.count(topic)):
                left_s = until - monotonic()
                if left_s <= 0:
                    return []
                await asyncio.sleep(min(left_s, _LOOK_AGAIN_S))
                self._check()
            return await self._readers.fetch(topic, positions, limit, max(until - monotonic(), 0.0), partitions=count)

    async def positions(self, topic: str, group: str) -> dict[int, int]:
        """Where a group of readers stands."""
        with self._reading(topic):
            places = await self._places(topic)
            return await self._readers.positions(group, places) if places else {}

    async def acknowledge(self, topic: str, group: str, positions: Mapping[int, int]) -> None:
        """Move a group of readers; durable on return."""
        for number in positions:
            await self._check_place(topic, number)
        with self._reading(topic):
            await self._readers.acknowledge(group, topic, positions)

    async def ends(self, topic: str) -> dict[int, tuple[int, int]]:
        """Partition → the first offset of a topic's records and the one after its last committed one."""
        return {number: ends for (_, number), ends in (await self.all_ends([topic])).items()}

    async def all_ends(self, topics: Sequence[str]) -> dict[Place, tuple[int, int]]:
        """As `ends`, of several topics at once."""
        with self._reading(*topics):
            places = [place for topic in topics for place in await self._places(topic)]
            found = await self._readers.ends(places) if places else {}
        return {(place.topic, place.partition): ends for place, ends in found.items()}

    async def look(self, spans: Mapping[Place, range], take: Callable[[list[Appended]], None]) -> None:
        """Hand out the committed records at these offsets, of as many places as one likes."""
        with self._reading(*{topic for topic, _ in spans}):
            await self._looking.look({TopicPartition(*place): span for place, span in spans.items()}, take)

    async def _places(self, topic: str) -> list[TopicPartition]:
        return [TopicPartition(topic, number) for number in range(await self.directory.count(topic))]

    @contextmanager
    def _reading(self, *topics: str) -> Iterator[None]:
        """What fails may have to do with what was believed of the topics: they are asked about again."""
        self._check()
        try:
            yield
        except (KafkaError, NothingFetched) as error:
            self.directory.forget(topics)
            raise NotRead(topic=", ".join(topics[:_MOST_NAMED]), why=repr(error)) from error

    async def first_offset(self, place: TopicPartition) -> int:
        """Where a partition of a topic begins."""
        first: int = (await self._offsets.beginning_offsets([place]))[place]
        return first

    async def close(self) -> None:
        """Leave the group and let go of everything."""
        if self._closed:
            return
        self._closed = True
        for taken in list(self._taken.values()):
            if taken is not None:
                await taken.close()
        parts = (
            self._member.close,  # first: the others wait for it
            self._registry.close,
            self._appender.close,
            self._atomic.close,
            self._offsets.stop,
            self._readers.close,
            self._looking.close,
            self._admin.close,
        )
        for close in parts:
            try:
                await close()
            except (KafkaError, TimeoutError) as error:
                log.warning("while closing: %r", error)

    def reach(self, point: str) -> None:
        """A point where a test may let it crash."""
        if self._fault is not None:
            self._fault(point)

    async def _check_place(self, topic: str, number: int) -> None:
        with self._reading(topic):
            count = await self.directory.count(topic)
        if not 0 <= number < count:
            raise NoSuchPartition(partition=number, topic=topic, partitions=count)

    def _check(self) -> None:
        if self._closed:
            raise LogClosed
