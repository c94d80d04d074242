"""What does a calendar expression of systemd say? (systemd.time(7): `Mon..Fri *-*-1..7 10,14/2:00 Europe/Berlin`)

    [weekdays] [[year-]month-day | [year-]month~day] [hour:minute[:second]] [timezone]

`systemd-analyze calendar` is the judge, in a test.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
SHORTHANDS = {
    "minutely": "*-*-* *:*:00",
    "hourly": "*-*-* *:00:00",
    "daily": "*-*-* 00:00:00",
    "weekly": "Mon *-*-* 00:00:00",
    "monthly": "*-*-01 00:00:00",
    "quarterly": "*-01,04,07,10-01 00:00:00",
    **dict.fromkeys(("yearly", "annually", "anually"), "*-01-01 00:00:00"),
    **dict.fromkeys(("semiannually", "semi-annually", "biannually", "bi-annually"), "*-01,07-01 00:00:00"),
}
_FULL_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DATE = re.compile(r"(?:([^-~]+)-)?([^-~]+)([-~])([^-~]+)")
_TIME = re.compile(r"([^:]+):([^:]+)(?::([^:]+))?")
_TERM = re.compile(r"(\d+)(?:\.\.(\d+))?(?:/(\d+))?")
_ZONE = re.compile(r"(?!\d)[\w+-]+(?:/[\w+-]+)*")
_FRACTION = re.compile(r"\d\.\d")


class CalendarError(ValueError):
    """Why an expression makes no sense, or has no equivalent."""


class Term(NamedTuple):
    """`start`, `start..stop`, `start/step` or `start..stop/step`."""

    start: int
    stop: int | None = None
    step: int | None = None

    def values(self, last: int) -> range:
        """Which ones it means; a step without a range goes on to the last. (From the end of a month that is 1.)"""
        if self.stop is not None:
            return range(self.start, self.stop + 1, self.step or 1)
        if self.step is None:
            return range(self.start, self.start + 1)
        return range(self.start, last + 1, self.step) if last > self.start else range(self.start, last - 1, -self.step)


Terms = tuple[Term, ...]
"""A list of them; empty: any value will do."""


@dataclass(frozen=True, slots=True)
class Calendar:
    """An expression, taken apart."""

    weekdays: frozenset[int]  # 0 is Monday; empty: any
    years: Terms
    months: Terms
    days: Terms
    from_end: bool  # days are counted from the end of the month: 1 is the last
    hours: Terms
    minutes: Terms
    seconds: Terms
    timezone: str  # empty: that of the machine


def parse_calendar(text: str) -> Calendar:
    words = _expanded(text).split()
    weekdays = _weekdays(words.pop(0)) if words and words[0][0].isalpha() else None
    date = _DATE.fullmatch(words.pop(0)) if words and re.search(r"[-~]", words[0]) and ":" not in words[0] else None
    time = _TIME.fullmatch(words.pop(0)) if words and ":" in words[0] else None
    zone = words.pop(0) if words and _ZONE.fullmatch(words[0]) else ""
    if words:
        raise CalendarError(f"{words[0]!r} is out of place: weekdays, date, time and timezone stand in this order")
    if weekdays is None and not date and not time:
        raise CalendarError("it names neither weekday nor date nor time")
    year, month, mark, day = date.groups() if date else ("*", "*", "-", "*")
    hour, minute, second = time.groups() if time else ("0", "0", "0")
    from_end = mark == "~" and day != "*"
    return Calendar(
        weekdays=weekdays or frozenset(),
        years=_years(year or "*"),
        months=_terms("month", month, 1, 12),
        days=_terms("day", day, 1, 28 if from_end else 31, backwards=from_end),
        from_end=from_end,
        hours=_terms("hour", hour, 0, 23),
        minutes=_terms("minute", minute, 0, 59),
        seconds=_terms("second", second or "0", 0, 59),
        timezone="UTC" if zone.upper() == "UTC" else zone,
    )


def _expanded(text: str) -> str:
    word, _, zone = text.strip().partition(" ")
    if word.lower() in SHORTHANDS:
        return f"{SHORTHANDS[word.lower()]} {zone}"
    if re.fullmatch(r"@\d{1,11}", text):
        return f"{datetime.fromtimestamp(int(text[1:]), UTC):%Y-%m-%d %H:%M:%S} UTC"
    return text


def _weekdays(text: str) -> frozenset[int]:
    found: set[int] = set()
    for term in text.lower().removesuffix(",").split(","):
        first, last = (_weekday(name) for name in (re.split(r"\.\.|-", term, maxsplit=1) * 2)[:2])
        if first > last:
            raise CalendarError(f"the weekdays {term!r} go backwards: the week begins with Monday, so write two ranges")
        found.update(range(first, last + 1))
    return frozenset(found) if len(found) < len(DAYS) else frozenset()


def _weekday(name: str) -> int:
    for names in (DAYS, _FULL_DAYS):
        if name in names:
            return names.index(name)
    raise CalendarError(f"{name!r} is neither a weekday nor a shorthand such as daily")


def _years(text: str) -> Terms:
    return tuple(
        Term(_year(start), None if stop is None else _year(stop), step)
        for start, stop, step in _terms("year", text, 0, 2199)
    )


def _year(number: int) -> int:
    year = number + (2000 if number < 70 else 1900 if number < 100 else 0)
    if year < 1970:
        raise CalendarError(f"the year {year} lies before 1970")
    return year


def _terms(name: str, text: str, low: int, high: int, *, backwards: bool = False) -> Terms:
    if text == "*":
        return ()
    return tuple(_term(name, term, low, high, backwards=backwards) for term in text.split(","))


def _term(name: str, text: str, low: int, high: int, *, backwards: bool) -> Term:
    if _FRACTION.search(text) and name == "second":
        raise CalendarError(f"the second {text!r} has a fraction, and crons fire on whole seconds: round it")
    found = _TERM.fullmatch(text)
    if not found:
        raise CalendarError(f"the {name} {text!r} is not a value, a range a..b or a step a/n")
    start, stop, step = (None if number is None else int(number) for number in found.groups())
    assert start is not None
    if not low <= start <= (high if stop is None else stop) <= high:
        raise CalendarError(f"the {name} {text!r} is not within {low} to {high}")
    if step == 0 or (step and stop is None and not low <= start + (-step if backwards else step) <= high):
        raise CalendarError(f"the step of the {name} {text!r} leads nowhere")
    return Term(start) if stop is not None and start + (step or 1) > stop else Term(start, stop, step)
