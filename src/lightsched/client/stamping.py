"""What does an event of a file lack? An id made from the content, the tenant, and a time instead of `in`.

The id is made from the file's content and the event's place in it: a file that is injected twice schedules once. `in`
counts from one instant for the whole file: sent again, after a crash, it means the same time. All else stays as it is,
byte for byte.
"""

from hashlib import sha256
from typing import Any, BinaryIO

import msgspec

from lightsched.client.fields import Prepared
from lightsched.event.check import AUTO, MAX_NAME, check
from lightsched.event.command import decode
from lightsched.event.limits import DEFAULT_LIMITS, Limits
from lightsched.event.model import Op
from lightsched.timing import parse_delay
from lightsched.timing.limits import FIRST_MS, LAST_MS

_ID_DIGITS = 16
_BLOCK = 1024 * 1024
_SCHEDULE, _TRIGGER = Op.SCHEDULE, Op.TRIGGER
_PLAIN_TRIES = 100
_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_encode = msgspec.json.Encoder().encode


def mark_of(stream: BinaryIO) -> str:
    """What the content is known by. Reads to the end."""
    hashed = sha256()
    while block := stream.read(_BLOCK):
        hashed.update(block)
    return short(hashed.hexdigest())


def short(digest: str) -> str:
    """As much of a hash as ids have."""
    return digest[:_ID_DIGITS]


class Stamp:
    """Completes the events of one file."""

    def __init__(self, mark: str, now_ms: int, tenant: str = "default", limits: Limits = DEFAULT_LIMITS) -> None:
        """`now_ms`: when the file came, from which `in` counts. `tenant`: of events that name none."""
        self._mark = mark
        self._ascii = mark.encode()
        self._now_ms = now_ms
        self._tenant = tenant
        self._limits = limits
        self._last_ms = min(LAST_MS, now_ms + limits.horizon_ms)
        self._most_bytes = min(limits.payload, limits.record)
        self._tries = _PLAIN_TRIES

    def check(self, body: bytes) -> None:
        """Raise `InvalidEvent` with all problems."""
        if self._tries > 0 and self._is_plain(body):
            return
        event = decode(body, self._limits)
        if not event.id and event.op is Op.SCHEDULE:
            event.id = self._mark
        event.key = event.key or event.id
        check(event, self._limits, self._now_ms)

    def _is_plain(self, body: bytes) -> bool:
        """Is it one of the simplest, and good? Most are in most files, and this takes a third of the time.

        Where they are not, it is soon given up.
        """
        try:
            event = _plain(body)
        except msgspec.DecodeError:
            self._tries -= 1
            return False
        at, id_, key = event.at, event.id, event.key
        return (
            FIRST_MS <= at <= self._last_ms
            and len(body) <= self._most_bytes
            and (not id_ or (len(id_) <= MAX_NAME and id_.isprintable() and not id_.startswith(AUTO)))
            and (not key or (len(key) <= MAX_NAME and key.isprintable()))
            and body.isascii()
        )

    def prepare(self, body: bytes, place: int) -> Prepared:
        """An event that was checked, as it is sent."""
        event = _names(body)
        id_, tenant, lacking = event.id, event.tenant, b""
        rewrite = event.in_ is not None
        if not id_ and event.op == "schedule":
            rewrite = rewrite or id_ is not None  # it is there, and empty
            lacking = b'"id":"%b-%d",' % (self._ascii, place)
            id_ = f"{self._mark}-{place}"
        if tenant is None:
            tenant = self._tenant
            if tenant != "default":
                lacking += b'"tenant":"%b",' % tenant.encode()
        if rewrite:
            body = self._rewritten(body, event, id_, tenant)
        elif lacking:
            body = b"{%b%b" % (lacking, body[1:])
        op = _SCHEDULE if event.op == "schedule" else Op(event.op)
        return Prepared(op, id_ or "", tenant, event.key or None, body, op is not _TRIGGER)

    def _rewritten(self, body: bytes, event: "_Names", id: str | None, tenant: str) -> bytes:
        fields: dict[str, Any] = {**_object(body), "id": id}
        if event.tenant is None and tenant != "default":
            fields["tenant"] = tenant
        if event.in_ is not None and event.op == "schedule":
            del fields["in"]
            fields["at"] = self._now_ms + parse_delay(event.in_)
            if not event.id:  # the same file, dropped again later, would mean another time
                fields.setdefault("on_conflict", "keep")
        return _encode(fields)


class _Names(msgspec.Struct, rename={"in_": "in"}, gc=False):
    """What has to be known of an event to complete it."""

    op: str = "schedule"
    id: str | None = None
    tenant: str | None = None
    key: str | None = None
    in_: str | None = None


class _Plain(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """An event with a time in numbers, and a payload. What is valid here is valid, what is not is looked at again."""

    at: int
    id: str = ""
    key: str = ""
    payload: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_names = msgspec.json.Decoder(_Names).decode
_plain = msgspec.json.Decoder(_Plain).decode
