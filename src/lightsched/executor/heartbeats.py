"""When is it time for a heartbeat? Every third of the timeout, for whatever was taken and is not done.

Most deliveries are done long before, so nothing is kept for each: now and then all that are here are looked at.
"""

import asyncio
from collections.abc import Callable, Collection

from lightsched.executor.taken import Taken

PER_TIMEOUT = 3
_LONGEST_S = 1.0
_LOOKS_PER_BEAT = 10
_SHORTEST_S = 0.005


class Heartbeats:
    """The heartbeats of one executor."""

    def __init__(self, send: Callable[[Taken], None]) -> None:
        self._send = send
        self._every_s = _LONGEST_S
        self._shorter = asyncio.Event()
        self._now = asyncio.get_running_loop().time

    def watch(self, taken: Taken) -> None:
        """It was taken."""
        beat_s = taken.timeout_ms / 1000 / PER_TIMEOUT
        taken.beat_at = self._now() + beat_s
        if beat_s / _LOOKS_PER_BEAT < self._every_s:
            self._every_s = max(beat_s / _LOOKS_PER_BEAT, _SHORTEST_S)
            self._shorter.set()

    def beat(self, taken: Taken) -> None:
        """One is sent now: the next follows a third of the timeout later."""
        taken.beat_at = self._now() + taken.timeout_ms / 1000 / PER_TIMEOUT
        self._send(taken)

    async def run(self, here: Collection[Taken]) -> None:
        """Look at all that are here, for ever."""
        while True:
            self._shorter.clear()
            try:
                async with asyncio.timeout(self._every_s):
                    await self._shorter.wait()
                continue
            except TimeoutError:
                pass
            now = self._now()
            shortest_s = _LONGEST_S * _LOOKS_PER_BEAT
            for taken in list(here):
                if taken.timeout_ms:
                    shortest_s = min(shortest_s, taken.timeout_ms / 1000 / PER_TIMEOUT)
                    if taken.beat_at <= now:
                        self.beat(taken)
            self._every_s = min(max(shortest_s / _LOOKS_PER_BEAT, _SHORTEST_S), _LONGEST_S)
