"""Which local times does a cron match, were there no clock changes?

Local times here are whole seconds since 1970-01-01T00:00. A day is found by months (a bit for each day that matches,
remembered), a time in the day by tables (the next allowed hour, minute, second), so a question costs about the same
whether the answer is a second or a year away.
"""

from bisect import bisect_left
from collections.abc import Iterator
from datetime import date
from functools import lru_cache

from lightsched.timing.fields import Fields, day_rule

_DAY_S = 86_400
_ORDINAL = date(1970, 1, 1).toordinal()
_LAST_DAY = date.max.toordinal() - _ORDINAL
_FIRST_DAY = -400  # local time is never further than a day before 1970
# The rarest days there are, such as a 29 February on a Monday, are at most 40 years apart (around 2100).
_RAREST_MONTHS = 41 * 12
_RAREST_LEAP_DAY = 9 * 12  # from 2096 to 2104: nothing is rarer, if the day of the week does not matter
_MOST_REMEMBERED = 2_000


class Pattern:
    """The local times that match: the next one, the one before, and how many there are between two."""

    __slots__ = (
        "_days",
        "_first_s",
        "_hours",
        "_last_s",
        "_minutes",
        "_per_day",
        "_per_hour",
        "_per_minute",
        "_seconds",
    )

    def __init__(self, fields: Fields) -> None:
        self._days = _days_of(fields.texts[3], fields.texts[4], fields.texts[5])
        self._seconds = _wheel(fields.seconds, 60)
        self._minutes = _wheel(fields.minutes, 60)
        self._hours = _wheel(fields.hours, 24)
        self._per_minute = len(fields.seconds)
        self._per_hour = len(fields.minutes) * self._per_minute
        self._per_day = len(fields.hours) * self._per_hour
        self._first_s = fields.hours[0] * 3600 + fields.minutes[0] * 60 + fields.seconds[0]
        self._last_s = fields.hours[-1] * 3600 + fields.minutes[-1] * 60 + fields.seconds[-1]

    def first_from(self, local_s: int) -> int | None:
        """The first match at or after this second."""
        day, in_day = divmod(local_s, _DAY_S)
        if in_day > self._last_s:
            day, in_day = day + 1, 0
        found = self._days.first_from(day)
        if found is None:
            return None
        return found * _DAY_S + (self._time_from(in_day) if found == day else self._first_s)

    def last_before(self, local_s: int) -> int | None:
        """The last match before this second."""
        day, in_day = divmod(local_s - 1, _DAY_S)
        if in_day < self._first_s:
            day, in_day = day - 1, _DAY_S - 1
        found = self._days.last_until(day)
        if found is None:
            return None
        return found * _DAY_S + (self._time_until(in_day) if found == day else self._last_s)

    def count(self, from_s: int, before_s: int) -> int:
        """How many matches there are from one second until before another."""
        if before_s <= from_s:
            return 0
        first_day, first_in_day = divmod(from_s, _DAY_S)
        last_day, last_in_day = divmod(before_s, _DAY_S)
        count = self._days.count(first_day, last_day) * self._per_day
        if first_in_day and self._days.first_from(first_day) == first_day:
            count -= self._times_before(first_in_day)
        if last_in_day and self._days.first_from(last_day) == last_day:
            count += self._times_before(last_in_day)
        return count

    def _time_from(self, in_day: int) -> int:
        """The first time of day at or after this one; there is one."""
        hour, rest = divmod(in_day, 3600)
        minute, second = divmod(rest, 60)
        next_hour = self._hours.up[hour]
        if next_hour == hour:
            next_minute = self._minutes.up[minute]
            if next_minute == minute:
                next_second = self._seconds.up[second]
                if next_second >= 0:
                    return hour * 3600 + minute * 60 + next_second
                next_minute = self._minutes.up[minute + 1]
            if next_minute >= 0:
                return hour * 3600 + next_minute * 60 + self._seconds.first
            next_hour = self._hours.up[hour + 1]
        assert next_hour >= 0
        return next_hour * 3600 + self._minutes.first * 60 + self._seconds.first

    def _time_until(self, in_day: int) -> int:
        """The last time of day at or before this one; there is one."""
        hour, rest = divmod(in_day, 3600)
        minute, second = divmod(rest, 60)
        last_hour = self._hours.down[hour]
        if last_hour == hour:
            last_minute = self._minutes.down[minute]
            if last_minute == minute:
                last_second = self._seconds.down[second]
                if last_second >= 0:
                    return hour * 3600 + minute * 60 + last_second
                last_minute = self._minutes.down[minute - 1]
            if last_minute >= 0:
                return hour * 3600 + last_minute * 60 + self._seconds.last
            last_hour = self._hours.down[hour - 1]
        assert last_hour >= 0
        return last_hour * 3600 + self._minutes.last * 60 + self._seconds.last

    def _times_before(self, in_day: int) -> int:
        hour, rest = divmod(in_day, 3600)
        minute, second = divmod(rest, 60)
        count = self._hours.below[hour] * self._per_hour
        if self._hours.up[hour] == hour:
            count += self._minutes.below[minute] * self._per_minute
            if self._minutes.up[minute] == minute:
                count += self._seconds.below[second]
        return count


