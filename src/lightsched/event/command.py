"""What does a record on the events topic ask for? From its bytes to a checked command, or to the reason why not.

A record is read in one of two modes: JSON (the value is the event), or headers (any of `ls_op ls_at ls_in ls_cron
ls_every` is present: the fields are in `ls_…` headers and the value is the payload, whatever its bytes).
"""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

import msgspec
from msgspec import structs

from lightsched.event.check import AUTO, check
from lightsched.event.errors import InvalidEvent, Problem, invalid
from lightsched.event.identity import Identity, identity
from lightsched.event.limits import Limits
from lightsched.event.model import Event, Op, decoder, encoder
from lightsched.event.nesting import check_nesting
from lightsched.event.record import Appended, Checked, Record
from lightsched.event.tenant import DEFAULT_TENANT, Tenant, fill_in, home, key_of
from lightsched.event.words import refused
from lightsched.timing import parse_delay

ASSIGNED = "ls_assigned"
"""Header of a record whose id lightsched itself has assigned: a forwarded command, a follow-up event (`1`: it has
the id), or a dead letter that is sent again (the id, for an event that has none).
"""
HOPS = "ls_hops"
"""Header that counts how often a command was forwarded."""
WHO = "ls_who"
"""Header that says who asked, for the audit."""
ONCE = "ls_once"
"""Header of a command that is carried out once, however often it is sent: 8 bytes that name it (5 its request, 3 its
place there), then 8 that are a hash of what was asked under that name.
"""
IDLE = "ls_idle"
"""Header of a cancel that is not meant for an event of which a run is out at an executor."""

MOST_HOPS = 8
"""Nodes that disagree about where an event lives would send its commands around for ever."""
_MOST_DIGITS = 9
_MOST_WHO = 800  # bytes
_ONCE_BYTES = 16
_FINGERPRINT_BYTES = 12
_MODE_HEADERS = frozenset({"ls_op", "ls_at", "ls_in", "ls_cron", "ls_every"})
_STRUCTURED = frozenset({"window", "retry", "topics", "headers", "labels"})
_NOT_FIELDS = frozenset({ASSIGNED, HOPS, WHO, ONCE, IDLE})
_PLAIN = Event()
FIELDS = tuple(field.encode_name for field in structs.fields(Event))
CHOICES = {
    "op": tuple(Op),
    "catch_up": ("latest", "all", "none"),
    "overlap": ("allow", "skip", "queue"),
    "until": ("success",),
    "on_conflict": ("replace", "keep", "reject"),
}


class Command(msgspec.Struct, gc=False):
    """What is asked of an event, checked."""

    op: Op
    identity: Identity
    names: tuple[str, str, str]  # its parts: tenant, key, id
    event: Event
    appended_ms: int
    topic: str
    offset: int
    home: int
    record: Record
    who: str = ""
    reason: str = ""
    hops: int = 0
    once: bytes = b""
    idle: bool = False


@dataclass(slots=True)
class Refused:
    """A record that makes no sense."""

    appended: Appended
    problems: tuple[Problem, ...]
    reason: str = "INVALID"


def decode(data: bytes, limits: Limits) -> Event:
    """An event from JSON: types and fields only. Raises `InvalidEvent`."""
    if len(data) > limits.record:
        raise invalid("", f"has {len(data)} bytes, the limit is {limits.record}: send less")
    try:
        if not data.isascii():
            data.decode()
        event = decoder.decode(data)
        check_nesting(data)
    except UnicodeDecodeError as error:
        raise invalid("", f"is not UTF-8 (byte {error.start}): encode it as UTF-8") from None
    except RecursionError:
        raise invalid("payload", "is nested too deeply: flatten it, or send it as `payload_base64`") from None
    except msgspec.DecodeError as error:
        raise refused(error, FIELDS, CHOICES, data) from None
    return event


def read_command(
    appended: Appended, limits: Limits, tenants: Mapping[str, Tenant], partitions: int
) -> Command | Refused:
    """The command in a record of the events topic."""
    try:
        return _read(appended, limits, tenants, partitions)
    except InvalidEvent as error:
        return Refused(appended, error.problems)


def _read(appended: Appended, limits: Limits, tenants: Mapping[str, Tenant], partitions: int) -> Command:
    record = appended.record
    headers = dict(record.headers) if record.headers else {}
    event = record.take() if type(record) is Checked else None
    if event is None:
        event = _checked(appended, headers, limits, tenants)
    tenant = tenants.get(event.tenant, DEFAULT_TENANT)
    where = home(tenant, event, partitions) if partitions > 1 else 0
    hops = _hops(headers) if HOPS in headers else 0
    if where != appended.partition and hops >= MOST_HOPS:
        raise invalid("key", f"was forwarded {hops} times and is still not home: give all nodes the same tenants")
    who = headers.get(WHO) if headers else None
    names = event.tenant, event.key, event.id
    return Command(
        event.op,
        identity(*names),
        names,
        event,
        appended.timestamp_ms,
        appended.topic,
        appended.offset,
        where,
        record,
        _who(who[:_MOST_WHO]) if who else "",
        event.reason,
        hops,
        headers.get(ONCE, b"")[:_ONCE_BYTES] if headers else b"",
        IDLE in headers,
    )


