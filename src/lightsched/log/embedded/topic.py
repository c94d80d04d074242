"""Where do records lie? In the partitions of a topic, each a sequence numbered without gaps.

A record is staged into a batch, written with it, and readable by subscribers once it is durable. A worker reads its
inputs as soon as they are written: the step that consumes them is written after them, so whatever makes that step
durable has made them durable before.
"""

from collections import deque
from collections.abc import Callable, Iterator
from struct import Struct

import msgspec
from rocksdict import WriteBatch

from lightsched.event.record import Appended, Headers, Record
from lightsched.log.embedded.families import INPUTS
from lightsched.store.rocks import Rocks, below

_KEY = Struct(">HHQ")
_PLACE = Struct(">HH")
OFFSET = Struct(">Q")

MAX_RECENT = 4_096
"""Records of an input that wait in memory for their worker; beyond that it reads them from the disk."""
MAX_RECENT_BYTES = 2 * 1024 * 1024


class Stored(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A record as it lies in RocksDB; its key holds topic, partition and offset."""

    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Stored).decode


class TopicPartition:
    """One partition of a topic."""

    def __init__(self, rocks: Rocks, family: str, topic: str, place: tuple[int, int], first: int) -> None:
        self.topic = topic
        self._topic_number, self.number = place
        self.place = _PLACE.pack(*place)
        self._rocks = rocks
        self._family = family
        self._range = below(_end_of(self.place))
        self.first = first  # of the records that are kept
        self.end = self._find_end()  # of those written
        self.readable = self.end  # of those durable: subscribers see no further
        self._staged: list[Appended] = []
        self._keeps = family == INPUTS  # recent records in memory, for a worker
        self._recent: deque[Appended] = deque()
        self._recent_bytes = 0
        self.on_written: Callable[[], None] | None = None  # its worker's

    def stage(self, batch: WriteBatch, record: Record, timestamp_ms: int) -> int:
        """Put a record into a batch; its offset."""
        offset = self.end + len(self._staged)
        stored = Stored(timestamp_ms, record.key, record.value, record.headers)
        batch.put(
            _KEY.pack(self._topic_number, self.number, offset), _encode(stored), self._rocks.handles[self._family]
        )
        self._staged.append(Appended(self.topic, self.number, offset, timestamp_ms, record))
        return offset

    def unstage(self) -> None:
        """The batch will not be written."""
        self._staged = []

    def written(self) -> None:
        """The batch is written."""
        staged, self._staged = self._staged, []
        self.end += len(staged)
        if self._keeps:
            self._remember(staged)
        if self.on_written is not None:
            self.on_written()

    def read(self, offset: int, limit: int) -> list[Appended]:
        """Records from `offset` on, durable or not: for the worker."""
        if offset >= self.end or limit <= 0:
            return []
        recent = self._recent
        if recent and recent[0].offset <= offset:
            while recent and recent[0].offset < offset:
                self._forget(recent.popleft())
            taken = [recent.popleft() for _ in range(min(limit, len(recent)))]
            for appended in taken:
                self._forget(appended)
            return taken
        upto = min(offset + limit, recent[0].offset if recent else self.end)
        return list(self._stored(offset, upto))

    def fetch(self, offset: int, limit: int) -> list[Appended]:
        """Durable records from `offset` on: for subscribers."""
        offset = max(offset, self.first)
        return list(self._stored(offset, min(offset + limit, self.readable)))

    def first_since(self, timestamp_ms: int) -> int:
        """The offset from which on records are not older than this; they are assumed to lie in the order of time."""
        low, high = self.first, self.readable
        while low < high:
            middle = (low + high) // 2
            value = self._rocks.families[self._family].get(_KEY.pack(self._topic_number, self.number, middle))
            if value is None or _decode(value).timestamp_ms < timestamp_ms:
                low = middle + 1
            else:
                high = middle
        return low

    def drop_before(self, batch: WriteBatch, offset: int) -> None:
        """Let go of the records before an offset."""
        batch.delete_range(self._key(self.first), self._key(offset), self._rocks.handles[self._family])
        self.first = offset

    def _remember(self, staged: list[Appended]) -> None:
        """Keep them for the worker, if nothing is missing in between and there is room."""
        recent = self._recent
        for appended in staged:
            self._recent_bytes += _size(appended)
        recent.extend(staged)
        if len(recent) > MAX_RECENT or self._recent_bytes > MAX_RECENT_BYTES:
            recent.clear()
            self._recent_bytes = 0

    def _forget(self, appended: Appended) -> None:
        self._recent_bytes -= _size(appended)

    def _stored(self, start: int, end: int) -> Iterator[Appended]:
        if start >= end:
            return
        topic, number = self.topic, self.number
        offset = start
        for key, value in self._rocks.families[self._family].items(from_key=self._key(start), read_opt=self._range):
            assert isinstance(key, bytes)
            (offset,) = OFFSET.unpack_from(key, 4)
            if offset >= end:
                break
            stored = _decode(value)
            record = Record(stored.key, stored.value, stored.headers)
            yield Appended(topic, number, offset, stored.timestamp_ms, record)

    def _key(self, offset: int) -> bytes:
        return _KEY.pack(self._topic_number, self.number, offset)

    def _find_end(self) -> int:
        last = next(iter(self._rocks.families[self._family].keys(backwards=True, from_key=_end_of(self.place))), None)
        if isinstance(last, bytes) and last.startswith(self.place):
            return max(self.first, int(OFFSET.unpack_from(last, 4)[0]) + 1)
        return self.first


def _size(appended: Appended) -> int:
    value = appended.record.value
    return 200 + (len(value) if value else 0)


def _end_of(place: bytes) -> bytes:
    return place + b"\xff" * OFFSET.size
