"""What does a log carry? Records, the same shape on the embedded log and on Kafka."""

import msgspec

Headers = tuple[tuple[str, bytes], ...]


class Record(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A record as it is handed to a log: the log adds topic, partition, offset and the time of the append."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()


class Appended(msgspec.Struct, frozen=True, gc=False):
    """A record as it is read from a log."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    record: Record