def _checked(appended: Appended, headers: Mapping[str, bytes], limits: Limits, tenants: Mapping[str, Tenant]) -> Event:
    """The event in a record: decoded, named, filled in, and found to make sense."""
    record = appended.record
    if headers and not _MODE_HEADERS.isdisjoint(headers):
        event = _from_headers(headers, record.value, limits)
    elif record.value is None:
        raise invalid("", "the record has no value: send the event as JSON")
    else:
        event = decode(record.value, limits)
    assigned = ASSIGNED in headers
    if not event.id and event.op is Op.SCHEDULE:
        given = headers.get(ASSIGNED, b"1")
        of_this = f"{AUTO}{appended.partition}-{appended.offset}-{appended.timestamp_ms}"
        event.id = of_this if given == b"1" else given.decode(errors="replace")
        assigned = True
    tenant = tenants.get(event.tenant, DEFAULT_TENANT)
    if not event.key:
        event.key = _record_key(record) or key_of(tenant, event)
    if tenant is not DEFAULT_TENANT and event.op is Op.SCHEDULE:
        fill_in(tenant, event)
    check(event, limits, appended.timestamp_ms, trusted_id=assigned)
    return event


@lru_cache
def _who(name: bytes) -> str:
    return name.decode(errors="replace")[:200]


def _hops(headers: Mapping[str, bytes]) -> int:
    digits = headers[HOPS]
    return int(digits[:_MOST_DIGITS]) if digits.isdigit() else MOST_HOPS


def _record_key(record: Record) -> str:
    if not record.key:
        return ""
    try:
        return record.key.decode()
    except UnicodeDecodeError:
        raise invalid("key", "the record's key is not UTF-8: give `key` in the event, or a key that is UTF-8") from None


def _from_headers(headers: Mapping[str, bytes], value: bytes | None, limits: Limits) -> Event:
    fields: dict[str, object] = {}
    own: dict[str, str] = {}
    for name, raw in headers.items():
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            raise invalid(f"header {name}", "is not UTF-8: encode it as UTF-8") from None
        if not name.startswith("ls_"):
            own[name] = text
        elif name not in _NOT_FIELDS:
            field = name.removeprefix("ls_")
            try:
                fields[field] = msgspec.json.decode(raw) if field in _STRUCTURED else text
            except msgspec.DecodeError as error:
                raise invalid(field, f"the header {name} must hold JSON: {error}") from None
            except RecursionError:
                raise invalid(field, f"the header {name} is nested too deeply: flatten it") from None
    for name in ("payload", "payload_base64"):
        if name in fields:
            raise invalid(name, "the record's value is the payload in header mode: leave this header out")
    if own and "headers" not in fields:
        fields["headers"] = {name: text for name, text in own.items() if not name.startswith("ce_")}
    if value is not None:
        if len(value) > limits.payload:
            raise invalid("payload", f"has {len(value)} bytes, the limit is {limits.payload}: send a reference")
        fields["payload_base64"] = b64encode(value).decode()
    try:
        return msgspec.convert(fields, Event, strict=False)
    except msgspec.ValidationError as error:
        raise refused(error, FIELDS, CHOICES, encoder.encode(fields)) from None


def definition_of(event: Event, appended_ms: int) -> tuple[bytes, bytes]:
    """What is stored of an event, and its fingerprint. Changes the event: `in` becomes `at`, the command is stripped.

    Two definitions are identical if and only if their fingerprints are: what does not belong to the definition (the
    identity, the command, what to do about a conflict) is left out of both.
    """
    if event.in_ is not None:
        event.at = appended_ms + parse_delay(event.in_)
        event.in_ = None
    event.id = event.key = ""
    # The encoder leaves out what *is* the default, not what equals it. Looking costs less than setting.
    if event.op is not _PLAIN.op:
        event.op = _PLAIN.op
    if event.reason is not _PLAIN.reason:
        event.reason = _PLAIN.reason
    if event.tenant is not _PLAIN.tenant:
        event.tenant = _PLAIN.tenant
    if event.on_conflict is not _PLAIN.on_conflict:
        event.on_conflict = _PLAIN.on_conflict
    if event.if_revision is not None:
        event.if_revision = None
    if event.type is not _PLAIN.type and event.type == _PLAIN.type:
        event.type = _PLAIN.type
    if event.look_back is not _PLAIN.look_back and event.look_back == _PLAIN.look_back:
        event.look_back = _PLAIN.look_back
    definition = encoder.encode(event)
    return definition, sha256(definition).digest()[:_FINGERPRINT_BYTES]
