"""A calendar of its own for the model: slow, and simple enough to be believed. It shares no code with lightsched.

A zone is a list of stretches with one offset each; whatever is asked is answered by going through them. Cron fields are
sets of numbers; a cron's times are all the local times that match, stretch by stretch. docs/cron.md has the rules.
"""

import re
from bisect import bisect_right
from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
FIRST = int(datetime(2024, 12, 1, tzinfo=UTC).timestamp() * 1000)
LAST = int(datetime(2030, 2, 1, tzinfo=UTC).timestamp() * 1000)

_DAYS = {"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}
_MONTHS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), start=1
    )
}
_ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}
_UNITS = {"ms": 1, "s": 1_000, "m": MINUTE, "h": HOUR, "d": DAY}


def milliseconds(text: str) -> int:
    """A duration as the simulation writes it: a whole number and one unit."""
    number, unit = re.fullmatch(r"(\d+)(ms|s|m|h|d)", text).groups()
    return int(number) * _UNITS[unit]


def instant(value: str | int) -> int:
    """An instant as the simulation writes it: epoch ms, or RFC 3339 with offset."""
    return value if isinstance(value, int) else round(datetime.fromisoformat(value).timestamp() * 1000)


class Stretch(NamedTuple):
    """A time with one offset from UTC."""

    start: int
    end: int
    offset: int


@cache
def stretches(zone: str) -> list[Stretch]:
    """All the stretches of a zone from `FIRST` to `LAST`: by looking at every minute of every day with a change."""
    info = ZoneInfo(zone)

    def offset(at: int) -> int:
        return int(datetime.fromtimestamp(at / 1000, info).utcoffset().total_seconds() * 1000)

    found: list[Stretch] = []
    start = FIRST
    for day in range(FIRST, LAST, DAY):
        if offset(day) == offset(day + DAY):
            continue
        for minute in range(day, day + DAY, MINUTE):
            if offset(minute) != offset(minute + MINUTE):
                found.append(Stretch(start, minute + MINUTE, offset(minute)))
                start = minute + MINUTE
    found.append(Stretch(start, LAST, offset(LAST)))
    return found


def local(zone: str, at: int) -> int:
    """What the clock on the wall shows, as milliseconds since a local 1970."""
    all_ = stretches(zone)
    return at + all_[bisect_right(all_, at, key=lambda stretch: stretch.start) - 1].offset


def time_of_day(zone: str, wall: int) -> int:
    """When the wall shows this: the first time, and right after the gap when it never does."""
    for stretch in stretches(zone):
        if stretch.start <= wall - stretch.offset < stretch.end:
            return wall - stretch.offset
        if stretch.start + stretch.offset > wall:
            return stretch.start
    raise AssertionError(f"{wall} is out of range")


def day_number(wall: int) -> int:
    return wall // DAY


def date_of(day: int) -> date:
    return date(1970, 1, 1) + timedelta(days=day)


# cron


def _numbers(text: str, low: int, high: int, names: dict[str, int]) -> set[int]:
    def number(word: str) -> int:
        return names[word] if word in names else int(word)

    found: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        if span == "*":
            first, last = low, high
        elif "-" in span:
            first, last = map(number, span.split("-"))
        else:
            first = number(span)
            last = high if step else first
        found.update(range(first, last + 1, int(step or 1)))
    return found


