"""What does the changelog of a partition hold? The truth of its store: one record an entry, the last one counts."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from lightsched.event.record import Record
from lightsched.store.families import DEFINITIONS, META, RUNS, STATES
from lightsched.store.store import Change

_TAGS = {STATES: b"s", DEFINITIONS: b"d", RUNS: b"r", META: b"m"}
_FAMILIES = {tag[0]: family for family, tag in _TAGS.items()}

POSITION = b"changelog"
"""What a store remembers of the changelog: a `Position`."""


class Position(msgspec.Struct, array_like=True, frozen=True):
    """How far a store has applied its changelog."""

    offset: int
    at_ms: int  # when
    meta_at: int = -1  # where the last meta record was that it has applied: is it still there?


encode_position = msgspec.msgpack.Encoder().encode
decode_position = msgspec.msgpack.Decoder(Position).decode


def to_records(changes: Iterable[Change]) -> list[Record]:
    """Changes, as they are written."""
    tags = _TAGS
    return [Record(tags[family] + key, value) for family, key, value in changes]


def is_meta(key: bytes | None) -> bool:
    """Is it the record that ends every step?"""
    return bool(key) and key[:1] == _TAGS[META]  # type: ignore[index]


def to_changes(records: Sequence[tuple[bytes | None, bytes | None]]) -> Iterator[Change]:
    """Keys and values, as they were written. What a newer version has added is passed over."""
    for key, value in records:
        family = _FAMILIES.get(key[0]) if key else None
        if family is not None and key is not None:
            yield family, key[1:], value
