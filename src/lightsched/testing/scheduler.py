"""How does a test use the scheduler? It schedules, moves time, and looks at what was delivered."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from inspect import isawaitable
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from lightsched.engine.step import Answer
from lightsched.errors import LightschedError
from lightsched.event.model import Op
from lightsched.event.record import Record
from lightsched.event.report import ReportStatus
from lightsched.event.tenant import Tenant
from lightsched.event.topics import DEFAULT as TOPICS
from lightsched.testing.asking import (
    Done,
    EventFields,
    Report,
    ReportFields,
    as_failure,
    as_report,
    done,
    heard,
    heard_of,
    reporting,
    scheduling,
)
from lightsched.testing.common import START, Common, Which
from lightsched.testing.seen import Delivery
from lightsched.testing.times import Duration, Instant

Value = TypeVar("Value")


class LoopIsRunning(LightschedError):
    """This test runs in an event loop: use `async_scheduler`, and await what it does."""


class Scheduler(Common):
    """A scheduler in the test's own process, on a clock that the test moves.

    It has an event loop of its own. Where another one is running, in an `async` test, use `AsyncScheduler`.
    """

    def __init__(
        self, start: Instant = START, *, keep: Duration = "7d", tenants: Mapping[str, Tenant] | None = None
    ) -> None:
        """`start`: what time it is; `keep`: for how long what is over is known; `tenants`: their rules."""
        super().__init__(start, keep=keep, tenants=tenants)
        self._loop = asyncio.new_event_loop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of everything."""
        super().close()
        self._loop.close()

    def schedule(self, event: Mapping[str, Any] | None = None, /, **fields: Unpack[EventFields]) -> Done:
        """Schedule an event, given as keywords (`in_` for `in`), as a mapping, or as both."""
        return self._command(scheduling({**(event or {}), **fields}))

    def cancel(self, id: str, **which: Unpack[Which]) -> Done:
        """It fires no more."""
        return self._command(self._record(Op.CANCEL, id, which))

    def pause(self, id: str, **which: Unpack[Which]) -> Done:
        """Nothing is delivered until it is resumed."""
        return self._command(self._record(Op.PAUSE, id, which))

    def resume(self, id: str, **which: Unpack[Which]) -> Done:
        """It goes on; `catch_up` says what becomes of the occurrences that were missed."""
        return self._command(self._record(Op.RESUME, id, which))

    def trigger(self, id: str, **which: Unpack[Which]) -> Done:
        """It runs now: a recurrence once more, a one-shot instead of later."""
        return self._command(self._record(Op.TRIGGER, id, which))

    def report(self, delivery: Delivery, status: ReportStatus | str, **more: Unpack[ReportFields]) -> None:
        """Say what has become of a delivery, as an executor does. Raises `ReportIgnored` if that changes nothing."""
        heard(self._submit(TOPICS.reports, reporting(delivery, Report(status=status, **more))), delivery)
        self._execute()

    def advance(self, duration: Duration) -> None:
        """Let time pass. Everything on the way happens in order and on time: retries, timeouts and expiries too."""
        self._advance(self._in(duration))

    def advance_to(self, instant: Instant) -> None:
        """Let time pass until then."""
        self._advance(self._at(instant))

    def _advance(self, until_ms: int) -> None:
        self._execute()
        while self._virtual.now_ms < until_ms:
            self._run(self._virtual.advance(until_ms))
            self._execute()

    def _command(self, record: Record) -> Done:
        answered = done(self._submit(TOPICS.events, record))
        self._execute()
        return answered

    def _submit(self, topic: str, record: Record) -> Answer:
        return self._run(self._virtual.submit(topic, record))

    def _execute(self) -> None:
        """Let the executors work on what has arrived. Those that use the scheduler do not come back here."""
        if self._executing:
            return
        self._executing = True
        try:
            while (found := self._next()) is not None:
                self._execute_one(*found)
        finally:
            self._executing = False

    def _execute_one(self, delivery: Delivery, executor: Callable[[Delivery], Any]) -> None:
        raised: Exception | None = None
        try:
            returned = executor(delivery)
            report = as_report(self._run(returned) if isawaitable(returned) else returned)
        except AssertionError:
            raise
        except Exception as error:  # noqa: BLE001 -- whatever it is, it is what the executor says
            raised, report = error, as_failure(error)
        heard_of(self._submit(TOPICS.reports, reporting(delivery, report)), raised)

    def _run(self, work: Awaitable[Value]) -> Value:
        async def wait() -> Value:
            return await work

        if _in_a_loop():
            if isinstance(work, Coroutine):
                work.close()
            raise LoopIsRunning
        return self._loop.run_until_complete(wait())


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
