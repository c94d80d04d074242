"""Does a command make sense? What can be said without a server: by the contract, and by the usual limits."""

from time import time_ns

from lightsched.event.check import check
from lightsched.event.command import decode
from lightsched.event.errors import InvalidEvent, Problem
from lightsched.event.limits import DEFAULT_LIMITS, Limits


def problems_of(body: bytes, limits: Limits = DEFAULT_LIMITS, now_ms: int | None = None) -> tuple[Problem, ...]:
    """What is wrong with a command in JSON, field by field; nothing if it makes sense (now, if no time is given)."""
    try:
        event = decode(body, limits)
        event.key = event.key or event.id
        check(event, limits, time_ns() // 1_000_000 if now_ms is None else now_ms)
    except InvalidEvent as error:
        return error.problems
    return ()
