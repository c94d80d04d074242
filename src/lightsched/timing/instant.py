"""Which instant is `2026-11-16T09:00:00+01:00`?

An instant comes in as RFC 3339 with an offset, as a local time together with an explicit timezone, or as milliseconds
since 1970; it is always kept as the latter. A local time that a clock change skips means right after the gap, one that
it repeats the first of the two.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from lightsched.timing.clock_change import span_at, to_utc
from lightsched.timing.errors import TimingError, shown
from lightsched.timing.limits import FIRST_MS, LAST_MS
from lightsched.timing.zone import zone as find_zone

_HOW = "write for example 2026-11-16T09:00:00Z, 2026-11-16T10:00:00+01:00, or milliseconds since 1970"
# `datetime.fromisoformat` knows more forms than that (week dates, no separators), and other ones in each Python.
_RFC_3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ](?:[01][0-9]|2[0-3]):[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?"
    r"([Zz]|[+-][0-9]{2}:[0-9]{2})?"
)
_MS = timedelta(milliseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LOCAL_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 -- what the wall shows, before it has a zone
_OF_A_DAY = [f"T{hour:02d}:{minute:02d}:" for hour in range(24) for minute in range(60)]
_OF_A_MINUTE = [f"{second:02d}" for second in range(60)]
_OF_A_SECOND = [f".{ms:03d}Z" for ms in range(1000)]


def parse_instant(value: str | int, timezone: str | None = None) -> int:
    """Milliseconds since 1970. The timezone matters only to a time without offset."""
    if isinstance(value, str):
        ms = _parse_text(value, timezone)
    elif type(value) is int:  # True is no time
        ms = value
    else:
        raise TimingError(f"{shown(value)} is not a time: {_HOW}")
    if FIRST_MS <= ms <= LAST_MS:
        return ms
    raise TimingError(f"the time {shown(value)} is out of range: it must lie in the years 1970 to 9999")


@lru_cache(maxsize=4096)  # an event's time is read when it is checked and when it is planned
def _parse_text(text: str, timezone: str | None) -> int:
    found = _RFC_3339.fullmatch(text)
    if found is None:
        # 12 digits or more are milliseconds (from 1973 on) where there are only strings, as in headers; fewer are
        # more likely seconds or a date.
        if 12 <= len(text) <= 15 and text.isascii() and text.isdigit():
            return int(text)
        raise TimingError(f"{shown(text)} is not a time: {_what_is_wrong(text)}")
    offset = found[1]
    if offset is None and timezone is None:
        raise TimingError(
            f"the time {shown(text)} has no offset: append Z or an offset such as +01:00, or set 'timezone'"
        )
    try:
        time = datetime.fromisoformat(text if offset != "z" else text.upper())
    except ValueError as error:
        raise TimingError(f"the time {shown(text)} does not exist: {error}") from None
    if offset is not None:
        return (time - _EPOCH) // _MS
    assert timezone is not None
    local_ms = (time - _LOCAL_EPOCH) // _MS
    if not FIRST_MS <= local_ms <= LAST_MS:
        raise TimingError(f"the time {shown(text)} is out of range: it must lie in the years 1970 to 9999")
    return to_utc(find_zone(timezone), local_ms)


def _what_is_wrong(text: str) -> str:
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return f"it is a day without a time of day, write for example {text}T09:00:00Z"
    return _HOW


def format_utc(ms: int) -> str:
    """As everywhere in the API: `2026-11-16T09:00:00.000Z`."""
    minute, rest = divmod(ms, 60_000)
    day, minute = divmod(minute, 1440)
    second, rest = divmod(rest, 1000)
    return _date(day) + _OF_A_DAY[minute] + _OF_A_MINUTE[second] + _OF_A_SECOND[rest]


@lru_cache(maxsize=4096)
def _date(day: int) -> str:
    return (_LOCAL_EPOCH + timedelta(days=day)).date().isoformat()


def format_local(ms: int, zone: ZoneInfo) -> str:
    """With the offset that holds there and then: `2026-11-16T10:00:00.000+01:00`."""
    offset_ms = span_at(zone, ms).offset_ms
    if not FIRST_MS <= ms + offset_ms <= LAST_MS:
        offset_ms = 0
    sign, (hours, seconds) = "-" if offset_ms < 0 else "+", divmod(abs(offset_ms) // 1000, 3600)
    minutes, seconds = divmod(seconds, 60)
    offset = f"{sign}{hours:02d}:{minutes:02d}" + (f":{seconds:02d}" if seconds else "")
    return format_utc(ms + offset_ms)[:-1] + offset
