"""What if a request is sent again? With the header `Idempotency-Key` it is carried out once, and answered again.

Nothing is kept here. The key and a hash of the body travel with each command, and the event remembers them for as long
as it is remembered itself (`lightsched.engine.conditions`); an event without an id gets one that follows from the key,
so that the second request finds what the first has made. Hence a key belongs to the events it was sent with, and a
request has no more commands for one of them than it remembers: otherwise the last ones would make it forget the first.
"""

from collections import Counter
from hashlib import sha256

from lightsched.api.problem import invalid_field
from lightsched.engine.conditions import MOST_HEARD
from lightsched.event.command import ONCE
from lightsched.event.errors import invalid
from lightsched.event.identity import Identity

MOST_KEY_BYTES = 255
_HALF = 8
_REQUEST = 5
_PLACES = 256 ** (_HALF - _REQUEST)


class Once:
    """A request that is to be carried out once."""

    def __init__(self, key: bytes, body: bytes) -> None:
        """`body`: hashed."""
        self._key = key
        self._request = sha256(key).digest()[:_REQUEST]
        self._body = body
        self._commands: Counter[Identity] = Counter()

    def header(self, index: int, event: Identity) -> tuple[str, bytes]:
        """Of one of its records: two about the same event are two things to do. Raises `InvalidEvent`."""
        self._commands[event] += 1
        if self._commands[event] > MOST_HEARD:
            most = f"an event remembers {MOST_HEARD} commands that came under a key"
            raise invalid(
                "", f"{most}, and this is one more for the same event: send it in another request, under another key"
            )
        return ONCE, self._request + (index % _PLACES).to_bytes(_HALF - _REQUEST, "big") + self._body

    def id(self, tenant: str, index: int) -> str:
        """Of an event that has none."""
        return sha256(b"%b\0%b\0%d" % (tenant.encode(), self._key, index)).hexdigest()[:32]


def once_of(key: bytes, body: bytes) -> Once | None:
    """The request with this key; None: it has none."""
    if not key:
        return None
    if len(key) > MOST_KEY_BYTES:
        raise invalid_field("Idempotency-Key", f"is longer than {MOST_KEY_BYTES} bytes: shorten it")
    return Once(key, sha256(body).digest()[:_HALF])
