"""What does the log on Kafka say without being asked? Whoever counts or compares it gives a function for it."""

from collections.abc import Callable
from dataclasses import dataclass


def _ignored(*_facts: int) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True, slots=True)
class Listener:
    """Each is called with what the comment names."""

    time: Callable[[int], None] = _ignored  # the broker's, in ms since epoch: often
    restored: Callable[[int, int, int], None] = _ignored  # partition, records just applied, offsets still to go
    input_lost: Callable[[int, int], None] = _ignored  # partition, inputs that nobody will read any more
