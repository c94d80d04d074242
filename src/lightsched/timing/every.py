"""When does an event fire that fires every so often?

At `anchor + k * interval`. The anchor is the creation of the event, which is no fire time itself (k starts at 1), or
its `starts_at`, which is (`from_anchor`: k starts at 0). Elapsed time only: clocks and their changes do not matter.
"""

from dataclasses import dataclass

from lightsched.timing.errors import TimingError
from lightsched.timing.limits import FIRST_MS, LAST_MS


@dataclass(frozen=True, slots=True)
class Every:
    """A fixed interval, counted from an anchor."""

    interval_ms: int
    anchor_ms: int
    from_anchor: bool = False

    def __post_init__(self) -> None:
        if self.interval_ms < 1:
            raise TimingError(f"an interval of {self.interval_ms} ms never moves on: it must be at least 1ms")
        assert FIRST_MS <= self.anchor_ms <= LAST_MS

    @property
    def first_ms(self) -> int:
        return self.anchor_ms if self.from_anchor else self.anchor_ms + self.interval_ms

    def after(self, ms: int) -> int | None:
        """The first fire time strictly after an instant."""
        first = self.first_ms
        found = first if ms < first else first + ((ms - first) // self.interval_ms + 1) * self.interval_ms
        return found if found <= LAST_MS else None

    def before(self, ms: int) -> int | None:
        """The last fire time at or before an instant."""
        first, ms = self.first_ms, min(ms, LAST_MS)
        return first + (ms - first) // self.interval_ms * self.interval_ms if ms >= first else None

    def count(self, from_ms: int, before_ms: int) -> int:
        """How many fire times there are from one instant until before another."""
        first = self.first_ms
        from_ms, before_ms = max(from_ms, first), min(before_ms, LAST_MS + 1)
        if before_ms <= from_ms:
            return 0
        return (before_ms - 1 - first) // self.interval_ms - (from_ms - 1 - first) // self.interval_ms
