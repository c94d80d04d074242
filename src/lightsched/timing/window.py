"""Is it within working hours, and when does that begin again?

A window opens on each local day that is among its `days` and not among its `exclude`, at `from`, and closes before
`to`, on the next day if `to` is not later than `from`. On the days of a clock change both ends have their one instant
by the same rule as everything else (`clock_change.to_utc`): a time in a gap is right after the gap, a repeated one is
its first occurrence. So windows that touch on the clock touch on that night too, one that lies in the gap does not
open, one around a repeated hour is an hour longer, and one that ends in a repeated hour ends when the clock first shows
that time.
"""

import contextlib
import re
from collections.abc import Sequence
from datetime import date
from functools import lru_cache
from zoneinfo import ZoneInfo

from lightsched.timing.clock_change import span_at, to_utc
from lightsched.timing.errors import TimingError, shown
from lightsched.timing.limits import DAY_MS, HOUR_MS, LAST_MS, MINUTE_MS
from lightsched.timing.zone import zone as find_zone

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MOST_EXCLUDED = 1_000
_FULL_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAY_NUMBERS = {name: number for names in (DAYS, _FULL_NAMES) for number, name in enumerate(names)}
_CLOCK = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_ORDINAL = date(1970, 1, 1).toordinal()
_LAST_DAY = LAST_MS // DAY_MS
_MOST_REMEMBERED = 400  # days


class Window:
    """The times when something may fire. Make it with `Window.parse`."""

    __slots__ = ("_ahead", "_behind", "_openings", "_reach", "_weekdays", "days", "exclude", "from_ms", "to_ms", "zone")

    def __init__(
        self, from_ms: int, to_ms: int, days: frozenset[int], zone: ZoneInfo, exclude: frozenset[int] = frozenset()
    ) -> None:
        """`to_ms` counts from the midnight before `from_ms`; `exclude` are days since 1970-01-01."""
        assert 0 <= from_ms < DAY_MS
        assert from_ms < to_ms <= from_ms + DAY_MS
        assert days
        self.from_ms = from_ms
        self.to_ms = to_ms
        self.days = days
        self.zone = zone
        self.exclude = exclude
        self._weekdays = tuple((day + 3) % 7 in days for day in range(7))  # 1970-01-01 was a Thursday
        # Among so many days there is one on which it opens: one a week, unless excluded, or skipped by the clock.
        self._reach = 7 * (len(exclude) + 4)
        # The last answers: from closed_from until close the current or next opening is at open; from close until
        # next_open the last closing is at close.
        self._ahead: tuple[int, int, int] = (0, 0, 0)
        self._behind: tuple[int, int] = (0, 0)
        self._openings: dict[int, tuple[int, int] | None] = {}

    @staticmethod
    def parse(
        from_: str | None = None,
        to: str | None = None,
        days: Sequence[str] | None = None,
        timezone: str | None = None,
        exclude: Sequence[str] | None = None,
    ) -> "Window":
        return _parse(
            from_,
            to,
            None if days is None else tuple(days),
            timezone or "UTC",
            None if exclude is None else tuple(exclude),
        )

    def contains(self, ms: int) -> bool:
        found = self._opening_until_after(ms)
        return found is not None and found[0] <= ms

    def open_at(self, ms: int) -> int:
        """The first instant at or after this one that is in the window."""
        found = self.opening_from(ms)
        if found is None:
            raise TimingError("the window does not open again before the year 10000")
        return found

    def opening_from(self, ms: int) -> int | None:
        """As `open_at`; none where time ends."""
        found = self._opening_until_after(ms)
        return None if found is None else max(ms, found[0])

    def close_after(self, ms: int) -> int:
        """Of an instant in the window: when the window closes next. It may open again at that very instant."""
        found = self._opening_until_after(ms)
        assert found is not None
        return found[1]

    def last_open_before(self, ms: int) -> int | None:
        """The last instant at or before this one that is in the window."""
        close, next_open = self._behind
        if close <= ms < next_open:
            return close - 1
        ahead = self._opening_until_after(ms)
        if ahead is not None and ahead[0] <= ms:
            return ms
        day = self._day_at(ms) + 1
        for back in range(day, day - self._reach - 3, -1):
            opening = self._opening_on(back)
            if opening is not None and opening[1] <= ms:
                self._behind = (opening[1], LAST_MS + 1 if ahead is None else ahead[0])
                return opening[1] - 1
        return None

    def _opening_until_after(self, ms: int) -> tuple[int, int] | None:
        """The first opening that closes after this instant: the current one, or the next."""
        closed_from, open_ms, close_ms = self._ahead
        if closed_from <= ms < close_ms:
            return open_ms, close_ms
        day = self._day_at(ms) - 2  # an opening may have begun yesterday, and the clock may have gone back since
        for number in range(day, day + self._reach + 3):
            opening = self._opening_on(number)
            if opening is not None and opening[1] > ms:
                self._ahead = (min(ms, opening[0]), *opening)
                return opening
        return None

    def _day_at(self, ms: int) -> int:
        return (ms + span_at(self.zone, ms)[2]) // DAY_MS

    def _opening_on(self, day: int) -> tuple[int, int] | None:
        if not self._weekdays[day % 7] or day in self.exclude or not -2 <= day <= _LAST_DAY:
            return None
        if day not in self._openings:
            if len(self._openings) >= _MOST_REMEMBERED:
                self._openings.clear()
            midnight = day * DAY_MS
            open_ms, close_ms = to_utc(self.zone, midnight + self.from_ms), to_utc(self.zone, midnight + self.to_ms)
            self._openings[day] = (open_ms, close_ms) if open_ms < close_ms else None
        return self._openings[day]

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Window) and self._identity() == other._identity())

    def __hash__(self) -> int:
        return hash(self._identity())

    def __repr__(self) -> str:
        return f"Window({clock(self.from_ms)}–{clock(self.to_ms)}, {sorted(self.days)}, {self.zone.key!r})"

    def _identity(self) -> tuple[int, int, frozenset[int], str, frozenset[int]]:
        return self.from_ms, self.to_ms, self.days, self.zone.key, self.exclude


