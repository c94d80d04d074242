"""How long is `1h30m`?

Written short (`250ms` `30s` `5m` `2h` `1d` `1w` `10y`, or several of them from large to small) or as in ISO 8601
(`PT5M` `P1DT2H` `P1W`). A week is 7 days and a year 365: a duration is a fixed number of milliseconds. That is why
months, and the years of ISO 8601, which follow the calendar, are refused.
"""

import re
from functools import lru_cache

from lightsched.timing.errors import TimingError, shown
from lightsched.timing.limits import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS

UNITS = {
    "y": 365 * DAY_MS,
    "w": 7 * DAY_MS,
    "d": DAY_MS,
    "h": HOUR_MS,
    "m": MINUTE_MS,
    "s": SECOND_MS,
    "ms": 1,
}
LONGEST_MS = 100 * UNITS["y"]

_WORDS = ((DAY_MS, "day", "d"), (HOUR_MS, "hour", "h"), (MINUTE_MS, "minute", "m"), (SECOND_MS, "second", "s"))
_HOW = "write for example 30s, 5m, 1h30m or PT5M"
_SHORT = re.compile("".join(rf"(?:([0-9]+){unit}(?![a-z]))?" for unit in UNITS))
_ISO = re.compile(
    r"P(?:([0-9]+)Y)?(?:([0-9]+)M)?(?:([0-9]+)W)?(?:([0-9]+)D)?"
    r"(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)(?:[.,]([0-9]{1,9}))?S)?)?"
)


@lru_cache(maxsize=4096)
def parse_duration(text: str) -> int:
    """Milliseconds, at least 1."""
    if duration_ms := parse_delay(text):
        return duration_ms
    raise TimingError(f"the duration {shown(text)} is zero: it must be at least 1ms")


@lru_cache(maxsize=4096)
def parse_delay(text: str) -> int:
    """Milliseconds until something happens; none means at once."""
    if not text:
        raise TimingError(f"{shown(text)} is not a duration: {_HOW}")
    if len(text) > 60:
        raise TimingError(f"{shown(text)} is too long for a duration: {_HOW}")
    if text[0] == "-":
        raise TimingError(f"the duration {shown(text)} is negative: {_HOW}")
    duration_ms = _iso(text) if text[0] == "P" else _short(text)
    if duration_ms > LONGEST_MS:
        raise TimingError(f"the duration {shown(text)} is too long: at most 100y")
    return duration_ms


def _short(text: str) -> int:
    found = _SHORT.fullmatch(text)
    if found is not None:
        return sum(int(count) * size for count, size in zip(found.groups("0"), UNITS.values(), strict=True))
    if text.isascii() and text.isdigit():
        raise TimingError(f"the duration {shown(text)} has no unit: write {text[:12]}ms or {text[:12]}s")
    if re.fullmatch(r"(?:[0-9]+[a-z]+)+", text):
        unknown = [unit for unit in re.findall(r"[a-z]+", text) if unit not in UNITS]
        if unknown:
            raise TimingError(
                f"the duration {shown(text)} has the unknown unit {shown(unknown[0])}: use ms s m h d w y"
            )
        raise TimingError(f"the duration {shown(text)} must go from large to small, each unit once, as in 1d2h30m")
    raise TimingError(f"{shown(text)} is not a duration: {_HOW}")


def _iso(text: str) -> int:
    found = _ISO.fullmatch(text)
    if found is None or text[-1] in "PT":
        raise TimingError(f"{shown(text)} is not an ISO 8601 duration: write for example PT5M, P1DT2H or P1W")
    years, months, weeks, days, hours, minutes, seconds, fraction = found.groups("0")
    if int(years) or int(months):
        raise TimingError(
            f"the duration {shown(text)} has years or months, which have no fixed length: count in days, as in P30D"
        )
    return (
        int(weeks) * UNITS["w"]
        + int(days) * DAY_MS
        + int(hours) * HOUR_MS
        + int(minutes) * MINUTE_MS
        + int(seconds) * SECOND_MS
        + int(f"{fraction:0<3}"[:3])
    )


@lru_cache(maxsize=4096)
def format_duration(duration_ms: int) -> str:
    """In words: `1 hour 30 minutes`."""
    parts: list[str] = []
    rest = duration_ms
    for size, word, _ in _WORDS:
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count:,} {word}{'' if count == 1 else 's'}")
    if rest or not parts:
        parts.append(f"{rest} ms")
    return " ".join(parts)


@lru_cache(maxsize=4096)
def format_compact(duration_ms: int) -> str:
    """As `parse_duration` reads it: `1h30m`."""
    text = ""
    rest = duration_ms
    for size, _, unit in _WORDS:
        count, rest = divmod(rest, size)
        if count:
            text += f"{count}{unit}"
    return f"{text}{rest}ms" if rest or not text else text
