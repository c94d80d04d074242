"""What does a schedule say, in words?

at 09:30 on weekdays, Europe/Paris
every 5 minutes, in the window 09:00–17:00 on mon–fri Europe/Paris, until 2026-12-31 23:00:00 UTC, at most 5 times
"""

from collections.abc import Sequence
from functools import lru_cache
from zoneinfo import ZoneInfo

from lightsched.timing.at import At
from lightsched.timing.clock_change import span_at
from lightsched.timing.cron import Cron
from lightsched.timing.cron_words import cron_words
from lightsched.timing.duration import format_duration
from lightsched.timing.every import Every
from lightsched.timing.instant import format_utc
from lightsched.timing.limits import DAY_MS, LAST_MS
from lightsched.timing.plan import Recurrence
from lightsched.timing.window import DAYS, Window, clock
from lightsched.timing.zone import zone as find_zone


def describe(
    recurrence: Recurrence,
    *,
    timezone: str = "UTC",
    window: Window | None = None,
    starts_ms: int | None = None,
    ends_ms: int | None = None,
    max_runs: int | None = None,
    jitter_ms: int = 0,
) -> str:
    """The words for one event; instants are shown in `timezone`, a cron always in its own."""
    zone = find_zone(timezone)
    parts = [_recurrence(recurrence, zone)]
    if window is not None:
        parts.append(f"in the window {_window(window)}")
    if jitter_ms:
        parts.append(f"spread over {format_duration(jitter_ms)}")
    if starts_ms is not None:
        parts.append(f"from {_instant(starts_ms, zone)}")
    if ends_ms is not None:
        parts.append(f"until {_instant(ends_ms, zone)}")
    if max_runs is not None:
        parts.append("at most once" if max_runs == 1 else f"at most {max_runs:,} times")
    return ", ".join(parts)


def _recurrence(recurrence: Recurrence, zone: ZoneInfo) -> str:
    if isinstance(recurrence, At):
        return f"once at {_instant(recurrence.ms, zone)}"
    if isinstance(recurrence, Every):
        return _every(recurrence.interval_ms)
    return _cron(recurrence)


def _every(interval_ms: int) -> str:
    words = format_duration(interval_ms)
    one, _, unit = words.partition(" ")
    return f"every {unit}" if one == "1" and unit in {"day", "hour", "minute", "second"} else f"every {words}"


@lru_cache(maxsize=4096)
def _cron(cron: Cron) -> str:
    return f"{cron_words(cron.fields)}, {cron.zone.key}"


def _instant(ms: int, zone: ZoneInfo) -> str:
    offset_ms = span_at(zone, ms).offset_ms
    if ms + offset_ms > LAST_MS or ms + offset_ms < 0:
        return _instant(ms, find_zone("UTC"))
    text = format_utc(ms + offset_ms).replace("T", " ").removesuffix("Z").removesuffix(".000")
    return f"{text} {zone.key}"


def _window(window: Window) -> str:
    parts: list[str] = []
    if (window.from_ms, window.to_ms) != (0, DAY_MS):
        parts.append(f"{clock(window.from_ms)}–{clock(window.to_ms)}")
    if len(window.days) < len(DAYS):
        parts.append(f"on {_days(sorted(window.days))}")
    if not parts:
        parts.append("of all days")
    if window.exclude:
        parts.append(f"except {len(window.exclude):,} day{'' if len(window.exclude) == 1 else 's'}")
    return f"{' '.join(parts)} {window.zone.key}"


def _days(days: Sequence[int]) -> str:
    """`mon–wed, fri`."""
    parts: list[str] = []
    start = 0
    for at in range(1, len(days) + 1):
        if at < len(days) and days[at] == days[at - 1] + 1:
            continue
        parts.append(DAYS[days[start]] if at - start == 1 else f"{DAYS[days[start]]}–{DAYS[days[at - 1]]}")
        start = at
    return ", ".join(parts)
