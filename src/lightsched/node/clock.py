"""What time is it? A port, so that tests and simulations bring their own."""

import time
from typing import Protocol


class Clock(Protocol):
    """Wall time for what is due, monotonic time to check it against."""

    def wall_ms(self) -> int:
        """Milliseconds since the epoch; may jump."""

    def monotonic_ms(self) -> int:
        """Milliseconds that only go forward, at an even pace."""


class SystemClock:
    """The machine's clocks."""

    def wall_ms(self) -> int:
        """Milliseconds since the epoch."""
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        """Milliseconds since some start."""
        return time.monotonic_ns() // 1_000_000
