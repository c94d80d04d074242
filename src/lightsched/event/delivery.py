"""What does an executor receive? One record per attempt: the payload untouched, everything else in headers.

The id of a delivery is deterministic (the same attempt always has the same one, whoever computes it) and carries all
that is needed to route a report back: `partition:tenant/key/id/revision/due#attempt`. To the outside it is opaque.
"""

from base64 import b64decode
from hashlib import blake2b
from typing import NamedTuple
from urllib.parse import quote, unquote

import msgspec
from msgspec import UNSET

from lightsched.event.identity import Identity, identity, parts
from lightsched.event.model import Event
from lightsched.event.record import Record
from lightsched.timing import format_utc

SOURCE = "/lightsched"
_TOKEN_BYTES = 16


class DeliveryName(NamedTuple):
    """The parts of a delivery's id."""

    partition: int
    identity: Identity
    revision: int
    due_ms: int
    attempt: int


class Delivery(msgspec.Struct, frozen=True, gc=False):
    """A record to emit, to every one of its topics."""

    identity: Identity
    due_ms: int
    attempt: int
    id: str
    topics: tuple[str, ...]
    record: Record

    @property
    def size(self) -> int:
        """Bytes it will take, roughly, on all its topics."""
        return (len(self.record.value or b"") + 600) * len(self.topics)


def delivery_id(name: DeliveryName) -> str:
    """The id of one attempt."""
    tenant, key, id_ = parts(name.identity)
    where = "" if key == id_ else quote(key, safe="")
    return f"{name.partition}:{tenant}/{where}/{quote(id_, safe='')}/{name.revision}/{name.due_ms}#{name.attempt}"


def parse_delivery_id(text: str) -> DeliveryName | None:
    """The parts of a delivery's id, or None if it is none."""
    try:
        partition, rest = text.split(":", 1)
        path, attempt = rest.rsplit("#", 1)
        tenant, where, quoted, revision, due_ms = path.split("/")
        id_ = unquote(quoted, errors="strict")
        key = unquote(where, errors="strict") or id_
        name = DeliveryName(int(partition), identity(tenant, key, id_), int(revision), int(due_ms), int(attempt))
    except ValueError:
        return None
    return name if delivery_id_matches(name, text) else None


def delivery_id_matches(name: DeliveryName, text: str) -> bool:
    """One name has one spelling only; NUL and other oddities that would decode to another identity are refused."""
    try:
        return delivery_id(name) == text
    except ValueError:
        return False


def digest(secret: bytes, text: str) -> str:
    """80 hexadecimal digits that only the holder of the secret can compute."""
    return blake2b(text.encode(), key=secret, digest_size=40).hexdigest()


def token_of(secret: bytes, id_: str) -> str:
    """The token a report on this delivery must carry."""
    return digest(secret, id_)[: 2 * _TOKEN_BYTES]


class Emitter:
    """Makes deliveries of one partition. Headers that are the same for all are made once."""

    def __init__(self, partition: int, secret: bytes) -> None:
        self._partition = partition
        self._secret = secret
        self._first = (("ce_specversion", b"1.0"), ("ce_source", SOURCE.encode()))
        self._partition_header = ("ls_partition", str(partition).encode())

    def emit(  # noqa: PLR0917 -- on the hot path, where keywords cost
        self, name: Identity, revision: int, due_ms: int, attempt: int, event: Event, topics: tuple[str, ...]
    ) -> Delivery:
        """The delivery of one attempt."""
        tenant, key, id_ = parts(name)
        where = "" if key == id_ else quote(key, safe="")
        run = f"{self._partition}:{tenant}/{where}/{quote(id_, safe='')}/{revision}/{due_ms}#"
        delivery = f"{run}{attempt}"
        mark = digest(self._secret, delivery)
        value, content_type = _payload(event)
        headers: list[tuple[str, bytes]] = [
            *self._first,
            ("ce_id", delivery.encode()),
            ("ce_type", event.type.encode()),
            ("ce_subject", id_.encode()),
            ("ce_time", format_utc(due_ms).encode()),
            ("ls_tenant", tenant.encode()),
            ("ls_id", id_.encode()),
            ("ls_due", b"%d" % due_ms),
            ("ls_attempt", b"%d" % attempt),
            self._partition_header,
            ("ls_report", mark[: 2 * _TOKEN_BYTES].encode()),
        ]
        own = event.headers
        if "traceparent" not in own:
            trace = mark if attempt == 1 else digest(self._secret, f"{run}1")
            headers.append(("traceparent", f"00-{trace[32:64]}-{mark[64:80]}-01".encode()))
        if content_type and "content-type" not in own:
            headers.append(("content-type", content_type))
        for header, text in own.items():
            headers.append((header, text.encode()))
        return Delivery(name, due_ms, attempt, delivery, topics, Record(key.encode(), value, tuple(headers)))


def _payload(event: Event) -> tuple[bytes, bytes]:
    if event.payload is not UNSET:
        return bytes(event.payload), b"application/json"
    if event.payload_base64 is not None:
        return b64decode(event.payload_base64), b"application/octet-stream"
    return b"", b""
