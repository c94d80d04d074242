"""How do events get out of here? In chunks, through a sender: Kafka or REST.

A sender is told up to which position a chunk goes, and carries it out once: Kafka commits the position with the events,
a server remembers the request by it.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from lightsched_files.journal import Position
from lightsched_files.taken import Good


class Sender(Protocol):
    """A way in."""

    announces: bool
    """The journal has to say what will be sent, so that the very same is sent again after a crash."""
    most_events: int
    most_bytes: int
    """Of a chunk."""

    async def open(self, id: str) -> Position:
        """Connect, as the only sender of the directory with this id; the position that is known to be sent."""

    def pack(self, events: Sequence[Good]) -> Any:
        """What is sent, made in a thread."""

    async def send(self, packed: Any, until: Position) -> list[tuple[int, str]]:
        """Send it, all or none; the places in it that were refused, and why. Raises if it is not known to be sent."""

    async def close(self) -> None:
        """Let go of the connections."""
