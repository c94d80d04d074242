"""Who goes next? Long work goes in slices, one at a time, so that what is due meanwhile fires on time.

    async with face.long_work.turns() as turns:
        for item in many:
            ...
            if turns.over():
                await turns.rest()

All long work together has one slice in each turn of the event loop, however many requests ask for it; and no more than
`http.searches` of them are under way, because each holds what it has found so far. The others wait.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from time import perf_counter
from typing import Any, Self

from starlette.requests import ClientDisconnect

SLICE_S = 0.004
"""Of the 5 ms that the API may hold the event loop; the rest is for the item that is under way."""
ENTER_AT_ONCE = 8
"""Requests that begin in one turn, if those before them have used it up."""

_receive: ContextVar[Callable[[], Any] | None] = ContextVar("receive", default=None)


def note_client(receive: Callable[[], Any]) -> None:
    """Remember, for this request, whose it is."""
    _receive.set(receive)


def _check_client() -> None:
    """Is it still there? uvicorn knows; asking as ASGI has it would take the client's messages."""
    if getattr(getattr(_receive.get(), "__self__", None), "disconnected", False):
        raise ClientDisconnect


class LongWork:
    """The long work of all requests."""

    def __init__(self, at_a_time: int) -> None:
        self.places = asyncio.Semaphore(at_a_time)
        self.until = 0.0  # of the slice that is under way
        self._open = False  # a slice has begun in this turn of the event loop
        self._entering: deque[asyncio.Future[None]] = deque()  # most of them are short
        self._resting: deque[asyncio.Future[None]] = deque()  # those that were not

    def turns(self) -> "Turns":
        """For one request."""
        return Turns(self)

    async def enter(self) -> None:
        """Begin, if there is time left in this turn of the event loop, or in one of the next."""
        if not self._open:
            self._go_on()
        elif perf_counter() >= self.until:
            await self._wait_in(self._entering)
            self.until = max(self.until, perf_counter() + SLICE_S / ENTER_AT_ONCE)

    async def rest(self) -> None:
        """Wait for the next turn of the event loop that nobody else has."""
        if not self._open:
            self._go_on()
        await self._wait_in(self._resting)
        self.until = perf_counter() + SLICE_S  # from now on: others may have had theirs meanwhile

    @staticmethod
    async def _wait_in(line: "deque[asyncio.Future[None]]") -> None:
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.append(waiting)
        await waiting

    def _go_on(self) -> None:
        """A slice begins; after it, the next one."""
        self._open = True
        self.until = perf_counter() + SLICE_S
        asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        released = sum(_release(self._entering) for _ in range(min(ENTER_AT_ONCE, len(self._entering))))
        if _release(self._resting) or released:
            self._go_on()
        else:
            self._open = False


def _release(line: "deque[asyncio.Future[None]]") -> bool:
    """Let the first go on who still waits."""
    while line:
        waiting = line.popleft()
        if not waiting.done():
            waiting.set_result(None)
            return True
    return False


class Turns:
    """One request's slices of time."""

    __slots__ = ("_work",)

    def __init__(self, work: LongWork) -> None:
        self._work = work

    async def __aenter__(self) -> Self:
        """Wait for a place. Whoever has left meanwhile is not worked for."""
        await self._work.places.acquire()
        try:
            await self._work.enter()
            _check_client()
        except BaseException:
            self._work.places.release()
            raise
        return self

    async def __aexit__(self, *_why: object) -> None:
        """Make place."""
        self._work.places.release()

    def over(self) -> bool:
        """Is this slice used up?"""
        return perf_counter() >= self._work.until

    async def rest(self) -> None:
        """Let all others have their turn."""
        await self._work.rest()
