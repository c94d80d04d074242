"""Could an event have this type, or this label? A few bits in its state tell, without its definition being read.

A Bloom filter: what is not marked is not there, what is marked may be. So a search reads the definitions of little
more than what it finds, and states lie together where definitions lie all over the disk. The commonest event, of the
default type and without labels, has the smallest mark.
"""

from collections.abc import Iterable
from zlib import crc32

from lightsched.event.model import Event

_KNOWN = 1
"""In every mark: one without it was written by an earlier version, and says nothing."""
_DEFAULT_TYPE = 2
_FIRST, _BITS = 2, 62
"""The bits for everything else."""


def marks_of(event: Event) -> int:
    """What is marked of an event."""
    return wanted_marks(event.type, event.labels.items() if event.labels else ())


def wanted_marks(type: str | None, labels: Iterable[tuple[str, str]]) -> int:
    """The marks of all events with this type, if one is given, and with all these labels."""
    marks = _KNOWN if type is None else _KNOWN | _type(type)
    for label in labels:
        marks |= _label(*label)
    return marks


def may_have(marks: int, wanted: int) -> bool:
    """False: it is not what is wanted, that is certain."""
    return not marks or marks & wanted == wanted


def _type(type: str) -> int:
    return _DEFAULT_TYPE if type == "event" else _two_bits(type)


def _label(name: str, value: str) -> int:
    return _two_bits(f"{name}\0{value}")


def _two_bits(text: str) -> int:
    found = crc32(text.encode())
    return (1 << _FIRST + (found & 0xFFFF) % _BITS) | (1 << _FIRST + (found >> 16) % _BITS)
