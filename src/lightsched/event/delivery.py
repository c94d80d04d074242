"""What does an executor receive? One record per attempt: the payload untouched, everything else in headers.

The id of a delivery is deterministic (the same attempt always has the same one, whoever computes it) and carries all
that is needed to route a report back: `partition:tenant/key/id/revision/due#attempt`. To the outside it is opaque.
"""

import re
from base64 import b64decode
from binascii import hexlify
from collections.abc import Mapping
from hashlib import blake2b
from typing import NamedTuple
from urllib.parse import quote, unquote

import msgspec
from msgspec import UNSET

from lightsched.event.identity import Identity, identity, parts
from lightsched.event.model import Event
from lightsched.event.record import Headers, Record
from lightsched.timing import format_utc

SOURCE = "/lightsched"
_TOKEN_BYTES = 16
LAST_MS = 253_402_300_799_999  # the year 9999
_UNQUOTED = re.compile(rb"[A-Za-z0-9_.~-]*")


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
    own_bytes: int = 0  # of the headers that are the event's own

    @property
    def size(self) -> int:
        """Bytes it will take, roughly, on all its topics."""
        return (len(self.record.value or b"") + self.own_bytes + 600) * len(self.topics)


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
    return name if _is_within_bounds(name) and delivery_id_matches(name, text) else None


def _is_within_bounds(name: DeliveryName) -> bool:
    """Anybody may make up an id: beyond these numbers nothing can be kept, nor looked for."""
    return 0 <= name.revision < 1 << 32 and -1 << 63 <= name.due_ms < 1 << 63 and 1 <= name.attempt < 1 << 32


def delivery_id_matches(name: DeliveryName, text: str) -> bool:
    """One name has one spelling only; NUL and other oddities that would decode to another identity are refused."""
    try:
        return delivery_id(name) == text
    except ValueError:
        return False


def token_of(secret: bytes, id_: str) -> str:
    """The token a report on this delivery must carry: only the holder of the secret can compute it."""
    keyed = _keyed(secret)
    keyed.update(id_.encode())
    return keyed.hexdigest()[: 2 * _TOKEN_BYTES]


def number_in(headers: Mapping[str, str], name: str) -> int:
    """A header of a delivery that holds milliseconds, or a count; 0 if it does not: anybody may write to its topic."""
    text = headers.get(name, "")
    number = int(text) if len(text) <= len(str(LAST_MS)) and text.isdecimal() else 0
    return number if number <= LAST_MS else 0


class Emitter:
    """Makes deliveries of one partition. On the hot path: works on bytes, and makes once what is the same for all."""

    def __init__(self, partition: int, secret: bytes) -> None:
        self._partition = partition
        self._keyed = _keyed(secret)
        self._first = (
            ("ce_specversion", b"1.0"),
            ("ce_source", SOURCE.encode()),
            ("ls_partition", str(partition).encode()),
        )

    def emit(  # noqa: PLR0917 -- on the hot path, where keywords cost
        self,
        name: Identity,
        revision: int,
        due_ms: int,
        attempt: int,
        event: Event,
        topics: tuple[str, ...],
        timeout_ms: int = 0,
    ) -> Delivery:
        """The delivery of one attempt. `timeout_ms`: how long it may be silent; 0: nobody waits for a report."""
        tenant, key, id_ = name.split(b"\0")
        where = b"" if key == id_ else _quoted(key)
        run = b"%d:%b/%b/%b/%d/%d#" % (self._partition, tenant, where, _quoted(id_), revision, due_ms)
        delivery = b"%b%d" % (run, attempt)
        mark = self._mark(delivery)
        headers: Headers = (
            *self._first,
            ("ce_id", delivery),
            ("ce_type", event.type.encode()),
            ("ce_subject", id_),
            ("ce_time", format_utc(due_ms).encode()),
            ("ls_tenant", tenant),
            ("ls_id", id_),
            ("ls_due", b"%d" % due_ms),
            ("ls_attempt", b"%d" % attempt),
            ("ls_report", mark[: 2 * _TOKEN_BYTES]),
        )
        if timeout_ms:
            headers = (*headers, ("ls_timeout", b"%d" % timeout_ms))
        own, own_bytes = event.headers, 0
        if "traceparent" not in own:
            trace = mark if attempt == 1 else self._mark(run + b"1")
            headers = (*headers, ("traceparent", b"00-%b-%b-01" % (trace[32:64], mark[64:80])))
        value, content_type = _payload(event)
        if content_type and "content-type" not in own:
            headers = (*headers, ("content-type", content_type))
        if own:
            encoded = tuple((header, text.encode()) for header, text in own.items())
            own_bytes = sum(len(header) + len(text) for header, text in encoded)
            headers = (*headers, *encoded)
        return Delivery(name, due_ms, attempt, delivery.decode(), topics, Record(key, value, headers), own_bytes)

    def _mark(self, delivery: bytes) -> bytes:
        keyed = self._keyed.copy()
        keyed.update(delivery)
        return hexlify(keyed.digest())


def _keyed(secret: bytes) -> blake2b:
    return blake2b(key=secret, digest_size=40)


def _quoted(text: bytes) -> bytes:
    return text if _UNQUOTED.fullmatch(text) else quote(text, safe="").encode()


def _payload(event: Event) -> tuple[bytes, bytes]:
    if event.payload is not UNSET:
        return bytes(event.payload), b"application/json"
    if event.payload_base64 is not None:
        return b64decode(event.payload_base64), b"application/octet-stream"
    return b"", b""
