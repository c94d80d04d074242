"""Where do functions run that may block? In threads of their own, as many as are needed at once.

Not in asyncio's: those are few, little more than the machine has processors, whatever the concurrency is. And a program
waits for them when it ends: one function that never returns would keep it for ever.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

_IDLE_S = 60.0


class _Job(NamedTuple):
    function: Callable[[], Any]
    loop: asyncio.AbstractEventLoop
    done: "asyncio.Future[Any]"


class Threads:
    """Threads that call functions. One that has nothing to do for long ends."""

    def __init__(self) -> None:
        self._idle: list[SimpleQueue[_Job]] = []

    async def call(self, function: Callable[..., Any], *given: Any) -> Any:
        """What a function returns or raises. If nobody waits any longer, it goes on, and nobody hears of it."""
        loop = asyncio.get_running_loop()
        job = _Job(partial(copy_context().run, function, *given), loop, loop.create_future())
        try:
            jobs = self._idle.pop()
        except IndexError:
            jobs = SimpleQueue()
            threading.Thread(target=self._work, args=(jobs,), name="executor", daemon=True).start()
        jobs.put(job)
        return await job.done

    def _work(self, jobs: "SimpleQueue[_Job]") -> None:
        while True:
            try:
                job = jobs.get(timeout=_IDLE_S)
            except Empty:
                with suppress(ValueError):  # another one is on its way here
                    self._idle.remove(jobs)
                    return
                continue
            returned, raised = None, None
            try:
                returned = job.function()
            except BaseException as error:  # noqa: BLE001 - it is raised where it was called
                raised = error
            self._idle.append(jobs)
            with suppress(RuntimeError):  # the loop is closed
                job.loop.call_soon_threadsafe(_settle, job.done, returned, raised)
            del job, returned, raised


def _settle(done: "asyncio.Future[Any]", returned: Any, raised: BaseException | None) -> None:
    if done.done():
        return
    if raised is None:
        done.set_result(returned)
    elif isinstance(raised, StopIteration):  # which a future cannot carry
        done.set_exception(RuntimeError(f"the function raised {raised!r}"))
    else:
        done.set_exception(raised)
