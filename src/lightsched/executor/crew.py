"""Who executes? As many tasks as may run at once, and no more than are needed.

A task goes on with the next delivery by itself, so a function that never waits for anything costs no change of tasks.
Before each one it sees to it that, should it have to wait, another task goes on in its place.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from lightsched.executor.lanes import Lanes
from lightsched.executor.taken import Taken

log = logging.getLogger(__name__)

DISMISS_S = 10.0
"""Functions that are cancelled are waited for so long: one may have to put something in order first."""


class Crew:
    """Tasks that execute what is ready."""

    def __init__(self, lanes: Lanes, concurrency: int, execute: Callable[[Taken], Awaitable[None]]) -> None:
        self._lanes = lanes
        self._concurrency = concurrency
        self._execute = execute
        self._tasks: set[asyncio.Task[None]] = set()
        self._idle: list[asyncio.Future[None]] = []
        self._coming = False  # one was called, and is not there yet
        self.dismissed = False

    def call(self) -> None:
        """There is something ready: let one come, if none is on its way."""
        if self._coming:
            return
        while self._idle:
            waiting = self._idle.pop()
            if not waiting.done():
                waiting.set_result(None)
                self._coming = True
                return
        if len(self._tasks) < self._concurrency:
            self._coming = True
            task = asyncio.create_task(self._work(), name="executor")
            self._tasks.add(task)
            task.add_done_callback(self._gone)

    def _gone(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("what came of a delivery could not be noted", exc_info=error)
        if self._lanes.ready and not self.dismissed:
            self.call()

    async def _work(self) -> None:
        while True:
            self._coming = False
            while self._lanes.ready and not self.dismissed:
                taken = self._lanes.ready.popleft()
                if self._lanes.ready:
                    self.call()
                await self._execute(taken)
            waiting = asyncio.get_running_loop().create_future()
            self._idle.append(waiting)
            await waiting

    async def dismiss(self) -> None:
        """Cancel whatever runs. What does not heed it is left behind."""
        if self.dismissed:
            return
        self.dismissed = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            _, left = await asyncio.wait(tasks, timeout=DISMISS_S)
            if left:
                log.error("%d functions go on although they were cancelled", len(left))
