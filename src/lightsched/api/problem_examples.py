"""What does a refusal look like, for example? One for every status, of some calls their own."""

from typing import Any

import msgspec

from lightsched.api.problem import (
    AMBIGUOUS,
    CHANGED,
    CONFLICT,
    FORBIDDEN,
    IGNORED,
    INVALID,
    KEY_REUSED,
    NOT_FOUND,
    QUOTA,
    TOO_LARGE,
    UNAVAILABLE,
    Refusal,
)
from lightsched.event.errors import Problem
from lightsched.event.status import Outcome

_FEW = (
    "the cron '* * * *' has 4 fields: write five (minute, hour, day of month, month, day of week), or six with the "
    "second first"
)
_STARTING = "This node is starting or stopping, or has lost touch with the brokers: try again in a moment."
_PROBLEMS = {
    400: Refusal(INVALID, f"cron: {_FEW}", [Problem("cron", _FEW)]),
    403: Refusal(
        FORBIDDEN,
        "This server is not called 'shop.example': use the address it was started with, or add the name to "
        "`http.hosts`.",
    ),
    404: Refusal(
        NOT_FOUND,
        "The tenant `default` has no event 'tea': it was never scheduled here, or it ended and its history is gone.",
        outcome=Outcome.NOT_FOUND,
    ),
    409: Refusal(CONFLICT, "It is too late for that: it is delivered and running.", outcome=Outcome.TOO_LATE),
    412: Refusal(
        CHANGED,
        "It has changed meanwhile: its revision is 2, and the command is about 1: look again.",
        outcome=Outcome.REJECTED,
    ),
    413: Refusal(TOO_LARGE, "The body has more than 33554432 bytes: send it in parts."),
    422: Refusal(
        KEY_REUSED,
        "This Idempotency-Key stands for another request: the same key came with another body before: use a new key.",
        outcome=Outcome.REJECTED,
    ),
    429: Refusal(
        QUOTA, "That is more than is allowed: too many runs of this event are unfinished.", outcome=Outcome.QUOTA
    ),
    503: Refusal(UNAVAILABLE, _STARTING),
}
_SEVERAL = Refusal(AMBIGUOUS, "2 events have this id, under the keys `a`, `b`: say which with `key`.", keys=("a", "b"))
_NO_LETTER = Refusal(NOT_FOUND, "There is no dead letter 0-17: it never was there, or the topic has dropped it.")
_BAD_ID = "is no dead letter's: that is a partition and an offset, as in `0-17`"
_NOT_ITS_ID = Refusal(INVALID, f"id: {_BAD_ID}", [Problem("id", _BAD_ID)])
_PROBLEMS_OF = {
    **dict.fromkeys((("get_event", 409), ("list_runs", 409), ("explain", 409), ("get_task", 409)), _SEVERAL),
    **dict.fromkeys((("get_dead_letter", 404), ("redrive", 404)), _NO_LETTER),
    **dict.fromkeys((("get_dead_letter", 400), ("redrive", 400)), _NOT_ITS_ID),
    ("redrive", 409): Refusal(
        CONFLICT,
        f"It makes no sense this time either: cron: {_FEW}. Correct it and send it yourself (`POST /events`).",
        outcome=Outcome.INVALID,
    ),
    ("report", 403): Refusal(
        FORBIDDEN, "The report was not accepted: the token does not belong to this delivery.", reason="forbidden"
    ),
    ("report", 409): Refusal(IGNORED, "The report changed nothing: the run is over.", reason="finished"),
    ("put_tenant", 409): Refusal(
        CONFLICT,
        "The tenant has events, and they live where the rule `key` has put them: keep it, or wait until they are over "
        "and their history is gone.",
    ),
}
"""By call and status, where the usual one would not be true."""


def problem_of(call: str, status: int) -> dict[str, Any]:
    """What a call may answer that is refused with this status."""
    refusal = _PROBLEMS_OF.get((call, status), _PROBLEMS[status])
    problem: dict[str, Any] = msgspec.to_builtins(refusal.problem)
    return problem
