"""How does one wait for something that may happen at any time, together with others?"""

import asyncio


class Signal:
    """Wakes all who wait when it is given; who comes later waits for the next one."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    @property
    def waited_for(self) -> bool:
        """Does anyone wait?"""
        return bool(self._waiting)

    async def wait(self) -> None:
        """Wait until it is given."""
        given: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(given)
        try:
            await given
        finally:
            self._waiting.discard(given)

    def give(self) -> None:
        """Wake all who wait."""
        for given in self._waiting:
            if not given.done():
                given.set_result(None)
