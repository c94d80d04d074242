"""How are values written? As MessagePack, by the shapes of the engine; definitions stay the bytes that were sent.

An entry of `due` holds the identity together with the state, so that what fires is read in one go. Where the state has
unfinished runs, each of which may have an entry, it holds the identity alone, as all entries did before format 3; no
identity begins as an array does, because that would not be UTF-8.
"""

from functools import lru_cache

import msgspec

from lightsched.engine.state import FinishedRun, State
from lightsched.engine.step import Meta
from lightsched.event.identity import Identity

_ARRAY = 0x92  # of two

encode = msgspec.msgpack.Encoder().encode
decode_state = msgspec.msgpack.Decoder(State).decode
decode_run = msgspec.msgpack.Decoder(FinishedRun).decode
decode_meta = msgspec.msgpack.Decoder(Meta).decode
_decode_due = msgspec.msgpack.Decoder(tuple[Identity, State]).decode


def due_value(identity: Identity, state: State, encoded: bytes) -> bytes:
    """The value of an entry of `due`; the state is there twice, and is encoded once."""
    return identity if state.runs else _pair_with(len(identity)) + identity + encoded


@lru_cache
def _pair_with(size: int) -> bytes:
    """How an array of two begins whose first has so many bytes."""
    return encode((bytes(size), None))[: -size - 1]


def parse_due_value(value: bytes) -> tuple[Identity, State | None]:
    """The identity, and the state if it is there."""
    return _decode_due(value) if value[0] == _ARRAY else (Identity(value), None)
