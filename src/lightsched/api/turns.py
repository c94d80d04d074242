"""Who goes next? Long work goes in slices, so that what is due meanwhile fires on time.

turns = Turns()
for item in many:
    ...
    if turns.over():
        await turns.rest()
"""

import asyncio
from time import perf_counter

SLICE_S = 0.004
"""Of the 5 ms that the API may hold the event loop; the rest is for the item that is under way."""


class Turns:
    """One request's slices of time."""

    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until = perf_counter() + SLICE_S

    def over(self) -> bool:
        """Is this slice used up?"""
        return perf_counter() >= self._until

    async def rest(self) -> None:
        """Let all others have their turn."""
        await asyncio.sleep(0)
        self._until = perf_counter() + SLICE_S
