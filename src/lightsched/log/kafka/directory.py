"""Where may deliveries go? What is known of topics: how many partitions, how large a record may be, which are bad."""

import math
import time
from collections.abc import Iterable, Mapping

from aiokafka.admin import AIOKafkaAdminClient

from lightsched.event.delivery import Delivery
from lightsched.event.murmur2 import murmur2
from lightsched.event.record import Record
from lightsched.event.topics import KAFKAS_OWN
from lightsched.log.errors import NoSuchPartition
from lightsched.log.kafka.topics import DEFAULT_BYTES, Found, denied, describe
from lightsched.log.records import CUT, DEAD_HEADERS

SURE_FOR_S = 30.0
"""How long the number of a topic's partitions is taken for granted."""
_AVOIDED_FOR_S = 10.0
_MOST_AVOIDED = 1_000  # then those are forgotten whose time is over
_BATCH_BYTES = 100  # besides its records
_RECORD_BYTES = 100  # besides key, value and headers
_HEADER_BYTES = 10  # besides name and value
MOST_HEADER_BYTES = 64 * 1024
"""More than the headers of a delivery ever have."""


class Directory:
    """Topics, as far as they were asked for."""

    def __init__(self, admin: AIOKafkaAdminClient, partitions: int) -> None:
        self._admin = admin
        self._partitions = partitions
        self._known: dict[str, Found] = {}
        self._counts: dict[str, tuple[int, float]] = {}  # partitions, and until when that is sure
        self._bad: dict[str, tuple[str, float]] = {}
        self._doubted: dict[str, float] = {}
        self._own: frozenset[str] = frozenset()

    async def learn(self, topics: Iterable[str]) -> bool:
        """Find out about topics that are not known yet; were there any?"""
        new = [topic for topic in topics if topic not in self._known]
        if not new:
            return False
        found = await describe(self._admin, new)
        refused = await denied(self._admin, found)
        self._known.update(found)
        for topic in new:
            if topic not in found:
                self.avoid(topic, "there is no such topic")
            elif topic in refused:
                self.avoid(topic, "writing to it is not allowed")
        return True

    async def count(self, topic: str) -> int:
        """How many partitions a topic has; 0: there is no such topic. Asked again now and then: topics grow, and go."""
        count, until = self._counts.get(topic, (0, 0.0))
        if time.monotonic() < until:
            return count
        found = (await describe(self._admin, [topic])).get(topic)
        if found is None:
            self._counts.pop(topic, None)
            return 0
        self._counts[topic] = found.partitions, time.monotonic() + SURE_FOR_S
        return found.partitions

    def know(self, found: Mapping[str, Found]) -> None:
        """These are lightsched's own: they exist, and stay as they are."""
        self._own |= found.keys()
        self._known.update(found)
        self._counts.update({topic: (each.partitions, math.inf) for topic, each in found.items()})

    @property
    def names(self) -> list[str]:
        """The topics that were delivered to, and lightsched's own."""
        return list(self._known)

    def avoid(self, topic: str, why: str) -> None:
        """Deliver nothing there for a while."""
        now = time.monotonic()
        if len(self._bad) >= _MOST_AVOIDED:
            self._bad = {name: bad for name, bad in self._bad.items() if bad[1] > now}
        self._bad[topic] = why, now + _AVOIDED_FOR_S
        self._known.pop(topic, None)

    def forget(self, topics: Iterable[str]) -> None:
        """Ask about these again, but for lightsched's own."""
        for topic in set(topics) - self._own:
            self._known.pop(topic, None)
            self._counts.pop(topic, None)

    def doubt(self, topic: str, why: str) -> None:
        """It refused what should fit: ask again what it takes, and avoid it if that does not help."""
        now = time.monotonic()
        if now < self._doubted.get(topic, 0.0):
            self.avoid(topic, why)
        else:
            self._doubted[topic] = now + _AVOIDED_FOR_S
            self._known.pop(topic, None)

    def most_bytes(self, topic: str) -> int:
        """Of one batch of records, as far as is known."""
        known = self._known.get(topic)
        return DEFAULT_BYTES if known is None else known.most_bytes

    def refuse(self, delivery: Delivery) -> str:
        """Why a delivery cannot be made, as far as is known; empty: perhaps it can."""
        for topic in delivery.topics:
            if topic.startswith(KAFKAS_OWN):  # it was accepted by an earlier version
                return f"{topic}: it is Kafka's own"
            if self._bad and topic in self._bad:
                why, until = self._bad[topic]
                if time.monotonic() < until:
                    return f"{topic}: {why}"
                del self._bad[topic]
            known = self._known.get(topic)
            if known is not None and not fits(delivery.record, known.most_bytes):
                return f"{topic}: the record is larger than the topic takes ({known.most_bytes} bytes)"
        return ""

    def alike(self, topic: str) -> bool:
        """Has it as many partitions as lightsched's own topics?"""
        known = self._known.get(topic)
        return known is None or known.partitions == self._partitions

    def place(self, topic: str, number: int, record: Record) -> int:
        """The partition for a record of partition `number`: the same one, unless the topic has another count."""
        if self.alike(topic):
            if not 0 <= number < self._partitions:
                raise NoSuchPartition(partition=number, topic=topic, partitions=self._partitions)
            return number
        return (murmur2(record.key or b"") & 0x7FFFFFFF) % self._known[topic].partitions


def size_of(record: Record) -> int:
    """Bytes of a record in a batch, at most."""
    size = len(record.value or b"") + len(record.key or b"") + _RECORD_BYTES
    return size + sum(len(name) + len(value) + _HEADER_BYTES for name, value in record.headers)


def room_in(batch_bytes: int) -> int:
    """Bytes of records that go into a batch for sure: what cannot be compressed grows a little."""
    return batch_bytes - _BATCH_BYTES - batch_bytes // 4096


def fits(record: Record, most_bytes: int) -> bool:
    """Can it be a batch of its own?"""
    room = room_in(most_bytes)
    size = len(record.value or b"") + len(record.key or b"") + _RECORD_BYTES
    return size + MOST_HEADER_BYTES <= room or size_of(record) <= room


def cut(record: Record, most_bytes: int) -> Record:
    """As much of a dead letter as fits: the beginning of its value. A key or headers that leave no room for it are left
    out, all but those that say why it was put aside. That it was cut is said in a header before those.
    """
    if size_of(record) <= room_in(most_bytes):
        return record
    value = record.value or b""
    sent, said = record.headers[:-DEAD_HEADERS], record.headers[-DEAD_HEADERS:]
    mark = (CUT, b"%d" % len(value))
    headers = (*sent, mark, *said)
    key = record.key
    room = room_in(most_bytes) - size_of(Record(key, None, headers))
    if room < 0:
        key, headers = None, (mark, *said)
        room = max(room_in(most_bytes) - size_of(Record(None, None, headers)), 0)
    return Record(key, value[:room], headers)
