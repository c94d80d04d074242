"""What may be said about an event? Its fields as keyword arguments, and how they become JSON.

Times may be `datetime` and durations `timedelta`, zones `ZoneInfo`; or strings as in the contract. Whether it all makes
sense, the server says: it knows its limits.
"""

from base64 import b64encode
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from random import getrandbits
from time import time_ns
from typing import Any, Literal, TypedDict
from zoneinfo import ZoneInfo

import msgspec

from lightsched.client.encoding import encoded, invalid, quoted
from lightsched.event.ids import Ids
from lightsched.event.model import Op
from lightsched.event.status import Status

Time = datetime | str | int
"""With an offset, or without one together with `timezone`; a number is milliseconds since 1970."""
Duration = timedelta | str
Zone = ZoneInfo | str

Window = TypedDict(
    "Window",
    {
        "from": time | str,
        "to": time | str,
        "days": Sequence[str],
        "timezone": Zone,
        "exclude": Sequence[date | str],
    },
    total=False,
)


class Retry(TypedDict, total=False):
    """How often to try again, and when."""

    attempts: int
    delay: Duration
    factor: float
    max: Duration
    jitter: float
    delays: Sequence[Duration]


class Definition(TypedDict, total=False):
    """What an event is; `in_` stands for `in`, which Python has taken. A payload of `bytes` is sent as they are."""

    type: str
    at: Time
    in_: Duration
    cron: str
    every: Duration
    timezone: Zone
    starts_at: Time
    ends_at: Time
    max_runs: int
    jitter: Duration
    window: Window
    catch_up: Literal["latest", "all", "none"]
    look_back: Duration
    overlap: Literal["allow", "skip", "queue"]
    retry: Retry
    timeout: Duration
    until: Literal["success"]
    expires_in: Duration
    topics: Sequence[str]
    priority: int
    headers: Mapping[str, str]
    labels: Mapping[str, str]
    payload: Any
    payload_base64: str
    track: bool


class EventFields(Definition, total=False):
    """All fields of an event."""

    id: str
    tenant: str
    key: str
    on_conflict: Literal["replace", "keep", "reject"]


class Filter(TypedDict, total=False):
    """Which events are meant; several conditions: all of them hold."""

    tenant: str
    status: Status | str | Collection[Status | str] | None
    type: str | None
    labels: Mapping[str, str] | None
    prefix: str | None
    due_from: Time | None
    due_to: Time | None


class Rules(TypedDict, total=False):
    """What holds for all events of a tenant; see docs/rest.md."""

    rule: Literal["key", "round_robin", "tenant", "recurrence"]
    topics: Sequence[str]
    limits: Mapping[str, int | str]  # of payloads also as `256KiB`
    weight: int
    window: Window
    defaults: Mapping[str, Any]


class Prepared(msgspec.Struct, frozen=True, gc=False):
    """A command, ready to be sent."""

    op: Op
    id: str
    tenant: str
    key: str | None
    body: bytes
    repeatable: bool  # sent twice it does no more than sent once


_ids = Ids(getrandbits)
_MS = timedelta(milliseconds=1)
_AS_IS = frozenset({"payload", "headers", "labels"})
_NAMES = {"in_": "in"}


def prepare_event(fields: Mapping[str, Any], tenant: str) -> Prepared:
    """An event as it is sent. Without an id it gets one here, before it is sent the first time.

    `in` starts anew each time it is sent, and could then fire twice. Where the id is new, `keep` prevents that.
    """
    if not isinstance(fields, Mapping):
        raise invalid("", f"{fields!r:.80} is no event: write a dict with its fields")
    event = as_json(fields)
    event.setdefault("tenant", tenant)
    given = "id" in event
    if given and event["id"] == "":
        raise invalid("id", "is empty: give the event a name, or leave it out to get one")
    if not given:
        event["id"] = _ids.next(time_ns() // 1_000_000)
        if "in" in event:
            event["on_conflict"] = "keep"
    return _prepared(event, repeatable=not (given and "in" in event))


def prepare_command(op: Op, id: str, tenant: str, key: str | None, reason: str) -> Prepared:
    """A command about an event that is there."""
    quoted("id", id)
    command = {"op": op, "id": id, "tenant": tenant, "key": key, "reason": reason or None}
    return _prepared(as_json(command), repeatable=op is not Op.TRIGGER)


def query_of(which: Filter, tenant: str) -> dict[str, Any]:
    """A filter, as the server wants it."""
    status = which.get("status") or ()
    return {
        "tenant": which.get("tenant", tenant),
        "status": [status] if isinstance(status, str) else [*status],
        "type": which.get("type") or None,
        "label": [f"{name}={value}" for name, value in (which.get("labels") or {}).items()],
        "prefix": which.get("prefix") or None,
        "due_from": plain(which.get("due_from")),
        "due_to": plain(which.get("due_to")),
    }


def _prepared(event: dict[str, Any], *, repeatable: bool) -> Prepared:
    op = Op(event["op"]) if event.get("op") in set(Op) else Op.SCHEDULE
    id_, tenant, key = (event.get(name) for name in ("id", "tenant", "key"))
    repeatable = repeatable and op is not Op.TRIGGER
    return Prepared(op, str(id_), str(tenant), None if key is None else str(key), encoded(event), repeatable)


def as_json(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields by the names and in the forms of the contract. What is None was not given, except as payload."""
    event: dict[str, Any] = {}
    for name, value in fields.items():
        if name == "payload" and isinstance(value, bytes | bytearray | memoryview):
            event["payload_base64"] = b64encode(value).decode()
        elif name in _AS_IS:
            event[name] = value
        elif value is not None:
            event[name_of(name)] = plain(value)
    return event


def name_of(keyword: str) -> str:
    """A field's name in the contract."""
    return _NAMES.get(keyword, keyword)


def plain(value: Any) -> Any:
    """A value in the form of the contract."""
    match value:
        case timedelta():
            return f"{value // _MS}ms"
        case datetime() | date():
            return value.isoformat()
        case time():
            return value.isoformat(timespec="seconds" if value.second else "minutes")
        case ZoneInfo():
            return value.key
        case Mapping():
            return {name: plain(inner) for name, inner in value.items() if inner is not None}
        case list() | tuple():
            return [plain(inner) for inner in value]
        case _:
            return value
