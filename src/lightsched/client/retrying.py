"""When is it tried again? After a while that doubles, with chance in it so that many clients do not come at once."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import uniform

FIRST_S = 0.1
LONGEST_S = 5.0
LONGEST_TOLD_S = 60.0
"""A server that wants to be left alone for longer is not waited for."""


def pause_s(tries: int, retry_after: str = "") -> float | None:
    """How long to wait after so many tries; None: not worth it. What the server asks for (`Retry-After`) holds."""
    pause: float = uniform(0.5, 1) * min(FIRST_S * 2 ** (tries - 1), LONGEST_S)  # noqa: S311 - spread, not secret
    told = _told_s(retry_after)
    if told is None:
        return pause
    return told + pause if told <= LONGEST_TOLD_S else None


def _told_s(retry_after: str) -> float | None:
    if retry_after.isdigit():
        return float(retry_after)
    try:
        then = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max((then - datetime.now(UTC)).total_seconds(), 0.0)
