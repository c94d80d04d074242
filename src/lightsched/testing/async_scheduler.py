"""How does an `async` test use the scheduler? As any other does, and awaits what takes its time."""

from collections.abc import Callable, Mapping
from inspect import isawaitable
from types import TracebackType
from typing import Any, Self, Unpack

from lightsched.engine.step import Answer
from lightsched.event.model import Op
from lightsched.event.record import Record
from lightsched.event.report import ReportStatus
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
from lightsched.testing.common import Common, Which
from lightsched.testing.seen import Delivery
from lightsched.testing.times import Duration, Instant


class AsyncScheduler(Common):
    """As `Scheduler`, in the event loop of the test: its executors may await what lives there."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def schedule(self, event: Mapping[str, Any] | None = None, /, **fields: Unpack[EventFields]) -> Done:
        """Schedule an event, given as keywords (`in_` for `in`), as a mapping, or as both."""
        return await self._command(scheduling({**(event or {}), **fields}))

    async def cancel(self, id: str, **which: Unpack[Which]) -> Done:
        """It fires no more."""
        return await self._command(self._record(Op.CANCEL, id, which))

    async def pause(self, id: str, **which: Unpack[Which]) -> Done:
        """Nothing is delivered until it is resumed."""
        return await self._command(self._record(Op.PAUSE, id, which))

    async def resume(self, id: str, **which: Unpack[Which]) -> Done:
        """It goes on; `catch_up` says what becomes of the occurrences that were missed."""
        return await self._command(self._record(Op.RESUME, id, which))

    async def trigger(self, id: str, **which: Unpack[Which]) -> Done:
        """It runs now: a recurrence once more, a one-shot instead of later."""
        return await self._command(self._record(Op.TRIGGER, id, which))

    async def report(self, delivery: Delivery, status: ReportStatus | str, **more: Unpack[ReportFields]) -> None:
        """Say what has become of a delivery, as an executor does. Raises `ReportIgnored` if that changes nothing."""
        heard(await self._submit(TOPICS.reports, reporting(delivery, Report(status=status, **more))), delivery)
        await self._execute()

    async def advance(self, duration: Duration) -> None:
        """Let time pass. Everything on the way happens in order and on time: retries, timeouts and expiries too."""
        await self._advance(self._in(duration))

    async def advance_to(self, instant: Instant) -> None:
        """Let time pass until then."""
        await self._advance(self._at(instant))

    async def _advance(self, until_ms: int) -> None:
        await self._execute()
        while self._virtual.now_ms < until_ms:
            await self._virtual.advance(until_ms)
            await self._execute()

    async def _command(self, record: Record) -> Done:
        answered = done(await self._submit(TOPICS.events, record))
        await self._execute()
        return answered

    async def _submit(self, topic: str, record: Record) -> Answer:
        return await self._virtual.submit(topic, record)

    async def _execute(self) -> None:
        """Let the executors work on what has arrived. Those that use the scheduler do not come back here."""
        if self._executing:
            return
        self._executing = True
        try:
            while (found := self._next()) is not None:
                await self._execute_one(*found)
        finally:
            self._executing = False

    async def _execute_one(self, delivery: Delivery, executor: Callable[[Delivery], Any]) -> None:
        raised: Exception | None = None
        try:
            returned = executor(delivery)
            report = as_report(await returned if isawaitable(returned) else returned)
        except AssertionError:
            raise
        except Exception as error:  # noqa: BLE001 -- whatever it is, it is what the executor says
            raised, report = error, as_failure(error)
        heard_of(await self._submit(TOPICS.reports, reporting(delivery, report)), raised)
