"""Where do deliveries come from, and where do reports go? This is what REST and Kafka can both be asked for."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import NamedTuple, Protocol

from lightsched.executor.taken import Place, Taken

HandOver = Callable[[Collection[Place]], Awaitable[None]]
"""Finish what was taken from some places, as far as possible soon, and say so; the rest is let go of."""


class Said(NamedTuple):
    """What is to be said about a delivery; None: only that it is done with."""

    taken: Taken
    report: bytes | None


class Source(Protocol):
    """A way to deliveries."""

    async def start(self, hand_over: HandOver) -> None:
        """Begin. Raises if it makes no sense to try."""

    async def take(self, most: int) -> list[Taken]:
        """The next deliveries, in order; waits for some, and may return none."""

    async def say(self, said: Sequence[Said]) -> Sequence[Taken]:
        """Report, and acknowledge all up to the first delivery that is neither settled nor leased.

        Returns those that are not this executor's any more, where that can be known: another attempt has their place.
        """

    async def close(self) -> None:
        """Let go of everything."""
