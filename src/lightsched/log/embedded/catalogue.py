"""Which topics are there, where does each begin, and how far has each group of readers come?

All of it is in the family `log`, and what changes is written in the batch of the records it belongs to. A topic is
made when it is first named. The first offset of a topic's partition is persisted whenever records are dropped: the
end of a partition whose records are all gone is where the next one goes.
"""

from collections.abc import Iterator, Mapping
from struct import Struct

from rocksdict import WriteBatch

from lightsched.event.topics import Topics
from lightsched.log.embedded.families import INPUTS, LOG, OUTPUTS
from lightsched.log.embedded.topic import OFFSET, TopicPartition
from lightsched.log.errors import NoSuchPartition, PartitionsChanged, PrefixChanged, TooManyTopics
from lightsched.store.errors import StoreTooNew
from lightsched.store.rocks import Rocks, new_batch

MAX_TOPICS = 1_000
VERSION = 1  # of the families of the log; those of the stores have their own

_NUMBER = Struct(">H")
_FORMAT, _PARTITIONS, _PREFIX = b"format", b"partitions", b"prefix"
_TOPIC, _FIRST, _GROUP, _SHARED = b"topic\0", b"first\0", b"group\0", b"shared\0"


class Catalogue:
    """The topics of a log."""

    def __init__(self, rocks: Rocks, names: Topics, partitions: int) -> None:
        self._rocks = rocks
        self._family = rocks.families[LOG]
        self._inputs = {names.events, names.reports}
        self._partitions = partitions
        self._names = names
        self._topics: dict[str, list[TopicPartition]] = {}
        self._check()
        for name, number in self._stored_topics():
            self._open(name, number)

    def topic(self, name: str) -> list[TopicPartition]:
        """The partitions of a topic; it is made if it is new."""
        found = self._topics.get(name)
        return self._make(name) if found is None else found

    def find(self, name: str) -> list[TopicPartition]:
        """The partitions of a topic; none if there is no such topic. Reading makes no topics."""
        return self._topics.get(name, [])

    def partition(self, name: str, number: int) -> TopicPartition:
        """One partition of a topic; it is made if it is new."""
        self._check_number(name, number)
        return self.topic(name)[number]

    @property
    def names(self) -> list[str]:
        """All topics there are."""
        return sorted(self._topics)

    @property
    def outputs(self) -> list[TopicPartition]:
        """All partitions of topics whose records are kept for a while."""
        return [
            partition
            for name, partitions in self._topics.items()
            if name not in self._inputs
            for partition in partitions
        ]

    def drop_before(self, batch: WriteBatch, partition: TopicPartition, offset: int) -> None:
        """Let go of a partition's records before an offset, and remember where it begins."""
        partition.drop_before(batch, offset)
        batch.put(_FIRST + partition.place, OFFSET.pack(offset), self._rocks.handles[LOG])

    def positions(self, topic: str, group: str) -> dict[int, int]:
        """Where a group stands."""
        prefix = _group_key(topic, group)
        found: dict[int, int] = {}
        for key, value in self._family.items(from_key=prefix):
            assert isinstance(key, bytes)
            if not key.startswith(prefix):
                break
            found[_NUMBER.unpack_from(key, len(prefix))[0]] = OFFSET.unpack(value)[0]
        return found

    def move(self, batch: WriteBatch, topic: str, group: str, positions: Mapping[int, int]) -> None:
        """Move a group."""
        for number, offset in positions.items():
            self._check_number(topic, number)
            batch.put(_group_key(topic, group) + _NUMBER.pack(number), OFFSET.pack(offset), self._rocks.handles[LOG])

    def shared(self) -> Iterator[tuple[str, bytes]]:
        """What is kept for all nodes."""
        for key, value in self._family.items(from_key=_SHARED):
            assert isinstance(key, bytes)
            if not key.startswith(_SHARED):
                break
            yield key[len(_SHARED) :].decode(), value

    def share(self, batch: WriteBatch, key: str, value: bytes | None) -> None:
        """Keep something for all nodes."""
        if value is None:
            batch.delete(_SHARED + key.encode(), self._rocks.handles[LOG])
        else:
            batch.put(_SHARED + key.encode(), value, self._rocks.handles[LOG])

    def _check_number(self, name: str, number: int) -> None:
        if not 0 <= number < self._partitions:
            raise NoSuchPartition(partition=number, topic=name, partitions=self._partitions)

    def _check(self) -> None:
        """A log is opened the way it was made."""
        stored = self._family.get(_PARTITIONS)
        if stored is None:
            batch = new_batch()
            batch.put(_PARTITIONS, str(self._partitions).encode(), self._rocks.handles[LOG])
            batch.put(_PREFIX, self._names.prefix.encode(), self._rocks.handles[LOG])
            batch.put(_FORMAT, str(VERSION).encode(), self._rocks.handles[LOG])
            self._rocks.write(batch)
            return
        version = int(self._family.get(_FORMAT, b"1"))  # type: ignore[arg-type]
        if version > VERSION:
            raise StoreTooNew(path=self._rocks.path, found=f"log format {version}", known=f"log format {VERSION}")
        if int(stored) != self._partitions:
            raise PartitionsChanged(path=self._rocks.path, found=int(stored), wanted=self._partitions)
        prefix = self._family.get(_PREFIX).decode()  # type: ignore[union-attr]
        if prefix != self._names.prefix:
            raise PrefixChanged(path=self._rocks.path, found=prefix, wanted=self._names.prefix)

    def _stored_topics(self) -> Iterator[tuple[str, int]]:
        for key, value in self._family.items(from_key=_TOPIC):
            assert isinstance(key, bytes)
            if not key.startswith(_TOPIC):
                break
            yield key[len(_TOPIC) :].decode(), _NUMBER.unpack(value)[0]

    def _make(self, name: str) -> list[TopicPartition]:
        number = len(self._topics)
        if number >= MAX_TOPICS:
            raise TooManyTopics(topic=name, most=MAX_TOPICS)
        batch = new_batch()
        batch.put(_TOPIC + name.encode(), _NUMBER.pack(number), self._rocks.handles[LOG])
        self._rocks.write(batch)
        return self._open(name, number)

    def _open(self, name: str, topic_number: int) -> list[TopicPartition]:
        family = INPUTS if name in self._inputs else OUTPUTS
        partitions = []
        for number in range(self._partitions):
            stored = self._family.get(_FIRST + _NUMBER.pack(topic_number) + _NUMBER.pack(number))
            partitions.append(
                TopicPartition(
                    self._rocks, family, name, (topic_number, number), 0 if stored is None else OFFSET.unpack(stored)[0]
                )
            )
        self._topics[name] = partitions
        return partitions


def _group_key(topic: str, group: str) -> bytes:
    return _GROUP + f"{topic}\0{group}\0".encode()