class _Wheel:
    """The allowed values of second, minute or hour, as tables over all values; -1 is none.

    `down` has the -1 for the value before 0 at its end, where Python looks for index -1.
    """

    __slots__ = ("below", "down", "first", "last", "up")

    def __init__(self, values: tuple[int, ...], size: int) -> None:
        self.first = values[0]
        self.last = values[-1]
        self.below = tuple(bisect_left(values, at) for at in range(size + 1))
        self.up = tuple(values[n] if n < len(values) else -1 for n in self.below)
        self.down = (*(values[n - 1] if n else -1 for n in self.below[1:]), -1)


@lru_cache(maxsize=4096)
def _wheel(values: tuple[int, ...], size: int) -> _Wheel:
    return _Wheel(values, size)


class _Days:
    """The days that match, as numbers since 1970-01-01."""

    __slots__ = ("_every", "_masks", "_matches", "_months", "_rarest")

    def __init__(self, day_of_month: str, month: str, day_of_week: str) -> None:
        self._months, self._matches = day_rule(day_of_month, month, day_of_week)
        self._every = day_of_month == month == day_of_week == "*"
        self._rarest = _RAREST_LEAP_DAY if day_of_week == "*" else _RAREST_MONTHS
        self._masks: dict[tuple[int, int], int] = {}

    def first_from(self, day: int) -> int | None:
        if day > _LAST_DAY:
            return None
        day = max(day, _FIRST_DAY)
        if self._every:
            return day
        start = date.fromordinal(day + _ORDINAL)
        year, month = start.year, start.month
        mask = self._mask(year, month) >> start.day << start.day
        for _ in range(self._rarest):
            if mask:
                in_month = (mask & -mask).bit_length() - 1
                return date(year, month, in_month).toordinal() - _ORDINAL
            month += 1
            if month > 12:
                year, month = year + 1, 1
                if year > date.max.year:
                    return None
            mask = self._mask(year, month)
        return None

    def last_until(self, day: int) -> int | None:
        if day < _FIRST_DAY:
            return None
        day = min(day, _LAST_DAY)
        if self._every:
            return day
        start = date.fromordinal(day + _ORDINAL)
        year, month = start.year, start.month
        mask = self._mask(year, month) & ((2 << start.day) - 1)
        for _ in range(self._rarest):
            if mask:
                found = date(year, month, mask.bit_length() - 1).toordinal() - _ORDINAL
                return found if found >= _FIRST_DAY else None
            month -= 1
            if month < 1:
                year, month = year - 1, 12
            mask = self._mask(year, month)
        return None

    def count(self, from_day: int, before_day: int) -> int:
        from_day, before_day = max(from_day, _FIRST_DAY), min(before_day, _LAST_DAY + 1)
        if before_day <= from_day:
            return 0
        if self._every:
            return before_day - from_day
        start, end = date.fromordinal(from_day + _ORDINAL), date.fromordinal(before_day - 1 + _ORDINAL)
        count = -(self._mask(start.year, start.month) & ((1 << start.day) - 1)).bit_count()
        count -= (self._mask(end.year, end.month) >> (end.day + 1)).bit_count()
        return count + sum(self._mask(year, month).bit_count() for year, month in _months_between(start, end))

    def _mask(self, year: int, month: int) -> int:
        """Bit n is set when day n of the month matches."""
        if month not in self._months:
            return 0
        mask = self._masks.get((year, month))
        if mask is None:
            first = date(year, month, 1).toordinal()
            days = (date.fromordinal(first + n) for n in range(31))
            mask = sum(1 << day.day for day in days if day.month == month and self._matches(day))
            if len(self._masks) >= _MOST_REMEMBERED:
                self._masks.clear()
            self._masks[year, month] = mask
        return mask


def _months_between(start: date, end: date) -> Iterator[tuple[int, int]]:
    """All months from one day's to the other's."""
    for number in range(start.year * 12 + start.month - 1, end.year * 12 + end.month):
        yield number // 12, number % 12 + 1


@lru_cache(maxsize=4096)
def _days_of(day_of_month: str, month: str, day_of_week: str) -> _Days:
    return _Days(day_of_month, month, day_of_week)
