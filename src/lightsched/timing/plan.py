"""When does an event fire: all its fire times, in order.

A recurrence gives nominal times. Each is shifted by the event's own jitter and, if there is a window, moved to where
the window opens: that is the fire time. Moving keeps the order; several nominal times that are moved to the same
opening, and one that falls right there, are one fire time.

                   nominal + jitter       the window opens at nominal + jitter, or later
    recurrence ───────────────────► ─────────────────────────────────────────────────► fire time

Because moving keeps the order, the questions go backwards through it at once: what fires after an instant is exactly
what is nominally due after the last open instant before it. No search, however long the window is closed.
"""

from dataclasses import dataclass

from lightsched.timing.at import At
from lightsched.timing.cron import Cron
from lightsched.timing.every import Every
from lightsched.timing.limits import FIRST_MS, LAST_MS
from lightsched.timing.window import Window

Recurrence = At | Every | Cron
_MOST_OPENINGS = 60


@dataclass(frozen=True, slots=True)
class Plan:
    """All fire times of one event.

    `not_before_ms` is the creation of the event: nominal times are later than that. With `starts_ms` they are not
    earlier than that instead. Both bind what recurs; a one-shot is due when it says. No fire time is later than
    `ends_ms`.
    """

    recurrence: Recurrence
    window: Window | None = None
    jitter_ms: int = 0
    not_before_ms: int = FIRST_MS - 1
    starts_ms: int | None = None
    ends_ms: int | None = None

    @property
    def repeats(self) -> bool:
        return not isinstance(self.recurrence, At)

    def first(self) -> int | None:
        return self._fire_time(self.recurrence.after(self._floor_ms))

    def after(self, ms: int) -> int | None:
        """The first fire time strictly after an instant."""
        last_open = ms if self.window is None else self.window.last_open_before(ms)
        floor_ms = self._floor_ms
        if last_open is not None:
            floor_ms = max(floor_ms, last_open - self.jitter_ms)
        return self._fire_time(self.recurrence.after(floor_ms))

    def latest(self, ms: int) -> int | None:
        """The last fire time at or before an instant."""
        ms = min(ms, self._last_ms)
        last_open = ms if self.window is None else self.window.last_open_before(ms)
        if last_open is None:
            return None
        nominal_ms = self.recurrence.before(last_open - self.jitter_ms)
        if nominal_ms is None or nominal_ms <= self._floor_ms:
            return None
        return self._fire_time(nominal_ms)

    def upcoming(self, from_ms: int, n: int) -> list[int]:
        """The first n fire times at or after an instant, or as many as there are."""
        times: list[int] = []
        ms = from_ms - 1
        while len(times) < n:
            found = self.after(ms)
            if found is None:
                break
            times.append(found)
            ms = found
        return times

    def count(self, from_ms: int, before_ms: int, limit: int) -> int:
        """How many fire times there are from one instant until before another; when there are more, the limit.

        After so many openings of the window as are looked at, it is taken for open: there may be fewer then.
        """
        before_ms = min(before_ms, self._last_ms + 1)
        count = 0
        ms = from_ms - 1
        if self.window is not None:
            for _ in range(_MOST_OPENINGS):
                found = self.after(ms)
                if found is None or found >= before_ms:
                    return min(limit, count)
                close_ms = min(self.window.close_after(found), before_ms)
                count += 1 + self.recurrence.count(found + 1 - self.jitter_ms, close_ms - self.jitter_ms)
                ms = close_ms - 1
                if count >= limit:
                    return limit
        nominal_from_ms = max(ms + 1 - self.jitter_ms, self._floor_ms + 1)
        return min(limit, count + self.recurrence.count(nominal_from_ms, before_ms - self.jitter_ms))

    def nominal(self, fire_ms: int) -> int:
        """The nominal time that fires at this fire time; of several, the last."""
        nominal_ms = self.recurrence.before(fire_ms - self.jitter_ms)
        assert nominal_ms is not None
        return nominal_ms

    @property
    def _floor_ms(self) -> int:
        """Nominal times are later than this."""
        if isinstance(self.recurrence, At):
            return FIRST_MS - 1
        return self.not_before_ms if self.starts_ms is None else self.starts_ms - 1

    @property
    def _last_ms(self) -> int:
        return LAST_MS if self.ends_ms is None else min(self.ends_ms, LAST_MS)

    def _fire_time(self, nominal_ms: int | None) -> int | None:
        if nominal_ms is None:
            return None
        shifted_ms = nominal_ms + self.jitter_ms
        fire_ms = shifted_ms if self.window is None else self.window.opening_from(shifted_ms)
        if fire_ms is None or fire_ms > LAST_MS or (self.ends_ms is not None and fire_ms > self.ends_ms):
            return None
        return fire_ms
