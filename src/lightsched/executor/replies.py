"""Who wants to know how a run has ended? Whoever put a header `reply-to` on its event: they get an event in return.

The header is JSON, `{"event": {…}, "attempts": 3}`: the event to schedule, and how many attempts the run may take. When
the run is over, by the report of this executor, the event is scheduled in the same moment, with what came of it as its
payload. A run whose last attempt nobody reports on sends no reply: who waits for one needs a timeout of their own.

Executors in other languages do the same with one entry in `then`; docs/shipped-executors.md has the shape.
"""

from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from lightsched.event.report import ReportStatus
from lightsched.executor.taken import Taken

REPLY_TO = "reply-to"


class ReplyTo(msgspec.Struct):
    """What the header says."""

    event: dict[str, Any]
    attempts: int = 1


class Reply(msgspec.Struct, omit_defaults=True):
    """The payload of the event in return."""

    status: ReportStatus
    delivery: str
    result: Raw | UnsetType = UNSET
    error: str = ""


_header = msgspec.json.Decoder(ReplyTo)
_encode = msgspec.json.Encoder().encode


def replies(taken: Taken, status: ReportStatus, result: Raw | UnsetType = UNSET, error: str = "") -> tuple[Raw, ...]:
    """The event in return, if somebody waits for one and this is the end."""
    header = taken.headers.get(REPLY_TO)
    if header is None or status in (ReportStatus.CLAIMED, ReportStatus.PROCESSING):
        return ()
    try:
        wanted = _header.decode(header)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ()  # somebody else's header of this name
    if status is ReportStatus.RETRIABLE_FAILURE:
        if taken.attempt < wanted.attempts:
            return ()
        status = ReportStatus.FATAL_FAILURE
    payload = Raw(_encode(Reply(status, taken.name, result, error)))
    return (Raw(_encode({"in": "1ms", "on_conflict": "keep", **wanted.event, "payload": payload})),)
