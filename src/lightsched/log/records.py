"""Which records does a step emit, and where to? The same on every log."""

from collections.abc import Iterator

import msgspec

from lightsched.engine.step import DeadLetter, Step
from lightsched.event.record import Record
from lightsched.event.topics import Topics

Placed = tuple[str, int, Record]
"""Topic, partition, record."""

_encode_lines = msgspec.json.Encoder().encode_lines


def emitted(step: Step, partition: int, topics: Topics) -> Iterator[Placed]:
    """What a partition's step appends, in this order: deliveries, follow-ups, dead letters, audit."""
    for delivery in step.deliveries:
        for topic in delivery.topics:
            yield topic, partition, delivery.record
    for follow in step.follows:
        yield follow.topic, follow.partition, follow.record
    for letter in step.dead_letters:
        yield topics.dead_letter, partition, dead_letter(letter)
    if step.audit:
        yield topics.audit, partition, Record(None, _encode_lines(step.audit))


def dead_letter(letter: DeadLetter) -> Record:
    """The record as it was, with what is wrong with it and where it came from in headers."""
    headers = (
        ("ls_reason", letter.reason.encode()),
        ("ls_detail", letter.detail.encode()),
        ("ls_topic", letter.topic.encode()),
        ("ls_partition", str(letter.partition).encode()),
        ("ls_offset", str(letter.offset).encode()),
    )
    return Record(letter.record.key, letter.record.value, (*letter.record.headers, *headers))
