"""Where does the next page begin? In a cursor, opaque to the outside: what it holds may change with any version.

Each kind of cursor begins with a letter of its own, so one that belongs elsewhere is refused instead of misread.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import msgspec

from lightsched.api.problem import Refusal, invalid_field

MOST_CHARACTERS = 20_000
_encode = msgspec.msgpack.Encoder().encode


def write_cursor(kind: str, value: object) -> str:
    """A cursor that `read_cursor` reads."""
    return kind + urlsafe_b64encode(_encode(value)).rstrip(b"=").decode()


def read_cursor(kind: str, text: str, shape: Any) -> Any:
    """What a cursor of this kind holds; anything else is refused."""
    if not text.startswith(kind) or len(text) > MOST_CHARACTERS or not text.isascii():
        raise _refused()
    encoded = text[len(kind) :]
    try:
        raw = urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
        value = msgspec.msgpack.decode(raw, type=shape)
    except (ValueError, RecursionError):  # of msgspec too
        raise _refused() from None
    if write_cursor(kind, value) != text:
        raise _refused()
    return value


def _refused() -> Refusal:
    return invalid_field("cursor", "is no cursor of this list: send the `cursor` of an answer as it came")
