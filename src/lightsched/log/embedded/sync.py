"""When is a write durable? After the next fsync that begins later; all who wrote before it share it.

1. A writer writes, then asks for a future.
2. At the end of the event loop's turn a sync begins, in a thread, unless one is running. It covers everything written
   so far: `begin` says what that is.
3. When it is done, `finish` makes it visible, and all futures it covers are done.
4. Who has asked meanwhile is covered by the next one, which begins at once.

After a sync that failed nothing is known to be durable, and a later one that succeeds would not change that (the
kernel drops pages it could not write): every waiter gets the error, and so does everyone who asks later.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Generic, TypeVar

Covered = TypeVar("Covered")


class SharedSync(Generic[Covered]):
    """One fsync at a time, for as many writers as there are."""

    def __init__(
        self, sync: Callable[[], None], begin: Callable[[], Covered], finish: Callable[[Covered], None]
    ) -> None:
        self._sync = sync
        self._begin = begin
        self._finish = finish
        self._thread = ThreadPoolExecutor(1, "lightsched-sync")
        self._waiting: list[asyncio.Future[None]] = []
        self._scheduled = False
        self._running = False
        self.failure: BaseException | None = None

    def request(self) -> asyncio.Future[None]:
        """Done when everything written before this call is durable and visible."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        if self.failure is not None:
            future.set_exception(self.failure)
            return future
        self._waiting.append(future)
        if not self._running and not self._scheduled:
            self._scheduled = True
            loop.call_soon(self._start, loop)
        return future

    def fail(self, error: BaseException) -> None:
        """Nothing will be durable from here on."""
        if self.failure is None:
            self.failure = error
        waiting, self._waiting = self._waiting, []
        _refuse(waiting, self.failure)

    def close(self) -> None:
        """Let go of the thread. No sync may be under way."""
        self._thread.shutdown()

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._scheduled = False
        if self.failure is not None or not self._waiting:
            return
        self._running = True
        waiting, self._waiting = self._waiting, []
        covered = self._begin()

        def tell(done: Future[None]) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(self._done, done, covered, waiting, loop)

        self._thread.submit(self._sync).add_done_callback(tell)  # a future of the loop would take a turn more

    def _done(
        self,
        done: Future[None],
        covered: Covered,
        waiting: list[asyncio.Future[None]],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._running = False
        try:
            done.result()
            if self.failure is None:
                self._finish(covered)
        except BaseException as error:  # noqa: BLE001 - whatever it was, the waiters get it and nothing goes on
            self.fail(error)
        if self.failure is not None:
            _refuse(waiting, self.failure)
            return
        for future in waiting:
            if not future.done():
                future.set_result(None)
        if self._waiting:
            self._start(loop)


def _refuse(waiting: list[asyncio.Future[None]], error: BaseException) -> None:
    for future in waiting:
        if not future.done():
            future.set_exception(error)
