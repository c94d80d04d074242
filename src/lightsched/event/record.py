"""What does a log carry? Records, the same shape on the embedded log and on Kafka."""

from typing import Self

import msgspec

from lightsched.event.model import Event

Headers = tuple[tuple[str, bytes], ...]


class Record(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A record as it is handed to a log: the log adds topic, partition, offset and the time of the append."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()


class Checked(Record, dict=True, gc=True, frozen=True):
    """A record whose event is known to make sense, in this process: whoever reads it here need not look again.

    What is written of it, and read from a disk, a broker or another node, is the record alone.
    """

    @classmethod
    def of(cls, event: Event, value: bytes, headers: Headers) -> Self:
        """Of an event that was decoded, named, filled in and checked."""
        record = cls(event.key.encode(), value, headers)
        record.__dict__["event"] = event
        return record

    def take(self) -> Event | None:
        """The event, once: whoever carries a command out changes it."""
        event: Event | None = self.__dict__.pop("event", None)
        return event


class Appended(msgspec.Struct, frozen=True, gc=False):
    """A record as it is read from a log."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    record: Record
