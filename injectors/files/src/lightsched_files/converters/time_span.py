"""How long is `5h 30min` in a unit file? systemd's time spans, and durations as lightsched writes them."""

import re

_US = 1
_UNITS = {
    unit: size
    for size, units in (
        (_US, "us usec µs"),
        (1_000, "ms msec"),
        (1_000_000, "s sec second seconds"),
        (60_000_000, "m min minute minutes"),
        (3_600_000_000, "h hr hour hours"),
        (86_400_000_000, "d day days"),
        (604_800_000_000, "w week weeks"),
        (2_629_800_000_000, "M month months"),  # 30.44 days, as systemd counts
        (31_557_600_000_000, "y year years"),  # 365.25 days
    )
    for unit in units.split()
}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-zµ]*)\s*")
_SHORT = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms"))


def time_span_ms(text: str) -> int:
    """Milliseconds; a number without a unit is seconds. Raises `ValueError`."""
    place = total_us = 0
    while part := _PART.match(text, place):
        number, unit = part.groups()
        if unit and unit not in _UNITS:
            break
        total_us += round(float(number) * _UNITS[unit or "s"])
        place = part.end()
    if place == 0 or place < len(text):
        raise ValueError(f"{text!r} is no time span that has an end: write for example 90s, 15min or 1h 30min")
    return total_us // 1_000


def duration(milliseconds: int) -> str:
    """In the largest unit that needs no fraction."""
    size, unit = next((size, unit) for size, unit in _SHORT if milliseconds % size == 0)
    return f"{milliseconds // size}{unit}"
