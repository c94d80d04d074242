"""Is the clock to be believed? A wrong clock for a second must not fire tomorrow's events today.

Wall time is checked against monotonic time between two looks:

- it outruns monotonic time by more than 5 s, or falls behind what was last believed by more than 1 s: not believed.
  Nothing fires until it has kept pace with monotonic time for 5 s; then it is believed again, whatever it says;
- it steps back by less than that: time stands still until it has caught up, and nothing stops;
- anything else is the clock being steered, as it should be.

While the clock is not believed, commands are applied at the time that monotonic time suggests.

Where there is another clock to compare with (on Kafka, the broker's), that one decides: wall time is believed if and
only if it is within 5 s of it, and not before it was heard. Between two words of it monotonic time goes on from there.
"""

from dataclasses import dataclass

JUMP_MS = 5_000
STEP_BACK_MS = 1_000
STABLE_MS = 5_000


@dataclass(frozen=True, slots=True)
class Reading:
    """What to take for now, and whether to fire by it."""

    now_ms: int
    trusted: bool


class ClockGuard:
    """Watches one clock."""

    def __init__(self, wall_ms: int, monotonic_ms: int, *, compared: bool = False) -> None:
        """`compared`: there is another clock, whose time will be told."""
        self.errors = 0
        self.skew_ms = 0  # ahead of the other clock
        self._compared = compared
        self._told: tuple[int, int] | None = None  # the other clock's time, and when it was told (monotonic)
        self._believed_ms = wall_ms
        self._wall_ms = wall_ms
        self._monotonic_ms = monotonic_ms
        self._doubt_since_ms: int | None = None  # monotonic

    @property
    def trusted(self) -> bool:
        """Is the clock believed?"""
        return self._doubt_since_ms is None and not (self._compared and self._told is None)

    def tell(self, other_ms: int, monotonic_ms: int) -> None:
        """What time it is by the other clock."""
        self._told = other_ms, monotonic_ms

    def look(self, wall_ms: int, monotonic_ms: int) -> Reading:
        """Take a reading of both clocks."""
        elapsed_ms = monotonic_ms - self._monotonic_ms
        jumped = abs(wall_ms - self._wall_ms - elapsed_ms) > JUMP_MS
        expected_ms = self._believed_ms + elapsed_ms
        self._wall_ms, self._monotonic_ms = wall_ms, monotonic_ms
        if self._compared:
            return self._compare(wall_ms, monotonic_ms, expected_ms)
        if self._doubt_since_ms is None:
            if not jumped and wall_ms >= self._believed_ms - STEP_BACK_MS:
                self._believed_ms = max(wall_ms, self._believed_ms)
                return Reading(self._believed_ms, trusted=True)
            self.errors += 1
            self._doubt_since_ms = monotonic_ms
        elif jumped:
            self._doubt_since_ms = monotonic_ms
        elif monotonic_ms - self._doubt_since_ms >= STABLE_MS:
            self._doubt_since_ms = None
            self._believed_ms = wall_ms
            return Reading(wall_ms, trusted=True)
        self._believed_ms = expected_ms
        return Reading(expected_ms, trusted=False)

    def _compare(self, wall_ms: int, monotonic_ms: int, expected_ms: int) -> Reading:
        """By the other clock."""
        if self._told is None:
            self._believed_ms = expected_ms
            return Reading(expected_ms, trusted=False)
        told_ms, at_ms = self._told
        other_ms = told_ms + monotonic_ms - at_ms
        self.skew_ms = wall_ms - other_ms
        if abs(self.skew_ms) > JUMP_MS:
            if self._doubt_since_ms is None:
                self.errors += 1
                self._doubt_since_ms = monotonic_ms
            self._believed_ms = other_ms
            return Reading(other_ms, trusted=False)
        if self._doubt_since_ms is None and wall_ms >= self._believed_ms - STEP_BACK_MS:
            wall_ms = max(wall_ms, self._believed_ms)  # small steps back: time stands still until it has caught up
        self._doubt_since_ms = None
        self._believed_ms = wall_ms
        return Reading(wall_ms, trusted=True)
