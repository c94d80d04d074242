"""What does an answer mean? Its status says success, try again or give up; `Retry-After` says when."""

from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import Any

import msgspec

KEPT_HEADER_BYTES = 8 * 1024
_NOT_KEPT = {"set-cookie", "www-authenticate", "proxy-authenticate"}  # results can be read by whoever sees the event


class Verdict(Enum):
    """What becomes of the run."""

    SUCCESS = "success"
    RETRY = "retry"
    FATAL = "fatal"


class Verdicts:
    """Which statuses succeed and which are worth another try; all others are final.

    `429` means one status and `5xx` a hundred; the single one counts more.
    """

    def __init__(self, success: Iterable[str], retry: Iterable[str]) -> None:
        self._of = {
            **dict.fromkeys(success, Verdict.SUCCESS),
            **dict.fromkeys(retry, Verdict.RETRY),
        }

    def __call__(self, status: int) -> Verdict:
        return self._of.get(str(status)) or self._of.get(f"{status // 100}xx") or Verdict.FATAL


def retry_after_s(value: str, now: datetime, most_s: float) -> float | None:
    """What `Retry-After` asks for, as seconds from now: it has either seconds or a date."""
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(min(int(value[:10]), most_s))
    try:
        when = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, min((when - now).total_seconds(), most_s))


def kept_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The headers of an answer, as far as they are kept: no secrets, and not without end."""
    kept: dict[str, str] = {}
    left = KEPT_HEADER_BYTES
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        left -= len(name) + len(value)
        if left < 0:
            break
        if name not in _NOT_KEPT:
            kept[name] = f"{kept[name]}, {value}" if name in kept else value
    return kept


def kept_body(body: bytes, content_type: str, *, whole: bool) -> dict[str, Any]:
    """The body as the result has it: a JSON value, text, or base64; and whether it was cut."""
    cut = {} if whole else {"truncated": True}
    if not body:
        return cut
    media_type = content_type.partition(";")[0].strip().lower()
    if whole and (media_type == "application/json" or media_type.endswith("+json")):
        try:
            return {"body": msgspec.json.decode(body)}
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
    try:
        return {"body": body.decode(), **cut}
    except UnicodeDecodeError as error:
        if not whole and error.start >= len(body) - 3:  # a character was cut in half
            return {"body": body[: error.start].decode(), **cut}
    return {"body_base64": msgspec.to_builtins(body), **cut}
