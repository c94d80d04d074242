"""Where do records lie? In the partitions of a topic, each a sequence numbered without gaps.

Records are staged, sealed into a batch, written with it, and readable by subscribers once they are durable. A worker
reads its inputs as soon as they are written: the step that consumes them is written after them, so whatever makes that
step durable has made them durable before.

Inputs whose sender waits for the step that reads them need not be written at all: they are held in memory, and gone
with the step that consumes them; it says where the sequence goes on. If something else is written behind them, they are
written with it, so that what lies on the disk has no gaps.

Records that are written together lie together, in chunks of up to 64 KB under the offset of their first: one entry in
RocksDB for dozens of records is what makes a burst cheap.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from operator import itemgetter
from struct import Struct

import msgspec
from rocksdict import WriteBatch

from lightsched.event.record import Appended, Record
from lightsched.log.embedded.families import INPUTS
from lightsched.store.rocks import Rocks, below

_KEY = Struct(">HHQ")
_PLACE = Struct(">HH")
OFFSET = Struct(">Q")

CHUNK_BYTES = 64 * 1024
MOST_BYTES = 8 * 1024 * 1024
"""Of inputs that a worker reads at once."""
MAX_RECENT = 16_384
"""Records of an input that wait in memory for their worker; beyond that it reads them from the disk."""
MAX_RECENT_BYTES = 16 * 1024 * 1024


class Chunk(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Records as they lie in RocksDB; the key holds topic, partition and the offset of the first."""

    timestamp_ms: int
    records: list[Record]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Chunk).decode


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
        self._floor, self.end = self._find_ends()  # of the first chunk that is kept; of the records written
        self.readable = self.end  # of those durable: subscribers see no further
        self._held: deque[tuple[int, Record]] = deque()  # the last before `end`, not written: when they came, and what
        self._staged: list[Record] = []
        self._staged_ms = 0
        self._dropped: tuple[int, int] | None = None  # `first` and `_floor` once the batch is written
        self._keeps = family == INPUTS  # recent records in memory, for a worker
        self._recent: deque[Appended] = deque()
        self._recent_bytes = 0
        self.on_written: Callable[[], None] | None = None  # its worker's

    def stage(self, record: Record) -> None:
        """Take a record for the batch that is being made."""
        self._staged.append(record)

    @property
    def stored(self) -> int:
        """Where those end that are written."""
        return self.end - len(self._held)

    def hold(self, records: Sequence[Record], timestamp_ms: int) -> bool:
        """Take records for the worker that are not to be written. False: there is no room for them."""
        size = _size_of(records)
        if len(self._recent) + len(records) > MAX_RECENT or self._recent_bytes + size > MAX_RECENT_BYTES:
            return False
        self._held.extend([(timestamp_ms, record) for record in records])
        self._add(records, timestamp_ms)
        return True

    def seal(self, batch: WriteBatch, timestamp_ms: int) -> None:
        """Put what is staged into the batch, behind what is held: it is complete."""
        self._staged_ms = timestamp_ms
        if self._staged:
            self.seal_held(batch)
            self._put(batch, self.end, timestamp_ms, self._staged)

    def seal_held(self, batch: WriteBatch) -> None:
        """Put what is held into the batch, but for what the same batch drops."""
        gone = 0 if self._dropped is None else max(self._dropped[0] - self.stored, 0)
        offset = self.stored + gone
        for came_ms, some in groupby(islice(self._held, gone, None), itemgetter(0)):
            records = [record for _, record in some]
            self._put(batch, offset, came_ms, records)
            offset += len(records)

    def _put(self, batch: WriteBatch, offset: int, timestamp_ms: int, records: list[Record]) -> None:
        handle = self._rocks.handles[self._family]
        start = size = 0
        for index, record in enumerate(records):
            size += _size(record)
            if size >= CHUNK_BYTES:
                batch.put(self._key(offset + start), _encode((timestamp_ms, records[start : index + 1])), handle)
                start, size = index + 1, 0
        if start < len(records):
            batch.put(self._key(offset + start), _encode((timestamp_ms, records[start:])), handle)

    def unstage(self) -> None:
        """The batch will not be written."""
        self._staged = []
        self._dropped = None

    def written(self) -> None:
        """The batch is written."""
        staged, self._staged = self._staged, []
        if self._dropped is not None:
            (self.first, self._floor), self._dropped = self._dropped, None
            for _ in range(min(self.first - self.stored, len(self._held))):
                self._held.popleft()
        if staged:
            self._held.clear()
            self._add(staged, self._staged_ms)

    def held_written(self) -> None:
        """The batch with what is held is written."""
        self._held.clear()

    def _add(self, records: Sequence[Record], timestamp_ms: int) -> None:
        if self._keeps:
            self._remember(records, timestamp_ms)
        self.end += len(records)
        if self.on_written is not None:
            self.on_written()

    def read(self, offset: int, limit: int) -> list[Appended]:
        """Records from `offset` on, durable or not: for the worker."""
        if offset >= self.end or limit <= 0:
            return []
        recent = self._recent
        if recent and recent[0].offset <= offset:
            while recent and recent[0].offset < offset:
                self._recent_bytes -= _size(recent.popleft().record)
            taken = list(islice(recent, limit))
            size = _size_of([appended.record for appended in taken])
            if size > MOST_BYTES:
                taken = _no_more_than(MOST_BYTES, taken)
                size = _size_of([appended.record for appended in taken])
            self._recent_bytes -= size
            for _ in taken:
                recent.popleft()
            return taken
        upto = min(offset + limit, recent[0].offset if recent else self.end)
        return _no_more_than(MOST_BYTES, self._stored(offset, upto))

    def fetch(self, offset: int, limit: int) -> list[Appended]:
        """Durable records from `offset` on: for subscribers."""
        return list(self._stored(offset, min(offset + limit, self.readable)))

    def first_since(self, timestamp_ms: int, most: int) -> int:
        """The offset of the first record that is not older than this, or that lies `most` chunks further on.

        One after the other: where a clock was put back, records do not lie in the order of time.
        """
        if self.first >= self.readable:
            return self.first
        for first, chunk in islice(self._chunks(self.first), most):
            if first >= self.readable or chunk.timestamp_ms >= timestamp_ms:
                return max(first, self.first)
            after = first + len(chunk.records)
        return min(after, self.readable)

    def drop_before(self, batch: WriteBatch, offset: int) -> None:
        """Let go of the records before an offset: the chunks that lie before it whole, the rest with the next one."""
        floor = self.stored if offset >= self.stored else next(self._chunks(offset))[0]
        if floor > self._floor:
            batch.delete_range(self._key(self._floor), self._key(floor), self._rocks.handles[self._family])
        self._dropped = offset, floor

    def _remember(self, records: Sequence[Record], timestamp_ms: int) -> None:
        """Keep them for the worker, if there is room."""
        recent, topic, number = self._recent, self.topic, self.number
        recent.extend(
            [Appended(topic, number, offset, timestamp_ms, record) for offset, record in enumerate(records, self.end)]
        )
        self._recent_bytes += _size_of(records)
        if len(recent) > MAX_RECENT or self._recent_bytes > MAX_RECENT_BYTES:
            recent.clear()
            self._recent_bytes = 0

    def _stored(self, start: int, end: int) -> Iterator[Appended]:
        if start >= end:
            return
        topic, number = self.topic, self.number
        for first, chunk in self._chunks(start):
            if first >= end:
                break
            records = chunk.records if first >= start else chunk.records[start - first :]
            for offset, record in enumerate(records[: end - max(first, start)], max(first, start)):
                yield Appended(topic, number, offset, chunk.timestamp_ms, record)

    def _chunks(self, offset: int) -> Iterator[tuple[int, Chunk]]:
        """The chunk that holds an offset, and those after it."""
        found = self._rocks.families[self._family].iter(self._range)
        found.seek_for_prev(self._key(offset))
        while found.valid():
            key, value = found.key(), found.value()
            assert isinstance(key, bytes)
            assert isinstance(value, bytes)
            yield OFFSET.unpack_from(key, _PLACE.size)[0], _decode(value)
            found.next()

    def _key(self, offset: int) -> bytes:
        return _KEY.pack(self._topic_number, self.number, offset)

    def _find_ends(self) -> tuple[int, int]:
        """The chunk where the records begin that are kept, and the offset after the last."""
        found = self._rocks.families[self._family].iter(self._range)
        found.seek_for_prev(_end_of(self.place))
        key, value = found.key(), found.value()
        if not found.valid() or not isinstance(key, bytes) or not key.startswith(self.place):
            return self.first, self.first
        end = max(self.first, int(OFFSET.unpack_from(key, _PLACE.size)[0]) + len(_decode(value).records))
        return (self.first if self.first >= end else next(self._chunks(self.first))[0]), end


def _no_more_than(size: int, records: Iterable[Appended]) -> list[Appended]:
    """The first of them, as many as go into so many bytes, and one at least."""
    taken: list[Appended] = []
    for appended in records:
        size -= _size(appended.record)
        if size < 0 and taken:
            break
        taken.append(appended)
    return taken


def _size(record: Record) -> int:
    return 200 + (len(record.value) if record.value else 0)


def _size_of(records: Sequence[Record]) -> int:
    """Of all of them."""
    return 200 * len(records) + sum([len(record.value) for record in records if record.value])


def _end_of(place: bytes) -> bytes:
    return place + b"\xff" * OFFSET.size
