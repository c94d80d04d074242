"""Which records does a step emit, and where to? The same on every log."""

from collections.abc import Iterable, Iterator

import msgspec

from lightsched.engine.step import DeadLetter, Step
from lightsched.event.delivery import Delivery
from lightsched.event.record import Record
from lightsched.event.topics import Topics

Placed = tuple[str, int, Record]
"""Topic, partition, record."""

CUT = "ls_cut"
"""Header of a dead letter that was too large to be kept whole: how many bytes its value had."""
DEAD_HEADERS = 5
"""Headers that a dead letter has besides those of its record, at their end."""
_AUDIT_BYTES = 512 * 1024
_encode_lines = msgspec.json.Encoder().encode_lines


def emitted(step: Step, partition: int, topics: Topics) -> Iterator[Placed]:
    """What a partition's step appends, in this order: deliveries, follow-ups, dead letters, audit."""
    for topic, deliveries in by_topic(step.deliveries).items():
        for record in deliveries:
            yield topic, partition, record
    yield from others(step, partition, topics)


def by_topic(deliveries: Iterable[Delivery]) -> dict[str, list[Record]]:
    """The records of deliveries, for each topic in their order."""
    found: dict[str, list[Record]] = {}
    for delivery in deliveries:
        for topic in delivery.topics:
            if topic in found:
                found[topic].append(delivery.record)
            else:
                found[topic] = [delivery.record]
    return found


def others(step: Step, partition: int, topics: Topics) -> Iterator[Placed]:
    """What a step appends besides deliveries."""
    for follow in step.follows:
        yield follow.topic, follow.partition, follow.record
    for letter in step.dead_letters:
        yield topics.dead_letter, partition, dead_letter(letter)
    for lines in audit(step):
        yield topics.audit, partition, Record(None, lines)


def audit(step: Step) -> Iterator[bytes]:
    """The transitions of a step as NDJSON: all together, in more than one piece only if no topic would take it."""
    if not step.audit:
        return
    whole = _encode_lines(step.audit)
    if len(whole) <= _AUDIT_BYTES:
        yield whole
        return
    piece = bytearray()
    for line in whole.splitlines(keepends=True):
        if piece and len(piece) + len(line) > _AUDIT_BYTES:
            yield bytes(piece)
            piece.clear()
        piece += line
    yield bytes(piece)


def dead_letter(letter: DeadLetter) -> Record:
    """The record as it was, with what is wrong with it and where it came from in headers."""
    headers = (
        ("ls_reason", letter.reason.encode()),
        ("ls_detail", letter.detail.encode()),
        ("ls_topic", letter.topic.encode()),
        ("ls_partition", str(letter.partition).encode()),
        ("ls_offset", str(letter.offset).encode()),
    )
    assert len(headers) == DEAD_HEADERS
    return Record(letter.record.key, letter.record.value, (*letter.record.headers, *headers))