def clock(in_day_ms: int) -> str:
    """`17:00`, and `24:00` for the end of the day."""
    if in_day_ms > DAY_MS:
        in_day_ms -= DAY_MS
    return f"{in_day_ms // HOUR_MS:02d}:{in_day_ms % HOUR_MS // MINUTE_MS:02d}"


@lru_cache(maxsize=512)
def _parse(
    from_: str | None, to: str | None, days: tuple[str, ...] | None, timezone: str, exclude: tuple[str, ...] | None
) -> Window:
    if from_ is None and to is None and days is None and not exclude:
        raise TimingError("the window is always open: give 'from' and 'to', 'days' or 'exclude', or leave it out")
    from_ms = 0 if from_ is None else _time_of_day("from", from_)
    to_ms = DAY_MS if to is None else _time_of_day("to", to)
    if from_ms == to_ms:
        raise TimingError(
            f"the window opens and closes at {clock(from_ms)}: for the whole day write from 00:00 to 24:00, "
            "or leave both out and give 'days'"
        )
    if to_ms < from_ms:
        to_ms += DAY_MS
    weekdays = frozenset(range(7) if days is None else map(_weekday, days))
    if not weekdays:
        raise TimingError("the window never opens, since 'days' is empty: name some, as in mon, or leave it out")
    if exclude is not None and len(exclude) > MOST_EXCLUDED:
        raise TimingError(f"the window excludes {len(exclude):,} days: at most {MOST_EXCLUDED:,}")
    return Window(from_ms, to_ms, weekdays, find_zone(timezone), frozenset(map(_day, exclude or ())))


def _time_of_day(field: str, text: str) -> int:
    if field == "to" and text == "24:00":
        return DAY_MS
    found = _CLOCK.fullmatch(text)
    if found is None:
        latest = "24:00" if field == "to" else "23:59"
        raise TimingError(f"the window's '{field}' {shown(text)} is not a time of day: write 00:00 to {latest}")
    return int(found[1]) * HOUR_MS + int(found[2]) * MINUTE_MS


def _weekday(name: str) -> int:
    number = _DAY_NUMBERS.get(name.lower())
    if number is None:
        raise TimingError(f"{shown(name)} among the window's 'days' is not a day: write {' '.join(DAYS)}")
    return number


def _day(text: str) -> int:
    if _DATE.fullmatch(text):
        with contextlib.suppress(ValueError):  # 2026-02-30
            return date.fromisoformat(text).toordinal() - _ORDINAL
    raise TimingError(f"{shown(text)} among the window's 'exclude' is not a date: write for example 2026-12-25")
