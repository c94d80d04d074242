"""Which cron fires when a calendar expression of systemd elapses?

Most fields are the same but for their dress. The days are not: systemd wants weekday **and** date to match, a cron with
both is content with **one** of them, unless one of its two fields starts with `*`. So these, in this order, are said:

| systemd | cron |
|---|---|
| `Sun *-*-1..7` (whole weeks of the month) | `* * sun#1` |
| `Mon *-*~07/1` (the last one of the month) | `* * 1L` |
| `Mon *-*-1,15` (the 1st among the dates) | `*/31,15 * mon`: `*/31` is the 1st, and starts with a star |
| `Sun,Wed *-*-13` (Sunday among the weekdays) | `13 * */7,wed`: `*/7` is Sunday |
| `Fri *-*-13` and the like | nothing |

A date counted from the end has an equivalent if it is the last day, or if all its months are equally long.
"""

from typing import NamedTuple

from lightsched_files.converters.on_calendar import DAYS, Calendar, CalendarError, Term, Terms

_LENGTHS = {month: 30 if month in (4, 6, 9, 11) else 31 for month in (1, *range(3, 13))}  # February has none
_SUNDAY = 6
_LAST_WEEK = frozenset(range(1, 8))
_WEEKS = tuple(frozenset(range(first, min(first + 7, 32))) for first in range(1, 32, 7))


class Equivalent(NamedTuple):
    """A cron, and the years in which it fires."""

    cron: str
    first_year: int | None = None
    last_year: int | None = None


def equivalent(calendar: Calendar) -> Equivalent:
    """The cron of an expression; `CalendarError` says why there is none."""
    day_of_month, day_of_week = _day_fields(calendar)
    texts = [_text(calendar.minutes), _text(calendar.hours), day_of_month, _text(calendar.months), day_of_week]
    if calendar.seconds != (Term(0),):
        texts.insert(0, _text(calendar.seconds))
    return Equivalent(" ".join(texts), *_years(calendar.years))


def _day_fields(calendar: Calendar) -> tuple[str, str]:
    weekdays = _weekdays(calendar.weekdays)
    if not calendar.days:
        return "*", weekdays
    if calendar.from_end:
        return _counted_from_end(calendar, weekdays)
    if not calendar.weekdays:
        return _text(calendar.days), "*"
    return _both(frozenset(day for term in calendar.days for day in term.values(31)), calendar.weekdays)


def _both(days: frozenset[int], weekdays: frozenset[int]) -> tuple[str, str]:
    weeks = [number for number, week in enumerate(_WEEKS, start=1) if week <= days]
    if days == frozenset[int]().union(*(_WEEKS[number - 1] for number in weeks)):
        return "*", ",".join(f"{DAYS[weekday]}#{number}" for number in weeks for weekday in sorted(weekdays))
    if 1 in days:
        return ",".join(["*/31", *map(str, sorted(days - {1}))]), _weekdays(weekdays)
    if _SUNDAY in weekdays:
        return ",".join(map(str, sorted(days))), ",".join(["*/7", *(DAYS[day] for day in sorted(weekdays - {_SUNDAY}))])
    raise CalendarError(
        "the weekday and the date have to match together, and a cron with both fires when one of them does: use the "
        "dates alone, and let the command look at the weekday"
    )


def _counted_from_end(calendar: Calendar, weekdays: str) -> tuple[str, str]:
    from_end = frozenset(day for term in calendar.days for day in term.values(1))
    if calendar.weekdays and from_end == _LAST_WEEK:
        return "*", ",".join(f"{(day + 1) % 7}L" for day in sorted(calendar.weekdays))
    if not calendar.weekdays and from_end == {1}:
        return "L", weekdays
    months = {month for term in calendar.months for month in term.values(12)} or {2}
    lengths = {_LENGTHS.get(month) for month in months}
    length = lengths.pop()
    if lengths or length is None:
        raise CalendarError(
            "it counts days from the end of months of different lengths, and a cron knows only the last day (L) and "
            "the last of a weekday (5L): give each month its own line, or count from the first day"
        )
    days = frozenset(length + 1 - day for day in from_end)
    return _both(days, calendar.weekdays) if calendar.weekdays else (",".join(map(str, sorted(days))), "*")


def _years(years: Terms) -> tuple[int | None, int | None]:
    if not years:
        return None, None
    if len(years) == 1 and years[0].stop is None and years[0].step == 1:
        return years[0].start, None
    found = sorted({year for term in years for year in term.values(2199)})
    if found[-1] - found[0] + 1 != len(found):
        raise CalendarError("its years have gaps, and an event has one `starts_at` and one `ends_at`: write several")
    return found[0], found[-1]


def _text(terms: Terms) -> str:
    return (
        ",".join(
            str(start) + (f"-{stop}" if stop is not None else "") + (f"/{step}" if step else "")
            for start, stop, step in terms
        )
        or "*"
    )


def _weekdays(weekdays: frozenset[int]) -> str:
    ordered = sorted(weekdays)
    if len(ordered) > 2 and ordered[-1] - ordered[0] + 1 == len(ordered) and _SUNDAY not in weekdays:
        return f"{DAYS[ordered[0]]}-{DAYS[ordered[-1]]}"
    return ",".join(DAYS[day] for day in ordered) or "*"
