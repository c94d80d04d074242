"""The rules of clock changes once more, as slow and plain as they read, sharing no code with `lightsched.timing`."""

import sys
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from hypothesis import settings

untimed = settings(deadline=None)  # a slow machine is no failure
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)


def ms(text: str) -> int:
    """The instant of an RFC 3339 text."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def wall(instant_ms: int, zone: ZoneInfo) -> datetime:
    """What the clock shows, without a zone."""
    return datetime.fromtimestamp(instant_ms // 1000, UTC).astimezone(zone).replace(tzinfo=None)


@lru_cache(maxsize=100_000)
def instants(local: datetime, zone: ZoneInfo) -> list[int]:
    """All instants at which the clock shows a local time: none, one or two."""
    both = {round(local.replace(tzinfo=zone, fold=fold).timestamp() * 1000) for fold in (0, 1)}
    return sorted(instant for instant in both if wall(instant, zone) == local)


def one_instant(local: datetime, zone: ZoneInfo) -> int:
    """The first of two; right after the gap when there is none. Gaps end at full minutes."""
    found = instants(local, zone)
    while not found:
        local = local.replace(second=0) + MINUTE
        found = instants(local, zone)
    return found[0]


def fire_times(matches: Iterable[datetime], zone: ZoneInfo, from_ms: int, until_ms: int, *, rhythm: bool) -> list[int]:
    """When a cron fires whose fields match these local times."""
    if rhythm:
        times = {instant for local in matches for instant in instants(local, zone)}
    else:
        times = {one_instant(local, zone) for local in matches}
    return sorted(instant for instant in times if from_ms <= instant <= until_ms)


def openings(  # noqa: PLR0917 -- a window, and the days to look at
    from_: timedelta, to: timedelta, days: set[int], exclude: set[date], zone: ZoneInfo, first: date, last: date
) -> list[tuple[int, int]]:
    """When a window is open, for each of some days on which it may open."""
    found = []
    day = first
    while day <= last:
        if day.weekday() in days and day not in exclude:
            midnight = datetime.combine(day, time())
            closing = midnight + to + (DAY if to <= from_ else timedelta())
            opening = one_instant(midnight + from_, zone), one_instant(closing, zone)
            if opening[0] < opening[1]:
                found.append(opening)
        day += DAY
    return found


def calls_of(function: Callable[[], object]) -> int:
    """How many Python functions are called on the way: the work done, the same on every machine."""
    count = 0

    def profile(_frame: object, event: str, _arg: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count
