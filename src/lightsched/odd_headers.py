r"""What if a record's headers are odd? Anybody may write to a topic, and nobody who reads it may stop for that.

To Kafka the name of a header is any bytes, and its value may be null. aiokafka fails on a name that is not UTF-8, again
and again: so one record would stop whoever reads its partition for good. Here its batch is read once more, slowly, with
such names written as `\xff`; everybody else's batches are read as fast as before.
"""

from collections.abc import Iterator
from typing import Any

from aiokafka.consumer import fetcher
from aiokafka.errors import CorruptRecordException
from aiokafka.record import default_records
from aiokafka.record.memory_records import MemoryRecords

from lightsched.event.record import Headers

__all__ = ["read_any_name", "without_null"]

_LENGTH_AT, _LENGTH_END = 8, 12
"""In the first bytes of a batch: how many follow."""


def read_any_name() -> None:
    """For all consumers of this process. Twice is as good as once."""
    fetcher.MemoryRecords = _Batches


def without_null(headers: tuple[tuple[str, bytes | None], ...]) -> Headers:
    """Headers as they were read; a null is as good as nothing."""
    for _, value in headers:
        if value is None:
            return tuple((name, value or b"") for name, value in headers)
    return headers  # type: ignore[return-value]  # it was just looked at


class _Batches:
    """Batches of records, as the fetcher goes through them."""

    def __init__(self, data: bytes) -> None:
        self._batches = MemoryRecords(data)
        self._data = data
        self._at = 0

    def size_in_bytes(self) -> int:
        size: int = self._batches.size_in_bytes()
        return size

    def has_next(self) -> bool:
        more: bool = self._batches.has_next()
        return more

    def next_batch(self) -> Any:
        batch = self._batches.next_batch()
        if batch is None:
            return None
        began = self._at
        follow = int.from_bytes(self._data[began + _LENGTH_AT : began + _LENGTH_END], "big")
        self._at = began + _LENGTH_END + follow
        return _Batch(batch, self._data, slice(began, self._at))


class _Batch:
    """One batch; it is like aiokafka's own, but for its records."""

    def __init__(self, batch: Any, data: bytes, where: slice) -> None:
        self._batch = batch
        self._data = data
        self._where = where

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def __next__(self) -> Any:
        return next(self._batch)

    def __iter__(self) -> Iterator[Any]:
        read = 0
        try:
            for record in self._batch:
                yield record
                read += 1
        except (UnicodeDecodeError, CorruptRecordException) as error:
            # Where aiokafka reads records in Python, it has wrapped it.
            if not isinstance(error, UnicodeDecodeError) and not isinstance(error.__cause__, UnicodeDecodeError):
                raise
            yield from _by_hand(self._data[self._where], read)


def _by_hand(data: bytes, read: int) -> Iterator[Any]:
    """The records of a batch after the first ones, with the names of their headers as they can be shown."""
    batch = default_records._DefaultRecordBatchPy(data)  # noqa: SLF001 -- aiokafka's own that is written in Python
    iter(batch)  # now it is uncompressed
    batch._buffer = _Lenient(batch._buffer)  # noqa: SLF001
    for number, record in enumerate(batch):
        if number >= read:
            yield record


class _Lenient(bytearray):
    """Bytes whose pieces are text in any case."""

    def __getitem__(self, where: Any) -> Any:
        found = super().__getitem__(where)
        return _Piece(found) if isinstance(where, slice) else found


class _Piece(bytearray):
    def decode(self, encoding: str = "utf-8", errors: str = "backslashreplace") -> str:
        return super().decode(encoding, errors)
