"""When does an event fire that fires once?"""

from dataclasses import dataclass

from lightsched.timing.limits import FIRST_MS, LAST_MS


@dataclass(frozen=True, slots=True)
class At:
    """One instant."""

    ms: int

    def __post_init__(self) -> None:
        assert FIRST_MS <= self.ms <= LAST_MS

    def after(self, ms: int) -> int | None:
        return self.ms if self.ms > ms else None

    def before(self, ms: int) -> int | None:
        return self.ms if self.ms <= ms else None

    def count(self, from_ms: int, before_ms: int) -> int:
        return int(from_ms <= self.ms < before_ms)
