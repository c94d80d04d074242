"""When does a cron fire next?

Cron fields are matched in the cron's own timezone. A local time that a clock change skips fires right after the gap,
one that it repeats fires once; wildcard fields follow elapsed time. Precisely, as in Debian's cron:

- **A time of day** (neither minute nor hour starts with `*`): the local times that match, each at its one instant
  (`clock_change.to_utc`). Several that fall into one gap, and one right behind it, are one fire time.
- **A rhythm** (minute or hour starts with `*`): the instants at which the clock shows a local time that matches. In a
  gap there are none, in a repeated hour they come twice.

The same holds with a seconds field. docs/cron.md has examples, and where others differ.
"""

from functools import lru_cache
from zoneinfo import ZoneInfo

from lightsched.timing.clock_change import gap_ending_at, is_repeated, shown_before, span_at, to_utc
from lightsched.timing.errors import TimingError, shown
from lightsched.timing.fields import Fields, parse_fields
from lightsched.timing.limits import FIRST_MS, LAST_MS
from lightsched.timing.pattern import Pattern
from lightsched.timing.zone import zone as find_zone

# No local time that matches at all is rarer than once in 40 years. A rhythm that finds none in so many spans of its
# zone would only fire in hours that the zone skips.
_MOST_SPANS = 200
_MOST_REMEMBERED = 500  # characters of an expression


class Cron:
    """One expression in one timezone. Make it with `Cron.parse`, which gives the same object for the same text."""

    __slots__ = ("_hash", "_last_after", "_last_before", "_pattern", "_rhythm", "expression", "fields", "zone")

    def __init__(self, expression: str, zone: ZoneInfo) -> None:
        self.expression = " ".join(expression.split())
        self.zone = zone
        self.fields: Fields = parse_fields(expression)
        self._pattern = Pattern(self.fields)
        self._rhythm = self.fields.follows_elapsed_time
        self._hash = hash((self.expression, zone.key))
        # The last answer: for all instants from … until before …, it is … Many events share a cron and ask at the same
        # time, so this one is nearly always the right one.
        self._last_after: tuple[int, int, int | None] = (0, 0, None)
        self._last_before: tuple[int, int, int | None] = (0, 0, None)
        if self._pattern.first_from(0) is None:
            raise TimingError(
                f"the cron {shown(self.expression)} never fires: no day matches day of month, month and day of week"
            )

    @staticmethod
    def parse(expression: str, timezone: str = "UTC") -> "Cron":
        if len(expression) > _MOST_REMEMBERED:
            return Cron(expression, find_zone(timezone))
        found = _parse(expression, timezone)
        if isinstance(found, str):
            raise TimingError(found)
        return found

    def after(self, ms: int) -> int | None:
        """The first fire time strictly after an instant."""
        from_ms, before_ms, answer = self._last_after
        if from_ms <= ms < before_ms:
            return answer
        if ms >= LAST_MS:
            return None
        ms = max(ms, FIRST_MS - 1)
        found = self._rhythm_after(ms) if self._rhythm else self._time_after(ms)
        if found is None or found > LAST_MS:
            self._last_after = (ms, LAST_MS, None)
            return None
        self._last_after = (ms, found, found)
        return found

    def before(self, ms: int) -> int | None:
        """The last fire time at or before an instant."""
        from_ms, until_ms, answer = self._last_before
        if from_ms <= ms < until_ms:
            return answer
        if ms < FIRST_MS:
            return None
        ms = min(ms, LAST_MS)
        found = self._rhythm_before(ms) if self._rhythm else self._time_before(ms)
        if found is None or found < FIRST_MS:
            self._last_before = (FIRST_MS, ms + 1, None)
            return None
        self._last_before = (found, ms + 1, found)
        return found

    def count(self, from_ms: int, before_ms: int) -> int:
        """How many fire times there are from one instant until before another."""
        from_ms, before_ms = max(from_ms, FIRST_MS), min(before_ms, LAST_MS + 1)
        if before_ms <= from_ms:
            return 0
        count = 0
        if not self._rhythm:
            count = self._matches(shown_before(self.zone, from_ms - 1), shown_before(self.zone, before_ms - 1))
        span = span_at(self.zone, from_ms)
        while True:
            start_ms, end_ms, offset_ms = span
            if self._rhythm:
                count += self._matches(max(start_ms, from_ms) + offset_ms, min(end_ms, before_ms) + offset_ms)
            elif start_ms >= from_ms:
                count -= max(0, self._matches_moved_to(start_ms) - 1)
            if end_ms >= before_ms:
                return count
            span = span_at(self.zone, end_ms)

    def skipped_before(self, ms: int) -> bool:
        """Does it fire at this instant because a clock change skipped its time?"""
        gap = None if self._rhythm else gap_ending_at(self.zone, ms)
        return gap is not None and self._matches(*gap) > 0

    def jumped_before(self, ms: int) -> bool:
        """A rhythm: is this its first time since the clock jumped over some of them?"""
        start_ms = span_at(self.zone, ms)[0]
        gap = gap_ending_at(self.zone, start_ms) if self._rhythm else None
        return gap is not None and self._matches(*gap) > 0 and (self.before(ms - 1) or 0) < start_ms

    def repeated_at(self, ms: int) -> bool:
        """Does the clock show the local time of this instant twice?"""
        return is_repeated(self.zone, ms)

    def _time_after(self, ms: int) -> int | None:
        local_s = self._pattern.first_from(-(-shown_before(self.zone, ms) // 1000))
        return None if local_s is None else to_utc(self.zone, local_s * 1000)

    def _time_before(self, ms: int) -> int | None:
        local_s = self._pattern.last_before(-(-shown_before(self.zone, ms) // 1000))
        return None if local_s is None else to_utc(self.zone, local_s * 1000)

    def _rhythm_after(self, ms: int) -> int | None:
        from_ms = ms + 1
        for _ in range(_MOST_SPANS):
            _, end_ms, offset_ms = span_at(self.zone, from_ms)
            local_s = self._pattern.first_from(-(-(from_ms + offset_ms) // 1000))
            if local_s is None:
                return None
            found = local_s * 1000 - offset_ms
            if found < end_ms:
                return found
            from_ms = end_ms
        return None

    def _rhythm_before(self, ms: int) -> int | None:
        until_ms = ms
        for _ in range(_MOST_SPANS):
            start_ms, _, offset_ms = span_at(self.zone, until_ms)
            local_s = self._pattern.last_before((until_ms + offset_ms) // 1000 + 1)
            if local_s is None:
                return None
            found = local_s * 1000 - offset_ms
            if found >= start_ms:
                return found
            until_ms = start_ms - 1
        return None

    def _matches(self, from_local_ms: int, before_local_ms: int) -> int:
        return self._pattern.count(-(-from_local_ms // 1000), -(-before_local_ms // 1000))

    def _matches_moved_to(self, ms: int) -> int:
        """How many local times have their instant here because of a gap, counting the one that the clock shows."""
        gap = gap_ending_at(self.zone, ms)
        return self._matches(gap[0], gap[1] + 1) if gap else 0

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Cron) and self.expression == other.expression and self.zone.key == other.zone.key
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Cron({self.expression!r}, {self.zone.key!r})"


@lru_cache(maxsize=16_384)
def _parse(expression: str, timezone: str) -> Cron | str:
    """The cron, or what is wrong with it: who sends such a one sends it again."""
    try:
        return Cron(expression, find_zone(timezone))
    except TimingError as error:
        return str(error)