class Cron:
    """A cron expression in a zone."""

    def __init__(self, text: str, zone: str) -> None:
        fields = _ALIASES.get(text, text).lower().split()
        seconds, minute, hour, month_day, month, week_day = fields if len(fields) == 6 else ["0", *fields]
        self.zone = zone
        self.seconds = sorted(_numbers(seconds, 0, 59, {}))
        self.minutes = sorted(_numbers(minute, 0, 59, {}))
        self.hours = sorted(_numbers(hour, 0, 23, {}))
        self.months = _numbers(month, 1, 12, _MONTHS)
        self.last_day = month_day == "l"
        self.month_days = set() if self.last_day else _numbers(month_day, 1, 31, {})
        self.nth = 0
        if "#" in week_day:
            week_day, nth = week_day.split("#")
            self.nth = int(nth)
        self.week_days = {number % 7 for number in _numbers(week_day, 0, 7, _DAYS)}
        self.rhythm = minute.startswith("*") or hour.startswith("*")
        self.both = month_day.startswith("*") or week_day.startswith("*")

    def day_matches(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        in_month, in_week = self._in_month(day), self._in_week(day)
        return (in_month and in_week) if self.both else (in_month or in_week)

    def _in_month(self, day: date) -> bool:
        if self.last_day:
            return day.day == monthrange(day.year, day.month)[1]
        return day.day in self.month_days

    def _in_week(self, day: date) -> bool:
        if self.nth and (day.day - 1) // 7 + 1 != self.nth:
            return False
        return day.isoweekday() % 7 in self.week_days

    def walls(self, first: int, last: int) -> list[int]:
        """The local times that match, from `first` until before `last`."""
        found = []
        for day in range(day_number(first), day_number(last) + 1):
            if self.day_matches(date_of(day)):
                for hour in self.hours:
                    if day * DAY + hour * HOUR + HOUR <= first or day * DAY + hour * HOUR >= last:
                        continue
                    found += [
                        day * DAY + hour * HOUR + minute * MINUTE + second * 1000
                        for minute in self.minutes
                        for second in self.seconds
                    ]
        return [wall for wall in found if first <= wall < last]

    def between(self, first: int, last: int) -> list[int]:
        """The times it fires, from `first` until before `last`, by the rules of docs/cron.md."""
        found: set[int] = set()
        shown = None  # up to where the wall has been, one stretch before
        for stretch in stretches(self.zone):
            start, end = max(stretch.start, first), min(stretch.end, last)
            if start < end:
                for wall in self.walls(start + stretch.offset, end + stretch.offset):
                    again = shown is not None and wall < shown
                    if self.rhythm or not again:
                        found.add(wall - stretch.offset)
            if first <= stretch.start < last and shown is not None and not self.rhythm:
                gap_end = stretch.start + stretch.offset
                if shown < gap_end and self.walls(shown, gap_end):
                    found.add(stretch.start)
            shown = stretch.end + stretch.offset
        return sorted(found)


# windows


class Window:
    """A window as sent, in its zone."""

    def __init__(self, spec: dict, zone: str | None) -> None:
        self.zone = spec.get("timezone") or zone or "UTC"
        self.opens = self._clock(spec.get("from", "00:00"))
        self.closes = self._clock(spec.get("to", "00:00"))
        if self.closes <= self.opens:
            self.closes += DAY
        self.days = None if spec.get("days") is None else {_DAYS[name] for name in spec["days"]}
        self.exclude = set(spec.get("exclude", ()))
        self.on = cache(self._on)

    @staticmethod
    def _clock(text: str) -> int:
        hours, minutes = text.split(":")
        return int(hours) * HOUR + int(minutes) * MINUTE

    def _on(self, day: int) -> tuple[int, int] | None:
        """When it is open, of the day on which it opens."""
        of = date_of(day)
        if self.days is not None and of.isoweekday() % 7 not in self.days:
            return None
        if of.isoformat() in self.exclude:
            return None
        opens = time_of_day(self.zone, day * DAY + self.opens)
        closes = time_of_day(self.zone, day * DAY + self.closes)
        return (opens, closes) if opens < closes else None

    def moved(self, at: int) -> int | None:
        """The time itself while it is open, else the next opening."""
        today = day_number(local(self.zone, at))
        for day in range(today - 2, today + 800):
            if (span := self.on(day)) is not None and at < span[1]:
                return max(at, span[0])
        return None

    def open(self, at: int) -> bool:
        return self.moved(at) == at
