"""What do both flavours of scheduler have in common? Everything but the waiting.

Executors of a test (`@scheduler.on("type")`) are called between two instants of the scheduler's work, one after the
other, so they may use the scheduler themselves: what they schedule for now is executed when they are done.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypedDict, TypeVar

from lightsched.event.model import Op
from lightsched.event.record import Record
from lightsched.event.tenant import Tenant
from lightsched.event.topics import DEFAULT as TOPICS
from lightsched.executor.executor import Executor as RealExecutor
from lightsched.executor.taken import taken_of
from lightsched.testing.asking import commanding
from lightsched.testing.expecting import Expecting
from lightsched.testing.seen import Delivery, name_of
from lightsched.testing.times import Duration, Instant, duration_ms, instant_ms
from lightsched.testing.virtual import Virtual
from lightsched.timing import format_utc

START = "2026-01-05T00:00:00Z"
"""A Monday, and the same for every run of a test."""

Executor = TypeVar("Executor", bound=Callable[[Delivery], Any])


class Which(TypedDict, total=False):
    """Which of the events with an id is meant, and why something is asked of it."""

    tenant: str
    key: str
    reason: str


class Common(Expecting):
    """A scheduler, but for what has to be waited for."""

    def __init__(
        self, start: Instant = START, *, keep: Duration = "7d", tenants: Mapping[str, Tenant] | None = None
    ) -> None:
        """`start`: what time it is; `keep`: for how long what is over is known; `tenants`: their rules."""
        super().__init__(Virtual(instant_ms(start), duration_ms(keep), tenants or {}))
        self._executors: dict[str, Callable[[Delivery], Any]] = {}
        self._real: list[RealExecutor] = []
        self._executing = False

    def on(self, type: str) -> Callable[[Executor], Executor]:
        """Let a function execute what is delivered of a type; it may be `async`.

        What it returns is the result of a SUCCESS; an exception is a RETRIABLE_FAILURE; a `Report` says anything else.
        An AssertionError, and an exception that no run waits to hear of, fail the test.
        """

        def register(executor: Executor) -> Executor:
            self._executors[type] = executor
            return executor

        return register

    def run(self, executor: RealExecutor) -> None:
        """Let an executor of yours, as it is, execute what is delivered to its topics, on the clock of the test."""
        self._real.append(executor)

    def close(self) -> None:
        """Let go of everything."""
        self._virtual.close()

    def _next(self) -> tuple[Delivery, Callable[[Delivery], Any]] | None:
        """The next delivery that is executed here."""
        arrived = self._virtual.arrived
        while arrived:
            delivery = arrived.popleft()
            if (executor := self._executors.get(delivery.type) or self._function_for(delivery)) is not None:
                return delivery, executor
        return None

    def _function_for(self, delivery: Delivery) -> Callable[[Delivery], Any] | None:
        """What one of the real executors calls for a delivery."""
        for executor in self._real:
            if delivery.topic in {TOPICS.deliveries if topic == "deliveries" else topic for topic in executor.topics}:
                taken = taken_of(delivery.topic, delivery.record)
                if (call := executor.call_for(taken)) is not None:
                    return lambda _, call=call: call()  # type: ignore[misc]
        return None

    def _record(self, op: Op, id: str, which: Which) -> Record:
        """A command about an event."""
        name = name_of(self._virtual.store, id, which.get("tenant", "default"), which.get("key"))
        return commanding(op, name, which.get("reason", ""))

    def _in(self, duration: Duration) -> int:
        return self._at(self._virtual.now_ms + duration_ms(duration))

    def _at(self, instant: Instant) -> int:
        until_ms = instant_ms(instant)
        if until_ms < self._virtual.now_ms:
            raise ValueError(
                f"time does not go back to {format_utc(until_ms)}: it is {format_utc(self._virtual.now_ms)}"
            )
        return until_ms
